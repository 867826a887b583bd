# SPDX-License-Identifier: Apache-2.0
"""RNN, UNIDIRECTIONAL_SEQUENCE_RNN and BIDIRECTIONAL_SEQUENCE_RNN: h = f(w x + r h + bias)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from samara.exporter.importers.common.emitter import Emitter
from samara.exporter.importers.tflite.context import OperatorContext, require
from samara.exporter.importers.tflite.handlers.cells import (
    activated,
    over_steps,
    scanned,
    set_state,
    state_of,
    to_operator_layout,
    to_time_major,
    weights_of,
)
from samara.exporter.importers.tflite.registry import tflite_op
from samara.exporter.ir.program import Value
from samara.exporter.types import as_dim


@tflite_op("RNN", newest=3)
def rnn(ctx: OperatorContext) -> Any:
    """One step of x [N, I]."""
    x = ctx.value(0)
    require(ctx, x.type.rank == 2, f"the input is {x.type}, expected rank 2")
    x = ctx.emit("reshape", x, shape=(1, *x.type.shape))
    y = _sequence(ctx, x, 1, back=False)
    return ctx.final("reshape", y, shape=y.type.shape[1:])


@tflite_op("UNIDIRECTIONAL_SEQUENCE_RNN", newest=3)
def unidirectional_sequence_rnn(ctx: OperatorContext) -> Any:
    time_major = bool(ctx.option("time_major", False))
    y = _sequence(ctx, to_time_major(ctx, ctx.value(0), time_major), 1, back=False)
    return ctx.final("identity", to_operator_layout(ctx, y, time_major))


@tflite_op("BIDIRECTIONAL_SEQUENCE_RNN", newest=3)
def bidirectional_sequence_rnn(ctx: OperatorContext) -> Any:
    """Two cells, the second from the last step on. The auxiliary input has weights of its own; without weights
    it is the input of the second cell.
    """
    time_major = bool(ctx.option("time_major", False))
    x = to_time_major(ctx, ctx.value(0), time_major)
    aux = to_time_major(ctx, ctx.value(9), time_major) if ctx.has(9) else None
    second = x if aux is None or ctx.has(10) else aux
    parts = [
        _sequence(ctx, x, 1, back=False, aux=aux, aux_weights=10),
        _sequence(ctx, second, 5, back=True, aux=aux, aux_weights=11),
    ]
    parts = [to_operator_layout(ctx, y, time_major) for y in parts]
    if ctx.option("merge_outputs", False):
        return ctx.final("concat", *parts, axis=2)
    return parts


def _sequence(
    ctx: OperatorContext,
    x: Value,
    first: int,
    *,
    back: bool,
    aux: Value | None = None,
    aux_weights: int = -1,
) -> Value:
    """The results [T, N, H] over x [T, N, I] of the cell whose weights, recurrent weights, bias and state are the
    inputs from `first` on.
    """
    w, r, bias = weights_of(ctx, first), weights_of(ctx, first + 1), ctx.value(first + 2)
    part = over_steps(ctx, w, x, bias)
    if aux is not None and aux_weights >= 0 and ctx.has(aux_weights):
        more = over_steps(ctx, weights_of(ctx, aux_weights, 9), aux, None)
        part = ctx.emit("add", part, more)
    name = str(ctx.option("fused_activation_function", "NONE"))

    def step(e: Emitter, x: Value, states: Sequence[Value]) -> tuple[Value, list[Value]]:
        y = activated(e, e.emit("add", x, r.times(e, states[0])), name)
        return y, [y]

    h = state_of(ctx, first + 3, (x.type.shape[1], as_dim(w.units)))
    y, (h,) = scanned(ctx, part, [h], step, back=back)
    set_state(ctx, first + 3, h)
    return y
