# SPDX-License-Identifier: Apache-2.0
"""The integer LSTM in TFLite's integers: int8 weights and activations, gates and cell of 16 bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.exporter.importers.common.emitter import Emitter
from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.exact.fixed_point import (
    Fixed,
    divided_by,
    high_product,
    scaled,
    steps_of,
)
from samara.exporter.importers.tflite.exact.lstm_parts import (
    Norm,
    Projection,
    limited,
    norm_of,
    projection_of,
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
from samara.exporter.importers.tflite.model import Tensor
from samara.exporter.importers.tflite.registry import exact_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, Quant, as_dim

# Places of inputs: weights and biases of the gates input, forget, cell, output.
_W, _R, _B = (1, 2, 3, 4), (5, 6, 7, 8), (12, 13, 14, 15)
_PEEPHOLES, _NORMS = (9, 10, -1, 11), (20, 21, 22, 23)
_PROJECTION, _PROJECTION_BIAS = 16, 17
_OUTPUT_STATE, _CELL_STATE = 18, 19
_HIDDEN: Final = 4  # of the intermediate tensors
_MOST: Final = (1 << 15) - 1


@dataclass(frozen=True, slots=True)
class _Cell:
    """gates: places of the gates in 0…3, the cell gate last; without the input gate it is 1 - forget gate.

    peepholes: by gate, weights of the cell state with their scale. clips: largest steps of the cell state and of
    the projected output, 0 for no limit.
    """

    gates: tuple[int, ...]
    units: int
    w: Value
    r: Value
    bias: Value
    w_scale: Fixed
    r_scale: Fixed
    peepholes: Mapping[int, tuple[Value, Fixed]]
    norms: Mapping[int, Norm]
    hidden_scale: Fixed
    hidden_zero: int
    projection: Projection | None
    state: Quant
    cell_bits: int
    clips: tuple[int, int]


@exact_op("UNIDIRECTIONAL_SEQUENCE_LSTM")
def unidirectional_sequence_lstm(ctx: OperatorContext) -> Any:
    if not _is_integer(ctx):
        return NotImplemented
    cell = _cell(ctx)
    if cell is None:
        return NotImplemented
    time_major = bool(ctx.option("time_major", False))
    x = to_time_major(ctx, ctx.stored(0), time_major)
    batch, units = x.type.shape[1], as_dim(cell.units)
    outputs = units if cell.projection is None else cell.projection.w.type.shape[0]
    h = state_of(ctx, _OUTPUT_STATE, (batch, outputs), stored=True)
    states = [h, state_of(ctx, _CELL_STATE, (batch, units), stored=True)]
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
    hidden = _inner(ctx, _HIDDEN)
    if abs(log - round(log)) > 1e-3 or not is_whole(hidden, "INT8"):
        return None
    coupled = not ctx.has(_W[0])
    gates = (1, 3, 2) if coupled else (0, 1, 3, 2)
    units = int(ctx.need_constant(_W[1], "the weights").shape[0])
    x, h = scale_of(ctx.tensor(0)), scale_of(ctx.tensor(_OUTPUT_STATE))
    state = ctx.type(_OUTPUT_STATE).quant
    assert state is not None
    projected = ctx.has(_PROJECTION)
    if projected and ctx.has(_PEEPHOLES[1]) and ctx.option("time_major", False):
        return None  # the kernel's peepholes then run across the cells of a batch
    biases = _together(ctx, _B, gates).astype(np.int32)
    norms = {g: norm_of(ctx, _NORMS[g], _B[g]) for g in gates if ctx.has(_NORMS[g])}
    return _Cell(
        gates,
        units,
        _joined(ctx, _W, gates),
        _joined(ctx, _R, gates),
        ctx.const(np.zeros_like(biases) if norms else biases),
        _scales(ctx, _W, gates, x, units),
        _scales(ctx, _R, gates, h, units),
        {g: _peephole(ctx, g, round(log)) for g in gates if _has_peephole(ctx, g)},
        norms,
        Fixed.of(float(np.float32(2.0**-15 / float(scale_of(hidden)) * 2.0**-15))),
        zero_of(hidden),
        projection_of(ctx, _PROJECTION, _PROJECTION_BIAS, hidden) if projected else None,
        state,
        15 + round(log),
        (_clip(ctx, "cell_clip", _CELL_STATE, _MOST), _clip(ctx, "proj_clip", _OUTPUT_STATE, 127)),
    )


def _inner(ctx: OperatorContext, index: int) -> Tensor:
    """An intermediate tensor, which only has parameters."""
    return ctx.graph.tensor(ctx.operator.intermediates[index])


def _gate_scale(ctx: OperatorContext, gate: int) -> np.float32:
    """The scale of a gate's sums: 2^-12 without layer normalization."""
    return scale_of(_inner(ctx, gate)) if ctx.has(_NORMS[1]) else np.float32(2.0**-12)


def _has_peephole(ctx: OperatorContext, gate: int) -> bool:
    return gate != 2 and ctx.has(_PEEPHOLES[gate])


def _peephole(ctx: OperatorContext, gate: int, log: int) -> tuple[Value, Fixed]:
    """Weights by cell. The kernel takes as many as there are outputs; projected cells beyond have none."""
    index = _PEEPHOLES[gate]
    w = ctx.need_constant(index, "the weights").astype(np.int64)
    w[int(ctx.need_constant(_R[1], "the weights").shape[1]) :] = 0
    real = 2.0**log * float(scale_of(ctx.tensor(index))) / float(_gate_scale(ctx, gate))
    return ctx.const(w), Fixed.of(float(np.float32(real)))


def _clip(ctx: OperatorContext, option: str, index: int, most: int) -> int:
    """A limit in steps of a state, 0 for none."""
    limit = np.float32(ctx.option(option, 0.0))
    if limit <= 0:
        return 0
    return int(min(limit / scale_of(ctx.tensor(index)), np.float32(most)))


def _together(ctx: OperatorContext, places: Sequence[int], gates: Sequence[int]) -> Any:
    return np.concatenate([ctx.need_constant(places[g], "the weights") for g in gates])


def _joined(ctx: OperatorContext, places: Sequence[int], gates: Sequence[int]) -> Value:
    """The weights of all gates below each other; the kernels know no zero points of them."""
    return ctx.const(_together(ctx, places, gates), DType.QS8, Quant.per_tensor(1.0, 0))


def _scales(
    ctx: OperatorContext, places: Sequence[int], gates: Sequence[int], x: np.float32, units: int
) -> Fixed:
    """Per row of the joined weights: from their sums to steps of the gates."""
    each = [float(scale_of(ctx.tensor(places[g])) * x / _gate_scale(ctx, g)) for g in gates]
    return Fixed.of(np.repeat(each, units).tolist())


def _from_input(ctx: OperatorContext, cell: _Cell, x: Value) -> Value:
    """The part of all steps' gates that needs no state [T, N, gates], int64 of 16 bits."""
    acc = ctx.emit("qmatmul", x, cell.w, cell.bias, transpose_w=True, to=DType.I32)
    return limited(ctx, scaled(ctx, acc, cell.w_scale))


@cache
def _table(function: str, integer_bits: int) -> npt.NDArray[np.int16]:
    """logistic or tanh of all 16-bit numbers, those from 0 on first, since negative indices count from the end."""
    numbers = np.arange(-(1 << 15), 1 << 15, dtype=np.int64)
    rule = NARROW.tanh if function == "tanh" else NARROW.logistic
    made = np.roll(rule(numbers, integer_bits), 1 << 15).astype(np.int16)
    made.flags.writeable = False
    return made


def _tabled(e: Emitter, x: Value, function: str, integer_bits: int) -> Value:
    """A function of 16-bit numbers, int64 both."""
    entries = e.const(_table(function, integer_bits))
    made: Value = e.emit("cast", e.emit("gather", entries, x, axis=0, wrap=True), to=DType.I64)
    return made


def _step(
    e: Emitter, cell: _Cell, gates: Value, states: Sequence[Value]
) -> tuple[Value, list[Value]]:
    """(output, [output state, cell state]) of one step; gates [N, gates * units]."""
    h, c = states[0], e.emit("cast", states[1], to=DType.I64)
    acc = e.emit("qmatmul", h, cell.r, transpose_w=True, to=DType.I32)
    both = limited(e, e.emit("add", gates, scaled(e, acc, cell.r_scale)))
    parts = e.emit("split", both, axis=1, sizes=[cell.units] * len(cell.gates))
    sums = dict(zip(cell.gates, parts, strict=True))
    forget = _opened(e, cell, 1, sums[1], c)
    if 0 in sums:
        enter = _opened(e, cell, 0, sums[0], c)
    else:
        enter = e.emit("sub", e.const(np.int64(_MOST)), forget)
    update = _tabled(e, _normed(e, cell, 2, sums[2]), "tanh", 3)
    kept = _divided(e, e.emit("mul", forget, c), 15)
    new = _divided(e, e.emit("mul", enter, update), 15 + cell.cell_bits)
    state = limited(e, e.emit("add", kept, new))
    if cell.clips[0]:
        state = limited(e, state, cell.clips[0], -cell.clips[0])
    out = _opened(e, cell, 3, sums[3], state)
    shown = _tabled(e, state, "tanh", cell.cell_bits)
    y = _output(e, cell, e.emit("mul", out, shown))
    return y, [y, e.emit("cast", state, to=DType.I16)]


def _opened(e: Emitter, cell: _Cell, gate: int, x: Value, c: Value) -> Value:
    """A gate between 0 and 1 of its sums and the cell state."""
    if gate in cell.peepholes:
        w, scale = cell.peepholes[gate]
        x = limited(e, e.emit("add", x, scaled(e, e.emit("mul", c, w), scale)))
    return _tabled(e, _normed(e, cell, gate, x), "logistic", 3)


def _normed(e: Emitter, cell: _Cell, gate: int, x: Value) -> Value:
    return cell.norms[gate].of(e, x) if gate in cell.norms else x


def _output(e: Emitter, cell: _Cell, product: Value) -> Value:
    """The hidden state, projected if the cell does so, as the output state is stored."""
    high = high_product(e, product, cell.hidden_scale)
    real, divisor = steps_of(e, high, cell.hidden_scale.rights)
    # The kernel moves a hidden state that it projects to the other side of zero.
    zero = cell.hidden_zero if cell.projection is None else -cell.hidden_zero
    attrs: dict[str, Any] = {"scales": (divisor,), "zero_points": (zero,), "axis": -1}
    y = e.emit("quantize", real, **attrs)
    if cell.projection is not None:
        y = cell.projection.of(e, y, cell.state, cell.clips[1])
    attrs = {"scales": cell.state.scales, "zero_points": cell.state.zero_points, "axis": -1}
    made: Value = e.emit("reinterpret", y, to=DType.QS8, **attrs)
    return made


def _divided(e: Emitter, x: Value, right: int) -> Value:
    return divided_by(e, x, np.array([right]))
