# SPDX-License-Identifier: Apache-2.0
"""The integer LSTM in TFLite's integers: int8 weights and activations, gates and cell of 16 bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from samara.exporter.importers.common.emitter import Emitter
from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.exact.fixed_point import (
    Fixed,
    Integers,
    divided_by,
    high_product,
    scaled,
    steps_of,
)
from samara.exporter.importers.tflite.exact.quantized import is_whole, scale_of, zero_of
from samara.exporter.importers.tflite.exact.transcendental import NARROW
from samara.exporter.importers.tflite.handlers.cells import (
    scanned,
    set_state,
    state_of,
    to_operator_layout,
    to_time_major,
)
from samara.exporter.importers.tflite.registry import exact_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, Quant, as_dim

# Places of inputs: weights and biases of the gates input, forget, cell, output.
_W, _R, _B = (1, 2, 3, 4), (5, 6, 7, 8), (12, 13, 14, 15)
# Peepholes, projection, norms: their cells are left to the other converter.
_MORE: Final = (9, 10, 11, 16, 17, 20, 21, 22, 23)
_OUTPUT_STATE, _CELL_STATE = 18, 19
_HIDDEN: Final = 4  # of the intermediate tensors
_MOST: Final = (1 << 15) - 1
_GATE = np.float32(2.0**-12)


@dataclass(frozen=True, slots=True)
class _Cell:
    """gates: places of the gates in 0…3, the cell gate last; without the input gate it is 1 - forget gate."""

    gates: tuple[int, ...]
    units: int
    w: Value
    r: Value
    bias: Value
    w_scale: Fixed
    r_scale: Fixed
    hidden_scale: Fixed
    hidden_zero: int
    state: Quant
    cell_bits: int
    clip: int


@exact_op("UNIDIRECTIONAL_SEQUENCE_LSTM")
def unidirectional_sequence_lstm(ctx: OperatorContext) -> Any:
    if not _is_integer(ctx) or any(ctx.has(i) for i in _MORE):
        return NotImplemented
    cell = _cell(ctx)
    if cell is None:
        return NotImplemented
    time_major = bool(ctx.option("time_major", False))
    x = to_time_major(ctx, ctx.stored(0), time_major)
    size = (x.type.shape[1], as_dim(cell.units))
    states = [state_of(ctx, i, size, stored=True) for i in (_OUTPUT_STATE, _CELL_STATE)]
    gates = _from_input(ctx, cell, x)
    y, (h, c) = scanned(ctx, gates, states, lambda e, g, s: _step(e, cell, g, s))
    set_state(ctx, _OUTPUT_STATE, h)
    set_state(ctx, _CELL_STATE, c)
    return to_operator_layout(ctx, y, time_major)


def _is_integer(ctx: OperatorContext) -> bool:
    tensors = [ctx.tensor(i) for i in (0, _OUTPUT_STATE)]
    return (
        all(is_whole(t, "INT8") for t in (*tensors, ctx.output(0)))
        and is_whole(ctx.tensor(_CELL_STATE), "INT16")
        and all(is_whole(ctx.tensor(i), "INT8") for i in (*_W, *_R) if ctx.has(i))
        and ctx.rank(0) == 3
        and len(ctx.operator.intermediates) > _HIDDEN
    )


def _cell(ctx: OperatorContext) -> _Cell | None:
    log = float(np.log2(np.float64(scale_of(ctx.tensor(_CELL_STATE)))))
    hidden = ctx.graph.tensor(ctx.operator.intermediates[_HIDDEN])
    if abs(log - round(log)) > 1e-3 or not is_whole(hidden, "INT8"):
        return None
    coupled = not ctx.has(_W[0])
    gates = (1, 3, 2) if coupled else (0, 1, 3, 2)
    units = int(ctx.need_constant(_W[1], "the weights").shape[0])
    x, h = scale_of(ctx.tensor(0)), scale_of(ctx.tensor(_OUTPUT_STATE))
    hidden_scale = np.float32(2.0**-15 / float(scale_of(hidden)) * 2.0**-15)
    state = ctx.type(_OUTPUT_STATE).quant
    assert state is not None
    return _Cell(
        gates,
        units,
        _joined(ctx, _W, gates),
        _joined(ctx, _R, gates),
        ctx.const(_together(ctx, _B, gates).astype(np.int32)),
        _scales(ctx, _W, gates, x, units),
        _scales(ctx, _R, gates, h, units),
        Fixed.of(float(hidden_scale)),
        zero_of(hidden),
        state,
        15 + round(log),
        _clip(ctx),
    )


def _clip(ctx: OperatorContext) -> int:
    """The limit of the cell state in its steps, 0 for none."""
    limit = np.float32(ctx.option("cell_clip", 0.0))
    if limit <= 0:
        return 0
    return int(min(limit / scale_of(ctx.tensor(_CELL_STATE)), np.float32(_MOST)))


def _together(ctx: OperatorContext, places: Sequence[int], gates: Sequence[int]) -> Any:
    return np.concatenate([ctx.need_constant(places[g], "the weights") for g in gates])


def _joined(ctx: OperatorContext, places: Sequence[int], gates: Sequence[int]) -> Value:
    """The weights of all gates below each other; the kernels know no zero points of them."""
    return ctx.const(_together(ctx, places, gates), DType.QS8, Quant.per_tensor(1.0, 0))


def _scales(
    ctx: OperatorContext, places: Sequence[int], gates: Sequence[int], x: np.float32, units: int
) -> Fixed:
    """Per row of the joined weights: from their sums to steps of 2^-12."""
    each = [float(scale_of(ctx.tensor(places[g])) * x / _GATE) for g in gates]
    return Fixed.of(np.repeat(each, units).tolist())


def _limited(e: Emitter, x: Value, most: int = _MOST, least: int | None = None) -> Value:
    """int64 x in least…most, which is -most - 1…most unless given."""
    low = -most - 1 if least is None else least
    made: Value = e.emit("min", e.emit("max", x, e.const(np.int64(low))), e.const(np.int64(most)))
    return made


def _from_input(ctx: OperatorContext, cell: _Cell, x: Value) -> Value:
    """The part of all steps' gates that needs no state [T, N, gates], int64 of 16 bits."""
    acc = ctx.emit("qmatmul", x, cell.w, cell.bias, transpose_w=True, to=DType.I32)
    return _limited(ctx, scaled(ctx, acc, cell.w_scale))


def _tabled(e: Emitter, x: Value, table: Integers) -> Value:
    """A function of 16-bit numbers, int64 both. Negative indices count from the end of the table."""
    half = table.size // 2
    entries = e.const(np.concatenate([table[half:], table[:half]]).astype(np.int16))
    short = e.emit("gather", entries, x, axis=0, wrap=True)
    made: Value = e.emit("cast", short, to=DType.I64)
    return made


_ALL: Final = np.arange(-(1 << 15), 1 << 15, dtype=np.int64)


def _step(
    e: Emitter, cell: _Cell, gates: Value, states: Sequence[Value]
) -> tuple[Value, list[Value]]:
    """(output, [output state, cell state]) of one step; gates [N, gates * units]."""
    h, c = states
    acc = e.emit("qmatmul", h, cell.r, transpose_w=True, to=DType.I32)
    both = _limited(e, e.emit("add", gates, scaled(e, acc, cell.r_scale)))
    count, units = len(cell.gates), cell.units
    first, last = e.emit("split", both, axis=1, sizes=[(count - 1) * units, units])
    opened = _tabled(e, first, NARROW.logistic(_ALL, 3))
    parts = e.emit("split", opened, axis=1, sizes=[units] * (count - 1))
    forget, out = parts[-2], parts[-1]
    enter = parts[0] if count == 4 else e.emit("sub", e.const(np.int64(_MOST)), forget)
    update = _tabled(e, last, NARROW.tanh(_ALL, 3))
    kept = _divided(e, e.emit("mul", forget, e.emit("cast", c, to=DType.I64)), 15)
    new = _divided(e, e.emit("mul", enter, update), 15 + cell.cell_bits)
    state = _limited(e, e.emit("add", kept, new))
    if cell.clip:
        state = _limited(e, state, cell.clip, -cell.clip)
    shown = _tabled(e, state, NARROW.tanh(_ALL, cell.cell_bits))
    high = high_product(e, e.emit("mul", out, shown), cell.hidden_scale)
    real, divisor = steps_of(e, high, cell.hidden_scale.rights)
    attrs = {"scales": (divisor,), "zero_points": (cell.hidden_zero,), "axis": -1}
    narrow = e.emit("quantize", real, **attrs)
    attrs = {"scales": cell.state.scales, "zero_points": cell.state.zero_points, "axis": -1}
    y = e.emit("reinterpret", narrow, to=DType.QS8, **attrs)
    return y, [y, e.emit("cast", state, to=DType.I16)]


def _divided(e: Emitter, x: Value, right: int) -> Value:
    return divided_by(e, x, np.array([right]))
