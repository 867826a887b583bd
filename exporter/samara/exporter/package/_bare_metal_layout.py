# SPDX-License-Identifier: Apache-2.0
"""Read the structures of an opened bare-metal model from the dump of runtime_c/bare_metal/layout.c.

The same program is linked at two base addresses and run at both. A word that is equal in both dumps is a
number. A word that differs must be a pointer to the same object in both; otherwise the model is not laid
out at build time, because nothing is guessed.
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
    """Why a model's structures are made at open() instead of at build time."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """The target of a pointer. kind: `null`; `image`: byte `offset` of the model's file; `symbol` and
    `function`: `name`; `string`: `name` is its text; `quant`, `ints`, `state`, `copy`, `block`, `tensor`:
    byte `offset` of object `index` of this kind, in the dump's order; `unknown`."""

    kind: str
    index: int = 0
    offset: int = 0
    name: str = ""


NULL = Place("null")
Word = int | Place


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a dump: its kind, its fields (numbers, texts, places), and further words."""

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
    """One run of the program: its lines, and the address ranges of its objects."""

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
        self.ranges.sort(
            key=lambda each: each.place.kind != "ints"
        )  # some ints lie inside the image

    def _objects(self) -> Iterator[tuple[str, int, int]]:
        """Record kind, address and size of each object in the dump."""
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
        for last in (0, 1):  # the end of one object may be the start of another
            for each in self.ranges:
                if each.start <= address < each.start + each.size + last:
                    return Place(each.place.kind, each.place.index, address - each.start)
        return self._in_program(address)

    def _in_program(self, address: int) -> Place:
        # Bit 0 of an address of Thumb code is set.
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
    """The rows on which the two runs of a program agree. NotLaidOutError if they do not, or if the program
    reports a reason."""
    read_runs = [_Run([line.split() for line in text.splitlines()], elf) for text, elf in runs]
    first = read_runs[0]
    for line in first.lines:
        if line[0] == "refuse":
            raise NotLaidOutError(_text(line[1]))
    if not first.lines or first.lines[-1] != ["end"]:
        raise NotLaidOutError("the program that prints its layout ended early")
    if len({len(run.lines) for run in read_runs}) != 1:
        raise NotLaidOutError("two runs of the program have a different number of objects")
    together = zip(*(run.lines for run in read_runs), strict=True)
    return [_row(*zip(read_runs, lines, strict=True)) for lines in together]


def _row(*runs: tuple[_Run, list[str]]) -> Row:
    kind = runs[0][1][0]
    head = 3 if kind in ("state", "copy") else len(runs[0][1])
    fields = {tuple(_field(run, token) for token in line[1:head]) for run, line in runs}
    if len(fields) != 1 or len({(line[0], len(line)) for _, line in runs}) != 1:
        raise NotLaidOutError(f"a {kind} depends on the address of the program")
    words: list[Word] = []
    for tokens in zip(*(line[head:] for _, line in runs), strict=True):
        values = [int(token, 16) for token in tokens]
        if len(set(values)) == 1:
            words.append(values[0])
            continue
        places = {run.resolve(value) for (run, _), value in zip(runs, values, strict=True)}
        if len(places) != 1:
            raise NotLaidOutError(f"a word of a {kind} depends on the address of the program")
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
    """Whether C can name it at the end of the file, unlike a static inside a function."""
    return _NAME.match(name) is not None
