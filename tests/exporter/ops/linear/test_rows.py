# SPDX-License-Identifier: Apache-2.0
"""Known answers of matmul and convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import InferContext
from samara.exporter.types import Dim, DType, Quant, ShapeError, Sym, TensorType, floordiv

H = Dim.atom(Sym("h"))
PLAIN: dict[str, Any] = {"strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0)}


def _conv_type(x: tuple[Any, ...], w: tuple[Any, ...], **attrs: Any) -> InferContext:
    full = ops.conv.complete({**PLAIN, **attrs})
    ctx = InferContext(ops.conv, [TensorType.of("f32", s) for s in (x, w)], full)
    ctx.attrs = {**full, "result": ops.conv.infer(ctx)[0]}
    return ctx


def test_matmul_with_epilogue() -> None:
    x = np.array([[1, 2], [3, 4]], np.float32)
    w = np.array([[1, -1], [0, 1]], np.float32)
    bias = np.array([10, -10], np.float32)
    np.testing.assert_array_equal(ops.matmul(x, w), [[1, 1], [3, 1]])
    np.testing.assert_array_equal(ops.matmul(x, w, transpose_w=True), [[-1, 2], [-1, 4]])
    np.testing.assert_array_equal(ops.matmul(x, w, bias, lo=0.0), [[11, 0], [13, 0]])
    np.testing.assert_array_equal(ops.matmul(x, w, bias, x, hi=12.0), [[12, -7], [12, -5]])


def test_matmul_of_integers_wraps_and_refuses_activations() -> None:
    x = np.array([[2**31 - 1]], np.int32)
    assert ops.matmul(x, np.array([[2]], np.int32)).tolist() == [[-2]]
    types = [TensorType.of("i32", (1, 1))] * 2
    with pytest.raises(ShapeError, match="no clamp"):
        ops.matmul.infer(InferContext(ops.matmul, types, ops.matmul.complete({"lo": 0.0})))


def test_conv_sums_a_window() -> None:
    x = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    w = np.ones((1, 2, 2, 1), np.float32)
    got = ops.conv(x, w, **PLAIN)
    assert got.shape == (1, 3, 3, 1)
    assert got[0, 0, 0, 0] == 0 + 1 + 4 + 5
    strided = ops.conv(x, w, **{**PLAIN, "strides": (2, 2), "pads": (1, 1, 0, 0)})
    assert strided[0, :, :, 0].tolist() == [[0, 1 + 2], [4 + 8, 5 + 6 + 9 + 10]]


def test_conv_groups_keep_channels_apart() -> None:
    x = np.array([[1, 10, 100, 1000]], np.float32).reshape(1, 1, 1, 4)
    w = np.ones((4, 1, 1, 2), np.float32)
    assert ops.conv(x, w, groups=2, **PLAIN).ravel().tolist() == [11, 11, 1100, 1100]
    depthwise = np.array([1, 2, 3, 4], np.float32).reshape(4, 1, 1, 1)
    assert ops.conv(x, depthwise, groups=4, **PLAIN).ravel().tolist() == [1, 20, 300, 4000]


def test_conv_transpose_spreads() -> None:
    x = np.array([1, 2], np.float32).reshape(1, 2, 1)
    w = np.array([1, 10, 100], np.float32).reshape(1, 3, 1)
    attrs = {"strides": (2,), "dilations": (1,), "pads": (0, 0), "output_padding": (0,)}
    assert ops.conv_transpose(x, w, **attrs).ravel().tolist() == [1, 10, 102, 20, 200]
    attrs.update(pads=(1, 0), output_padding=(1,))
    assert ops.conv_transpose(x, w, **attrs).ravel().tolist() == [10, 102, 20, 200, 0]


def test_conv_of_a_symbolic_size() -> None:
    ctx = _conv_type((1, H, 8, 3), (16, 3, 3, 3), strides=(2, 2), pads=(1, 1, 1, 1))
    assert ctx.result.shape == (1, floordiv(H - 1, 2) + 1, 4, 16)
    assert [(g.relation, g.a, g.b) for g in ctx.guards] == [("le", Dim.const(3), H + 2)]


def test_conv_refuses() -> None:
    with pytest.raises(ShapeError, match="channels of x"):
        _conv_type((1, 5, 5, 4), (8, 3, 3, 3))
    with pytest.raises(ShapeError, match="window is larger"):
        _conv_type((1, 2, 5, 3), (8, 3, 3, 3))
    with pytest.raises(ShapeError, match="multiple of groups"):
        _conv_type((1, 5, 5, 4), (3, 3, 3, 2), groups=2)
    with pytest.raises(ShapeError, match="strides has 1 elements"):
        _conv_type((1, 5, 5, 3), (8, 3, 3, 3), strides=(1,))


def test_cost_counts_multiplications() -> None:
    types = [TensorType.of("f32", s) for s in ((1, 8, 8, 16), (32, 3, 3, 16))]
    attrs = ops.conv.complete({**PLAIN, "pads": (1, 1, 1, 1)})
    result = ops.conv.infer(InferContext(ops.conv, types, attrs))
    assert ops.conv.cost is not None
    flops, size = ops.conv.cost(attrs, types, result)
    assert flops == 2 * 8 * 8 * 32 * 9 * 16
    assert size == 4 * (8 * 8 * 16 + 32 * 9 * 16 + 8 * 8 * 32)


def _narrow(op: str, w: TensorType, **attrs: Any) -> TensorType:
    x = TensorType.of("f32", (2, 3) if op == "matmul" else (1, 5, 5, 3))
    found = ops.get_op(op)
    (y,) = found.infer(InferContext(found, [x, w], found.complete(attrs)))
    return y


def test_quantized_weights_are_dequantized_first() -> None:
    x = np.array([[1, 2]], np.float32)
    w = np.array([[10, -3], [5, 4]], np.int8)
    quant = Quant.per_axis([0.5, 2.0], 1, [0, 1])
    got = ops.matmul.evaluate([x, w], ops.matmul.complete({}), [None, quant])
    assert got.tolist() == [[0.5 * (10 + 2 * 5), 2.0 * (-4 + 2 * 3)]]


def test_half_weights_beside_float_x_give_float() -> None:
    x, w = np.full((1, 2), 1e-3, np.float32), np.ones((2, 1), np.float16)
    got = ops.matmul(x, w)
    assert got.dtype == np.float32
    assert got[0, 0] == np.float32(1e-3) + np.float32(1e-3)


def test_which_weights_may_be_narrow() -> None:
    whole, columns = Quant.per_tensor(0.5), Quant.per_axis([1, 2, 3, 4], 1)
    assert _narrow("matmul", TensorType.of("qs8", (3, 4), whole)).dtype is DType.F32
    assert _narrow("matmul", TensorType.of("qs8", (3, 4), columns)).dtype is DType.F32
    assert _narrow("matmul", TensorType.of("f16", (3, 4))).dtype is DType.F32
    with pytest.raises(ShapeError, match="index of axis 0"):
        _narrow(
            "matmul", TensorType.of("qs8", (4, 3), Quant.per_axis([1, 2, 3], 1)), transpose_w=True
        )
    rows = Quant.per_axis([1, 2, 3], 3)
    with pytest.raises(ShapeError, match="index of axis 0"):
        _narrow("conv", TensorType.of("qs8", (4, 1, 1, 3), rows), **PLAIN)
    with pytest.raises(ShapeError, match="w is int8"):
        _narrow("matmul", TensorType.of("i8", (3, 4)))
    given = [TensorType.of("f16", (2, 3)), TensorType.of("qs8", (3, 4), whole)]
    with pytest.raises(ShapeError, match="x is float16"):
        ops.matmul.infer(InferContext(ops.matmul, given, ops.matmul.complete({})))
