# SPDX-License-Identifier: Apache-2.0
"""Compress the error texts in a C file: bytes from 128 on stand for pairs of bytes.

English in hundreds of short sentences has few different pairs of letters. The most frequent pair becomes a
byte, and so on until no pair is frequent enough (Gage, A New Algorithm for Data Compression, 1994). The
table is written to the file as SMR_TEXT_PAIRS; base/error.c uses it to unpack a format before filling
it in. Macros between two literals, such as PRId64, are unchanged: every literal is packed separately,
with one table for all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from samara.exporter.package._c_text import TOKEN

# Functions that write a failure, and the index of their format argument.
FORMATS = {
    "SMR_FAIL": 2,
    "SMR_FRAME_FAIL": 2,
    "smr_fail": 2,
    "smr_fail_prefix": 2,
    "smr_decode_bad": 1,
    "smr_decode_refuse": 1,
}
_CALL = re.compile(rf"(?<!define )\b({'|'.join(FORMATS)})\(")
_CHARACTER = re.compile(r"\\(?:[0-7]{1,3}|x[0-9a-fA-F]+|.)|[^\\]")
_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n"}
_FIRST = 128  # first packed byte; texts contain none of these themselves
_LEAST = 4  # occurrences of a pair that justify two bytes of the table
_DEEPEST = 30  # limit of nested pairs, for which error.c has room

Pair = tuple[int, int]


def pack_texts(source: str) -> str:
    """`source` with the formats of its failures packed, and the table in front."""
    spans = [
        span
        for call in _CALL.finditer(source)
        for span in _literals(source, call.end(), FORMATS[call[1]])
    ]
    texts = {source[a:b]: _bytes(source[a + 1 : b - 1]) for a, b in spans}
    pairs = _pack([text for text in texts.values() if text is not None])
    if not pairs:
        return source
    out: list[str] = []
    done = 0
    for a, b in spans:
        text = texts[source[a:b]]
        if text is not None:
            out += source[done:a], '"', "".join(map(_written, text)), '"'
            done = b
    out.append(source[done:])
    rows = ", ".join(f"{{{a}, {b}}}" for a, b in pairs)
    licence, _, rest = "".join(out).partition("\n")
    return f"{licence}\n#define SMR_TEXT_PAIRS {rows}\n{rest}"


def unpacked(text: Sequence[int], pairs: Sequence[Pair]) -> bytes:
    """Unpack bytes as base/error.c does."""
    todo, out = list(reversed(text)), bytearray()
    while todo:
        byte = todo.pop()
        if byte < _FIRST:
            out.append(byte)
        else:
            first, second = pairs[byte - _FIRST]
            todo += (second, first)
    return bytes(out)


def _literals(source: str, at: int, wanted: int) -> Iterator[tuple[int, int]]:
    """The positions of the string literals of a call's argument; `at` is after its parenthesis."""
    depth, argument = 0, 0
    for token in TOKEN.finditer(source, at):
        word = token[0]
        if word in ("(", "[", "{"):
            depth += 1
        elif word in (")", "]", "}"):
            depth -= 1
            if depth < 0:
                return
        elif word == "," and depth == 0:
            argument += 1
        elif word[0] == '"' and argument == wanted and depth == 0:
            yield token.span()


def _bytes(literal: str) -> list[int] | None:
    """The bytes of a literal, None if it has anything but ASCII and simple escapes."""
    out: list[int] = []
    for each in _CHARACTER.findall(literal):
        plain = {escaped: char for char, escaped in _ESCAPED.items()}.get(each, each)
        if len(plain) != 1 or ord(plain) >= _FIRST:
            return None
        out.append(ord(plain))
    return out


def _pack(texts: Sequence[list[int]]) -> list[Pair]:
    """Pack all texts in place; returns the pairs of the bytes from _FIRST on."""
    pairs: list[Pair] = []
    depths = [0] * _FIRST
    while len(depths) < 256 and max(depths) < _DEEPEST:
        counts = Counter(pair for text in texts for pair in pairwise(text))
        if not counts:
            break
        pair, count = counts.most_common(1)[0]
        if count < _LEAST:
            break
        for text in texts:
            _replace(text, pair, len(depths))
        pairs.append(pair)
        depths.append(1 + max(depths[byte] for byte in pair))
    return pairs


def _replace(text: list[int], pair: Pair, byte: int) -> None:
    at = 0
    while at + 1 < len(text):
        if (text[at], text[at + 1]) == pair:
            text[at : at + 2] = [byte]
        at += 1


def _written(byte: int) -> str:
    return f"\\{byte:o}" if byte >= _FIRST else _ESCAPED.get(chr(byte), chr(byte))
