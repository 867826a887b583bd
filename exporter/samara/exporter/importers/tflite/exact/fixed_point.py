# SPDX-License-Identifier: Apache-2.0
"""TFLite's fixed point: real multipliers as int32 mantissas with shifts, in numpy and as IR nodes.

A product rounds twice, as the reference kernels do: x * mantissa / 2^31 to the nearest integer with halves up,
then / 2^right to the nearest with halves away from zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.exporter.importers.common.emitter import Emitter
from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.exact.quantized import Result
from samara.exporter.ir.program import Value
from samara.exporter.types import DType

Integers = npt.NDArray[np.int64]

HALF: Final = 1 << 30
# A quotient by 2^right in float32 distinguishes ties from their neighbours up to this shift, because results
# beyond 9 bits saturate.
_MOST: Final = 13
# Divisors are this much smaller than powers of two, so that exact ties move away from zero.
AWAY: Final = 1 - 2.0**-23


def half_away(x: float) -> int:
    """x rounded to the nearest integer, halves away from zero."""
    return int(math.copysign(math.floor(abs(x) + 0.5), x))


@dataclass(frozen=True, slots=True)
class Fixed:
    """Real multipliers, one or one per channel: mantissa * 2^(shift - 31)."""

    mantissas: tuple[int, ...]
    shifts: tuple[int, ...]

    @staticmethod
    def of(reals: float | Iterable[float]) -> Fixed:
        """The fixed-point form of doubles; equal ones are stored once."""
        given = [reals] if isinstance(reals, (int, float)) else list(reals)
        pairs = [_fixed(float(r)) for r in given]
        if all(p == pairs[0] for p in pairs):
            pairs = pairs[:1]
        return Fixed(tuple(m for m, _ in pairs), tuple(s for _, s in pairs))

    @property
    def factors(self) -> Integers:
        """What x is multiplied by before the first rounding."""
        pairs = zip(self.mantissas, self.shifts, strict=True)
        return np.array([m << max(s, 0) for m, s in pairs], np.int64)

    @property
    def rights(self) -> Integers:
        """Shifts of the second rounding."""
        return np.array([max(-s, 0) for s in self.shifts], np.int64)

    def times(self, x: Any) -> Integers:
        """Products of integers in numpy."""
        high = (np.asarray(x, np.int64) * _plain(self.factors) + HALF) >> 31
        return divided(high, _plain(self.rights))


def _fixed(real: float) -> tuple[int, int]:
    """(mantissa, shift) of a multiplier; 0 below 2^-31."""
    if real == 0.0:
        return 0, 0
    part, shift = math.frexp(real)
    mantissa = half_away(part * (1 << 31))
    if mantissa == 1 << 31:
        mantissa, shift = mantissa // 2, shift + 1
    return (0, 0) if shift < -31 else (mantissa, shift)


def _plain(array: Integers) -> Any:
    """A single element as a scalar, which broadcasts without a shape."""
    return array.reshape(()) if array.size == 1 else array


def divided(x: Any, right: Any) -> Integers:
    """x / 2^right in numpy, halves away from zero."""
    x, right = np.asarray(x, np.int64), np.asarray(right, np.int64)
    half = np.where(right > 0, np.int64(1) << np.maximum(right - 1, 0), 0)
    return np.asarray((x + half - ((x < 0) & (right > 0))) >> right)


# ---- as nodes


def high_product(ctx: Emitter, x: Value, fixed: Fixed) -> Value:
    """The product after its first rounding, int64."""
    wide = x if x.type.dtype is DType.I64 else ctx.emit("cast", x, to=DType.I64)
    product = ctx.emit("mul", wide, ctx.const(_plain(fixed.factors)))
    nudged = ctx.emit("add", product, ctx.const(np.int64(HALF)))
    made: Value = ctx.emit("shift", nudged, ctx.const(np.int64(31)), direction="right")
    return made


def divided_by(ctx: Emitter, x: Value, rights: Integers) -> Value:
    """int64 x of at most 32 bits / 2^rights, halves away from zero.

    x * (2^31 + 1) lies less than 1/2^31 of x farther from zero than x * 2^31, so that a half that is added before
    the shift rounds ties of negative x down.
    """
    if not rights.any():
        return x
    # Without a shift, this half keeps the excess of up to 30 bits from the result.
    half = np.int64(1) << (rights + 30)
    scaled = ctx.emit("mul", x, ctx.const(np.int64((1 << 31) + 1)))
    nudged = ctx.emit("add", scaled, ctx.const(_plain(half)))
    made: Value = ctx.emit("shift", nudged, ctx.const(_plain(rights + 31)), direction="right")
    return made


def scaled(ctx: Emitter, x: Value, fixed: Fixed) -> Value:
    """The product, int64."""
    return divided_by(ctx, high_product(ctx, x, fixed), fixed.rights)


def scaled_wide(ctx: Emitter, x: Value, fixed: Fixed) -> Value:
    """int64 sums of 48 bits times a multiplier, which has 16 bits then and rounds once, halves up."""
    short = [0x7FFF if m >= 0x7FFF0000 else (m + (1 << 15)) >> 16 for m in fixed.mantissas]
    right = 15 - np.array(fixed.shifts, np.int64)
    product = ctx.emit("mul", x, ctx.const(_plain(np.array(short, np.int64))))
    nudged = ctx.emit("add", product, ctx.const(_plain(np.int64(1) << (right - 1))))
    made: Value = ctx.emit("shift", nudged, ctx.const(_plain(right)), direction="right")
    return made


def requantized(ctx: OperatorContext, x: Value, fixed: Fixed, result: Result) -> Value:
    """The product of sums x in the form of a result: its zero point added, clamped, stored."""
    if result.is_bytes:
        return narrowed(ctx, high_product(ctx, x, fixed), fixed.rights, result)
    return result.whole(ctx, scaled(ctx, x, fixed))


def narrowed(ctx: OperatorContext, x: Value, rights: Integers, result: Result) -> Value:
    """int64 x / 2^rights, halves away from zero, as a result of 8 bits."""
    return result.steps(ctx, *steps_of(ctx, x, rights))


def steps_of(ctx: Emitter, x: Value, rights: Integers) -> tuple[Value, float]:
    """(float32 numbers, their divisor), which `quantize` rounds to int64 x / 2^rights with halves away from zero."""
    most = int(rights.max())
    if most > _MOST:
        x, most = divided_by(ctx, x, rights), 0
    real = ctx.emit("cast", x, to=DType.F32)
    if most and (rights != most).any():
        real = ctx.emit("mul", real, ctx.const(np.ldexp(np.float32(1), most - rights)))
    return real, 2.0**most * AWAY if most else 1.0


def rounded_double(
    ctx: OperatorContext, x: Value, reals: float | Iterable[float], result: Result
) -> Value:
    """The products of int32 x with doubles, rounded once to the nearest with halves away from zero.

    The doubled product loses its fraction towards zero, which keeps ties and both sides of them apart.
    """
    factors = np.atleast_1d(np.asarray(reals, np.float64)) * 2
    factors = factors[:1] if (factors == factors[0]).all() else factors
    wide = ctx.emit("cast", x, to=DType.F64)
    factor = ctx.const(factors.reshape(()) if factors.size == 1 else factors)
    twice = ctx.emit("cast", ctx.emit("mul", wide, factor), to=DType.I64)
    if result.is_bytes:
        return result.steps(ctx, ctx.emit("cast", twice, to=DType.F32), 2 * AWAY)
    return result.whole(ctx, divided_by(ctx, twice, np.array([1])))


# ---- numbers known only at run time


def exponent_of(ctx: Emitter, x: Value) -> Value:
    """floor(log2(x)) of positive int64 x below 2^53, from its form in float64."""
    bits = ctx.emit("bitcast", ctx.emit("cast", x, to=DType.F64), to=DType.I64)
    made: Value = ctx.emit("sub", shifted_right(ctx, bits, 52), ctx.const(np.int64(1023)))
    return made


def shifted_right(ctx: Emitter, x: Value, amount: int) -> Value:
    made: Value = ctx.emit("shift", x, ctx.const(np.int64(amount)), direction="right")
    return made


def high_half(ctx: Emitter, a: Value, b: Value | int) -> Value:
    """The high half of twice a product of int32 numbers, rounded, in int64."""
    other = ctx.const(np.int64(b)) if isinstance(b, int) else b
    product = ctx.emit("add", ctx.emit("mul", a, other), ctx.const(np.int64(1 << 30)))
    return shifted_right(ctx, product, 31)
