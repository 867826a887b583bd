# SPDX-License-Identifier: Apache-2.0
"""Pools in TFLite's integers."""

from __future__ import annotations

from typing import Any

from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.exact.quantized import BYTES, are_whole, result_of
from samara.exporter.importers.tflite.handlers.windows import pool_window
from samara.exporter.importers.tflite.registry import exact_op
from samara.exporter.types import DType

# Larger windows would need a divisor closer to 1.
_LARGEST = 1024
_AWAY = 1 - 2.0**-20


@exact_op("AVERAGE_POOL_2D")
def average_pool_2d(ctx: OperatorContext) -> Any:
    """The mean of the file's integers, halves away from zero; padding does not count."""
    if not are_whole(ctx, *BYTES):
        return NotImplemented
    x = ctx.emit("cast", ctx.plain(0), to=DType.F32)
    window = pool_window(ctx, x)
    if window["kernel"][0] * window["kernel"][1] > _LARGEST:
        return NotImplemented
    mean = ctx.emit("avg_pool", x, extend=[0, 0], **window)
    # Means are multiples of 1 / count, so that only ties cross a half.
    zero = -128 if ctx.output(0).type == "UINT8" else 0
    return result_of(ctx).steps(ctx, mean, _AWAY, zero)


@exact_op("MAX_POOL_2D")
def max_pool_2d(ctx: OperatorContext) -> Any:
    if not are_whole(ctx, *BYTES):
        return NotImplemented
    x = ctx.stored(0)
    return result_of(ctx).bytes(ctx, ctx.emit("max_pool", x, **pool_window(ctx, x)))
