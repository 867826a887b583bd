# SPDX-License-Identifier: Apache-2.0
"""RESIZE_BILINEAR in TFLite's integers: int8 and int16 with 10 bits of fraction per axis, uint8 in float32."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.exporter.importers.tflite.context import OperatorContext, need_static
from samara.exporter.importers.tflite.exact.fixed_point import divided_by
from samara.exporter.importers.tflite.exact.quantized import BYTES, are_whole, result_of
from samara.exporter.importers.tflite.registry import exact_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Taps:
    """For each output index of an axis: two input indices and their weights."""

    lower: Array
    upper: Array
    lower_weight: Array
    upper_weight: Array


def integer_taps(size: int, made: int, aligned: bool, half: bool) -> Taps:
    """Weights in units of 2^-10."""
    a, b = (size - 1, made - 1) if aligned and made > 1 else (size, made)
    scale = ((a << 10) + b // 2) // b
    at = np.arange(made, dtype=np.int64) * scale
    if half:
        at = at + scale // 2 - (1 << 9)
    lower = np.maximum(_towards_zero(at), 0)
    upper = np.minimum(_towards_zero(at + (1 << 10) - 1), size - 1)
    more = at - (lower << 10)
    return Taps(lower, upper, (1 << 10) - more, more)


def _towards_zero(x: Array) -> Array:
    return np.asarray(np.sign(x) * (np.abs(x) >> 10))


def real_taps(size: int, made: int, aligned: bool, half: bool) -> Taps:
    """Weights in float32."""
    one = np.float32(1)
    a, b = (size - 1, made - 1) if aligned and made > 1 else (size, made)
    scale = np.float32(a) / np.float32(b)
    index = np.arange(made).astype(np.float32)
    middle = np.float32(0.5)
    at = (index + middle) * scale - middle if half else index * scale
    lower = np.maximum(np.floor(at).astype(np.int64), 0)
    upper = np.minimum(np.ceil(at).astype(np.int64), size - 1)
    more = at - lower.astype(np.float32)
    return Taps(lower, upper, one - more, more)


@exact_op("RESIZE_BILINEAR")
def resize_bilinear(ctx: OperatorContext) -> Any:
    """x [N, H, W, C]; sizes must be known at import."""
    if not are_whole(ctx, *BYTES, "INT16", inputs=1):
        return NotImplemented
    x = ctx.plain(0)
    if x.type.rank != 4:
        raise ctx.wrong(f"input 0 is {x.type}, expected rank 4")
    given = need_static(ctx, x.type.shape[1:3], "the size of the input")
    made = need_static(ctx, ctx.dims(1, "the size"), "the size")
    is_real = ctx.tensor(0).type == "UINT8"
    aligned, half = (bool(ctx.option(o, False)) for o in ("align_corners", "half_pixel_centers"))
    taps_of = real_taps if is_real else integer_taps
    rows, columns = (taps_of(n, m, aligned, half) for n, m in zip(given, made, strict=True))
    return _real(ctx, x, rows, columns) if is_real else _integer(ctx, x, rows, columns)


def _row(ctx: OperatorContext, weights: Array, dtype: Any, axis: int) -> Value:
    """Weights along an axis of [N, H, W, C]."""
    return ctx.const(weights.astype(dtype).reshape((-1, 1, 1) if axis == 1 else (-1, 1)))


def _pair(ctx: OperatorContext, x: Value, taps: Taps, axis: int, to: DType) -> tuple[Value, Value]:
    """The weighted lower and upper elements along an axis."""
    made = []
    for index, weight in ((taps.lower, taps.lower_weight), (taps.upper, taps.upper_weight)):
        part = ctx.emit("gather", x, ctx.const(index.astype(np.int32)), axis=axis, wrap=False)
        if part.type.dtype is not to:
            part = ctx.emit("cast", part, to=to)
        made.append(ctx.emit("mul", part, _row(ctx, weight, to.numpy, axis)))
    return made[0], made[1]


def _integer(ctx: OperatorContext, x: Value, rows: Taps, columns: Taps) -> Any:
    result = result_of(ctx, "NONE")
    to = DType.I32 if result.is_bytes else DType.I64
    tall = ctx.emit("add", *_pair(ctx, x, rows, 1, to))
    whole = ctx.emit("add", *_pair(ctx, tall, columns, 2, to))
    if not result.is_bytes:
        return result.whole(ctx, _rounded(ctx, whole))
    level = divided_by(ctx, ctx.emit("cast", whole, to=DType.I64), np.array([20]))
    return result.steps(ctx, ctx.emit("cast", level, to=DType.F32), 1.0, 0)


def _rounded(ctx: OperatorContext, x: Value) -> Value:
    """int64 x of more than 32 bits / 2^20, halves away from zero."""
    size = ctx.emit("add", ctx.emit("abs", x), ctx.const(np.int64(1 << 19)))
    level = ctx.emit("shift", size, ctx.const(np.int64(20)), direction="right")
    made: Value = ctx.emit("mul", level, ctx.emit("sign", x))
    return made


def _real(ctx: OperatorContext, x: Value, rows: Taps, columns: Taps) -> Any:
    """Four products, added from the left, and a half, cut off."""
    upper, lower = _pair(ctx, x, rows, 1, DType.F32)
    left_up, right_up = _pair(ctx, upper, columns, 2, DType.F32)
    left_low, right_low = _pair(ctx, lower, columns, 2, DType.F32)
    total = ctx.emit("add", left_up, left_low)
    total = ctx.emit("add", ctx.emit("add", total, right_up), right_low)
    total = ctx.emit("add", total, ctx.const(np.float32(0.5)))
    return result_of(ctx, "NONE").bytes(ctx, ctx.emit("cast", total, to=DType.U8))
