# SPDX-License-Identifier: Apache-2.0
"""Checksums of a file: of its program part, and of its data per MiB."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from samara.exporter.ir import ProgramBuilder, schema
from samara.exporter.ir.file_assemble import assemble, in_memory, sums
from samara.exporter.ir.file_write import rows_of
from samara.exporter.ir.fnv import fnv1a
from samara.pybridge.checksum import checksum

MEBI = 1 << 20


@pytest.mark.parametrize("pieces", [(10, 20), (MEBI,), (MEBI - 1, 1, 5), (5, 2 * MEBI + 7), (0,)])
def test_sums_of_pieces_are_those_of_the_whole(pieces: tuple[int, ...]) -> None:
    data = np.random.default_rng(0).bytes(sum(pieces))
    cuts = [sum(pieces[:i]) for i in range(len(pieces) + 1)]
    parts = [data[a:b] for a, b in itertools.pairwise(cuts)]
    assert sums(parts) == [
        checksum(data[at : at + schema.SUM_BYTES]) for at in range(0, len(data), schema.SUM_BYTES)
    ]


def test_a_file_in_memory_is_the_file_and_aligned_for_tensors() -> None:
    program = ProgramBuilder()
    f = program.function("main")
    f.finish([f.op("add", f.input("x", "f32", [5]), np.arange(5, dtype=np.float32))], ["y"])
    row, segments = rows_of(program.finish(["main"]))
    placed = in_memory(row, segments)
    whole = bytes(placed)
    assert whole == b"".join(assemble(row, segments, hashed=False))
    file = b"".join(assemble(row, segments))
    assert (file[:16], file[24:]) == (whole[:16], whole[24:])
    assert int.from_bytes(file[16:24], "little") == fnv1a(
        file[24 : int.from_bytes(file[8:16], "little")]
    )
    assert np.frombuffer(placed, np.uint8).ctypes.data % schema.TENSOR_ALIGNMENT == 0
