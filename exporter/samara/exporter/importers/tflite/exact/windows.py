# SPDX-License-Identifier: Apache-2.0
"""Pools in TFLite's integers."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from samara.exporter.importers.tflite.context import OperatorContext, need_static
from samara.exporter.importers.tflite.exact.products import halves_of
from samara.exporter.importers.tflite.exact.quantized import (
    BYTES,
    Result,
    are_whole,
    as_qs8,
    result_of,
    scale_of,
    zero_of,
)
from samara.exporter.importers.tflite.handlers.windows import pool_window
from samara.exporter.importers.tflite.registry import exact_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, Quant, as_dim

# Means are multiples of 1 / count, so that up to this count a factor of _AWAY moves only ties across a half.
_LARGEST: Final = 1024
_AWAY: Final = 1 + 2.0**-20


@exact_op("AVERAGE_POOL_2D", always=True)
def average_pool_2d(ctx: OperatorContext) -> Any:
    """The mean of the file's integers, halves away from zero; padding does not count.

    By default int8 networks round ties to even, a step from LiteRT's, and keep one node for each operator; those of
    uint8 see bytes through other parameters at their borders anyway.
    """
    if not are_whole(ctx, *BYTES, "INT16") or not (ctx.exact or ctx.output(0).type == "UINT8"):
        return NotImplemented
    zero = -128 if ctx.output(0).type == "UINT8" else 0
    result, window = result_of(ctx), pool_window(ctx, ctx.stored(0))
    if result.is_bytes and math.prod(window["kernel"]) <= _LARGEST and _keeps_parameters(ctx):
        return _byte_mean(ctx, result, window, zero)
    return result.whole(ctx, _summed_mean(ctx, window, zero), zero) if ctx.exact else NotImplemented


def _keeps_parameters(ctx: OperatorContext) -> bool:
    """Whether the output has the input's parameters, as LiteRT demands, and no activation but a clamp."""
    x, y = ctx.tensor(0), ctx.output(0)
    return (
        ctx.option("fused_activation_function", "NONE") != "TANH"
        and scale_of(x) == scale_of(y)
        and zero_of(x) == zero_of(y)
    )


def _byte_mean(ctx: OperatorContext, result: Result, window: dict[str, Any], zero: int) -> Value:
    """The mean in qs8. Where there are ties, the integers are seen with a zero point of 0, in the file's numbers."""
    x, scale = ctx.stored(0), float(result.scale)
    odd = math.prod(window["kernel"]) % 2 == 1 and all(p == as_dim(0) for p in window["pads"])
    at = result.zero if odd else zero
    if not odd:
        x = as_qs8(ctx, x, at, float(np.float32(scale * _AWAY)))
    limits = {"scale": scale, "zero_point": at, "lo": result.lo, "hi": result.hi}
    attrs = {"extend": [0, 0], **window, **limits}
    if at == result.zero:
        made: Value = ctx.named(result.tensor.key, "qavg_pool", x, **attrs)
        return made
    return result.reinterpreted(ctx, ctx.emit("qavg_pool", x, **attrs))


def _summed_mean(ctx: OperatorContext, window: dict[str, Any], zero: int) -> Value:
    """The rounded mean from int32 sums, which a convolution with ones makes; of int16 byte by byte."""
    x = ctx.stored(0)
    (channels,) = need_static(ctx, [x.type.shape[3]], "the number of channels")
    ones = np.ones((channels, *window["kernel"], 1), np.int8)
    w = ctx.const(ones, DType.QS8, Quant.per_tensor(1.0, 0))
    more = {k: window[k] for k in ("strides", "dilations", "pads")}
    is_short = x.type.dtype is DType.I16
    parts = halves_of(ctx, 0) if is_short else (as_qs8(ctx, x, zero),)
    sums = [ctx.emit("qconv", p, w, groups=channels, to=DType.I32, **more) for p in parts]
    total = sums[0]
    if is_short:
        total = ctx.emit("add", ctx.emit("mul", total, ctx.const(np.int32(256))), sums[1])
    count = _counts(ctx, x, window)
    size = ctx.emit("add", ctx.emit("abs", total), ctx.const(count // 2))
    level = ctx.emit("div", size, ctx.const(count))
    mean: Value = ctx.emit("mul", level, ctx.emit("sign", total))
    return mean


def _counts(ctx: OperatorContext, x: Value, window: dict[str, Any]) -> Any:
    """The number of elements of x in each window, int32 [H, W, 1]."""
    pads = need_static(ctx, window["pads"], "the padding")
    sizes = need_static(ctx, x.type.shape[1:3], "the size of the input")
    axes = []
    for i in range(2):
        kernel, stride = window["kernel"][i], window["strides"][i]
        made = (sizes[i] + pads[i] + pads[2 + i] - kernel) // stride + 1
        first = np.arange(made) * stride - pads[i]
        axes.append(np.minimum(first + kernel, sizes[i]) - np.maximum(first, 0))
    return np.multiply.outer(*axes)[..., None].astype(np.int32)


@exact_op("MAX_POOL_2D")
def max_pool_2d(ctx: OperatorContext) -> Any:
    """int16 numbers are compared in float32, which holds them."""
    result = result_of(ctx) if are_whole(ctx, *BYTES, "INT16") else None
    if result is None:
        return NotImplemented
    x = ctx.stored(0)
    if not result.is_bytes:
        x = ctx.emit("cast", x, to=DType.F32)
        y = ctx.emit("max_pool", x, **pool_window(ctx, x))
        return result.whole(ctx, ctx.emit("cast", y, to=DType.I32))
    return result.bytes(ctx, ctx.emit("max_pool", x, **pool_window(ctx, x)))
