# SPDX-License-Identifier: Apache-2.0
"""Reductions and normalizations in TFLite's integers."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from samara.exporter.importers.tflite.context import OperatorContext, need_static
from samara.exporter.importers.tflite.exact import short
from samara.exporter.importers.tflite.exact.fixed_point import (
    Fixed,
    exponent_of,
    high_half,
    requantized,
    shifted_right,
)
from samara.exporter.importers.tflite.exact.quantized import (
    BYTES,
    are_whole,
    centred,
    integers,
    is_whole,
    result_of,
    scale_of,
)
from samara.exporter.importers.tflite.exact.transcendental import WIDE
from samara.exporter.importers.tflite.handlers.reduction import axes_of
from samara.exporter.importers.tflite.registry import Handler, exact_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType

# Integer bits of the exponent's argument, and of the sum of exponentials.
_ARGUMENT_BITS: Final = 5
_SUM_BITS: Final = 12


# ---- sums


def _sum(is_mean: bool) -> Handler:
    """The sum of centred integers, scaled; a mean's multiplier takes the number of elements in.

    The reference kernel of SUM reads the bytes of every type as uint8. Sums of int8 are those of its formula.
    """
    types = (*BYTES, "INT16") if is_mean else BYTES

    def exact(ctx: OperatorContext) -> Any:
        if not are_whole(ctx, *types, inputs=1):
            return NotImplemented
        x = centred(ctx, 0)
        axes = axes_of(ctx, x.type.rank)
        fixed = Fixed.of(float(scale_of(ctx.tensor(0))) / float(scale_of(ctx.output(0))))
        if is_mean:
            dims = need_static(
                ctx, [x.type.shape[a] for a in axes], "the sizes of the reduced axes"
            )
            fixed = _divided(fixed, math.prod(dims))
        keep = bool(ctx.option("keep_dims", False))
        acc = ctx.emit("reduce_sum", x, axes=axes, keepdims=keep) if axes else x
        return requantized(ctx, acc, fixed, result_of(ctx))

    return exact


def _divided(fixed: Fixed, count: int) -> Fixed:
    (mantissa,), (shift,) = fixed.mantissas, fixed.shifts
    more = min(count.bit_length() - 1, 32, 31 + shift)
    return Fixed(((mantissa << more) // count,), (shift - more,))


exact_op("SUM")(_sum(False))
exact_op("MEAN")(_sum(True))


# ---- softmax


def _exponentials(beta: float, scale: np.float32) -> np.ndarray[Any, Any]:
    """exp(-beta * scale * d) of 31 bits, by the distance d = 0…255 to the largest element."""
    real = min(beta * float(scale) * (1 << (31 - _ARGUMENT_BITS)), (1 << 31) - 1.0)
    fixed = Fixed.of(real)
    left = max(fixed.shifts[0], 0)
    radius = math.floor(((1 << _ARGUMENT_BITS) - 1) * (1 << (31 - _ARGUMENT_BITS)) / (1 << left))
    distance = np.arange(256, dtype=np.int64)
    within = distance <= radius
    argument = fixed.times(np.where(within, -distance, 0))
    return np.where(within, WIDE.exp_of_negative(argument, _ARGUMENT_BITS), 0)


@exact_op("SOFTMAX")
def softmax(ctx: OperatorContext) -> Any:
    """exp by table, its sum with 19 bits of fraction, the reciprocal by three steps of Newton's method."""
    if are_whole(ctx, "INT16"):
        return short.softmax(ctx)
    if not are_whole(ctx, *BYTES):
        return NotImplemented
    q = integers(ctx, 0)
    last = q.type.rank - 1
    most = ctx.emit("reduce_max", q, axes=[last], keepdims=True)
    distance = ctx.emit("sub", most, q)
    table = _exponentials(float(ctx.option("beta", 1.0)), scale_of(ctx.tensor(0)))
    exp = ctx.emit("gather", ctx.const(table), distance, axis=0, wrap=False)
    half = ctx.const(np.int64(1 << (_SUM_BITS - 1)))
    terms = shifted_right(ctx, ctx.emit("add", exp, half), _SUM_BITS)
    total = ctx.emit("reduce_sum", terms, axes=[last], keepdims=True)
    power = exponent_of(ctx, total)
    left = ctx.emit("sub", ctx.const(np.int64(31)), power)
    above = ctx.emit("shift", total, left, direction="left")
    inverse = _reciprocal(ctx, ctx.emit("sub", above, ctx.const(np.int64(1 << 31))))
    # exp * inverse / 2^31, then / 2^(power + 4): numbers are not negative, so that one sum rounds twice.
    more = ctx.emit("add", power, ctx.const(np.int64(34)))
    second = ctx.emit("shift", ctx.const(np.int64(1)), more, direction="left")
    nudge = ctx.emit("add", second, ctx.const(np.int64(1 << 30)))
    product = ctx.emit("add", ctx.emit("mul", exp, inverse), nudge)
    amount = ctx.emit("add", more, ctx.const(np.int64(1)))
    whole = ctx.emit("shift", product, amount, direction="right")
    return result_of(ctx, "NONE").steps(ctx, ctx.emit("cast", whole, to=DType.F32), 1.0, -128)


def _reciprocal(ctx: OperatorContext, x: Value) -> Value:
    """1 / (1 + x) for x in [0, 1), both with 31 bits of fraction."""
    half = shifted_right(ctx, ctx.emit("add", x, ctx.const(np.int64(1 << 31))), 1)
    y = ctx.emit(
        "add",
        high_half(ctx, half, WIDE.number(-32 / 17, 2)),
        ctx.const(np.int64(WIDE.number(48 / 17, 2))),
    )
    for _ in range(3):
        rest = ctx.emit("sub", ctx.const(np.int64(1 << 29)), high_half(ctx, half, y))
        step = ctx.emit("mul", high_half(ctx, y, rest), ctx.const(np.int64(4)))
        y = ctx.emit("add", y, step)
    doubled = ctx.emit("add", y, y)
    made: Value = ctx.emit("min", doubled, ctx.const(np.int64((1 << 31) - 1)))
    return made


# ---- positions, and normalization by the length


def _position(op: str) -> Handler:
    """Of the file's integers, whose order is that of the real numbers."""

    def exact(ctx: OperatorContext) -> Any:
        if not is_whole(ctx.tensor(0), *BYTES):
            return NotImplemented
        x = ctx.plain(0)
        (axis,) = need_static(ctx, ctx.dims(1, "the axis"), "the axis")
        kind = DType.I64 if ctx.output(0).type == "INT64" else DType.I32
        y = ctx.emit(op, x, axis=ctx.axis(axis, x.type.rank))
        return ctx.final("cast", y, to=kind)

    return exact


exact_op("ARG_MAX")(_position("argmax"))
exact_op("ARG_MIN")(_position("argmin"))
