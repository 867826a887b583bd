# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pools, all channels-last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from samara.exporter.importers.common.windows import same_padding
from samara.exporter.importers.tflite.context import OperatorContext, need_static
from samara.exporter.importers.tflite.differences import (
    BYTES,
    SHORT_MULTIPLIER,
    TIES_AWAY,
    TWICE,
)
from samara.exporter.importers.tflite.registry import tflite_op
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, DType, as_dim, dmax, floordiv

_PLANE = ("h", "w")
_SPACE = ("d", "h", "w")
_SUMS = (TWICE.of(*BYTES), SHORT_MULTIPLIER)


def pads_of(
    ctx: OperatorContext,
    size: Sequence[Dim],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> list[Dim]:
    """Padding before each spatial axis, then after each, by the option `padding`."""
    mode = ctx.option("padding", "SAME")
    if mode == "VALID":
        return [as_dim(0)] * (2 * len(kernel))
    if mode != "SAME":
        raise ctx.unsupported(f"padding {mode} is not known")
    before, after = [], []
    for dim, k, s, d in zip(size, kernel, strides, dilations, strict=True):
        total = same_padding(dim, k, s, d)
        before.append(floordiv(total, 2))
        after.append(total - floordiv(total, 2))
    return [*before, *after]


def window_places(
    ctx: OperatorContext, size: Dim, kernel: int, stride: int, dilation: int
) -> Value:
    """The indices [windows, kernel] of the elements of all windows that lie in an axis, as int64."""
    inner = np.arange(kernel, dtype=np.int64) * dilation
    count = dmax(floordiv(size - ((kernel - 1) * dilation + 1), stride) + 1, 0)
    if count.is_static:
        first = np.arange(count.as_int(), dtype=np.int64)[:, None] * stride
        return ctx.const(first + inner)
    rows = ctx.emit("reshape", ctx.emit("iota", length=count), shape=(count, 1))
    made: Value = ctx.emit(
        "add", ctx.emit("mul", rows, ctx.const(np.int64(stride))), ctx.const(inner)
    )
    return made


def _steps(ctx: OperatorContext, axes: Sequence[str]) -> tuple[list[int], list[int]]:
    """(strides, dilations)."""
    strides = [ctx.option(f"stride_{a}", 1) for a in axes]
    dilations = [ctx.option(f"dilation_{a}_factor", 1) for a in axes]
    if min(*strides, *dilations) < 1:
        raise ctx.wrong(f"strides {strides} and dilations {dilations} must be positive")
    return strides, dilations


def _kernel(ctx: OperatorContext, index: int) -> list[int]:
    """The sizes of the weights' axes."""
    return need_static(ctx, ctx.shape(index), "the shape of the weights")


def _check_rank(ctx: OperatorContext, rank: int) -> None:
    for i in (0, 1):
        if ctx.rank(i) != rank:
            raise ctx.wrong(f"input {i} is {ctx.type(i)}, expected rank {rank}")


def is_hybrid(ctx: OperatorContext, x: int = 0, w: int = 1) -> bool:
    """Whether float32 activations meet int8 weights: activations are then quantized while running."""
    return ctx.type(x).dtype is DType.F32 and ctx.type(w).dtype is DType.QS8


def _bias(ctx: OperatorContext, index: int) -> Value | None:
    return ctx.value(index) if ctx.has(index) else None


def _convolved(
    ctx: OperatorContext, x: Value, w: Value, bias: Value | None, axes: Sequence[str], groups: int
) -> Any:
    kernel = [d.as_int() for d in w.type.shape[1:-1]]
    strides, dilations = _steps(ctx, axes)
    return ctx.activated(
        "conv_dynamic" if is_hybrid(ctx) else "conv",
        x,
        w,
        bias,
        strides=strides,
        dilations=dilations,
        pads=pads_of(ctx, x.type.shape[1:-1], kernel, strides, dilations),
        groups=groups,
    )


def weights_of(ctx: OperatorContext, index: int) -> Value:
    """Weights as real numbers; those of a hybrid operator stay int8."""
    return ctx.stored(index) if is_hybrid(ctx, 0, index) else ctx.value(index)


@tflite_op("CONV_2D", newest=8, differences=_SUMS)
def conv_2d(ctx: OperatorContext) -> Any:
    """Weights [O, H, W, C / groups]."""
    _check_rank(ctx, 4)
    x, w = ctx.value(0), weights_of(ctx, 1)
    inner = _kernel(ctx, 1)[-1]
    channels = need_static(ctx, [ctx.shape(0)[-1]], "the number of channels")[0]
    if inner == 0 or channels % inner:
        raise ctx.wrong(f"weights with {inner} input channels do not fit {channels}")
    return _convolved(ctx, x, w, _bias(ctx, 2), _PLANE, channels // inner)


@tflite_op("DEPTHWISE_CONV_2D", newest=7, differences=_SUMS)
def depthwise_conv_2d(ctx: OperatorContext) -> Any:
    """Weights [1, H, W, C * multiplier]."""
    _check_rank(ctx, 4)
    kernel = _kernel(ctx, 1)
    channels = need_static(ctx, [ctx.shape(0)[-1]], "the number of channels")[0]
    if kernel[0] != 1 or channels == 0 or kernel[-1] % channels:
        raise ctx.wrong(f"weights {kernel} do not fit {channels} channels")
    w = ctx.emit("transpose", weights_of(ctx, 1), perm=(3, 1, 2, 0))
    return _convolved(ctx, ctx.value(0), w, _bias(ctx, 2), _PLANE, channels)


@tflite_op("CONV_3D")
def conv_3d(ctx: OperatorContext) -> Any:
    """Weights [D, H, W, C, O]."""
    _check_rank(ctx, 5)
    _kernel(ctx, 1)
    w = ctx.emit("transpose", ctx.value(1), perm=(4, 0, 1, 2, 3))
    return _convolved(ctx, ctx.value(0), w, _bias(ctx, 2), _SPACE, 1)


def _transposed(
    ctx: OperatorContext, x: Value, w: Value, bias: Value | None, axes: Sequence[str]
) -> Any:
    """The transposed convolution of x by w [O, k…, C]; the operator's first input is the output's shape."""
    spatial = len(axes)
    kernel = [d.as_int() for d in w.type.shape[1:-1]]
    strides, dilations = _steps(ctx, axes)
    size = need_static(ctx, ctx.dims(0, "the output shape")[1:-1], "the output shape")
    before, after, more = [], [], []
    for i in range(spatial):
        reach = (kernel[i] - 1) * dilations[i] + 1
        whole = (x.type.shape[1 + i] - 1) * strides[i] + reach
        total = dmax(whole - size[i], 0)
        before.append(floordiv(total, 2))
        after.append(total - floordiv(total, 2))
        extra = dmax(as_dim(size[i]) - whole, 0)
        more.append(need_static(ctx, [extra], "the size of the input")[0])
    if any(m >= max(s, d) for m, s, d in zip(more, strides, dilations, strict=True)):
        # The operator adds less than a stride; zeros behind that are the bias alone.
        return _stretched(ctx, x, w, bias, strides, dilations, more)
    return ctx.activated(
        "conv_transpose",
        x,
        w,
        bias,
        strides=strides,
        dilations=dilations,
        pads=[*before, *after],
        output_padding=more,
        groups=1,
    )


def _stretched(
    ctx: OperatorContext,
    x: Value,
    w: Value,
    bias: Value | None,
    strides: Sequence[int],
    dilations: Sequence[int],
    more: Sequence[int],
) -> Any:
    spatial = len(strides)
    zeros = [0] * spatial
    y = ctx.emit(
        "conv_transpose",
        x,
        w,
        strides=strides,
        dilations=dilations,
        pads=zeros * 2,
        output_padding=zeros,
        groups=1,
    )
    pads = [0, *zeros, 0, 0, *more, 0]
    if bias is None:
        return ctx.activated("pad", y, pads=pads)
    return ctx.activated("add", ctx.emit("pad", y, pads=pads), bias)


@tflite_op("TRANSPOSE_CONV", newest=5, differences=_SUMS)
def transpose_conv(ctx: OperatorContext) -> Any:
    """Inputs: the output's shape, weights [O, H, W, C], x, bias."""
    if ctx.rank(2) != 4 or ctx.rank(1) != 4:
        raise ctx.wrong(f"needs rank 4, got {ctx.type(2)} and {ctx.type(1)}")
    _kernel(ctx, 1)
    hybrid = is_hybrid(ctx, 2, 1)
    w = ctx.emit("dequantize", ctx.stored(1)) if hybrid else ctx.value(1)
    return _transposed(ctx, ctx.value(2), w, _bias(ctx, 3), _PLANE)


@tflite_op("CONV_3D_TRANSPOSE")
def conv_3d_transpose(ctx: OperatorContext) -> Any:
    """Inputs: the output's shape, weights [D, H, W, O, C], x, bias."""
    if ctx.rank(2) != 5 or ctx.rank(1) != 5:
        raise ctx.wrong(f"needs rank 5, got {ctx.type(2)} and {ctx.type(1)}")
    _kernel(ctx, 1)
    w = ctx.emit("transpose", ctx.value(1), perm=(3, 0, 1, 2, 4))
    return _transposed(ctx, ctx.value(2), w, _bias(ctx, 3), _SPACE)


# ---- pools


def pool_window(ctx: OperatorContext, x: Value) -> dict[str, Any]:
    """Attributes of a pool over x."""
    if x.type.rank != 4:
        raise ctx.wrong(f"input 0 is {x.type}, expected rank 4")
    kernel = [ctx.option("filter_height"), ctx.option("filter_width")]
    strides = [ctx.option("stride_h"), ctx.option("stride_w")]
    if min(*kernel, *strides) < 1:
        raise ctx.wrong(f"window {kernel} and strides {strides} must be positive")
    pads = pads_of(ctx, x.type.shape[1:3], kernel, strides, [1, 1])
    return {"kernel": kernel, "strides": strides, "dilations": [1, 1], "pads": pads}


@tflite_op("MAX_POOL_2D", newest=3)
def max_pool_2d(ctx: OperatorContext) -> Any:
    x = ctx.value(0)
    return ctx.activated("max_pool", x, **pool_window(ctx, x))


@tflite_op("AVERAGE_POOL_2D", newest=3, differences=(TIES_AWAY.of("int8", "int16"),))
def average_pool_2d(ctx: OperatorContext) -> Any:
    """The mean of what lies in x; padding does not count."""
    x = ctx.value(0)
    return ctx.activated("avg_pool", x, extend=[0, 0], **pool_window(ctx, x))


@tflite_op("L2_POOL_2D")
def l2_pool_2d(ctx: OperatorContext) -> Any:
    """The root of the mean of squares; padding does not count."""
    x = ctx.value(0)
    squares = ctx.emit("mul", x, x)
    mean = ctx.emit("avg_pool", squares, extend=[0, 0], **pool_window(ctx, x))
    return ctx.activated("sqrt", mean)
