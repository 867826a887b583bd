# SPDX-License-Identifier: Apache-2.0
"""Reductions in rank order, into any array."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter.frontend.distributed._reduction import ReduceOp, check_reducible, fold
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import ShapeError


def test_the_result_may_be_one_of_the_parts() -> None:
    values = np.random.default_rng(0).standard_normal((4, 50)).astype(np.float32)
    expected = ((values[0] + values[1]) + values[2]) + values[3]
    for place in (None, 0, 1, 2, 3):
        parts = list(values.copy())
        out = np.empty(50, np.float32) if place is None else parts[place]
        fold(ReduceOp.SUM, parts, out)
        assert out.tobytes() == expected.tobytes()
        fold(ReduceOp.AVG, [out], out)
        assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize("size", [0, 1, (64 << 10) - 1, 64 << 10, (192 << 10) + 5])
@pytest.mark.parametrize("place", [None, 0, 1, 2])
def test_large_arrays_are_combined_in_pieces(size: int, place: int | None) -> None:
    parts = [np.random.default_rng(k).standard_normal(size).astype(np.float16) for k in range(3)]
    expected = ((parts[0] + parts[1]) + parts[2]) / np.float16(3)
    out = np.empty(size, np.float16) if place is None else parts[place]
    fold(ReduceOp.AVG, parts, out)
    assert out.tobytes() == expected.tobytes()


def test_integers_wrap_and_float16_stays() -> None:
    out = np.empty(1, np.int8)
    fold(ReduceOp.SUM, [np.array([100], np.int8), np.array([100], np.int8)], out)
    assert out.tolist() == [-56]
    half = np.empty(1, np.float16)
    fold(ReduceOp.AVG, [np.array([60000], np.float16)] * 2, half)
    assert half.tolist() == [np.inf]


def test_which_dtypes_are_taken() -> None:
    of_integers = {ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR}
    for op in ReduceOp:
        for dtype in map(np.dtype, (np.float32, np.float16, np.int64, bool)):
            floating = dtype.kind == "f"
            if (op in of_integers and floating) or (op is ReduceOp.AVG and not floating):
                with pytest.raises(ShapeError, match=op.name):
                    check_reducible(op, dtype)
            else:
                check_reducible(op, dtype)
    with pytest.raises(ArgumentError, match="'sum', expected a member of ReduceOp"):
        check_reducible("sum", np.dtype(np.float32))  # type: ignore[arg-type]
