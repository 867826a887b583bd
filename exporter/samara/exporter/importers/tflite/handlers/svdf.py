# SPDX-License-Identifier: Apache-2.0
"""SVDF: filters over features, then over the last steps in time.

Each of `rank` filters per unit gives one number per step; the state holds the last M numbers of every filter. The
result of a unit is the sum over its filters of these numbers times weights in time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.tflite import tensors
from samara.exporter.importers.tflite.context import OperatorContext, need_static, require
from samara.exporter.importers.tflite.handlers.cells import vector_of, weights_of
from samara.exporter.importers.tflite.registry import tflite_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, as_dim


@tflite_op("SVDF", newest=4)
def svdf(ctx: OperatorContext) -> Any:
    """Inputs: x [N, I], weights [F, I] of features and [F, M] in time, bias [F / rank], state [N, M * F]."""
    x = ctx.value(0)
    require(ctx, x.type.rank == 2, f"the input is {x.type}, expected rank 2")
    features = weights_of(ctx, 1)
    filters, memory = need_static(ctx, ctx.shape(2), "the shape of the weights in time")
    rank = int(ctx.option("rank", 1))
    fits = filters == features.units and rank > 0 and filters % rank == 0
    require(ctx, fits, f"weights {ctx.type(1)} and {ctx.type(2)} do not fit rank {rank}")
    integer = ctx.type(0).dtype is DType.QS8
    held = _shifted(ctx, features.times(ctx, x), filters, memory)
    products = ctx.emit("mul", held, vector_of(ctx, 2))
    units = filters // rank
    joint = ctx.emit("reshape", products, shape=(x.type.shape[0], units, rank * memory))
    if not ctx.has(3):
        return _finished(ctx, joint, None, integer)
    return _finished(ctx, joint, _bias(ctx, integer), integer)


def _finished(ctx: OperatorContext, joint: Value, bias: Value | None, integer: bool) -> Any:
    """Sums over filters and time; an integer operator has no activation but the range of its result."""
    function = "NONE" if integer else None
    if bias is None:
        return ctx.activated("reduce_sum", joint, axes=[2], keepdims=False, function=function)
    total = ctx.emit("reduce_sum", joint, axes=[2], keepdims=False)
    return ctx.activated("add", total, bias, function=function)


def _shifted(ctx: OperatorContext, new: Value, filters: int, memory: int) -> Value:
    """The state [N, F, M], real, with the numbers `new` [N, F] in place of the oldest."""
    tensor = ctx.tensor(4)
    if not tensor.is_variable:
        raise ctx.unsupported(
            f"input 4 ({tensor.key}) is a state and no variable tensor", "convert the model again"
        )
    batch = new.type.shape[0]
    old = ctx.emit("reshape", ctx.stored(4), shape=(batch, filters, memory))
    kept = ctx.emit("slice", old, begin=[0, 0, 1], end=[batch, filters, memory], step=[1, 1, 1])
    last = ctx.emit("reshape", new, shape=(batch, filters, 1))
    # Only the new numbers are rounded to the state's integers.
    held = ctx.emit("concat", kept, tensors.stored(ctx.builder, last, tensor), axis=2)
    shape = tuple(as_dim(n) for n in tensor.shape)
    ctx.assign(4, ctx.emit("reshape", held, shape=shape))
    return tensors.real(ctx.builder, held, tensor)


def _bias(ctx: OperatorContext, integer: bool) -> Value:
    """An integer bias counts in steps of the state's scale times that of the weights in time."""
    if not integer:
        return ctx.value(3)
    scale = 1.0
    for index in (2, 4):
        p = ctx.tensor(index).parameters
        if p is None or len(p.scales) != 1:
            raise ctx.wrong(f"input {index} ({ctx.tensor(index).key}) needs one scale")
        scale *= p.scales[0]
    data = ctx.need_constant(3, "the bias")
    return ctx.const((data.astype(np.float64) * scale).astype(np.float32))
