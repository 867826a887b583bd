# SPDX-License-Identifier: Apache-2.0
"""Functions of one quantized operand: their results for all 256 (or 65536) inputs, computed at import as the
reference kernels do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.exact import short
from samara.exporter.importers.tflite.exact.fixed_point import (
    AWAY,
    Fixed,
    divided,
    divided_by,
    requantized,
)
from samara.exporter.importers.tflite.exact.quantized import (
    BYTES,
    Result,
    are_whole,
    centred,
    is_whole,
    looked_up,
    result_of,
    scale_of,
    zero_of,
)
from samara.exporter.importers.tflite.registry import Handler, exact_op
from samara.exporter.types import DType

Array = npt.NDArray[Any]


def steps_of(ctx: OperatorContext) -> Array:
    """q - zero point for every stored integer of input 0."""
    tensor = ctx.tensor(0)
    half = 128 if tensor.type in BYTES else 1 << 15
    return np.arange(-half, half, dtype=np.int64) - zero_of(tensor)


def tabled(ctx: OperatorContext, levels: Array, result: Result) -> Any:
    """The result whose steps above its zero point are `levels`, one for every stored integer of input 0."""
    table = np.clip(levels + result.zero, result.lo, result.hi)
    x = ctx.stored(0)
    if x.type.dtype is DType.QS8 and result.is_bytes and x.constant is None:
        return result.looked_up(ctx, x, table)
    narrow = looked_up(ctx, 0, table.astype(np.int8 if result.is_bytes else np.int16))
    return result.bytes(ctx, narrow) if result.is_bytes else narrow


# ---- real functions


def rounded(x: Array) -> Array:
    """Halves away from zero."""
    return np.asarray(np.copysign(np.floor(np.abs(x) + 0.5), x))


def _real(function: Callable[[Array], Array], wide: Handler | None = None) -> Handler:
    """A float32 function of dequantized bytes, rounded to the output's steps; `wide` is for int16."""

    def exact(ctx: OperatorContext) -> Any:
        if wide is not None and are_whole(ctx, "INT16"):
            return wide(ctx)
        if not are_whole(ctx, *BYTES):
            return NotImplemented
        result = result_of(ctx)
        real = (scale_of(ctx.tensor(0)) * steps_of(ctx).astype(np.float32)).astype(np.float32)
        with np.errstate(all="ignore"):
            y = function(real.astype(np.float64)).astype(np.float32)
            levels = rounded(y * (np.float32(1) / result.scale))
        return tabled(ctx, np.nan_to_num(levels, posinf=1e6, neginf=-1e6).astype(np.int64), result)

    return exact


exact_op("LOGISTIC")(_real(lambda x: 1 / (1 + np.exp(-x)), short.logistic))
exact_op("TANH")(_real(np.tanh, short.tanh))
exact_op("ELU")(_real(lambda x: np.where(x < 0, np.expm1(x), x)))
exact_op("EXP")(_real(np.exp))


def _gelu(x: Array) -> Array:
    tail = np.array([math.erfc(-v * math.sqrt(0.5)) for v in x])
    return np.asarray(0.5 * x * tail)


def _gelu_by_tanh(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


@exact_op("GELU")
def gelu(ctx: OperatorContext) -> Any:
    return _real(_gelu_by_tanh if ctx.option("approximate", False) else _gelu)(ctx)


@exact_op("LOG")
def log(ctx: OperatorContext) -> Any:
    """Of numbers that are not positive, the lowest result."""
    if not are_whole(ctx, "INT8"):
        return NotImplemented
    made = ctx.output(0)
    lowest = float((-128 - zero_of(made)) * scale_of(made))
    return _real(lambda x: np.where(x > 0, np.log(np.maximum(x, 1e-30)), lowest))(ctx)


@exact_op("SQRT")
def sqrt(ctx: OperatorContext) -> Any:
    """Cut off, in place of rounded."""
    if not are_whole(ctx, "INT8", "INT16"):
        return NotImplemented
    result = result_of(ctx, "NONE")
    real = scale_of(ctx.tensor(0)) * steps_of(ctx).astype(np.float32)
    return tabled(ctx, (np.sqrt(np.maximum(real, 0)) / result.scale).astype(np.int64), result)


# ---- rescaled steps


def _ratio(ctx: OperatorContext) -> np.float32:
    return np.float32(scale_of(ctx.tensor(0)) / scale_of(ctx.output(0)))


def _clamped(low: float, high: float | None) -> Handler:
    types = (*BYTES, "INT16") if high is None else BYTES

    def exact(ctx: OperatorContext) -> Any:
        if not are_whole(ctx, *types):
            return NotImplemented
        result = result_of(ctx, _CLAMPS[low, high])
        return tabled(ctx, Fixed.of(float(_ratio(ctx))).times(steps_of(ctx)), result)

    return exact


_CLAMPS: Final = {
    (0.0, None): "RELU",
    (0.0, 6.0): "RELU6",
    (-1.0, 1.0): "RELU_N1_TO_1",
    (0.0, 1.0): "RELU_0_TO_1",
}


@exact_op("ABS")
def absolute(ctx: OperatorContext) -> Any:
    if not are_whole(ctx, "INT8", "INT16"):
        return NotImplemented
    steps = np.abs(steps_of(ctx))
    if scale_of(ctx.tensor(0)) != scale_of(ctx.output(0)):
        steps = Fixed.of(float(_ratio(ctx))).times(steps)
    return tabled(ctx, steps, result_of(ctx, "NONE"))


exact_op("RELU")(_clamped(0.0, None))
exact_op("RELU6")(_clamped(0.0, 6.0))
exact_op("RELU_N1_TO_1")(_clamped(-1.0, 1.0))
exact_op("RELU_0_TO_1")(_clamped(0.0, 1.0))


@exact_op("LEAKY_RELU")
def leaky_relu(ctx: OperatorContext) -> Any:
    if not are_whole(ctx, *BYTES, "INT16"):
        return NotImplemented
    x, made = scale_of(ctx.tensor(0)), scale_of(ctx.output(0))
    slope = float(np.float32(x * np.float32(ctx.option("alpha", 0.0))) / made)
    steps = steps_of(ctx)
    below = np.sign(slope).astype(np.int64) * Fixed.of(abs(slope)).times(steps)
    levels = np.where(steps >= 0, Fixed.of(float(_ratio(ctx))).times(steps), below)
    return tabled(ctx, levels, result_of(ctx, "NONE"))


@exact_op("HARD_SWISH")
def hard_swish(ctx: OperatorContext) -> Any:
    """In 16-bit fixed point, where 3.0 is 2^15."""
    if not are_whole(ctx, *BYTES):
        return NotImplemented
    fine = np.float32(np.float32(1 / 128) * scale_of(ctx.tensor(0)))
    mantissa, exponent = _short(fine / scale_of(ctx.output(0)))
    if exponent > 0:
        return NotImplemented
    x = steps_of(ctx) << 7
    gate = _gate(x, *_short(fine / np.float32(3 / 32768)))
    product = gate * _high(x, mantissa)
    truncated = np.sign(product) * (np.abs(product) >> 15)
    return tabled(ctx, divided(truncated, -exponent), result_of(ctx, "NONE"))


def _short(real: Any) -> tuple[int, int]:
    """(16-bit mantissa, shift) of a float32 multiplier."""
    fixed = Fixed.of(float(real))
    mantissa, shift = fixed.mantissas[0], fixed.shifts[0]
    limit = (1 << 31) - 1 - (1 << 15)
    return ((1 << 15) - 1 if mantissa >= limit else (mantissa + (1 << 15)) >> 16), shift


def _high(a: Array, b: int) -> Array:
    """a * b / 2^15 of 16-bit numbers, rounded."""
    return np.asarray((a * b + (1 << 14)) >> 15)


def _gate(x: Array, mantissa: int, exponent: int) -> Array:
    """relu6(x + 3) / 6 with 15 bits of fraction."""
    value = x
    if exponent > 0:
        value = np.clip(value << (exponent - 1), -(1 << 15), (1 << 15) - 1)
    value = _high(value, mantissa)
    if exponent > 0:
        value = np.clip(value << 1, -(1 << 15), (1 << 15) - 1)
    if exponent < 0:
        value = divided(value, -exponent)
    return np.asarray((value + (1 << 15)) >> 1)


@exact_op("QUANTIZE")
def quantize(ctx: OperatorContext) -> Any:
    """From other parameters in fixed point, from float32 with halves away from zero."""
    tensor = ctx.output(0)
    if not is_whole(tensor, *BYTES, "INT16"):
        return NotImplemented
    result = result_of(ctx, "NONE")
    if ctx.tensor(0).type == "FLOAT32":
        return _quantized(ctx, result)
    if not is_whole(ctx.tensor(0), *BYTES, "INT16", "INT32"):
        return NotImplemented
    real = float(scale_of(ctx.tensor(0))) / float(scale_of(tensor))
    if ctx.tensor(0).type in BYTES:
        return tabled(ctx, Fixed.of(real).times(steps_of(ctx)), result)
    return requantized(ctx, centred(ctx, 0), Fixed.of(real), result)


def _quantized(ctx: OperatorContext, result: Result) -> Any:
    """float32 in steps: twice the quotient loses its fraction towards zero, so that ties stay apart."""
    half = ctx.const(np.float32(result.scale / np.float32(2)))
    twice = ctx.emit("div", ctx.value(0), half)
    far = float(4 * (result.hi - result.lo))
    whole = ctx.emit("cast", ctx.emit("clamp", twice, lo=-far, hi=far), to=DType.I32)
    if result.is_bytes:
        return result.steps(ctx, ctx.emit("cast", whole, to=DType.F32), 2 * AWAY)
    wide = ctx.emit("cast", whole, to=DType.I64)
    return result.whole(ctx, divided_by(ctx, wide, np.array([1])))
