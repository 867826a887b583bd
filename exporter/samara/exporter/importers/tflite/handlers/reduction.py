# SPDX-License-Identifier: Apache-2.0
"""Reductions, cumulative sums and normalizations."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.tflite.context import OperatorContext, need_static
from samara.exporter.importers.tflite.differences import (
    LONG_TABLE,
    TWICE,
    Difference,
)
from samara.exporter.importers.tflite.element_types import import_dtype
from samara.exporter.importers.tflite.registry import Handler, tflite_op
from samara.exporter.types import DType

READ_AS_UINT8 = Difference(
    "LiteRT's reference kernel reads all elements as uint8, so that its integers are not the sum",
    ("reference",),
    ("int8",),
)
_HALF_WRITTEN = Difference(
    "LiteRT's reference kernel writes a byte of each element only",
    ("reference",),
    ("int16",),
    varies=True,
)
_EACH_FACTOR = Difference("LiteRT rounds after each factor, samara once")


def axes_of(ctx: OperatorContext, rank: int, index: int = 1) -> list[int]:
    """The axes of a reduction, counted from the front; each once."""
    given = need_static(ctx, ctx.dims(index, "the axes"), "the axes")
    return sorted({ctx.axis(a, rank) for a in given})


def _reduction(op: str) -> Handler:
    def convert(ctx: OperatorContext) -> Any:
        x = ctx.value(0)
        axes = axes_of(ctx, x.type.rank)
        keep = bool(ctx.option("keep_dims", False))
        if not axes:
            return ctx.final("identity", x)
        return ctx.final(op, x, axes=axes, keepdims=keep)

    return convert


for _name, _newest, _op, _differences in (
    ("MEAN", 3, "reduce_mean", (TWICE.of("int16"),)),
    ("SUM", 2, "reduce_sum", (READ_AS_UINT8, _HALF_WRITTEN, TWICE.of("uint8"))),
    (
        "REDUCE_PROD",
        2,
        "reduce_prod",
        (_EACH_FACTOR.of("int8"), _EACH_FACTOR.of("int16", is_coarse=True)),
    ),
    ("REDUCE_MAX", 3, "reduce_max", ()),
    ("REDUCE_MIN", 3, "reduce_min", ()),
):
    tflite_op(_name, newest=_newest, differences=_differences)(_reduction(_op))


def _logical(op: str) -> Handler:
    """Of bools, as the largest or smallest byte."""

    def convert(ctx: OperatorContext) -> Any:
        x = ctx.value(0)
        axes = axes_of(ctx, x.type.rank)
        if not axes:
            return ctx.final("identity", x)
        wide = ctx.emit("cast", x, to=DType.U8)
        y = ctx.emit(op, wide, axes=axes, keepdims=bool(ctx.option("keep_dims", False)))
        return ctx.final("cast", y, to=DType.BOOL)

    return convert


tflite_op("REDUCE_ANY")(_logical("reduce_max"))
tflite_op("REDUCE_ALL")(_logical("reduce_min"))


def _position(op: str) -> Handler:
    def convert(ctx: OperatorContext) -> Any:
        x = ctx.value(0)
        (axis,) = need_static(ctx, ctx.dims(1, "the axis"), "the axis")
        to = import_dtype(ctx.output(0).type, f"output {ctx.label!r}")
        if x.type.dtype is DType.BOOL:
            x = ctx.emit("cast", x, to=DType.U8)
        y = ctx.emit(op, x, axis=ctx.axis(axis, x.type.rank))
        return ctx.final("cast", y, to=to)

    return convert


tflite_op("ARG_MAX", newest=3)(_position("argmax"))
tflite_op("ARG_MIN", newest=3)(_position("argmin"))


@tflite_op("CUMSUM")
def cumsum(ctx: OperatorContext) -> Any:
    x = ctx.value(0)
    (axis,) = need_static(ctx, ctx.dims(1, "the axis"), "the axis")
    return ctx.final(
        "cumsum",
        x,
        axis=ctx.axis(axis, x.type.rank),
        exclusive=bool(ctx.option("exclusive", False)),
        reverse=bool(ctx.option("reverse", False)),
    )


@tflite_op("SOFTMAX", newest=4, differences=(LONG_TABLE,))
def softmax(ctx: OperatorContext) -> Any:
    """Along the last axis, of beta * x."""
    x = ctx.value(0)
    beta = float(ctx.option("beta", 1.0))
    if beta != 1.0:
        x = ctx.emit("mul", x, ctx.const(np.asarray(beta, x.type.dtype.numpy)))
    return ctx.final("softmax", x, axis=-1)


@tflite_op("LOG_SOFTMAX", newest=2)
def log_softmax(ctx: OperatorContext) -> Any:
    return ctx.final("log_softmax", ctx.value(0), axis=-1)


@tflite_op("L2_NORMALIZATION", newest=2)
def l2_normalization(ctx: OperatorContext) -> Any:
    """x divided by the root of the sum of squares along the last axis, which counts as at least 1e-6."""
    x = ctx.value(0)
    total = ctx.emit("reduce_sum", ctx.emit("mul", x, x), axes=[x.type.rank - 1], keepdims=True)
    norm = ctx.emit("max", ctx.emit("sqrt", total), ctx.const(np.float32(1e-6)))
    return ctx.activated("div", x, norm)


@tflite_op("LOCAL_RESPONSE_NORMALIZATION")
def local_response_normalization(ctx: OperatorContext) -> Any:
    """x / (bias + alpha * sum of squares of channels within `radius`) ** beta."""
    size = 2 * int(ctx.option("radius", 0)) + 1
    return ctx.final(
        "lrn",
        ctx.value(0),
        size=size,
        alpha=float(ctx.option("alpha", 0.0)) * size,
        beta=float(ctx.option("beta", 0.0)),
        bias=float(ctx.option("bias", 0.0)),
    )
