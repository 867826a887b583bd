# SPDX-License-Identifier: Apache-2.0
"""The bytes of a table."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

import samara
from samara.exporter.text import code_points as cp
from samara.exporter.text.layout import HEADER, Kind, Layout, Op, Stage, Word

_HEADER_FILE = Path(__file__).parents[3] / "runtime_c/src/text/text_table.h"


def test_codes_are_those_of_the_runtime() -> None:
    text = re.sub(r"//[^\n]*", "", _HEADER_FILE.read_text(encoding="utf-8"))

    def names(start: str, prefix: str) -> list[str]:
        body = text[text.index(start) :]
        found = re.findall(r"SMR_TEXT_(\w+)", body[: body.index("};")])
        return [n.removeprefix(prefix) for n in found if n.startswith(prefix)]

    assert names("enum smr_text_kind", "KIND_") == [k.name for k in Kind]
    assert names("enum smr_text_op", "OP_") == [o.name for o in Op]
    assert names("enum smr_text_stage", "STAGE_") == [s.name for s in Stage]
    words = names("enum smr_text_word", "")
    assert words[: len(Word)] == [w.name for w in Word]
    assert [w.value for w in Word] == list(range(2, 27))


def test_equal_entries_are_stored_once() -> None:
    layout = Layout()
    assert layout.blob(b"abc") == layout.blob(b"abc") == 0
    assert layout.strings([b"ab", b"", b"c"]) == 1
    data = layout.finish()
    assert data[:4] == b"SMTK"
    assert struct.unpack_from("<3I", data, 4) == (1, len(data), 2)
    kind, offset, count, extra = struct.unpack_from("<4I", data, 4 * HEADER + 16)
    assert (kind, count, extra) == (Kind.STRINGS, 3, 3)
    assert data[offset : offset + 15] == struct.pack("<3I", 2, 2, 3) + b"abc"


def test_a_trie_in_breadth_first_order() -> None:
    layout = Layout()
    layout.trie({b"ab": 0, b"a": 1, b"b": 2}, 3)
    data = layout.finish()
    _, offset, count, _ = struct.unpack_from("<4I", data, 4 * HEADER)
    assert count == 4
    assert struct.unpack_from("<5I", data, offset) == (1, 3, 4, 4, 4)
    assert struct.unpack_from("<4I", data, offset + 20) == (0, 2, 3, 1)
    assert data[offset + 36 : offset + 40] == b"\0abb"


def test_classes_and_maps() -> None:
    layout = Layout()
    letters = cp.named("Lu")
    layout.classes([cp.complement(letters), letters])
    layout.map({0x41: "a", 0x42: ""})
    data = layout.finish()
    _, offset, _, extra = struct.unpack_from("<4I", data, 4 * HEADER)
    (block,) = struct.unpack_from("<H", data, offset)
    assert extra == 2
    assert data[offset + 2 * 0x1100 + 256 * block + 0x41] == 1
    _, offset, blocks, strings = struct.unpack_from("<4I", data, 4 * HEADER + 32)
    assert (blocks, strings) == (2, 1)
    assert struct.unpack_from("<2H", data, offset + 2 * 0x1100 + 2 * 0x41) == (2, 1)


def test_too_many_steps() -> None:
    with pytest.raises(samara.LimitError, match="33 steps"):
        Layout().steps([(1, 0, 0, 0)] * 33, "here")
