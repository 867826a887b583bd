# SPDX-License-Identifier: Apache-2.0
"""Operators of two quantized operands in TFLite's integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.exact.fixed_point import (
    Fixed,
    divided_by,
    high_half,
    requantized,
    scaled,
)
from samara.exporter.importers.tflite.exact.normalization import divided_at_run_time
from samara.exporter.importers.tflite.exact.quantized import (
    BYTES,
    are_whole,
    centred,
    integers,
    is_whole,
    looked_up,
    result_of,
    scale_of,
    zero_of,
)
from samara.exporter.importers.tflite.exact.transcendental import WIDE
from samara.exporter.importers.tflite.registry import Handler, exact_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType


def _common(ctx: OperatorContext, index: int, fixed: Fixed, left: int) -> Value:
    """(q - zero point) * 2^left times a multiplier below 1, int64."""
    tensor = ctx.tensor(index)
    if tensor.type in BYTES:
        steps = np.arange(-128, 128, dtype=np.int64) - zero_of(tensor)
        return looked_up(ctx, index, fixed.times(steps << left))
    shifted = ctx.emit("mul", centred(ctx, index, DType.I64), ctx.const(np.int64(1 << left)))
    return scaled(ctx, shifted, fixed)


def _halves(ctx: OperatorContext) -> tuple[float, Fixed, Fixed]:
    """(twice the larger scale of the inputs, the inputs' scales in units of it)."""
    a, b = (scale_of(ctx.tensor(i)) for i in (0, 1))
    twice = float(np.float32(2) * max(a, b))
    return twice, Fixed.of(float(a) / twice), Fixed.of(float(b) / twice)


def _power_of(scale: np.float32) -> int | None:
    """The logarithm of a scale if it is a whole number, within the tolerance of the kernels."""
    log = float(np.log2(np.float64(scale)))
    return round(log) if abs(log - round(log)) < 1e-3 else None


def _rights(ctx: OperatorContext) -> list[int] | None:
    """How far int16 operands with power-of-two scales are shifted right, one of them not at all; None of others."""
    if not ctx.option("pot_scale_int16", True) or ctx.output(0).type != "INT16":
        return None
    powers = [_power_of(scale_of(t)) for t in (ctx.tensor(0), ctx.tensor(1), ctx.output(0))]
    known = [p for p in powers if p is not None]
    return [known[2] - p for p in known[:2]] if len(known) == 3 else None


def _sum(op: str) -> Handler:
    """The sum or difference of operands in units of twice the larger scale."""

    def exact(ctx: OperatorContext) -> Any:
        if not are_whole(ctx, *BYTES, "INT16"):
            return NotImplemented
        rights = _rights(ctx)
        if rights is not None:
            if min(rights) != 0:
                return NotImplemented
            sides = [
                divided_by(ctx, integers(ctx, i, DType.I64), np.array([n]))
                for i, n in enumerate(rights)
            ]
            return result_of(ctx).whole(ctx, ctx.emit(op, *sides))
        left = 15 if ctx.output(0).type == "INT16" else 20
        twice, *halves = _halves(ctx)
        a, b = (_common(ctx, i, fixed, left) for i, fixed in enumerate(halves))
        made = float(np.float32(1 << left) * scale_of(ctx.output(0)))
        return requantized(ctx, ctx.emit(op, a, b), Fixed.of(twice / made), result_of(ctx))

    return exact


exact_op("ADD")(_sum("add"))
exact_op("SUB")(_sum("sub"))


@exact_op("MUL")
def mul(ctx: OperatorContext) -> Any:
    if not are_whole(ctx, *BYTES, "INT16"):
        return NotImplemented
    a, b = (scale_of(ctx.tensor(i)) for i in (0, 1))
    product = ctx.emit("mul", centred(ctx, 0), centred(ctx, 1))
    real = float(a * b / scale_of(ctx.output(0)))
    return requantized(ctx, product, Fixed.of(real), result_of(ctx))


@exact_op("DIV")
def div(ctx: OperatorContext) -> Any:
    """a * (1 / b): both with 31 bits, by tables, for positive b; their product is shifted back by element.

    The kernel's result depends on the CPU where that is by more than 31 bits; here it is by 31 then.
    """
    if not are_whole(ctx, *BYTES):
        return NotImplemented
    x, y, made = (scale_of(t) for t in (ctx.tensor(0), ctx.tensor(1), ctx.output(0)))
    fixed = Fixed.of(float(x / (y * made)))
    b = np.arange(-128, 128, dtype=np.int64) - zero_of(ctx.tensor(1))
    size = np.maximum(np.abs(b), 1)
    power = np.floor(np.log2(size)).astype(np.int64)
    inverse = looked_up(ctx, 1, WIDE.reciprocal((size << (31 - power)) - (1 << 31)))
    a = ctx.emit("mul", centred(ctx, 0), looked_up(ctx, 1, np.sign(b).astype(np.int32)))
    # -256…255, those from 0 on first, since negative indices count from the end.
    steps = np.roll(np.arange(-256, 256, dtype=np.int64), 256)
    free = _sign_bits(steps)
    wide = ctx.emit("gather", ctx.const(steps << free), a, axis=0, wrap=True)
    right = ctx.emit("gather", ctx.const(free), a, axis=0, wrap=True)
    right = ctx.emit("add", right, looked_up(ctx, 1, power - fixed.shifts[0]))
    right = ctx.emit("min", right, ctx.const(np.int64(31)))
    level = high_half(ctx, high_half(ctx, wide, inverse), fixed.mantissas[0])
    level = divided_at_run_time(ctx, level, right)
    return result_of(ctx).steps(ctx, ctx.emit("cast", level, to=DType.F32), 1.0)


def _sign_bits(x: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many bits below the sign bit of int32 numbers equal it."""
    size = np.where(x < 0, -x - 1, x)
    return np.array([31 - int(n).bit_length() for n in size], np.int64)


@exact_op("SQUARED_DIFFERENCE")
def squared_difference(ctx: OperatorContext) -> Any:
    if not are_whole(ctx, "INT8"):
        return NotImplemented
    left = 7
    twice, *halves = _halves(ctx)
    a, b = (_common(ctx, i, fixed, left) for i, fixed in enumerate(halves))
    d = ctx.emit("sub", a, b)
    made = float(np.float32(1 << 2 * left) * scale_of(ctx.output(0)))
    return requantized(ctx, ctx.emit("mul", d, d), Fixed.of(twice * twice / made), result_of(ctx))


@exact_op("PRELU")
def prelu(ctx: OperatorContext) -> Any:
    """Positive steps are rescaled, negative ones multiplied by those of the slope first."""
    if not are_whole(ctx, *BYTES):
        return NotImplemented
    x, slope = (scale_of(ctx.tensor(i)) for i in (0, 1))
    made = scale_of(ctx.output(0))
    steps = np.arange(-128, 128, dtype=np.int64) - zero_of(ctx.tensor(0))
    same = looked_up(ctx, 0, Fixed.of(float(x / made)).times(steps))
    wide = centred(ctx, 0)
    product = ctx.emit("mul", wide, centred(ctx, 1))
    sloped = scaled(ctx, product, Fixed.of(float(x * slope / made)))
    is_negative = ctx.emit("lt", wide, ctx.const(np.int32(0)))
    return result_of(ctx).whole(ctx, ctx.emit("where", is_negative, sloped, same))


def _comparison(op: str, swapped: bool = False) -> Handler:
    """Of operands in units of 2^-8 of their scales."""

    def exact(ctx: OperatorContext) -> Any:
        if not all(is_whole(ctx.tensor(i), *BYTES) for i in (0, 1)):
            return NotImplemented
        sides = [_common(ctx, i, Fixed.of(float(scale_of(ctx.tensor(i)))), 8) for i in (0, 1)]
        a, b = reversed(sides) if swapped else sides
        if op == "ne":
            return ctx.final("logical_not", ctx.emit("eq", a, b))
        return ctx.final(op, a, b)

    return exact


for _name, _op, _swapped in (
    ("EQUAL", "eq", False),
    ("NOT_EQUAL", "ne", False),
    ("LESS", "lt", False),
    ("LESS_EQUAL", "le", False),
    ("GREATER", "lt", True),
    ("GREATER_EQUAL", "le", True),
):
    exact_op(_name)(_comparison(_op, _swapped))
