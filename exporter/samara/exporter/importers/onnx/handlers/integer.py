# SPDX-License-Identifier: Apache-2.0
"""Matrix products and convolutions of 8-bit integers, bit for bit as in onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.dynamic_products import OWN
from samara.exporter.importers.onnx.handlers.affine import (
    WHOLE_TENSOR,
    Layout,
    as_scalar,
    in_float32,
    rounded,
    spread,
)
from samara.exporter.importers.onnx.handlers.integer_products import (
    Operand,
    Product,
    integer_sum,
    multiplier,
    quantized_product,
    requantized,
)
from samara.exporter.importers.onnx.handlers.layout import channels_first, channels_last
from samara.exporter.importers.onnx.handlers.linear import as_matrices, conv_rows
from samara.exporter.importers.onnx.handlers.quantize import MICROSOFT, dynamic_parameters
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, DType, Quant, QuantizationError, as_dim


def _conv_product(n: NodeContext) -> Product:
    """The node's convolution of [N, …, C] by [O, C/groups, k…], in steps."""

    def product(x: Value, w: Value, bias: Value | None, **attrs: Any) -> Value:
        return conv_rows(n, x, w, bias, op="qconv", **attrs)

    return product


def _image(x: Value, zero: Value | None, scale: Value | None = None) -> Operand:
    ones = (as_dim(1), *x.type.shape[1:])
    return Operand(x, zero, WHOLE_TENSOR, ones, scale, per_axis=False)


def _kernels(w: Value, zero: Value | None, scale: Value | None = None) -> Operand:
    return Operand(w, zero, Layout(0), w.type.shape, scale)


@onnx_op("ConvInteger")
def conv_integer(n: NodeContext) -> Any:
    x = channels_last(n, n.value(0))
    w = _kernels(n.value(1), n.optional(3))
    return channels_first(n, integer_sum(n, _image(x, n.optional(2)), w, _conv_product(n)))


def _columns(n: NodeContext, scales: Value, count: Dim) -> Value:
    """Scales along the last axis, expanded to its size if their number is unknown."""
    if scales.type.rank == 1 and not scales.type.shape[0].is_static:
        scales = n.emit("expand", scales, shape=(count,))
    return scales


@onnx_op("QLinearConv")
@onnx_op("QLinearConv", domain=MICROSOFT)
def qlinear_conv(n: NodeContext) -> Any:
    last = bool(n.attr("channels_last", 0))
    x = n.value(0) if last else channels_last(n, n.value(0))
    y = _qlinear_conv(n if last else n.inner, x)
    return y if last else channels_first(n, y)


def _qlinear_conv(n: NodeContext, rows: Value) -> Value:
    """From [N, …, C] to [N, …, O]."""
    x = _image(rows, n.optional(2), n.value(1))
    w = _kernels(n.value(3), n.optional(5), n.value(4))
    bias, depth = n.optional(8), as_dim(1)
    for d in w.value.type.shape[1:]:
        depth = depth * d
    kind = n.type(7).dtype if n.has(7) else rows.type.dtype
    result = (n.value(6), n.optional(7), kind)
    whole = quantized_product(n, x, w, _conv_product(n), depth, bias, result)
    if whole is not None:
        return whole
    total = integer_sum(n, x, w, _conv_product(n), bias)
    m = multiplier(n, n.value(1), _columns(n, n.value(4), w.value.type.shape[0]), n.value(6))
    return requantized(n, total, m, n.optional(7), kind)


def _matmul_product(n: NodeContext, **turned: bool) -> Product:
    """The product of matrices (or stacks of them), in steps; `turned`: which operands are transposed."""

    def product(x: Value, w: Value, bias: Value | None, **attrs: Any) -> Value:
        y: Value = n.emit("qmatmul", x, w, bias, **turned, **attrs)
        return y

    return product


def _left(
    a: Value, zero: Value | None, scale: Value | None = None, *, turned: bool = False
) -> Operand:
    one = as_dim(1)
    ones = (a.type.shape[-2], one) if turned else (one, a.type.shape[-1])
    layout = Layout(-1 if turned else -2)
    return Operand(a, zero, layout, ones, scale, per_axis=False, turned=turned)


def _right(
    b: Value, zero: Value | None, scale: Value | None = None, *, turned: bool = False
) -> Operand:
    one = as_dim(1)
    ones = (one, b.type.shape[-1]) if turned else (b.type.shape[-2], one)
    return Operand(b, zero, Layout(-2 if turned else -1), ones, scale, turned=turned)


@onnx_op("MatMulInteger")
def matmul_integer(n: NodeContext) -> Any:
    def product(n: NodeContext, a: Value, b: Value) -> Value:
        x, w = _left(a, n.optional(2)), _right(b, n.optional(3))
        y: Value = n.final("identity", integer_sum(n, x, w, _matmul_product(n)))
        return y

    return as_matrices(n, n.value(0), n.value(1), product)


@onnx_op("QLinearMatMul")
def qlinear_matmul(n: NodeContext) -> Any:
    def product(n: NodeContext, a: Value, b: Value) -> Value:
        x, w = _left(a, n.optional(2), n.value(1)), _right(b, n.optional(5), n.value(4))
        result = (n.value(6), n.optional(7), n.type(7).dtype)
        depth = b.type.shape[-2]
        whole = quantized_product(n, x, w, _matmul_product(n), depth, None, result)
        if whole is not None:
            return whole
        total = integer_sum(n, x, w, _matmul_product(n))
        scale_a = spread(n, n.value(1), a, Layout(-2))
        m = multiplier(n, scale_a, spread(n, n.value(4), b, Layout(-1)), n.value(6))
        return requantized(n, total, m, n.optional(7), n.type(7).dtype)

    return as_matrices(n, n.value(0), n.value(3), product)


@onnx_op("QGemm", domain=MICROSOFT)
def qgemm(n: NodeContext) -> Any:
    """The multiplier is (alpha * s_a * s_b) / s_y; without s_y the result is float32."""
    b = n.value(3)
    turned = {"transpose_x": bool(n.attr("transA", 0)), "transpose_w": bool(n.attr("transB", 0))}
    columns = turned["transpose_w"]
    bias = n.optional(6)
    row = bias is None or bias.type.rank == 1 or bias.type.shape[0] == as_dim(1)
    width = b.type.shape[0 if columns else 1]
    if bias is not None and row:
        if bias.type.shape[-1:] != (width,):
            bias = n.emit("expand", bias, shape=(*bias.type.shape[:-1], width))
        bias = n.emit("reshape", bias, shape=(width,))
    alpha = n.attr("alpha", 1.0)
    scale = as_scalar(n, n.value(1))
    if alpha != 1.0:
        scale = n.emit("mul", scale, alpha)
    x = _left(n.value(0), n.optional(2), scale, turned=turned["transpose_x"])
    w = _right(b, n.optional(5), n.value(4), turned=columns)
    product = _matmul_product(n, **turned)
    kind = n.type(8).dtype if n.has(8) else n.type(0).dtype
    if n.has(7) and row:
        result = (n.value(7), n.optional(8), kind)
        depth = b.type.shape[1 if columns else 0]
        whole = quantized_product(n, x, w, product, depth, bias, result)
        if whole is not None:
            return whole
    total = integer_sum(n, x, w, product, bias if row else None)
    if not row:
        total = n.emit("add", total, bias)
    m = multiplier(n, scale, _columns(n, n.value(4), width), n.optional(7))
    if not n.has(7):
        return n.final("mul", in_float32(n, total), m)
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
        total = integer_sum(
            n, _left(a, n.optional(4)), _right(b, n.optional(5)), _matmul_product(n)
        )
        m = multiplier(n, n.value(2), spread(n, n.value(3), b, Layout(-1)), None)
        return _scaled(n, total, m, n.optional(6))

    return as_matrices(n, n.value(0), n.value(1), product)


def _stored(n: NodeContext, axis: int) -> Value | None:
    """The weights as int8 with a scale for all or one per index of an axis; None if they are no such constant."""
    b, scale, zero = n.constant(1), n.constant(2), n.constant(3)
    if b is None or scale is None or b.dtype not in (np.int8, np.uint8):
        return None
    if b.ndim < 2 or scale.dtype != np.float32 or scale.size not in (1, b.shape[axis]):
        return None
    if n.has(3) and (zero is None or zero.size != scale.size or zero.dtype != b.dtype):
        return None
    shift = 128 if b.dtype == np.uint8 else 0
    zeros = np.zeros(scale.size, np.int32) if zero is None else zero.reshape(-1).astype(np.int32)
    scales = tuple(map(float, scale.reshape(-1)))
    try:
        quant = Quant(
            scales, tuple(int(z) - shift for z in zeros), axis if scale.size > 1 else None
        )
    except QuantizationError:  # a scale of 0, for example
        return None
    return n.const((b.astype(np.int32) - shift).astype(np.int8), DType.QS8, quant)


@onnx_op("DynamicQuantizeMatMul", domain=MICROSOFT)
def dynamic_quantize_matmul(n: NodeContext) -> Any:
    """Inputs: float a, integer b, s_b, z_b, bias. a is quantized as by DynamicQuantizeLinear."""
    w = _stored(n, 1)
    if w is not None and w.type.rank == 2 and n.value(0).type.rank > 1:
        return n.final("matmul_dynamic", n.value(0), w, n.optional(4), range="tensor")

    def product(n: NodeContext, a: Value, b: Value) -> Value:
        scale, zero = dynamic_parameters(n, a)
        byte = n.emit("cast", zero, to=DType.U8)
        steps = rounded(n.inner, n.emit("div", a, scale), byte, DType.U8)
        total = integer_sum(n, _left(steps, byte), _right(b, n.optional(3)), _matmul_product(n))
        m = multiplier(n, scale, spread(n, n.value(2), b, Layout(-1)), None)
        return _scaled(n, total, m, n.optional(4))

    return as_matrices(n, n.value(0), n.value(1), product)


@onnx_op("DynamicQuantizeConv", domain=OWN)
def dynamic_quantize_conv(n: NodeContext) -> Any:
    """Inputs: float x, integer w, s_w, z_w, bias. x is quantized as by DynamicQuantizeLinear."""
    x, w, bias = channels_last(n, n.value(0)), _stored(n, 0), n.optional(4)
    if w is not None:
        return channels_first(n, conv_rows(n, x, w, bias, op="conv_dynamic", range="tensor"))
    scale, zero = dynamic_parameters(n, x)
    byte = n.emit("cast", zero, to=DType.U8)
    steps = rounded(n.inner, n.emit("div", x, scale), byte, DType.U8)
    kernels = _kernels(n.value(1), n.optional(3))
    total = integer_sum(n, _image(steps, byte), kernels, _conv_product(n))
    real = n.emit("mul", in_float32(n, total), multiplier(n, scale, n.value(2), None))
    return channels_first(n, real if bias is None else n.emit("add", real, bias))
