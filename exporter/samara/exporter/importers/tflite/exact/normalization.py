# SPDX-License-Identifier: Apache-2.0
"""L2_NORMALIZATION in TFLite's integers: one fixed-point 1 / sqrt for each row."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from samara.exporter.importers.common.emitter import Emitter
from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.exact.fixed_point import (
    exponent_of,
    high_half,
    shifted_right,
)
from samara.exporter.importers.tflite.exact.quantized import BYTES, are_whole, centred, result_of
from samara.exporter.importers.tflite.registry import exact_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType

_BITS: Final = 7  # of the output's fraction: its scale is 1/128
_THREE_HALVES: Final = (1 << 28) + (1 << 27)
_HALF_ROOT: Final = 1518500250  # sqrt(2) / 2 with 31 bits of fraction


@exact_op("L2_NORMALIZATION")
def l2_normalization(ctx: OperatorContext) -> Any:
    """Along the last axis. int8 is shifted by the exponent less 7, uint8 by 7 to the left first."""
    if not are_whole(ctx, *BYTES):
        return NotImplemented
    x = centred(ctx, 0, DType.I64)
    squares = ctx.emit("mul", x, x)
    total = ctx.emit("reduce_sum", squares, axes=[x.type.rank - 1], keepdims=True)
    factor, right = inverse_root(ctx, total)
    if ctx.tensor(0).type == "UINT8":
        x = ctx.emit("mul", x, _one(ctx, 1 << _BITS))
    else:
        left = ctx.emit("max", ctx.emit("sub", _one(ctx, _BITS), right), _one(ctx, 0))
        x = ctx.emit("shift", x, left, direction="left")
        right = ctx.emit("max", ctx.emit("sub", right, _one(ctx, _BITS)), _one(ctx, 0))
    level = divided_at_run_time(ctx, high_half(ctx, x, factor), right)
    return result_of(ctx, "NONE").steps(ctx, ctx.emit("cast", level, to=DType.F32), 1.0)


def _one(ctx: Emitter, value: int) -> Value:
    return ctx.const(np.int64(value))


def divided_at_run_time(ctx: Emitter, x: Value, right: Value) -> Value:
    """x / 2^right, halves away from zero, as `divided_by` does it for shifts known at import."""
    scaled = ctx.emit("mul", x, _one(ctx, (1 << 31) + 1))
    amount = ctx.emit("add", right, _one(ctx, 31))
    half = ctx.emit("shift", _one(ctx, 1 << 30), right, direction="left")
    made: Value = ctx.emit("shift", ctx.emit("add", scaled, half), amount, direction="right")
    return made


def inverse_root(ctx: Emitter, total: Value) -> tuple[Value, Value]:
    """(mantissa, right shift) of 1 / sqrt(total) for int32 sums of squares; 0 counts as 1."""
    is_small = ctx.emit("le", total, _one(ctx, 1))
    safe = ctx.emit("max", total, _one(ctx, 2))
    is_large = ctx.emit("cast", ctx.emit("le", _one(ctx, 1 << 29), safe), to=DType.I64)
    down = ctx.emit("add", is_large, is_large)
    value = ctx.emit("shift", safe, down, direction="right")
    # Shift pairs of bits until the number lies in 2^27…2^29.
    spare = ctx.emit("sub", _one(ctx, 30), exponent_of(ctx, value))
    pairs = ctx.emit("sub", shifted_right(ctx, spare, 1), _one(ctx, 1))
    value = ctx.emit("shift", value, ctx.emit("add", pairs, pairs), direction="left")
    right = ctx.emit("sub", ctx.emit("add", _one(ctx, 11), is_large), pairs)
    root = high_half(ctx, _newton(ctx, value), _HALF_ROOT)
    up = ctx.emit("max", ctx.emit("neg", right), _one(ctx, 0))
    factor = ctx.emit("shift", root, up, direction="left")
    shift = ctx.emit("max", right, _one(ctx, 0))
    factor = ctx.emit("where", is_small, _one(ctx, (1 << 31) - 1), factor)
    return factor, ctx.emit("where", is_small, _one(ctx, 0), shift)


def _newton(ctx: Emitter, value: Value) -> Value:
    """Five steps x = 1.5 x - v / 2 * x^3 with 3 integer bits, from x = 1."""
    half = shifted_right(ctx, ctx.emit("add", shifted_right(ctx, value, 1), _one(ctx, 1)), 1)
    x = _one(ctx, 1 << 28)
    for _ in range(5):
        cube = _held(ctx, high_half(ctx, high_half(ctx, x, x), x), 6)
        step = ctx.emit("sub", high_half(ctx, x, _THREE_HALVES), high_half(ctx, half, cube))
        x = _held(ctx, step, 3)
    return x


def _held(ctx: Emitter, x: Value, left: int) -> Value:
    """x * 2^left, saturated to int32."""
    most = (1 << 31) - 1
    wide = ctx.emit("mul", x, _one(ctx, 1 << left))
    wide = ctx.emit("max", ctx.emit("min", wide, _one(ctx, most)), _one(ctx, -most - 1))
    made: Value = wide
    return made
