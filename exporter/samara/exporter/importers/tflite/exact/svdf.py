# SPDX-License-Identifier: Apache-2.0
"""The integer SVDF in TFLite's integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.exact.fixed_point import Fixed, requantized, scaled
from samara.exporter.importers.tflite.exact.quantized import (
    integers,
    is_whole,
    result_of,
    scale_of,
)
from samara.exporter.importers.tflite.handlers.cells import set_state, state_of
from samara.exporter.importers.tflite.registry import exact_op
from samara.exporter.types import DType, Quant

_BIAS, _STATE = 3, 4
_MOST = (1 << 15) - 1


@exact_op("SVDF")
def svdf(ctx: OperatorContext) -> Any:
    """x [N, I], weights of features [F, I] and of time [F, M], state [N, F * M] of 16 bits; F = units * rank."""
    given = (ctx.tensor(0), ctx.tensor(1), ctx.output(0))
    wide = (ctx.tensor(2), ctx.tensor(_STATE))
    if not (all(is_whole(t, "INT8") for t in given) and all(is_whole(t, "INT16") for t in wide)):
        return NotImplemented
    x, w, time, state, made = (scale_of(t) for t in (*given[:2], *wide, given[2]))
    features = ctx.need_constant(1, "the weights")
    weights = ctx.need_constant(2, "the weights").astype(np.int32)
    count, memory = weights.shape
    batch = ctx.shape(0)[0]
    matrix = ctx.const(features, DType.QS8, Quant.per_tensor(1.0, 0))
    acc = ctx.emit("qmatmul", ctx.stored(0), matrix, transpose_w=True, to=DType.I32)
    level = scaled(ctx, acc, Fixed.of(float(x * w / state)))
    level = ctx.emit("max", level, ctx.const(np.int64(-_MOST - 1)))
    level = ctx.emit("cast", ctx.emit("min", level, ctx.const(np.int64(_MOST))), to=DType.I16)
    newest = ctx.emit("reshape", level, shape=(batch, count, 1))
    old = state_of(ctx, _STATE, (batch, *ctx.const(weights).type.shape), stored=True)
    ends = [batch, count, memory]
    kept = ctx.emit("slice", old, begin=[0, 0, 1], end=ends, step=[1, 1, 1])
    states = ctx.emit("concat", kept, newest, axis=2)
    set_state(ctx, _STATE, states)
    product = ctx.emit("mul", ctx.emit("cast", states, to=DType.I32), ctx.const(weights))
    rank = int(ctx.option("rank", 1))
    parts = ctx.emit("reshape", product, shape=(batch, count // rank, rank * memory))
    total = ctx.emit("reduce_sum", parts, axes=[2], keepdims=False)
    if ctx.has(_BIAS):
        total = ctx.emit("add", total, integers(ctx, _BIAS))
    return requantized(ctx, total, Fixed.of(float(state * time / made)), result_of(ctx, "NONE"))
