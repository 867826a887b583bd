# SPDX-License-Identifier: Apache-2.0
"""Known answers of broadcasting operators, and their shape rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import DataError, InferContext
from samara.exporter.types import Dim, ShapeError, Sym, TensorType


def _infer(*shapes: tuple[Any, ...]) -> InferContext:
    ctx = InferContext(ops.add, [TensorType.of("f32", s) for s in shapes], {})
    ctx.attrs = {"result": ops.add.infer(ctx)[0]}
    return ctx


N, M = Dim.atom(Sym("n")), Dim.atom(Sym("m"))


def test_broadcasting_of_symbols() -> None:
    assert _infer((N, 1), (1, M)).result.shape == (N, M)
    assert _infer((N, 1), (1, M)).guards == []
    assert _infer((2, N), (N,)).guards == []
    both = _infer((N,), (M,))
    assert both.result.shape == (N,)
    assert [(g.relation, g.a, g.b) for g in both.guards] == [("eq", N, M)]
    fixed = _infer((5,), (M,))
    assert fixed.result.shape == (5,)
    assert [g.relation for g in fixed.guards] == ["le"]
    # M + 2 is at least 2, so only N may broadcast.
    wide = _infer((M + 2,), (N,))
    assert wide.result.shape == (M + 2,)


def test_sizes_that_never_broadcast() -> None:
    with pytest.raises(ShapeError, match=r"axis 0 do not broadcast \(got 2 and 3\)"):
        _infer((2,), (3,))
    with pytest.raises(ShapeError, match="do not broadcast"):
        _infer((N + 2,), (N + 3,))


def test_dtypes_must_agree() -> None:
    ctx = InferContext(ops.add, [TensorType.of("f32", (2,)), TensorType.of("i32", (2,))], {})
    with pytest.raises(ShapeError, match="a is float32 but b is int32"):
        ops.add.infer(ctx)


def test_integer_division_truncates() -> None:
    a, b = np.array([7, -7, 7, -7, -128], np.int8), np.array([2, 2, -2, -2, -1], np.int8)
    assert ops.div(a, b).tolist() == [3, -3, -3, 3, -128]
    assert ops.mod(a[:4], b[:4]).tolist() == [1, 1, -1, -1]
    assert ops.mod(a[:4], b[:4], fmod=True).tolist() == [1, -1, 1, -1]
    with pytest.raises(DataError, match="by 0"):
        ops.div(a, np.array(0, np.int8))
    with pytest.raises(DataError, match="by 0"):
        ops.mod(a, np.array(0, np.int8))


def test_integer_powers() -> None:
    a, b = np.array([2, 3, -2, 2, 1, -1, 0, 10]), np.array([10, 0, 3, -1, -9, -3, 0, 20])
    wrapped = (10**20 + 2**63) % 2**64 - 2**63
    assert ops.pow(a, b).tolist() == [1024, 1, -8, 0, 1, -1, 1, wrapped]


def test_shifts() -> None:
    a, b = np.array([1, -8, -8, 1, -1], np.int8), np.array([7, 1, 9, 8, -1], np.int8)
    assert ops.shift(a, b).tolist() == [-128, -16, 0, 0, 0]
    assert ops.shift(a, b, direction="right").tolist() == [0, -4, -1, 0, -1]


def test_nan_wins_minimum_and_maximum() -> None:
    a, b = np.array([np.nan, 1], np.float32), np.array([1, np.nan], np.float32)
    assert np.isnan(ops.min(a, b)).all()
    assert np.isnan(ops.max(a, b)).all()


def test_sum_to_undoes_broadcasting() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(ops.sum_to(x, shape=(3, 1)), x.sum((0, 2))[:, None])
    np.testing.assert_array_equal(ops.sum_to(x, shape=(2, 3, 4)), x)
    assert ops.sum_to(x, shape=()).item() == x.sum()


def test_where_and_prelu() -> None:
    x = np.array([[1, -2], [-3, 4]], np.float32)
    np.testing.assert_array_equal(ops.where(x > 0, x, np.float32(0)), np.maximum(x, 0))
    np.testing.assert_array_equal(
        ops.prelu(x, np.array([2, 3], np.float32)), np.array([[1, -6], [-6, 4]], np.float32)
    )
    ctx = InferContext(ops.prelu, [TensorType.of("f32", (2,)), TensorType.of("f32", (3, 2))], {})
    with pytest.raises(ShapeError, match="rank"):
        ops.prelu.infer(ctx)
