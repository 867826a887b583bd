# SPDX-License-Identifier: Apache-2.0
"""Normalizers, pre-tokenizers and decoders as steps of the table."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator
from typing import Final

import numpy as np

from samara.exporter.text import code_points as cp
from samara.exporter.text import regex
from samara.exporter.text.layout import MAX_TOKEN_BYTES, Layout, Op, Stage
from samara.exporter.text.reading import Part

Row = tuple[int, int, int, int]

_BEHAVIOURS: Final = {
    "Removed": 0,
    "Isolated": 1,
    "MergedWithPrevious": 2,
    "MergedWithNext": 3,
    "Contiguous": 4,
}
_REMOVED, _ISOLATED, _WITH_NEXT = 0, 1, 3
_GPT2: Final = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_KINDS: Final = "remove it from the file, or replace it by one of docs/guides/text.md"


def flat(part: Part | None, inner: str) -> Iterator[Part]:
    """The parts of nested sequences, in order."""
    if part is None:
        return
    if part.kind != "Sequence":
        yield part
        return
    for each in part.parts(inner):
        yield from flat(each, inner)


def _pattern(part: Part) -> regex.Dfa:
    """The automaton of a pattern, given as {"String": …} or {"Regex": …}."""
    pattern = part.part("pattern") if isinstance(part.values.get("pattern"), dict) else None
    if pattern is None or len(pattern.values) != 1:
        raise part.malformed("pattern is neither a String nor a Regex")
    if "Regex" in pattern.values:
        return regex.compile_regex(pattern.get("Regex", str), pattern.where)
    return regex.compile_literal(pattern.get("String", str), pattern.where)


# ---- normalizers ----


def normalizer_steps(layout: Layout, part: Part | None) -> list[Row]:
    """The steps of a normalizer."""
    return [row for each in flat(part, "normalizers") for row in _normalizer(layout, each)]


def _forms(layout: Layout, name: str, compose: bool) -> list[Row]:
    pairs = layout.pairs(cp.compositions()) + 1 if compose else 0
    classes = layout.values(cp.combining_classes(), 256)
    return [
        (Op.MAP, layout.map(cp.mapping(name)), 1, 0),
        (Op.ORDER, classes, pairs, 0),
    ]


def _mapped(layout: Layout, changes: dict[int, str]) -> Row:
    return Op.MAP, layout.map(changes), 0, 0


def _each(name: str, text: str) -> dict[int, str]:
    return {point: text for low, high in cp.named(name) for point in range(low, high)}


def _normalizer(layout: Layout, part: Part) -> list[Row]:
    match part.kind:
        case "NFC" | "NFD" | "NFKC" | "NFKD" as form:
            return _forms(layout, "nfkd" if "K" in form else "nfd", form.endswith("C"))
        case "Lowercase":
            return [_mapped(layout, cp.mapping("lower"))]
        case "StripAccents":
            return [_mapped(layout, _each("marks", ""))]
        case "Nmt":
            return [_mapped(layout, _each("nmt_removed", "") | _each("nmt_space", " "))]
        case "BertNormalizer":
            return _bert(layout, part)
        case "Replace":
            content = layout.blob(part.get("content", str).encode())
            return [(Op.REPLACE, layout.dfa(_pattern(part)), content, 0)]
        case "Prepend":
            return [(Op.PREPEND, layout.blob(part.get("prepend", str).encode()), 0, 0)]
        case "Strip":
            sides = [int(part.get(f"strip_{side}", bool, True)) for side in ("left", "right")]
            return [(Op.STRIP, _white(layout), *sides)]  # type: ignore[list-item]
        case "Precompiled":
            return [_charsmap(layout, part)]
        case "ByteLevel":
            return [(Op.BYTES, 0, 0, 0)]
        case other:
            raise part.unsupported(f"the normalizer {other}", _KINDS)


def _white(layout: Layout) -> int:
    white = cp.named("white")
    return layout.classes([cp.complement(white), white])


def _bert(layout: Layout, part: Part) -> list[Row]:
    rows: list[Row] = []
    lowercase = part.get("lowercase", bool, True)
    if part.get("clean_text", bool, True):
        rows.append(_mapped(layout, _each("bert_removed", "") | _each("bert_space", " ")))
    if part.get("handle_chinese_chars", bool, True):
        apart = cp.named("bert_chinese")
        rows.append((Op.AROUND, layout.classes([cp.complement(apart), apart]), 0, 0))
    if part.get("strip_accents", bool, lowercase):
        rows += _forms(layout, "nfd", compose=False)
        rows.append(_mapped(layout, _each("bert_marks", "")))
    if lowercase:
        rows.append(_mapped(layout, cp.mapping("lower")))
    return rows


def _charsmap(layout: Layout, part: Part) -> Row:
    """The charsmap of sentencepiece: a double array, and strings that end with a zero byte."""
    try:
        data = base64.b64decode(part.get("precompiled_charsmap", str), validate=True)
        (size,) = struct.unpack_from("<I", data)
    except (binascii.Error, struct.error) as error:
        raise part.malformed(f"precompiled_charsmap is damaged: {error}") from None
    if size % 4 or 4 + size > len(data):
        raise part.malformed(f"precompiled_charsmap has {len(data)} bytes, and a trie of {size}")
    units = np.frombuffer(data, "<u4", size // 4, 4)
    texts = data[4 + size :]
    keys: dict[bytes, int] = {}
    made: dict[bytes, int] = {}
    for key, at in _leaves(units, part):
        end = texts.find(b"\0", at)
        text = texts[at : end if end >= 0 else len(texts)]
        try:
            text.decode()
        except UnicodeDecodeError:
            raise part.malformed(f"precompiled_charsmap: the text at {at} is not UTF-8") from None
        keys[key] = made.setdefault(text, len(made))
    graphemes = layout.dfa(regex.compile_graphemes(part.where))
    return Op.CHARSMAP, graphemes, layout.trie(keys, len(made)), layout.strings(list(made))


def _leaves(units: np.ndarray, part: Part) -> Iterator[tuple[bytes, int]]:
    """The shortest keys of a double array, with their values: longer ones with the same start are never used."""
    if not len(units):
        return
    labels = np.arange(1, 256, dtype=np.int64)
    stack = [(b"", int(_offset(units[0])))]
    found = 0
    while stack:
        key, base = stack.pop()
        at = base ^ labels
        at_inside = at < len(units)
        inside = units[np.where(at_inside, at, 0)].astype(np.int64)
        for label in labels[at_inside & ((inside & 0x800000FF) == labels)]:
            node = base ^ int(label)
            unit = int(units[node])
            longer = key + bytes([int(label)])
            below = node ^ _offset(unit)
            if unit >> 8 & 1:
                if below >= len(units):
                    raise part.malformed("precompiled_charsmap: a leaf outside of the trie")
                yield longer, int(units[below]) & 0x7FFFFFFF
            elif len(longer) <= MAX_TOKEN_BYTES:
                stack.append((longer, below))
            found += 1
            if found > len(units):
                raise part.malformed("precompiled_charsmap: the trie has a cycle")


def _offset(unit: int) -> int:
    return (int(unit) >> 10) << ((int(unit) & 0x200) >> 6)


# ---- pre-tokenizers ----


def pretokenizer_steps(layout: Layout, part: Part | None) -> list[Row]:
    """The steps of a pre-tokenizer."""
    return [row for each in flat(part, "pretokenizers") for row in _pretokenizer(layout, each)]


def _behaviour(part: Part, default: str | None = None) -> int:
    name = part.get("behavior", str, default) if default else part.get("behavior", str)
    if name not in _BEHAVIOURS:
        raise part.malformed(f"behavior {name!r} is none of {', '.join(_BEHAVIOURS)}")
    return _BEHAVIOURS[name]


def _split(layout: Layout, dfa: regex.Dfa, behaviour: int, invert: bool = False) -> Row:
    return Op.SPLIT, layout.dfa(dfa), behaviour, int(invert)


def _pretokenizer(layout: Layout, part: Part) -> list[Row]:
    where = part.where
    white = cp.named("white")
    match part.kind:
        case "ByteLevel":
            rows: list[Row] = []
            if part.get("add_prefix_space", bool, True):
                rows.append((Op.PREPEND, layout.blob(b" "), 1, 0))
            if part.get("use_regex", bool, True):
                rows.append(_split(layout, regex.compile_regex(_GPT2, where), _ISOLATED))
            return [*rows, (Op.BYTES, 0, 0, 0)]
        case "Split":
            invert = part.get("invert", bool, False)
            return [_split(layout, _pattern(part), _behaviour(part), invert)]
        case "Metaspace":
            return _metaspace(layout, part)
        case "BertPreTokenizer":
            punctuation = regex.compile_set(cp.named("punctuation"), where)
            return [
                _split(layout, regex.compile_set(white, where, runs=True), _REMOVED),
                _split(layout, punctuation, _ISOLATED),
            ]
        case "Whitespace":
            words = regex.compile_words(cp.named("word"), cp.named("space"), where)
            return [_split(layout, words, _REMOVED, invert=True)]
        case "WhitespaceSplit":
            return [_split(layout, regex.compile_set(white, where, runs=True), _REMOVED)]
        case "Punctuation":
            dfa = regex.compile_set(cp.named("punctuation"), where)
            return [_split(layout, dfa, _behaviour(part, "Isolated"))]
        case "Digits":
            runs = not part.get("individual_digits", bool, False)
            dfa = regex.compile_set(cp.named("numeric"), where, runs=runs)
            return [_split(layout, dfa, _ISOLATED)]
        case "CharDelimiterSplit":
            dfa = regex.compile_literal(part.get("delimiter", str), where)
            return [_split(layout, dfa, _REMOVED)]
        case other:
            raise part.unsupported(f"the pre-tokenizer {other}", _KINDS)


def _scheme(part: Part) -> str:
    scheme = part.get("prepend_scheme", str, "always")
    if not part.get("add_prefix_space", bool, True):
        scheme = "never"
    if scheme not in ("always", "first", "never"):
        raise part.malformed(f"prepend_scheme {scheme!r} is none of always, first, never")
    return scheme


def _metaspace(layout: Layout, part: Part) -> list[Row]:
    mark = part.get("replacement", str)
    content = layout.blob(mark.encode())
    space = layout.dfa(regex.compile_literal(" ", part.where))
    rows: list[Row] = [(Op.REPLACE, space, content, 0)]
    scheme = _scheme(part)
    if scheme != "never":
        rows.append((Op.PREPEND, content, 1 if scheme == "always" else 2, 0))
    if part.get("split", bool, True):
        rows.append(_split(layout, regex.compile_literal(mark, part.where), _WITH_NEXT))
    return rows


# ---- decoders ----


def decoder_steps(layout: Layout, part: Part | None) -> list[Row]:
    """The stages of a decoder; without one, tokens are joined by spaces."""
    if part is None:
        return [(Stage.JOIN, 0, 0, 0)]
    rows: list[Row] = []
    fused = False
    for each in flat(part, "decoders"):
        if fused and (each.kind in ("ByteLevel", "WordPiece", "ByteFallback") or _is_long(each)):
            raise each.unsupported(
                f"the decoder {each.kind} behind one that joins all tokens",
                "put it before Fuse and ByteLevel: text is decoded while tokens come",
            )
        rows.append(_decoder(layout, each))
        fused |= each.kind in ("Fuse", "ByteLevel")
    return rows


def _is_long(part: Part) -> bool:
    """Whether a replacement may be cut by the border between two tokens."""
    pattern = part.values.get("pattern")
    return part.kind == "Replace" and not (
        isinstance(pattern, dict) and len(str(pattern.get("String", ""))) == 1
    )


def _decoder(layout: Layout, part: Part) -> Row:
    match part.kind:
        case "ByteLevel":
            return Stage.BYTES, 0, 0, 0
        case "Metaspace":
            mark = layout.blob(part.get("replacement", str).encode())
            return Stage.METASPACE, mark, int(_scheme(part) != "never"), 0
        case "WordPiece":
            prefix = layout.blob(part.get("prefix", str, "##").encode())
            return Stage.WORDPIECE, prefix, int(part.get("cleanup", bool, True)), 0
        case "ByteFallback":
            return Stage.BYTE_FALLBACK, 0, 0, 0
        case "Fuse":
            return Stage.FUSE, 0, 0, 0
        case "Strip":
            content = part.get("content", str)
            counts = [part.get(name, int) for name in ("start", "stop")]
            if len(content) != 1 or not all(0 <= n < 1 << 31 for n in counts):
                raise part.malformed("content is not one character, or a count is negative")
            return Stage.STRIP, layout.blob(content.encode()), counts[0], counts[1]
        case "Replace":
            content = part.get("content", str)
            return Stage.REPLACE, layout.dfa(_pattern(part)), layout.blob(content.encode()), 0
        case other:
            raise part.unsupported(f"the decoder {other}", _KINDS)
