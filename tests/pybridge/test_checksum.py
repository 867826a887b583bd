# SPDX-License-Identifier: Apache-2.0
"""The checksum of files' data: the library's function against its definition in docs/reference/format.md."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from samara.pybridge.checksum import checksum

FACTOR, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


def _step(lane: int, word: int) -> int:
    lane = (lane ^ word) * FACTOR & MASK
    return lane ^ lane >> 32


def defined(data: bytes) -> int:
    """As the page defines it, one word at a time."""
    lanes = [i * FACTOR & MASK for i in range(1, 9)]
    padded = data + bytes(-len(data) % 64)
    for i in range(0, len(padded), 8):
        lane = i // 8 % 8
        lanes[lane] = _step(lanes[lane], int.from_bytes(padded[i : i + 8], "little"))
    found = len(data)
    for lane_value in lanes:
        found = _step(found, lane_value)
    return found


def test_it_is_the_one_of_the_page(rng: np.random.Generator) -> None:
    assert checksum(b"") == defined(b"") == 0xFB26C96523120CC5
    assert checksum(b"samara") == defined(b"samara") == 0x56CB2AA23FB3B88C
    assert checksum(bytes(range(200))) == defined(bytes(range(200))) == 0x27FF84C27EA01CAA
    for size in (1, 7, 63, 64, 65, 127, 1000, 5001):
        data = rng.bytes(size)
        assert checksum(data) == defined(data)


def test_the_page_has_its_vectors(repo: Path) -> None:
    page = (repo / "docs" / "reference" / "format.md").read_text(encoding="utf-8")
    stated = [int(text, 16) for text in re.findall(r"^\|.* `([0-9a-f]{16})` \|$", page, re.M)]
    inputs = [b"", b"samara", *(bytes(range(n)) for n in (1, 8, 64, 200))]
    assert stated == [checksum(data) for data in inputs]


@pytest.mark.parametrize("start", range(8))
def test_any_address_and_any_buffer(start: int, rng: np.random.Generator) -> None:
    data = rng.bytes(200)
    view = memoryview(bytearray(bytes(start) + data))[start:]
    assert checksum(view) == checksum(data) == checksum(bytearray(data))
