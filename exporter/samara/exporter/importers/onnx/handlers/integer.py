# SPDX-License-Identifier: Apache-2.0
"""Matrix products and convolutions of 8-bit integers, to the bit as onnxruntime computes them."""

from __future__ import annotations

from typing import Any

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.affine import (
    Layout,
    as_scalar,
    in_float32,
    rounded,
    spread,
)
from samara.exporter.importers.onnx.handlers.integer_products import (
    EXACT,
    exact_product,
    multiplier,
    requantized,
    whole,
)
from samara.exporter.importers.onnx.handlers.layout import channels_first, channels_last
from samara.exporter.importers.onnx.handlers.linear import as_matrices, conv_rows
from samara.exporter.importers.onnx.handlers.quantize import MICROSOFT, dynamic_parameters
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, DType, as_dim

_BOUND = {"lo": -float(EXACT), "hi": float(EXACT)}


def _conv_sum(
    n: NodeContext,
    x: Value,
    x_zero: Value | None,
    w: Value,
    w_zero: Value | None,
    bias: Value | None = None,
) -> Value:
    """The node's convolution of [N, …, C] by [O, C/groups, k…], in steps."""
    a, b = whole(n, x, x_zero), whole(n, w, w_zero, Layout(0))
    depth = as_dim(1)
    for d in w.type.shape[1:]:
        depth = depth * d
    return exact_product(
        n,
        a,
        b,
        range(1, w.type.rank),
        depth,
        lambda weights, extra: conv_rows(n, a.value, weights, extra, **_BOUND),
        bias,
    )


@onnx_op("ConvInteger")
def conv_integer(n: NodeContext) -> Any:
    x = channels_last(n, n.value(0))
    y = _conv_sum(n, x, n.optional(2), n.value(1), n.optional(3))
    if y.type.dtype is not DType.I32:
        y = n.emit("cast", y, to=DType.I32)
    return channels_first(n, y)


def _columns(n: NodeContext, scales: Value, count: Dim) -> Value:
    """Scales along the last axis, where their number is not known as many as it has indices."""
    if scales.type.rank == 1 and not scales.type.shape[0].is_static:
        scales = n.emit("expand", scales, shape=(count,))
    return scales


@onnx_op("QLinearConv")
@onnx_op("QLinearConv", domain=MICROSOFT)
def qlinear_conv(n: NodeContext) -> Any:
    last = bool(n.attr("channels_last", 0))
    x = n.value(0) if last else channels_last(n, n.value(0))
    total = _conv_sum(n, x, n.optional(2), n.value(3), n.optional(5), n.optional(8))
    m = multiplier(n, n.value(1), _columns(n, n.value(4), n.value(3).type.shape[0]), n.value(6))
    kind = n.type(7).dtype if n.has(7) else x.type.dtype
    if last:
        return requantized(n, total, m, n.optional(7), kind)
    return channels_first(n, requantized(n.inner, total, m, n.optional(7), kind))


def _matmul_sum(
    n: NodeContext,
    a: Value,
    a_zero: Value | None,
    b: Value,
    b_zero: Value | None,
    bias: Value | None = None,
    **turned: bool,
) -> Value:
    """a @ b of matrices (or stacks of them), in steps; `turned`: which of them are transposed."""
    rows, columns = turned.get("transpose_x", False), turned.get("transpose_w", False)
    summed = -1 if columns else -2
    x, w = whole(n, a, a_zero, Layout(-1 if rows else -2)), whole(n, b, b_zero, Layout(-3 - summed))

    def exactly() -> Value:
        steps = (n.emit("cast", v, to=DType.I32) for v in (x.value, w.value))
        total: Value = n.emit("matmul", *steps, **turned)
        return total

    return exact_product(
        n,
        x,
        w,
        [summed],
        b.type.shape[summed],
        lambda weights, extra: n.emit("matmul", x.value, weights, extra, **turned, **_BOUND),
        bias,
        exactly,
    )


@onnx_op("MatMulInteger")
def matmul_integer(n: NodeContext) -> Any:
    def product(n: NodeContext, a: Value, b: Value) -> Value:
        total = _matmul_sum(n, a, n.optional(2), b, n.optional(3))
        y: Value = n.final("cast", total, to=DType.I32)
        return y

    return as_matrices(n, n.value(0), n.value(1), product)


@onnx_op("QLinearMatMul")
def qlinear_matmul(n: NodeContext) -> Any:
    def product(n: NodeContext, a: Value, b: Value) -> Value:
        total = _matmul_sum(n, a, n.optional(2), b, n.optional(5))
        scale_a = spread(n, n.value(1), a, Layout(-2))
        m = multiplier(n, scale_a, spread(n, n.value(4), b, Layout(-1)), n.value(6))
        return requantized(n, total, m, n.optional(7), n.type(7).dtype)

    return as_matrices(n, n.value(0), n.value(3), product)


@onnx_op("QGemm", domain=MICROSOFT)
def qgemm(n: NodeContext) -> Any:
    """The multiplier is (alpha * s_a * s_b) / s_y; without s_y the result is float32."""
    b = n.value(3)
    turned = {"transpose_x": bool(n.attr("transA", 0)), "transpose_w": bool(n.attr("transB", 0))}
    bias = n.optional(6)
    row = bias is None or bias.type.rank == 1 or bias.type.shape[0] == as_dim(1)
    width = b.type.shape[0 if turned["transpose_w"] else 1]
    if bias is not None and row:
        if bias.type.shape[-1:] != (width,):
            bias = n.emit("expand", bias, shape=(*bias.type.shape[:-1], width))
        bias = n.emit("reshape", bias, shape=(width,))
    total = _matmul_sum(
        n, n.value(0), n.optional(2), b, n.optional(5), bias if row else None, **turned
    )
    if not row:
        total = n.emit("add", n.emit("cast", total, to=DType.I32), bias)
    alpha = n.attr("alpha", 1.0)
    scale = as_scalar(n, n.value(1))
    if alpha != 1.0:
        scale = n.emit("mul", scale, alpha)
    m = multiplier(n, scale, _columns(n, n.value(4), width), n.optional(7))
    if not n.has(7):
        return n.final("mul", in_float32(n, total), m)
    kind = n.type(8).dtype if n.has(8) else n.type(0).dtype
    return requantized(n, total, m, n.optional(8), kind)


def _scaled(n: NodeContext, total: Value, m: Value, bias: Value | None) -> Value:
    """The sum as float32, plus a bias."""
    total = in_float32(n, total)
    y: Value
    if bias is None:
        y = n.final("mul", total, m)
    else:
        y = n.final("add", n.emit("mul", total, m), bias)
    return y


@onnx_op("MatMulIntegerToFloat", domain=MICROSOFT)
def matmul_integer_to_float(n: NodeContext) -> Any:
    """Inputs: a, b, s_a, s_b, z_a, z_b, bias."""

    def product(n: NodeContext, a: Value, b: Value) -> Value:
        total = _matmul_sum(n, a, n.optional(4), b, n.optional(5))
        m = multiplier(n, n.value(2), spread(n, n.value(3), b, Layout(-1)), None)
        return _scaled(n, total, m, n.optional(6))

    return as_matrices(n, n.value(0), n.value(1), product)


@onnx_op("DynamicQuantizeMatMul", domain=MICROSOFT)
def dynamic_quantize_matmul(n: NodeContext) -> Any:
    """Inputs: float a, integer b, s_b, z_b, bias; a is quantized as DynamicQuantizeLinear does."""

    def product(n: NodeContext, a: Value, b: Value) -> Value:
        scale, zero = dynamic_parameters(n, a)
        byte = n.emit("cast", zero, to=DType.U8)
        total = _matmul_sum(
            n, rounded(n.inner, n.emit("div", a, scale), byte, DType.U8), byte, b, n.optional(3)
        )
        m = multiplier(n, scale, spread(n, n.value(2), b, Layout(-1)), None)
        return _scaled(n, total, m, n.optional(4))

    return as_matrices(n, n.value(0), n.value(1), product)
