# SPDX-License-Identifier: Apache-2.0
"""A tokenizer.json as a table, and the tokenizer that reads one."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samara.exporter.text import code_points as cp
from samara.exporter.text.layout import Layout, Word
from samara.exporter.text.models import (
    Vocabulary,
    check_token,
    encoded,
    read_vocabulary,
    write_model,
)
from samara.exporter.text.reading import Part
from samara.exporter.text.steps import decoder_steps, flat, normalizer_steps, pretokenizer_steps
from samara.pybridge import ArgumentError, FileError, ModelFormatError
from samara.pybridge.tokenizer import CompiledTokenizer

_EXISTS, _SPECIAL = 1, 2
_SINGLE_WORD, _LSTRIP, _RSTRIP, _IS_SPECIAL = 1, 2, 4, 8


class Tokenizer(CompiledTokenizer):
    """Text to ids and back, as PyPI's `tokenizers` does by the same tokenizer.json, with the runtime's own code.

    `table` are the bytes that a device reads (samara_text.h).

    >>> tokenizer = samara.Tokenizer.from_json({
    ...     "model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "un": 1, "##do": 2}, "unk_token": "[UNK]"},
    ...     "pre_tokenizer": {"type": "Whitespace"}, "decoder": {"type": "WordPiece"}})
    >>> tokenizer.encode("undo x")
    [1, 2, 0]
    >>> tokenizer.decode([1, 2])
    'undo'
    """

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Tokenizer:
        """Read a tokenizer.json. UnsupportedError for what samara cannot do, ModelFormatError for a damaged file;
        both name the place in the file."""
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise FileError(
                f"{os.fspath(path)}: {error.strerror}", fix="give the path of a tokenizer.json"
            ) from None
        return cls.from_json(data)

    @classmethod
    def from_json(cls, data: str | bytes | dict[str, Any]) -> Tokenizer:
        """The same from the file's content, as text, bytes or parsed."""
        return cls(compile_tokenizer(data))


def compile_tokenizer(data: str | bytes | dict[str, Any]) -> bytes:
    """The table of a tokenizer.json."""
    file = _parsed(data)
    model = file.part("model")
    if model is None:
        raise file.malformed("there is no model")
    return _Compilation(file, model).table()


def parse_float(text: str) -> float:
    """A number as the JSON reader of `tokenizers` rounds it: digits as an integer, then one product or quotient.

    Scores of unigrams decide ties by their last bit.
    """
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = whole + fraction
    kept = len(digits)
    while int(digits[:kept]) >= 1 << 64:
        kept -= 1
    value, power = float(int(digits[:kept])), int(exponent or 0) + len(whole) - kept
    while power < -308 and value:
        value, power = value / 1e308, power + 308
    if power > 308:
        return math.inf if value else 0.0
    value = value * 10.0**power if power >= 0 else value / 10.0**-power
    return -value if text.startswith("-") else value


def _parsed(data: str | bytes | dict[str, Any]) -> Part:
    if isinstance(data, str | bytes):
        try:
            data = json.loads(data, parse_float=parse_float)
        except (ValueError, RecursionError) as error:
            raise ModelFormatError(
                f"tokenizer.json is not JSON: {error}", fix="give the file as it was saved"
            ) from None
    elif not isinstance(data, dict):
        raise ArgumentError(
            f"a tokenizer.json is text, bytes or a dict, not {type(data).__name__}",
            fix="use Tokenizer.from_file for a path",
        )
    if not isinstance(data, dict):
        raise ModelFormatError(
            "tokenizer.json is not an object", fix="give the file as it was saved"
        )
    return Part(data, "tokenizer.json")


@dataclass(frozen=True, slots=True)
class _Added:
    """An added token, its id and its bytes where the text is searched."""

    part: Part
    content: str
    number: int
    flags: int
    normalized: bool


class _Compilation:
    def __init__(self, file: Part, model: Part) -> None:
        self.file, self.model = file, model
        self.vocabulary: Vocabulary = read_vocabulary(model)
        self.added = list(self._read_added().values())
        numbers = [*self.vocabulary.ids.values(), *(a.number for a in self.added)]
        self.ids = max(numbers) + 1

    def table(self) -> bytes:
        forms = {a.number: a.content for a in self.added}
        if any(a.normalized for a in self.added) and self.file.part("normalizer") is not None:
            # Added tokens are searched in normalized text: the runtime normalizes them.
            normalizer = CompiledTokenizer(self._normalizer_alone())
            forms |= {a.number: normalizer.normalize(a.content) for a in self.added if a.normalized}
        return self._written(forms)

    def _normalizer_alone(self) -> bytes:
        """A table with one token, for the normalizer."""
        one = {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}
        file = Part({"model": one, "normalizer": self.file.values["normalizer"]}, self.file.where)
        return _Compilation(file, Part(one, self.model.where))._written({})

    def _read_added(self) -> dict[int, _Added]:
        """Added tokens by id: that of the model, else the next free one, as in `tokenizers`."""
        found: dict[int, _Added] = {}
        ids: dict[str, int] = {}
        names = {"single_word": _SINGLE_WORD, "lstrip": _LSTRIP, "rstrip": _RSTRIP}
        names["special"] = _IS_SPECIAL
        for part in self.file.parts("added_tokens") if self.file.values.get("added_tokens") else ():
            content = part.get("content", str)
            if not content:
                continue
            flags = sum(bit for name, bit in names.items() if part.get(name, bool, False))
            normalized = part.get("normalized", bool, True)
            number = ids.get(content, self.vocabulary.ids.get(content))
            if number is None:
                # Above the model's tokens and those added before.
                number = max([self.vocabulary.count - 1, *found]) + 1
            check_token(part, content, number)
            ids[content] = number
            found[number] = _Added(part, content, number, flags, normalized)
        return found

    def _written(self, forms: dict[int, str]) -> bytes:
        layout = Layout()
        write_model(layout, self.model, self.vocabulary, self.ids)
        self._tokens(layout, forms)
        if self.added:
            self._added(layout, forms)
        normalizer, pretokenizer = self.file.part("normalizer"), self.file.part("pre_tokenizer")
        decoder = self.file.part("decoder")
        for word, part, rows in (
            (Word.NORMALIZER, normalizer, normalizer_steps(layout, normalizer)),
            (Word.PRETOKENIZER, pretokenizer, pretokenizer_steps(layout, pretokenizer)),
            (Word.DECODER, decoder, decoder_steps(layout, decoder)),
        ):
            where = self.file.where if part is None else part.where
            layout.header[word] = layout.steps(rows, where) + 1
        before, after = self._around()
        layout.header[Word.BEFORE] = layout.words(before) + 1
        layout.header[Word.AFTER] = layout.words(after) + 1
        words, spaces = cp.named("word"), cp.named("space")
        others = cp.complement(cp.union(words, spaces))
        layout.header[Word.WORDS] = layout.classes([others, words, spaces]) + 1
        return layout.finish()

    def _tokens(self, layout: Layout, forms: dict[int, str]) -> None:
        texts = [b""] * self.ids
        flags = bytearray(self.ids)
        for token, number in self.vocabulary.ids.items():
            texts[number] = token.encode()
            flags[number] = _EXISTS
        specials = {a.content for a in self.added if a.flags & _IS_SPECIAL}
        for number, form in forms.items():
            texts[number] = form.encode()
            flags[number] = _EXISTS
        for number, text in enumerate(texts):
            if flags[number] and text.decode() in specials:
                flags[number] |= _SPECIAL
        layout.header[Word.TOKENS] = layout.strings(texts) + 1
        layout.header[Word.TOKEN_FLAGS] = layout.blob(bytes(flags)) + 1

    def _added(self, layout: Layout, forms: dict[int, str]) -> None:
        header = layout.header
        rows = [value for a in self.added for value in (a.number, a.flags)]
        header[Word.ADDED] = layout.words(rows) + 1
        names = {encoded(a.part, a.content): a.number for a in self.added}
        header[Word.NAMES] = layout.trie(names, self.ids) + 1
        for word, normalized in ((Word.RAW, False), (Word.NORMAL, True)):
            keys: dict[bytes, int] = {}
            for index, a in enumerate(self.added):
                if a.normalized == normalized:
                    key = forms[a.number].encode()
                    if not key:
                        raise a.part.unsupported(
                            f"{a.content!r} is nothing once it is normalized",
                            "set its normalized to false",
                        )
                    check_token(a.part, forms[a.number], a.number)
                    keys.setdefault(key, index)
            if keys:
                header[word] = layout.trie(keys, len(self.added)) + 1

    def _around(self) -> tuple[list[int], list[int]]:
        """Ids that the post-processor puts before and behind a text."""
        before: list[int] = []
        after: list[int] = []
        for part in flat(self.file.part("post_processor"), "processors"):
            first, last = self._processor(part)
            before, after = first + before, after + last
        for number in (*before, *after):
            if not 0 <= number < self.ids:
                raise self.file.malformed(f"post_processor: there is no token {number}")
        return before, after

    def _processor(self, part: Part) -> tuple[list[int], list[int]]:
        match part.kind:
            case "ByteLevel":
                return [], []
            case "BertProcessing" | "RobertaProcessing":
                return [_pair_id(part, "cls")], [_pair_id(part, "sep")]
            case "TemplateProcessing":
                return _template(part)
            case other:
                raise part.unsupported(
                    f"the post-processor {other}",
                    "set post_processor to null, and add ids yourself",
                )


def _pair_id(part: Part, name: str) -> int:
    pair = part.get(name, list)
    if len(pair) != 2 or type(pair[1]) is not int:
        raise part.malformed(f"{name} is {pair!r:.80}, not a token and its id")
    return int(pair[1])


def _template(part: Part) -> tuple[list[int], list[int]]:
    """Ids around the one sequence of the template for single texts."""
    sides: list[list[int]] = [[]]
    specials = part.part("special_tokens") or Part({}, part.where)
    for each in part.parts("single"):
        if each.part("Sequence") is not None:
            sides.append([])
            continue
        token = each.part("SpecialToken")
        special = specials.part(token.get("id", str)) if token is not None else None
        if special is None:
            raise each.malformed("neither a Sequence nor a known SpecialToken")
        ids = special.get("ids", list)
        if not all(type(number) is int for number in ids):
            raise special.malformed(f"ids are {ids!r:.80}")
        sides[-1] += ids
    if len(sides) != 2:
        raise part.unsupported(
            f"single has {len(sides) - 1} sequences instead of one",
            "add ids around the text yourself",
        )
    return sides[0], sides[1]
