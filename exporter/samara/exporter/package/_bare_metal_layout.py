# SPDX-License-Identifier: Apache-2.0
"""What a bare-metal model looks like once it is open, as its own code shows it: the dump of
runtime_c/bare_metal/layout.c, read.

The same program is linked at two places and run at both. A word that is the same in both is a number.
A word that differs must be a pointer that leads to the same thing in both, or the model is not laid
out when it is built: nothing is guessed.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from samara.exporter.package.elf import SHF_WRITE, Elf

_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_TEXT = re.compile(rb"[\x20-\x7e]*\Z")


class NotLaidOutError(Exception):
    """Why a model's structures are made when it is opened instead of when it is built."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """What a pointer leads to. kind: `null`; `image`: byte `offset` of the model's file; `symbol`
    and `function`: `name`; `string`: `name` is its text; `quant`, `ints`, `state`, `copy`, `block`,
    `tensor`: byte `offset` of object `index` of its kind, in the dump's order; `unknown`."""

    kind: str
    index: int = 0
    offset: int = 0
    name: str = ""


NULL = Place("null")
Word = int | Place


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a dump: its kind, its fields (numbers, texts, places), and the words behind them."""

    kind: str
    fields: tuple[int | str | Place, ...]
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class _Range:
    start: int
    size: int
    place: Place


@dataclass(slots=True)
class _Run:
    """One run of the program: its lines, and what lies where."""

    lines: list[list[str]]
    elf: Elf
    ranges: list[_Range] = field(default_factory=list)
    functions: dict[int, str] = field(default_factory=dict)
    objects: list[_Range] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        for symbol in sorted(self.elf.symbols, key=lambda s: (s.address, s.name)):
            if symbol.is_function:
                self.functions.setdefault(symbol.address, symbol.name)
            elif symbol.size and not self.elf.sections[symbol.section].flags & SHF_WRITE:
                place = Place("symbol", name=symbol.name)
                self.objects.append(_Range(symbol.address, symbol.size, place))
        self.starts = [each.start for each in self.objects]
        seen: dict[str, int] = {}
        for kind, at, size in self._objects():
            if at == 0 or any(each.start == at and each.place.kind == kind for each in self.ranges):
                continue
            index = seen[kind] = seen.get(kind, -1) + 1
            self.ranges.append(_Range(at, size, Place(kind, index)))
        self.ranges.sort(key=lambda each: each.place.kind != "ints")  # some lie in the image

    def _objects(self) -> Iterator[tuple[str, int, int]]:
        """Kind, address and size of each object that the dump names."""
        for line in self.lines:
            if line[0] == "quant":
                yield "quant", _address(line[1]), 16
            elif line[0] == "attr" and line[7] == "ints" and len(line) > 8:
                yield "ints", _address(line[6]), 8 * (len(line) - 8)
            elif line[0] == "value":
                yield "tensor", _address(line[7]), int(line[8])
            elif line[0] in ("image", "state", "copy", "block"):
                yield line[0], _address(line[1]), int(line[2])

    def resolve(self, address: int) -> Place:
        if address == 0:
            return NULL
        for last in (0, 1):  # the end of one thing may be the beginning of another
            for each in self.ranges:
                if each.start <= address < each.start + each.size + last:
                    return Place(each.place.kind, each.place.index, address - each.start)
        return self._in_program(address)

    def _in_program(self, address: int) -> Place:
        # Of an address in Thumb code bit 0 is set.
        name = self.functions.get(address & ~1)
        if name is not None:
            return Place("function", name=name)
        at = bisect.bisect_right(self.starts, address) - 1
        if at >= 0 and address < self.objects[at].start + self.objects[at].size:
            found = self.objects[at]
            return Place("symbol", offset=address - found.start, name=found.place.name)
        text = self.elf.text_at(address)
        if text is not None and _TEXT.match(text):
            return Place("string", name=text.decode("ascii"))
        return Place("unknown")


def read(runs: Sequence[tuple[str, Elf]]) -> list[Row]:
    """The rows that the two runs of a program agree on. NotLaidOutError where they do not, or where
    the program itself says so."""
    read_runs = [_Run([line.split() for line in text.splitlines()], elf) for text, elf in runs]
    first = read_runs[0]
    for line in first.lines:
        if line[0] == "refuse":
            raise NotLaidOutError(_text(line[1]))
    if not first.lines or first.lines[-1] != ["end"]:
        raise NotLaidOutError("the program that shows its layout ended early")
    if len({len(run.lines) for run in read_runs}) != 1:
        raise NotLaidOutError("two runs of the program have a different number of objects")
    together = zip(*(run.lines for run in read_runs), strict=True)
    return [_row(*zip(read_runs, lines, strict=True)) for lines in together]


def _row(*runs: tuple[_Run, list[str]]) -> Row:
    kind = runs[0][1][0]
    head = 3 if kind in ("state", "copy") else len(runs[0][1])
    fields = {tuple(_field(run, token) for token in line[1:head]) for run, line in runs}
    if len(fields) != 1 or len({(line[0], len(line)) for _, line in runs}) != 1:
        raise NotLaidOutError(f"a {kind} depends on where the program lies")
    words: list[Word] = []
    for tokens in zip(*(line[head:] for _, line in runs), strict=True):
        values = [int(token, 16) for token in tokens]
        if len(set(values)) == 1:
            words.append(values[0])
            continue
        places = {run.resolve(value) for (run, _), value in zip(runs, values, strict=True)}
        if len(places) != 1:
            raise NotLaidOutError(f"a word of a {kind} depends on where the program lies")
        words.append(places.pop())
    return Row(kind, fields.pop(), tuple(words))


def _field(run: _Run, token: str) -> int | str | Place:
    if token[0] == "@":
        return run.resolve(_address(token))
    if token[0] == ".":
        return _text(token)
    return token if token.isalpha() else int(token)


def _address(token: str) -> int:
    return int(token[1:], 16)


def _text(token: str) -> str:
    return bytes.fromhex(token[1:]).decode("utf-8", "surrogateescape")


def is_nameable(name: str) -> bool:
    """Whether C can name it at the file's end: not what is static inside of a function."""
    return _NAME.match(name) is not None
