# SPDX-License-Identifier: Apache-2.0
"""Convolutions and matrix products in TFLite's integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from samara.exporter.importers.tflite import tensors
from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.exact.fixed_point import (
    Fixed,
    requantized,
    rounded_double,
    scaled_wide,
)
from samara.exporter.importers.tflite.exact.quantized import (
    BYTES,
    are_whole,
    as_qs8,
    integers,
    is_whole,
    result_of,
    scale_of,
)
from samara.exporter.importers.tflite.handlers import products, windows
from samara.exporter.importers.tflite.registry import Handler, exact_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, Quant

_INTEGER: Final = {"conv": "qconv", "matmul": "qmatmul", "conv_transpose": "qconv_transpose"}


class Sums(OperatorContext):
    """The operator for its other converter, which then makes int32 sums of products: tensors are seen as they are
    stored, and there is no activation. `given` replaces inputs.
    """

    def __init__(self, ctx: OperatorContext, given: Mapping[int, Value | None]) -> None:
        super().__init__(ctx.graph, ctx.operator)
        self.given = given
        self._is_inner = True

    def has(self, index: int) -> bool:
        return super().has(index) and self.given.get(index, True) is not None

    def value(self, index: int) -> Value:
        found = self.given.get(index)
        return self.stored(index) if found is None else found

    def activated(self, op: str, *inputs: Any, function: str | None = None, **attrs: Any) -> Any:
        return self.emit(op, *inputs, **attrs)

    def emit(self, op: str, *inputs: Any, **attrs: Any) -> Any:
        if op in _INTEGER:
            return super().emit(_INTEGER[op], *inputs, to=DType.I32, **attrs)
        return super().emit(op, *inputs, **attrs)


def real_multipliers(ctx: OperatorContext, x: int, w: int) -> list[float]:
    """(scale of x) * (scales of w) / (scale of the output), in the precision of the kernels' preparation."""
    product_of = ctx.tensor(w).parameters
    assert product_of is not None
    given, made = scale_of(ctx.tensor(x)), float(scale_of(ctx.output(0)))
    if ctx.tensor(x).type == "UINT8":
        return [float(given * np.float32(product_of.scales[0])) / made]
    return [float(given) * float(np.float32(s)) / made for s in product_of.scales]


def weights(ctx: OperatorContext, index: int) -> Value:
    """Weights as qs8. Kernels of int8 activations take no zero points from them."""
    w = ctx.stored(index)
    quant = w.type.quant
    if ctx.tensor(index).type == "UINT8" or quant is None or not any(quant.zero_points):
        return w
    plain = Quant(quant.scales, (0,) * len(quant.scales), quant.axis)
    if w.constant is not None:
        return ctx.const(w.constant, DType.QS8, plain)
    made: Value = ctx.emit("reinterpret", w, to=DType.QS8, **tensors.attributes_of(plain))
    return made


def _is_integer(ctx: OperatorContext, x: int, w: int, *types: str) -> bool:
    """Whether x and the output are quantized and of these types (8 bits unless given), the weights of 8 or 4."""
    weight = ctx.tensor(w)
    return (
        all(is_whole(t, *(types or BYTES)) for t in (ctx.tensor(x), ctx.output(0)))
        and tensors.parameters_of(weight) is not None
        and weight.type in (*BYTES, "INT4")
        and weight.sparsity is None
    )


def _convolution(convert: Handler, x: int, w: int) -> Handler:
    """The exact form of a convolution with these inputs; its bias comes behind them."""
    bias = max(x, w) + 1

    def exact(ctx: OperatorContext) -> Any:
        if _is_integer(ctx, x, w):
            acc = convert(Sums(ctx, {w: weights(ctx, w)}))
            fixed = Fixed.of(real_multipliers(ctx, x, w))
            return requantized(ctx, acc, fixed, result_of(ctx))
        if not _is_integer(ctx, x, w, "INT16"):
            return NotImplemented
        acc = _wide_sums(ctx, convert, x, w, bias)
        fixed = Fixed.of(real_multipliers(ctx, x, w))
        is_short = ctx.option("quantized_bias_type", "FLOAT32") == "INT32" or (
            ctx.has(bias) and ctx.tensor(bias).type == "INT32"
        )
        result = result_of(ctx)
        if is_short and ctx.op_type == "CONV_2D":
            return requantized(ctx, acc, fixed, result)
        return result.whole(ctx, scaled_wide(ctx, acc, fixed))

    return exact


def _wide_sums(ctx: OperatorContext, convert: Handler, x: int, w: int, bias: int) -> Value:
    """int64 sums of int16 x, as 256 times those of its high bytes and those of its low bytes, and the bias."""
    parts = []
    for part in halves_of(ctx, x):
        acc = convert(Sums(ctx, {x: part, w: weights(ctx, w), bias: None}))
        parts.append(ctx.emit("cast", acc, to=DType.I64))
    total: Value = ctx.emit("mul", parts[0], ctx.const(np.int64(256)))
    total = ctx.emit("add", total, parts[1])
    if ctx.has(bias):
        total = ctx.emit("add", total, integers(ctx, bias, DType.I64))
    return total


def halves_of(ctx: OperatorContext, index: int) -> tuple[Value, Value]:
    """int16 input `index` as the qs8 numbers h and l of 256 * h + l."""
    q = integers(ctx, index)
    high = ctx.emit("shift", q, ctx.const(np.int32(8)), direction="right")
    low = ctx.emit("bitwise_and", q, ctx.const(np.int32(255)))
    return (
        as_qs8(ctx, ctx.emit("cast", high, to=DType.I8), 0),
        as_qs8(ctx, ctx.emit("cast", low, to=DType.U8), -128),
    )


exact_op("CONV_2D")(_convolution(windows.conv_2d, 0, 1))
exact_op("DEPTHWISE_CONV_2D")(_convolution(windows.depthwise_conv_2d, 0, 1))
exact_op("TRANSPOSE_CONV")(_convolution(windows.transpose_conv, 2, 1))


@exact_op("FULLY_CONNECTED")
def fully_connected(ctx: OperatorContext) -> Any:
    """Sums are scaled in float64 and rounded once."""
    p = ctx.tensor(1).parameters
    if _is_integer(ctx, 0, 1):
        assert p is not None
        given = {1: weights(ctx, 1)} if len(p.scales) > 1 else {}
        acc = products.fully_connected(Sums(ctx, given))
    elif _is_integer(ctx, 0, 1, "INT16"):
        acc = _wide_sums(ctx, products.fully_connected, 0, 1, 2)
    else:
        return NotImplemented
    assert p is not None
    made = float(scale_of(ctx.output(0)))
    reals = [float(scale_of(ctx.tensor(0))) * float(np.float32(s)) / made for s in p.scales]
    return rounded_double(ctx, acc, reals, result_of(ctx))


@exact_op("BATCH_MATMUL")
def batch_matmul(ctx: OperatorContext) -> Any:
    if not are_whole(ctx, "INT8"):
        return NotImplemented
    acc = products.batch_matmul(Sums(ctx, {}))
    product = scale_of(ctx.tensor(0)) * scale_of(ctx.tensor(1))
    real = float(np.float32(product)) / float(scale_of(ctx.output(0)))
    return requantized(ctx, acc, Fixed.of(real), result_of(ctx, "NONE"))
