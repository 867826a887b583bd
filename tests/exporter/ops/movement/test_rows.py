# SPDX-License-Identifier: Apache-2.0
"""Known answers of operators that move elements, and their shape rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import InferContext, OpSpec
from samara.exporter.types import Dim, Quant, ShapeError, Sym, TensorType, dmax

N, M = Dim.atom(Sym("n")), Dim.atom(Sym("m"))
X = np.arange(6, dtype=np.int32).reshape(2, 3)


def infer(op: OpSpec, types: list[TensorType], **attrs: Any) -> tuple[Any, InferContext]:
    ctx = InferContext(op, types, op.complete(attrs))
    return [t.shape for t in op.infer(ctx)], ctx


def f32(*shape: Any) -> TensorType:
    return TensorType.of("f32", shape)


def test_slices_with_negative_steps() -> None:
    attrs: dict[str, Any] = {"begin": (1, 2), "end": (-1, -1), "step": (-1, -2)}
    assert ops.slice(X, **attrs).tolist() == [[5, 3], [2, 0]]
    shapes, _ = infer(ops.slice, [f32(2, 3)], **attrs)
    assert shapes == [(2, 2)]
    with pytest.raises(ShapeError, match="must lie inside"):
        infer(ops.slice, [f32(2, 3)], begin=(0, 0), end=(2, 4), step=(1, 1))
    with pytest.raises(ShapeError, match="step of axis 1 is 0"):
        infer(ops.slice, [f32(2, 3)], begin=(0, 0), end=(2, 3), step=(1, 0))


def test_slice_of_symbols() -> None:
    shapes, ctx = infer(ops.slice, [f32(N, 4)], begin=(1, 0), end=(N, 4), step=(1, 1))
    assert shapes == [(dmax(0, N - 1), 4)]
    assert [(g.relation, g.a, g.b) for g in ctx.guards] == [("le", Dim.const(1), N)]


def test_pads() -> None:
    x = np.array([1, 2, 3], np.int32)
    assert ops.pad(x, np.int32(9), pads=(1, 2)).tolist() == [9, 1, 2, 3, 9, 9]
    assert ops.pad(x, pads=(2, 1), mode="reflect").tolist() == [3, 2, 1, 2, 3, 2]
    assert ops.pad(x, pads=(2, 1), mode="edge").tolist() == [1, 1, 1, 2, 3, 3]
    assert ops.pad(x, pads=(2, 1), mode="wrap").tolist() == [2, 3, 1, 2, 3, 1]
    assert ops.pad(x, pads=(-1, 2)).tolist() == [2, 3, 0, 0]
    assert ops.pad(x, pads=(2, -1), mode="wrap").tolist() == [1, 2, 1, 2]
    assert ops.pad(x, np.int32(7), pads=(-3, 2)).tolist() == [7, 7]
    # Padding at the end does not offset cropping beyond the size at the front.
    with pytest.raises(ShapeError, match="less than nothing"):
        infer(ops.pad, [f32(3)], pads=(-5, 6))


def test_quantized_zero_is_the_zero_point() -> None:
    x = np.array([1], np.int8)
    got = ops.pad.evaluate([x], ops.pad.complete({"pads": (1, 0)}), [Quant.per_tensor(0.5, -7)])
    assert got.tolist() == [-7, 1]


def test_pad_needs_something_to_copy() -> None:
    with pytest.raises(ShapeError, match="too small for mode reflect"):
        infer(ops.pad, [f32(3)], pads=(3, 0), mode="reflect")
    assert infer(ops.pad, [f32(3)], pads=(3, 0), mode="wrap")[0] == [(6,)]
    shapes, ctx = infer(ops.pad, [f32(N)], pads=(2, 2), mode="reflect")
    assert shapes == [(N + 4,)]
    assert [(g.relation, g.a, g.b) for g in ctx.guards] == [("le", Dim.const(3), N)]


def test_reshape_checks_the_number_of_elements() -> None:
    with pytest.raises(ShapeError, match="as many elements"):
        infer(ops.reshape, [f32(2, 3)], shape=(5,))
    assert infer(ops.reshape, [f32(N, 6)], shape=(N * 2, 3))[1].guards == []
    assert len(infer(ops.reshape, [f32(N, 6)], shape=(M, 3))[1].guards) == 1


def test_concat_and_split() -> None:
    both = ops.concat(X, X[:, :1], axis=1)
    assert both.tolist() == [[0, 1, 2, 0], [3, 4, 5, 3]]
    assert [p.tolist() for p in ops.split(X, axis=1, sizes=(1, 2))] == [
        [[0], [3]],
        [[1, 2], [4, 5]],
    ]
    shapes, _ = infer(ops.concat, [f32(N, 2), f32(M, 2)], axis=0)
    assert shapes == [(N + M, 2)]
    with pytest.raises(ShapeError, match="one size on axis 1"):
        infer(ops.concat, [f32(1, 2), f32(1, 3)], axis=0)
    with pytest.raises(ShapeError, match="add up to axis 0"):
        infer(ops.split, [f32(5)], axis=0, sizes=(2, 2))


def test_expand_and_tile() -> None:
    assert ops.expand(X[:, :1], shape=(2, 2)).tolist() == [[0, 0], [3, 3]]
    assert ops.tile(X[:1], repeats=(2, 1)).tolist() == [[0, 1, 2], [0, 1, 2]]
    with pytest.raises(ShapeError, match="does not broadcast"):
        infer(ops.expand, [f32(2)], shape=(3,))


def test_quantization_follows_a_transpose() -> None:
    x = TensorType.of("qs8", (2, 3), Quant.per_axis([1, 2], 0))
    (y,) = ops.transpose.infer(InferContext(ops.transpose, [x], {"perm": (1, 0)}))
    assert y.quant == Quant.per_axis([1, 2], 1)
    with pytest.raises(ShapeError, match="along an axis"):
        infer(ops.reshape, [x], shape=(6,))
    other = TensorType.of("qs8", (2, 3), Quant.per_tensor(1))
    with pytest.raises(ShapeError, match="quantized differently"):
        infer(ops.concat, [other, TensorType.of("qs8", (2, 3), Quant.per_tensor(2))], axis=0)
