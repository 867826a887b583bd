# SPDX-License-Identifier: Apache-2.0
"""The form of the record of Unicode; what is in it needs `tokenizers` to be measured."""

from __future__ import annotations

import zlib

from tools.gen_unicode import OUTPUT, pack, runs

from samara.exporter.text import code_points as cp


def test_runs_are_gaps_and_lengths() -> None:
    assert runs([5, 3, 4, 9]) == [3, 3, 3, 1]
    assert runs([0]) == [0, 1]
    assert runs([]) == []


def test_the_record_is_packed_by_this_tool() -> None:
    assert zlib.decompress(pack(cp._record())) == zlib.decompress(OUTPUT.read_bytes())
    assert cp._record()["source"].startswith("tokenizers 0.")
