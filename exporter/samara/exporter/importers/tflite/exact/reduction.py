# SPDX-License-Identifier: Apache-2.0
"""Reductions and normalizations in TFLite's integers."""

from __future__ import annotations

import math
from typing import Any

from samara.exporter.importers.tflite.context import OperatorContext, need_static
from samara.exporter.importers.tflite.differences import Difference
from samara.exporter.importers.tflite.exact.fixed_point import (
    Fixed,
    requantized,
)
from samara.exporter.importers.tflite.exact.quantized import (
    BYTES,
    are_whole,
    centred,
    is_whole,
    result_of,
    scale_of,
)
from samara.exporter.importers.tflite.handlers.reduction import READ_AS_UINT8, axes_of
from samara.exporter.importers.tflite.registry import Handler, exact_op
from samara.exporter.types import DType

# ---- sums

_THE_SUM = Difference(
    f"{READ_AS_UINT8.why}; an exact import gives the sum", ("reference",), ("int8",)
)


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


exact_op("SUM", differences=(_THE_SUM,))(_sum(False))
exact_op("MEAN")(_sum(True))


# ---- positions


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
