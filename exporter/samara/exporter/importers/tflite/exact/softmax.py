# SPDX-License-Identifier: Apache-2.0
"""SOFTMAX and LOG_SOFTMAX in TFLite's integers: exponentials by table, the rest once per row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.exact import short
from samara.exporter.importers.tflite.exact.fixed_point import (
    Fixed,
    divided_by,
    exponent_of,
    high_half,
    scaled,
    shifted_right,
)
from samara.exporter.importers.tflite.exact.quantized import (
    BYTES,
    are_whole,
    integers,
    result_of,
    scale_of,
)
from samara.exporter.importers.tflite.exact.transcendental import WIDE
from samara.exporter.importers.tflite.registry import exact_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType

# Integer bits of the exponent's argument, and of the sum of exponentials.
_ARGUMENT_BITS: Final = 5
_SUM_BITS: Final = 12
_MOST: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class _Exponents:
    """Multiples of a distance to the largest element: beta * scale with 26 bits of fraction, up to a radius."""

    fixed: Fixed
    radius: int

    @staticmethod
    def of(beta: float, scale: np.float32) -> _Exponents:
        real = min(beta * float(scale) * (1 << (31 - _ARGUMENT_BITS)), float(_MOST))
        fixed = Fixed.of(real)
        reach = ((1 << _ARGUMENT_BITS) - 1) * (1 << (31 - _ARGUMENT_BITS))
        return _Exponents(fixed, math.floor(reach / (1 << max(fixed.shifts[0], 0))))

    def arguments(self) -> np.ndarray[Any, Any]:
        """-beta * scale * d for d = 0…255, 0 beyond the radius."""
        distance = np.arange(256, dtype=np.int64)
        return self.fixed.times(np.where(distance <= self.radius, -distance, 0))

    def powers(self) -> np.ndarray[Any, Any]:
        """exp of them with 31 bits of fraction, 0 beyond the radius."""
        exp = WIDE.exp_of_negative(self.arguments(), _ARGUMENT_BITS)
        return np.where(np.arange(256) <= self.radius, exp, 0)


def _summed(ctx: OperatorContext, exponents: _Exponents) -> tuple[Value, Value, Value]:
    """(distances to the largest element of a row, their exponentials, sums of these with 19 bits of fraction)."""
    q = integers(ctx, 0)
    last = q.type.rank - 1
    most = ctx.emit("reduce_max", q, axes=[last], keepdims=True)
    distance = ctx.emit("sub", most, q)
    exp = ctx.emit("gather", ctx.const(exponents.powers()), distance, axis=0, wrap=False)
    half = ctx.const(np.int64(1 << (_SUM_BITS - 1)))
    terms = shifted_right(ctx, ctx.emit("add", exp, half), _SUM_BITS)
    return distance, exp, ctx.emit("reduce_sum", terms, axes=[last], keepdims=True)


@exact_op("SOFTMAX")
def softmax(ctx: OperatorContext) -> Any:
    """exp by table, its sum with 19 bits of fraction, the reciprocal by three steps of Newton's method."""
    if are_whole(ctx, "INT16"):
        return short.softmax(ctx)
    if not are_whole(ctx, *BYTES):
        return NotImplemented
    exponents = _Exponents.of(float(ctx.option("beta", 1.0)), scale_of(ctx.tensor(0)))
    _, exp, total = _summed(ctx, exponents)
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


# ---- the logarithm


@exact_op("LOG_SOFTMAX")
def log_softmax(ctx: OperatorContext) -> Any:
    """Results below a limit of the row are the lowest."""
    if not are_whole(ctx, *BYTES):
        return NotImplemented
    exponents = _Exponents.of(1.0, scale_of(ctx.tensor(0)))
    distance, _, total = _summed(ctx, exponents)
    log = _logarithm(ctx, total)
    shift = exponents.fixed.shifts[0]
    back = Fixed.of(float(1 << (31 - shift)) / exponents.fixed.mantissas[0])
    lowest = scaled(ctx, ctx.emit("sub", log, ctx.const(np.int64(1 << 31))), back)
    limit = ctx.emit("max", lowest, ctx.const(np.int64(-exponents.radius - 1)))
    table = ctx.const(exponents.arguments())
    argument = ctx.emit("gather", table, distance, axis=0, wrap=False)
    level = divided_by(ctx, ctx.emit("sub", argument, log), np.array([31 - _ARGUMENT_BITS - 4]))
    below = ctx.emit("neg", ctx.emit("cast", distance, to=DType.I64))
    is_near = ctx.emit("lt", limit, below)
    level = ctx.emit("where", is_near, level, ctx.const(np.int64(-(1 << 10))))
    return result_of(ctx, "NONE").whole(ctx, level, 127)


def _logarithm(ctx: OperatorContext, x: Value) -> Value:
    """log(x) with 5 integer bits of x >= 1 with 12: a rational function around 2^-1/4 of x over a power of two."""

    def one(value: float, integer_bits: int = 0) -> Value:
        return ctx.const(np.int64(WIDE.number(value, integer_bits)))

    def times(a: Value, b: Value) -> Value:
        return high_half(ctx, a, b)

    def add(a: Value, b: Value) -> Value:
        made: Value = ctx.emit("add", a, b)
        return made

    middle, root, fourth = 0.5**0.25, one(0.5**0.5), 2.0**0.25
    r, power = _mantissa(ctx, x, root)
    p = shifted_right(ctx, add(add(r, one(middle)), ctx.const(np.int64(1))), 1)
    q = ctx.emit("sub", r, one(middle))
    q = add(q, q)
    square = times(q, q)
    number = add(times(q, r), times(times(q, square), one(11 / 240 * fourth)))
    inner = add(add(one(2 / fourth - fourth), q), times(one(fourth / 20), square))
    below = add(times(p, inner), times(one(fourth / 4), q))
    fraction = times(divided_by(ctx, number, np.array([6])), _reciprocal(ctx, below))
    log = add(times(power, one(math.log(2))), fraction)
    made: Value = ctx.emit("min", add(log, log), ctx.const(np.int64(_MOST)))
    return made


def _mantissa(ctx: OperatorContext, x: Value, root: Value) -> tuple[Value, Value]:
    """(x over a power of two, between 2^-1/2 and 1, and the power with 6 integer bits), a quarter off."""

    def saturated(value: Value) -> Value:
        made: Value = ctx.emit("min", value, ctx.const(np.int64(_MOST)))
        return made

    def integer(value: Value, offset: int, more: int) -> Value:
        """(value + offset) + more / 4 with 25 bits of fraction."""
        whole = ctx.emit("add", value, ctx.const(np.int64(offset)))
        wide = ctx.emit("mul", whole, ctx.const(np.int64(1 << 25)))
        made: Value = ctx.emit("add", wide, ctx.const(np.int64(more << 23)))
        return made

    first = exponent_of(ctx, x)
    up = ctx.emit("shift", x, ctx.emit("sub", ctx.const(np.int64(30)), first), direction="left")
    reduced = high_half(ctx, up, root)
    a = saturated(ctx.emit("add", reduced, reduced))
    second = exponent_of(ctx, high_half(ctx, x, root))
    amount = ctx.emit("sub", ctx.const(np.int64(30)), second)
    b = saturated(ctx.emit("shift", x, amount, direction="left"))
    # 31 - first and 30 - second bits lie above the leading one.
    powers = integer(first, _SUM_BITS - 31, 1), integer(second, _SUM_BITS - 30, -1)
    return ctx.emit("min", a, b), ctx.emit("max", *powers)
