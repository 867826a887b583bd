# SPDX-License-Identifier: Apache-2.0
"""Known answers of reductions and selections."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import InferContext
from samara.exporter.types import Dim, ShapeError, Sym, TensorType

X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


def test_sums_and_means() -> None:
    assert ops.reduce_sum(X, axes=(0,)).tolist() == [5, 7, 9]
    assert ops.reduce_mean(X, axes=(-1,), keepdims=True).tolist() == [[2], [5]]
    assert ops.reduce_prod(X, axes=(0, 1)).item() == 720
    assert ops.reduce_sum(X, axes=()).tolist() == X.tolist()
    big = np.full(2**12, 2.0**24, np.float32)
    big[1:] = 1
    # A float32 running sum would lose all the ones.
    assert ops.reduce_sum(big, axes=(0,)).item() == 2**24 + 4095 + 1


def test_integers_wrap_and_truncate() -> None:
    x = np.array([127, 1], np.int8)
    assert ops.reduce_sum(x, axes=(0,)).item() == -128
    assert ops.reduce_mean(np.array([-3, 0], np.int32), axes=(0,)).item() == -1


def test_of_nothing() -> None:
    empty = np.zeros((2, 0), np.float32)
    assert ops.reduce_sum(empty, axes=(1,)).tolist() == [0, 0]
    assert ops.reduce_prod(empty, axes=(1,)).tolist() == [1, 1]
    assert ops.reduce_max(empty, axes=(1,)).tolist() == [-np.inf, -np.inf]
    assert np.isnan(ops.reduce_mean(empty, axes=(1,))).all()
    none = np.zeros((0,), np.int32)
    assert ops.reduce_mean(none, axes=(0,)).item() == 0
    assert ops.reduce_min(none, axes=(0,)).item() == 2**31 - 1
    assert ops.reduce_max(np.zeros((0,), np.bool_), axes=(0,)).item() is False


def test_nan_wins() -> None:
    x = np.array([1, np.nan, 3], np.float32)
    assert np.isnan(ops.reduce_max(x, axes=(0,)))
    assert ops.argmax(x).item() == 1
    assert ops.argmin(x).item() == 1
    assert ops.top_k(x, k=2)[1].tolist() == [1, 2]


def test_ties() -> None:
    x = np.array([2, 7, 7, 2], np.int32)
    assert (ops.argmax(x).item(), ops.argmax(x, select_last=True).item()) == (1, 2)
    assert (ops.argmin(x).item(), ops.argmin(x, select_last=True).item()) == (0, 3)
    values, indices = ops.top_k(x, k=3)
    assert (values.tolist(), indices.tolist()) == ([7, 7, 2], [1, 2, 0])
    assert ops.top_k(x, k=3, largest=False)[1].tolist() == [0, 3, 1]
    assert indices.dtype == np.int64


def test_cumulative_sums() -> None:
    x = np.array([1, 2, 3], np.int32)
    assert ops.cumsum(x, axis=0).tolist() == [1, 3, 6]
    assert ops.cumsum(x, axis=0, exclusive=True).tolist() == [0, 1, 3]
    assert ops.cumsum(x, axis=0, reverse=True).tolist() == [6, 5, 3]
    assert ops.cumsum(x, axis=0, reverse=True, exclusive=True).tolist() == [5, 3, 0]


def test_shape_rules() -> None:
    n = Dim.atom(Sym("n"))
    x = TensorType.of("f32", (2, n, 5))
    twice = InferContext(ops.reduce_sum, [x], ops.reduce_sum.complete({"axes": (1, -2)}))
    with pytest.raises(ShapeError, match="twice"):
        ops.reduce_sum.infer(twice)
    ctx = InferContext(ops.top_k, [x], ops.top_k.complete({"k": 7, "axis": 1}))
    wanted = TensorType.of("f32", (2, 7, 5)), TensorType.of("i64", (2, 7, 5))
    assert ops.top_k.infer(ctx) == wanted
    assert [(g.relation, g.a, g.b) for g in ctx.guards] == [("le", Dim.const(7), n)]
    empty = InferContext(ops.argmax, [TensorType.of("f32", (0, 2))], ops.argmax.complete({}))
    with pytest.raises(ShapeError, match="must not be empty"):
        ops.argmax.infer(empty)
