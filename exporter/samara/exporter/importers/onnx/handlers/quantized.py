# SPDX-License-Identifier: Apache-2.0
"""Quantized ONNX operators, lowered to the float operator between dequantize and quantize."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.linear import conv_of
from samara.exporter.importers.onnx.handlers.normalization import softmax_of
from samara.exporter.importers.onnx.handlers.pooling import average_pool_of, global_reduce
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, as_dim


def _params(n: NodeContext, scale: int, zero: int) -> tuple[Any, Any, DType] | None:
    """(scales, zero points, stored dtype) when constant, else None."""
    s, z = n.constant(scale), n.constant(zero)
    if s is None or (n.has(zero) and z is None):
        return None
    dtype = n.type(zero).dtype if n.has(zero) else DType.U8
    return (
        s.reshape(-1).astype(np.float32),
        (np.zeros(1, np.int64) if z is None else z.reshape(-1).astype(np.int64)),
        dtype,
    )


def _spread(n: NodeContext, v: Value, rank: int, axis: int) -> Value:
    """A per-axis vector in the shape that broadcasts along `axis`."""
    if v.type.rank == 0 or (v.type.rank == 1 and v.type.shape[0] == as_dim(1) and rank != 1):
        return n.emit("reshape", v, shape=()) if v.type.rank else v
    shaped: Value = n.emit(
        "reshape", v, shape=[v.type.shape[0] if i == axis else 1 for i in range(rank)]
    )
    return shaped


def dequantized(n: NodeContext, data: int, scale: int, zero: int, axis: int = -1) -> Value:
    """(x - zero) * scale of the operands at the given positions, as float32."""
    x = n.value(data)
    rank = x.type.rank
    axis = axis % rank if rank else 0
    s = _spread(n, n.value(scale), rank, axis)
    params = _params(n, scale, zero)
    if (
        x.constant is None
        and params is not None
        and params[0].size == 1
        and x.type.dtype in (DType.I8, DType.U8)
    ):
        shift = 128 if x.type.dtype is DType.U8 else 0
        q = n.emit(
            "reinterpret",
            x,
            to=DType.QS8,
            scales=params[0].tolist(),
            zero_points=(params[1] - shift).tolist(),
            axis=-1,
        )
        y: Value = n.emit("dequantize", q)
        return y
    y = n.emit("cast", x, to=DType.F32)
    if n.has(zero) and (n.constant(zero) is None or np.any(n.constant(zero))):
        y = n.emit("sub", y, n.emit("cast", _spread(n, n.value(zero), rank, axis), to=DType.F32))
    if s.type.dtype is not DType.F32:
        s = n.emit("cast", s, to=DType.F32)
    scaled: Value = n.emit("mul", y, s)
    return scaled


def quantized(
    n: NodeContext, x: Value, scale: int, zero: int, axis: int = -1, to: DType | None = None
) -> Any:
    """The node's result: round(x / scale) + zero, saturated, as int8 or uint8."""
    params = _params(n, scale, zero)
    kind = to or (
        params[2] if params is not None else n.type(zero).dtype if n.has(zero) else DType.U8
    )
    if kind not in (DType.I8, DType.U8):
        raise n.unsupported(f"quantization to {kind.public_name}", "int8 and uint8 are provided")
    shift = 128 if kind is DType.U8 else 0
    rank = x.type.rank
    axis = axis % rank if rank else 0
    if params is not None and params[0].size == 1:
        q = n.emit(
            "quantize",
            x,
            scales=params[0].tolist(),
            zero_points=(params[1] - shift).tolist(),
            axis=-1,
        )
        return n.final("reinterpret", q, to=kind, scales=[], zero_points=[], axis=-1)
    s = _spread(n, n.value(scale), rank, axis)
    if s.type.dtype is not DType.F32:
        s = n.emit("cast", s, to=DType.F32)
    y = n.emit("round", n.emit("div", x, s))
    if n.has(zero):
        y = n.emit("add", y, n.emit("cast", _spread(n, n.value(zero), rank, axis), to=DType.F32))
    return n.final("cast", n.emit("clamp", y, lo=-128.0 + shift, hi=127.0 + shift), to=kind)


@onnx_op("QuantizeLinear")
def quantize_linear(n: NodeContext) -> Any:
    if n.attr("block_size", 0):
        raise n.unsupported("blocked quantization")
    x = n.value(0)
    if x.type.dtype is not DType.F32:
        x = n.emit("cast", x, to=DType.F32)
    return quantized(n, x, 1, 2, n.attr("axis", 1))


@onnx_op("DequantizeLinear")
def dequantize_linear(n: NodeContext) -> Any:
    if n.attr("block_size", 0):
        raise n.unsupported("blocked quantization")
    y = dequantized(n, 0, 1, 2, n.attr("axis", 1))
    like = n.type(1).dtype
    return y if like is DType.F32 else n.final("cast", y, to=like)


@onnx_op("DynamicQuantizeLinear")
def dynamic_quantize_linear(n: NodeContext) -> Any:
    x = n.value(0)
    axes = list(range(x.type.rank))
    high = n.emit("max", n.emit("reduce_max", x, axes=axes), 0.0)
    low = n.emit("min", n.emit("reduce_min", x, axes=axes), 0.0)
    scale = n.emit("div", n.emit("sub", high, low), 255.0)
    zero = n.emit(
        "clamp", n.emit("round", n.emit("div", n.emit("neg", low), scale)), lo=0.0, hi=255.0
    )
    y = n.emit("add", n.emit("round", n.emit("div", x, scale)), zero)
    q = n.emit("cast", n.emit("clamp", y, lo=0.0, hi=255.0), to=DType.U8)
    return q, scale, n.emit("cast", zero, to=DType.U8)


@onnx_op("QLinearConv")
def qlinear_conv(n: NodeContext) -> Any:
    x = dequantized(n, 0, 1, 2)
    w = dequantized(n, 3, 4, 5, 0)
    bias = None
    if n.has(8):  # int32, in units of s_x * s_w
        unit = n.emit("mul", _flat(n, n.value(1)), _flat(n, n.value(4)))
        bias = n.emit("mul", n.emit("cast", n.value(8), to=DType.F32), unit)
    y = _without_final(n, lambda m: conv_of(m, x, w, bias))
    return quantized(n, y, 6, 7)


@onnx_op("QLinearMatMul")
def qlinear_matmul(n: NodeContext) -> Any:
    a, b = dequantized(n, 0, 1, 2, -2), dequantized(n, 3, 4, 5, -1)
    return quantized(n, n.emit("matmul", a, b), 6, 7)


def _flat(n: NodeContext, v: Value) -> Value:
    return (
        n.emit("reshape", v, shape=()) if v.type.rank == 1 and v.type.shape[0] == as_dim(1) else v
    )


class _Inner(NodeContext):
    """The same node, whose converter's result is an intermediate value here."""

    def final(self, op: str, *inputs: Any, **attrs: Any) -> Any:
        return self.emit(op, *inputs, **attrs)


def _without_final(n: NodeContext, convert: Any) -> Value:
    value: Value = convert(_Inner(n.scope, n.node))
    return value


@onnx_op("QLinearAdd", domain="com.microsoft")
def qlinear_add(n: NodeContext) -> Any:
    return quantized(n, n.emit("add", dequantized(n, 0, 1, 2), dequantized(n, 3, 4, 5)), 6, 7)


@onnx_op("QLinearMul", domain="com.microsoft")
def qlinear_mul(n: NodeContext) -> Any:
    return quantized(n, n.emit("mul", dequantized(n, 0, 1, 2), dequantized(n, 3, 4, 5)), 6, 7)


@onnx_op("QLinearSigmoid", domain="com.microsoft")
def qlinear_sigmoid(n: NodeContext) -> Any:
    return quantized(n, n.emit("sigmoid", dequantized(n, 0, 1, 2)), 3, 4)


@onnx_op("QLinearLeakyRelu", domain="com.microsoft")
def qlinear_leaky_relu(n: NodeContext) -> Any:
    y = n.emit("leaky_relu", dequantized(n, 0, 1, 2), alpha=n.attr("alpha", 0.01))
    return quantized(n, y, 3, 4)


@onnx_op("QLinearSoftmax", domain="com.microsoft")
def qlinear_softmax(n: NodeContext) -> Any:
    x = dequantized(n, 0, 1, 2)
    axis = n.attr("axis", -1)
    if n.attr("opset", 13) >= 13:
        return quantized(n, n.emit("softmax", x, axis=axis), 3, 4)
    return quantized(n, _without_final(n, lambda m: softmax_of(m, x, "softmax")), 3, 4)


@onnx_op("QLinearAveragePool", domain="com.microsoft")
def qlinear_average_pool(n: NodeContext) -> Any:
    _refuse_channels_last(n)
    x = dequantized(n, 0, 1, 2)
    return quantized(n, _without_final(n, lambda m: average_pool_of(m, x)), 3, 4)


@onnx_op("QLinearGlobalAveragePool", domain="com.microsoft")
def qlinear_global_average_pool(n: NodeContext) -> Any:
    _refuse_channels_last(n)
    x = dequantized(n, 0, 1, 2)
    return quantized(n, _without_final(n, lambda m: global_reduce(m, x, "reduce_mean")), 3, 4)


def _refuse_channels_last(n: NodeContext) -> None:
    if n.attr("channels_last", 0):
        raise n.unsupported("channels_last")


@onnx_op("QLinearConcat", domain="com.microsoft")
def qlinear_concat(n: NodeContext) -> Any:
    parts = [dequantized(n, i, i + 1, i + 2) for i in range(2, n.input_count, 3)]
    return quantized(n, n.emit("concat", *parts, axis=n.axis(1, parts[0].type.rank)), 0, 1)


@onnx_op("QGemm", domain="com.microsoft")
def qgemm(n: NodeContext) -> Any:
    a, b = dequantized(n, 0, 1, 2), dequantized(n, 3, 4, 5, 0 if n.attr("transB", 0) else 1)
    y = n.emit(
        "matmul", a, b, transpose_x=bool(n.attr("transA", 0)), transpose_w=bool(n.attr("transB", 0))
    )
    if n.attr("alpha", 1.0) != 1.0:
        y = n.emit("mul", y, n.attr("alpha"))
    if n.has(6):
        unit = n.emit("mul", _flat(n, n.value(1)), _flat(n, n.value(4)))
        y = n.emit("add", y, n.emit("mul", n.emit("cast", n.value(6), to=DType.F32), unit))
    return quantized(n, y, 7, 8) if n.has(7) else y
