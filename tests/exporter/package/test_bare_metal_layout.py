# SPDX-License-Identifier: Apache-2.0
"""Reading a program's layout from runs at two addresses: numbers, pointers, and other words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import cast

import pytest

from samara.exporter.package._bare_metal_layout import (
    NotLaidOutError,
    Place,
    is_nameable,
    read,
)
from samara.exporter.package.elf import SHF_WRITE, Elf, Section, Symbol


@dataclass
class Program:
    """The used part of an ELF file's interface, for a program at `base`."""

    base: int
    sections: list[Section] = field(default_factory=list)

    def __post_init__(self) -> None:
        flags = (0, 0, SHF_WRITE)
        self.sections = [Section("", 1, each, 0, 0, 0, 0) for each in flags]

    @property
    def symbols(self) -> list[Symbol]:
        return [
            Symbol("kernel", self.base, 16, 1, True),
            Symbol("rows", self.base + 64, 32, 1, False),
            Symbol("room", self.base + 512, 64, 2, False),
        ]

    def text_at(self, address: int) -> bytes | None:
        return b"a text" if address == self.base + 128 else None


def said(*lines: str) -> list[tuple[str, Elf]]:
    """Both runs of a program; {n} is the address n bytes after its base."""
    runs: list[tuple[str, Elf]] = []
    for base in (0x10000, 0x50000):

        def at(match: re.Match[str], base: int = base) -> str:
            return f"{base + int(match[1], 0):08x}"

        text = "\n".join(re.sub(r"\{(\w+)\}", at, line) for line in (*lines, "end"))
        runs.append((text, cast("Elf", Program(base))))
    return runs


def words(state: str, *before: str) -> tuple[int | Place, ...]:
    (row,) = (r for r in read(said(*before, state)) if r.kind == "state")
    return row.words


def test_numbers_and_what_pointers_lead_to() -> None:
    image = "image @{0x1000} 256 8"
    found = words("state @{0x2000} 28 {1} 00000007 {64} {80} {0x1010} {0x2004} {128}", image)
    assert found == (
        Place("function", name="kernel"),  # the address of Thumb code
        7,
        Place("symbol", name="rows"),
        Place("symbol", offset=16, name="rows"),
        Place("image", offset=16),
        Place("state", offset=4),
        Place("string", name="a text"),
    )


def test_the_end_of_one_thing_is_the_beginning_of_another() -> None:
    blocks = ("block @{0x1000} 64", "block @{0x1040} 64")
    assert words("state @{0x2000} 8 {0x1040} {0x1080}", *blocks) == (
        Place("block", 1),
        Place("block", 1, 64),
    )


def test_null_is_a_number_in_words_and_a_place_in_fields() -> None:
    rows = read(said("input @00000000 5 .6162"))
    assert rows[0].fields == (Place("null"), 5, "ab")


@pytest.mark.parametrize("word", ["{3}", "{0x9000}", "{0x200}"])
def test_what_only_one_run_has_is_unknown(word: str) -> None:
    """Pointers into code, outside of the program, and into written memory."""
    assert words(f"state @{{0x2000}} 4 {word}") == (Place("unknown"),)


def test_words_that_lead_elsewhere_in_each_run_are_refused() -> None:
    runs = said("image @{0x1000} 256 8", "state @{0x2000} 4 {0x1010}")
    other = runs[1][0].replace("00051010", "00051014")
    with pytest.raises(NotLaidOutError, match="depends on the address of the program"):
        read([runs[0], (other, runs[1][1])])


def test_fields_that_differ_are_refused() -> None:
    runs = said("variable 4 @00000000 1")
    with pytest.raises(NotLaidOutError, match="a variable depends"):
        read([runs[0], (runs[1][0].replace("variable 4", "variable 8"), runs[1][1])])


def test_a_program_may_refuse_and_must_come_to_its_end() -> None:
    with pytest.raises(NotLaidOutError, match="no layout"):
        read(said("refuse ." + b"no layout".hex()))
    runs = [(text.removesuffix("\nend"), elf) for text, elf in said("image @{0} 1 1 8")]
    with pytest.raises(NotLaidOutError, match="ended early"):
        read(runs)


def test_names_of_functions_own_constants_cannot_be_written() -> None:
    assert is_nameable("i8_gemm_rows")
    assert not is_nameable("table.3")
