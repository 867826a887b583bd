# SPDX-License-Identifier: Apache-2.0
"""Known answers of gathering, scattering and index makers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import DataError, InferContext
from samara.exporter.types import Born, Dim, DType, ShapeError, Sym, TensorType
from samara.pybridge.errors import RangeError

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_gathers() -> None:
    assert ops.gather(X, np.array([-1, 0]), axis=1).tolist() == [[2, 0], [5, 3]]
    assert ops.gather(X, np.array(1)).tolist() == [3, 4, 5]
    assert ops.gather_elements(X, np.array([[1, 0, -2]])).tolist() == [[3, 1, 2]]
    assert ops.gather_nd(X, np.array([[1, 2], [0, -1]])).tolist() == [5, 2]
    batched = ops.gather_nd(X, np.array([[2], [0]]), batch_dims=1)
    assert batched.tolist() == [2, 3]


def test_indices_out_of_range_are_errors() -> None:
    for bad in (2, -3):
        with pytest.raises(
            DataError, match=f"index {bad} at position 0 is out of range, expected -2 to 1"
        ):
            ops.gather(X, np.array([bad]))
        with pytest.raises(DataError):
            ops.gather_elements(X, np.array([[bad, 0, 0]]))
        with pytest.raises(DataError):
            ops.scatter_nd(X, np.array([[bad]]), np.zeros((1, 3), np.float32))


def test_indices_that_may_not_be_negative() -> None:
    updates = np.zeros((1, 3), np.float32)
    assert ops.gather(X, np.array([1]), wrap=False).tolist() == [[3, 4, 5]]
    for bad in (2, -1, -3):
        calls: tuple[Callable[[int], object], ...] = (
            lambda at: ops.gather(X, np.array([at]), wrap=False),
            lambda at: ops.gather_elements(X, np.array([[at, 0, 0]]), wrap=False),
            lambda at: ops.gather_nd(X, np.array([[at]]), wrap=False),
            lambda at: ops.scatter_elements(X, np.array([[at, 0, 0]]), updates, wrap=False),
            lambda at: ops.scatter_nd(X, np.array([[at]]), updates, wrap=False),
        )
        for refused in calls:
            with pytest.raises(RangeError, match=f"index {bad} at position 0 .* 0 to 1"):
                refused(bad)


def test_scatters() -> None:
    x = np.array([1, 2, 3], np.int32)
    at, new = np.array([2, 2, 0]), np.array([10, 20, 30], np.int32)
    expected = {
        "none": [30, 2, 20],
        "add": [31, 2, 33],
        "mul": [30, 2, 600],
        "max": [30, 2, 20],
        "min": [1, 2, 3],
    }
    for reduction, want in expected.items():
        assert ops.scatter_elements(x, at, new, reduction=reduction).tolist() == want
        assert ops.scatter_nd(x, at[:, None], new, reduction=reduction).tolist() == want
    assert x.tolist() == [1, 2, 3]


def test_ranges() -> None:
    def scalars(*values: float, dtype: type = np.int64) -> list[np.ndarray]:
        return [np.array(v, dtype) for v in values]

    assert ops.range(*scalars(2, 9, 3)).tolist() == [2, 5, 8]
    assert ops.range(*scalars(2, -3, -2)).tolist() == [2, 0, -2]
    assert ops.range(*scalars(2, 2, 1)).tolist() == []
    steps = ops.range(*scalars(0, 1, 0.1, dtype=np.float32))
    assert steps.shape == (10,)
    with pytest.raises(DataError, match="delta is 0"):
        ops.range(*scalars(0, 1, 0))


def test_range_bound_of_known_scalars() -> None:
    known = {0: Dim.const(2), 1: Dim.atom(Sym("n")), 2: Dim.const(3)}
    scalar = TensorType.of("i64", ())
    ctx: InferContext = InferContext(
        ops.range,
        [scalar] * 3,
        {},
        born=lambda o, a: Dim.atom(Born("r", o, a)),
        scalars=known.get,
    )
    ops.range.infer(ctx)
    assert {k: b.evaluate({"n": 9}) for k, b in ctx.bounds.items()} == {(0, 0): 3}


def test_nonzero_counts_data() -> None:
    assert ops.nonzero(np.array([[0, 3], [5, 0]])).tolist() == [[0, 1], [1, 0]]
    ctx: InferContext = InferContext(
        ops.nonzero, [TensorType.of("f32", (2, 3))], {}, born=lambda o, a: Dim.atom(Born("z", o, a))
    )
    (y,) = ops.nonzero.infer(ctx)
    assert y.shape[0] == 2
    assert ctx.bounds == {(0, 1): Dim.const(6)}
    with pytest.raises(ShapeError, match="data-dependent"):
        ops.nonzero.infer(InferContext(ops.nonzero, [TensorType.of("f32", (2,))], {}))


def test_sizes_as_tensors() -> None:
    assert ops.dims(values=(3, -1)).tolist() == [3, -1]
    assert ops.dims(values=(3,), scalar=True).shape == ()
    assert ops.iota(length=3, start=5, step=-2).tolist() == [5, 3, 1]
    attrs = ops.dims.complete({"values": (Dim.atom(Sym("n")), 2), "dtype": "i32"})
    (y,) = ops.dims.infer(InferContext(ops.dims, [], attrs))
    assert y == TensorType.of(DType.I32, (2,))


def test_rank_hangs_on_the_last_axis_of_indices() -> None:
    indices = TensorType.of("i64", (4, Dim.atom(Sym("k"))))
    ctx = InferContext(ops.gather_nd, [TensorType.of("f32", (2, 3)), indices], {"batch_dims": 0})
    with pytest.raises(ShapeError, match="the output rank depends on the last axis"):
        ops.gather_nd.infer(ctx)
    floats = [TensorType.of("f32", (2, 3)), TensorType.of("f32", (4,))]
    with pytest.raises(ShapeError, match="indices is float32, expected int32 or int64"):
        ops.gather.infer(InferContext(ops.gather, floats, {"axis": 0}))
