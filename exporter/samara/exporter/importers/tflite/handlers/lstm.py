# SPDX-License-Identifier: Apache-2.0
"""LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM and BIDIRECTIONAL_SEQUENCE_LSTM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from samara.exporter.importers.common.emitter import Emitter
from samara.exporter.importers.tflite.context import OperatorContext, require
from samara.exporter.importers.tflite.handlers.cells import (
    Weights,
    joined,
    scanned,
    set_state,
    state_of,
    to_operator_layout,
    to_time_major,
)
from samara.exporter.importers.tflite.handlers.lstm_cell import (
    C,
    Cell,
    F,
    I,
    O,
    Places,
    cell_of,
    input_part,
    step_of,
)
from samara.exporter.importers.tflite.registry import tflite_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, Quant, as_dim

# tanh of this and more is 1 in float32: a higher limit of the cell state changes no output of the same step.
_SATURATED: Final = 9.5
_CELL = Places(norms=20)


@tflite_op("UNIDIRECTIONAL_SEQUENCE_LSTM", newest=4)
def unidirectional_sequence_lstm(ctx: OperatorContext) -> Any:
    time_major = bool(ctx.option("time_major", False))
    x = to_time_major(ctx, ctx.value(0), time_major)
    y = _sequence(ctx, cell_of(ctx, _CELL), x, None, back=False)
    return ctx.final("identity", to_operator_layout(ctx, y, time_major))


@tflite_op("LSTM", newest=4)
def lstm(ctx: OperatorContext) -> Any:
    """One step of x [N, I]."""
    if ctx.option("kernel_type", "FULL") == "BASIC":
        return _basic(ctx)
    x = ctx.value(0)
    require(ctx, x.type.rank == 2, f"the input is {x.type}, expected rank 2")
    x = ctx.emit("reshape", x, shape=(1, *x.type.shape))
    y = _sequence(ctx, cell_of(ctx, _CELL), x, None, back=False)
    return ctx.final("reshape", y, shape=y.type.shape[1:])


@tflite_op("BIDIRECTIONAL_SEQUENCE_LSTM", newest=3)
def bidirectional_sequence_lstm(ctx: OperatorContext) -> Any:
    """Two cells, the second from the last step on. The auxiliary input has weights of its own; without weights
    it is the input of the second cell.
    """
    time_major = bool(ctx.option("time_major", True))
    x = to_time_major(ctx, ctx.value(0), time_major)
    aux = to_time_major(ctx, ctx.value(39), time_major) if ctx.has(39) else None
    forward = Places(0, 1, 35, 36, aux_x=39, aux=40)
    backward = Places(0, 18, 37, 38, aux_x=39, aux=44)
    cells = [cell_of(ctx, p) for p in (forward, backward)]
    second = x if aux is None or cells[0].aux else aux
    parts = [
        _sequence(ctx, cells[0], x, aux, back=False),
        _sequence(ctx, cells[1], second, aux, back=True),
    ]
    parts = [to_operator_layout(ctx, y, time_major) for y in parts]
    if ctx.option("merge_outputs", False):
        return ctx.final("concat", *parts, axis=2)
    return parts


def _sequence(ctx: OperatorContext, cell: Cell, x: Value, aux: Value | None, back: bool) -> Value:
    """The outputs [T, N, O] of a cell over x [T, N, I]. Its states go on from where they are."""
    places, batch = cell.places, x.type.shape[1]
    outputs, units = as_dim(cell.outputs), as_dim(cell.units)
    if _fits(cell):
        h = state_of(ctx, places.output_state, (as_dim(1), batch, units))
        c = state_of(ctx, places.cell_state, (as_dim(1), batch, units))
        y, h, c = _fused(ctx, cell, _with_aux(ctx, cell, x, aux), h, c, back)
    else:
        integer = cell.integer is not None
        h = state_of(ctx, places.output_state, (batch, outputs), stored=integer)
        c = state_of(ctx, places.cell_state, (batch, units))
        gates = input_part(ctx, cell, x, aux)
        y, (h, c) = scanned(ctx, gates, [h, c], step_of(ctx, cell), back=back)
    set_state(ctx, places.output_state, h)
    set_state(ctx, places.cell_state, c)
    return y


# ---- cells that the operator `lstm` computes


def _fits(cell: Cell) -> bool:
    if cell.norms or cell.projection is not None or cell.integer is not None:
        return False
    if cell.activation != "TANH" or 0 < cell.cell_clip < _SATURATED:
        return False
    weights = [*cell.w, *cell.aux]
    for r in cell.r:
        if not isinstance(r, Weights):
            return False
        weights.append(r)
    if len({w.value.type.dtype for w in weights}) > 1:
        return False
    rounded = weights[0].rounded
    if rounded and (cell.aux or any(w.value.constant is None for w in weights)):
        return False
    return not (rounded and cell.coupled and any(_has_lowest(w.value) for w in weights))


def _has_lowest(w: Value) -> bool:
    """Whether a weight is -128, which has no negative in int8."""
    return w.constant is not None and bool((w.constant == -128).any())


def _with_aux(ctx: OperatorContext, cell: Cell, x: Value, aux: Value | None) -> Value:
    if not cell.aux or aux is None:
        return x
    both: Value = ctx.emit("concat", x, aux, axis=2)
    return both


def _fused(
    ctx: OperatorContext, cell: Cell, x: Value, h: Value, c: Value, back: bool
) -> tuple[Value, Value, Value]:
    """(outputs [T, N, H], output state [1, N, H], cell state) by the operator; step by step if it limits c."""
    w = cell.w
    if cell.aux:
        w = [_beside(ctx, a, b) for a, b in zip(w, cell.aux, strict=True)]
    r = [m for m in cell.r if isinstance(m, Weights)]
    operands = (
        _stacked(ctx, _in_order(ctx, cell, w)),
        _stacked(ctx, _in_order(ctx, cell, r)),
        _biases(ctx, cell),
        None,
    )
    peepholes = _peepholes(ctx, cell)
    attrs: dict[str, Any] = {"hidden": cell.units, "input_forget": cell.coupled}
    steps, batch, size = x.type.shape
    if not cell.cell_clip:
        attrs["direction"] = "reverse" if back else "forward"
        y, h, c = ctx.emit("lstm", x, *operands, h, c, peepholes, **attrs)
    else:

        def step(e: Emitter, x: Value, states: Sequence[Value]) -> tuple[Value, list[Value]]:
            x = e.emit("reshape", x, shape=(1, batch, size))
            _, h, c = e.emit("lstm", x, *operands, *states, peepholes, **attrs)
            return h, [h, e.emit("clamp", c, lo=-cell.cell_clip, hi=cell.cell_clip)]

        y, (h, c) = scanned(ctx, x, [h, c], step, back=back)
    return ctx.emit("reshape", y, shape=(steps, batch, cell.units)), h, c


def _beside(ctx: OperatorContext, a: Weights, b: Weights) -> Weights:
    return Weights(ctx.emit("concat", a.value, b.value, axis=1), a.rounded)


def _in_order(ctx: OperatorContext, cell: Cell, by_gate: Sequence[Weights]) -> Weights:
    """Matrices in the operator's order i, o, f, c."""
    at = dict(zip(cell.gates, by_gate, strict=True))
    if cell.coupled:
        at[I] = Weights(_negative(ctx, at[F].value), at[F].rounded)
    return joined(ctx, [at[k] for k in (I, O, F, C)])


def _negative(ctx: OperatorContext, x: Value) -> Value:
    """-x. The operator couples f = 1 - i, a TFLite cell i = 1 - f = sigmoid(-sum of f)."""
    if x.type.dtype is DType.QS8:
        assert x.constant is not None
        return ctx.const(-x.constant, DType.QS8, x.type.quant)
    y: Value = ctx.emit("neg", x)
    return y


def _stacked(ctx: OperatorContext, w: Weights) -> Value:
    """The matrix as that of one direction."""
    v, quant = w.value, w.value.type.quant
    if quant is not None and v.constant is not None:
        zeros = quant.zero_point_array().tolist()
        moved = Quant.per_axis(quant.scales, 1, zeros) if quant.axis is not None else quant
        return ctx.const(v.constant[None], DType.QS8, moved)
    made: Value = ctx.emit("reshape", v, shape=(1, *v.type.shape))
    return made


def _biases(ctx: OperatorContext, cell: Cell) -> Value:
    """[1, 8H]: the operator adds a second bias, which is 0 here."""
    at = dict(zip(cell.gates, cell.biases, strict=True))
    if cell.coupled:
        at[I] = _negative(ctx, at[F])
    zeros = ctx.const(np.zeros(4 * cell.units, np.float32))
    row = ctx.emit("concat", *(at[k] for k in (I, O, F, C)), zeros, axis=0)
    made: Value = ctx.emit("reshape", row, shape=(1, 8 * cell.units))
    return made


def _peepholes(ctx: OperatorContext, cell: Cell) -> Value | None:
    """[1, 3H] in the order i, o, f, or None."""
    at = {k: p for k, p in zip(cell.gates, cell.peepholes, strict=True) if p is not None}
    if not at:
        return None
    if cell.coupled:
        at[I] = _negative(ctx, at[F])
    require(ctx, len(at) == 3, "peephole weights of a gate are missing")
    row = ctx.emit("concat", *(at[k] for k in (I, O, F)), axis=0)
    made: Value = ctx.emit("reshape", row, shape=(1, 3 * cell.units))
    return made


# ---- the basic kernel


def _basic(ctx: OperatorContext) -> Any:
    """Inputs: x [N, I], h [N, H], weights [4H, I + H] of gates i, c, f, o, biases, c. Results: h, c, the joined
    input and the sums of the gates.
    """
    x, h, w, bias, c = (ctx.value(i) for i in range(5))
    joint = ctx.emit("concat", x, h, axis=1)
    sums = ctx.emit("matmul", joint, w, bias, transpose_w=True)
    if ctx.type(0).dtype is DType.QS8:
        sums = ctx.emit("clamp", sums, lo=-8.0, hi=8.0)
    units = h.type.shape[1]
    i, g, f, o = ctx.emit("split", sums, axis=1, sizes=[units] * 4)
    kept = ctx.emit("mul", ctx.emit("sigmoid", f), c)
    new = ctx.emit("mul", ctx.emit("sigmoid", i), ctx.emit("tanh", g))
    c = ctx.emit("add", kept, new)
    y = ctx.emit("mul", ctx.emit("sigmoid", o), ctx.emit("tanh", c))
    for index, value in ((1, y), (4, c)):
        if ctx.tensor(index).is_variable:
            ctx.assign(index, value)
    return y, c, joint, sums
