# SPDX-License-Identifier: Apache-2.0
"""The operands of an LSTM with 20 or 24 inputs, and its step as nodes.

Inputs are in the order of gates i, f, c, o, lists of a Cell in the order i, f, o, c, so that gates with the same
activation lie side by side. A coupled cell has no input gate: i = 1 - f.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from samara.exporter.importers.common.emitter import Emitter
from samara.exporter.importers.tflite.context import OperatorContext, require
from samara.exporter.importers.tflite.handlers.cells import (
    Step,
    Weights,
    activated,
    joined,
    over_steps,
    vector_of,
    weights_of,
)
from samara.exporter.importers.tflite.tensors import attributes_of, quant_of
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, Quant

__all__ = ["Cell", "Places", "cell_of", "input_part", "step_of"]

I, F, C, O = range(4)
# The sums of an integer cell are int16 in steps of 2^-12.
_LARGEST: Final = (2.0**15 - 1) / 2.0**12


@dataclass(frozen=True, slots=True)
class Places:
    """Positions of a cell's inputs. weights: the first of 4 + 4 matrices, 3 peepholes, 4 biases and 2 of the
    projection. aux, norms: the first of 4, or None.
    """

    x: int = 0
    weights: int = 1
    output_state: int = 18
    cell_state: int = 19
    aux_x: int | None = None
    aux: int | None = None
    norms: int | None = None


@dataclass(frozen=True, slots=True)
class Diagonal:
    """Recurrent weights [H] of the state at the same place alone."""

    value: Value


@dataclass(frozen=True, slots=True)
class Cell:
    """An LSTM cell; lists are by gate.

    norms: layer normalization coefficients; biases are then added after it. integer: parameters of the output
    state of an integer cell, which quantizes this state in every step. hidden: those of the state before the
    projection.
    """

    places: Places
    gates: tuple[int, ...]
    w: list[Weights]
    aux: list[Weights]
    r: list[Weights | Diagonal]
    peepholes: list[Value | None]
    biases: list[Value]
    norms: list[Value]
    projection: Weights | None
    projection_bias: Value | None
    activation: str
    cell_clip: float
    output_clip: tuple[float, float] | None
    integer: Quant | None
    hidden: Quant | None

    @property
    def coupled(self) -> bool:
        return I not in self.gates

    @property
    def units(self) -> int:
        return self.w[0].units

    @property
    def outputs(self) -> int:
        """The size of the output state."""
        return self.units if self.projection is None else self.projection.units


def cell_of(ctx: OperatorContext, places: Places) -> Cell:
    """The cell whose inputs lie at these places."""
    first = places.weights
    integer = None
    if ctx.type(places.x).dtype is DType.QS8:
        integer = quant_of(ctx.tensor(places.output_state))
        require(ctx, integer is not None, "the output state of an integer LSTM has no parameters")
        if len(ctx.operator.intermediates) == 12:
            raise ctx.unsupported(
                "an integer LSTM that rounds every product to 8 bits (12 intermediate tensors)",
                "convert the model again: current converters keep 16 bits (5 intermediate tensors)",
            )
    gates = tuple(k for k in (I, F, O, C) if ctx.has(first + k))
    require(ctx, gates in ((I, F, O, C), (F, O, C)), "weights of a gate are missing")
    w = [weights_of(ctx, first + k, places.x) for k in gates]
    aux: list[Weights] = []
    if places.aux is not None and ctx.has(places.aux + F):
        assert places.aux_x is not None
        aux = [weights_of(ctx, places.aux + k, places.aux_x) for k in gates]
    norms: list[Value] = []
    if places.norms is not None and ctx.has(places.norms + F):
        norms = [ctx.value(places.norms + k) for k in gates]
    peepholes = {I: first + 8, F: first + 9, O: first + 10}
    has_projection = ctx.has(first + 15)
    return Cell(
        places=places,
        gates=gates,
        w=w,
        aux=aux,
        r=[_recurrent(ctx, first + 4 + k, places) for k in gates],
        peepholes=[_peephole(ctx, peepholes.get(k, -1)) for k in gates],
        biases=[_bias(ctx, places, k, bool(norms), integer) for k in gates],
        norms=norms,
        projection=weights_of(ctx, first + 15, places.x) if has_projection else None,
        projection_bias=_projection_bias(ctx, places, integer) if has_projection else None,
        activation="TANH" if integer else _activation(ctx),
        cell_clip=_cell_clip(ctx, places, integer),
        output_clip=_output_clip(ctx, integer) if has_projection else None,
        integer=integer,
        hidden=_hidden(ctx) if integer is not None and has_projection else None,
    )


def _peephole(ctx: OperatorContext, index: int) -> Value | None:
    return vector_of(ctx, index) if index >= 0 and ctx.has(index) else None


def _recurrent(ctx: OperatorContext, index: int, places: Places) -> Weights | Diagonal:
    if ctx.rank(index) == 1:
        return Diagonal(ctx.value(index))
    return weights_of(ctx, index, places.x)


def _activation(ctx: OperatorContext) -> str:
    """The activation of float cells; integer ones have tanh whatever the option says."""
    name = str(ctx.option("fused_activation_function", "TANH"))
    if name == "NONE":
        raise ctx.unsupported(
            "an LSTM without activation, for which TFLite's kernels give no defined result",
            "build the cell from single operators in the source model",
        )
    return name


def _scale(ctx: OperatorContext, index: int) -> float:
    p = ctx.tensor(index).parameters
    if p is None or len(p.scales) != 1:
        raise ctx.wrong(f"input {index} ({ctx.tensor(index).key}) needs one scale")
    return p.scales[0]


def _real_bias(ctx: OperatorContext, index: int, scale: float) -> Value:
    """An int32 bias in steps of `scale`; the tensor's own parameters do not count."""
    data = ctx.need_constant(index, f"input {index}")
    return ctx.const((data.astype(np.float64) * scale).astype(np.float32))


def _bias(
    ctx: OperatorContext, places: Places, gate: int, normed: bool, integer: Quant | None
) -> Value:
    index = places.weights + 11 + gate
    if integer is None:
        return ctx.value(index)
    if normed:
        assert places.norms is not None
        return _real_bias(ctx, index, _scale(ctx, places.norms + gate) * 2.0**-10)
    scale = _scale(ctx, places.x) * _scale(ctx, places.weights + gate)
    return _real_bias(ctx, index, scale)


def _hidden(ctx: OperatorContext) -> Quant:
    """Parameters of the state before the projection, those of the fifth intermediate tensor."""
    indices = ctx.operator.intermediates
    require(ctx, len(indices) > 4, "an integer LSTM needs 5 intermediate tensors")
    p = ctx.graph.tensor(indices[4]).parameters
    if p is None or len(p.scales) != 1:
        raise ctx.wrong("the fifth intermediate tensor needs one scale")
    # TFLite's kernel stores this state around the negated zero point.
    return Quant.per_tensor(p.scales[0], -p.zero_points[0])


def _projection_bias(ctx: OperatorContext, places: Places, integer: Quant | None) -> Value | None:
    index = places.weights + 16
    if not ctx.has(index):
        return None
    if integer is None:
        return ctx.value(index)
    scale = _scale(ctx, places.weights + 15) * _hidden(ctx).scale
    return _real_bias(ctx, index, scale)


def _cell_clip(ctx: OperatorContext, places: Places, integer: Quant | None) -> float:
    """The limit of the cell state, or 0. An integer cell is limited to whole steps."""
    limit = float(ctx.option("cell_clip", 0.0))
    require(ctx, limit >= 0, f"cell_clip {limit} is negative")
    if integer is None:
        return limit
    step = _scale(ctx, places.cell_state)
    return min(int(limit / step) or 32767, 32767) * step


def _output_clip(ctx: OperatorContext, integer: Quant | None) -> tuple[float, float] | None:
    """Limits of the projection. Those of an integer cell are on its integers, whatever the zero point."""
    limit = float(ctx.option("proj_clip", 0.0))
    require(ctx, limit >= 0, f"proj_clip {limit} is negative")
    if not limit:
        return None
    if integer is None:
        return -limit, limit
    steps = int(min(limit / integer.scale, 127.0))
    zero = int(integer.zero_point_array()[0])
    return (-steps - zero) * integer.scale, (steps - zero) * integer.scale


# ---- nodes


def input_part(ctx: OperatorContext, cell: Cell, x: Value, aux: Value | None) -> Value:
    """The part of all gates [T, N, G * H] that depends on the input [T, N, I] alone, biases included."""
    bias = None if cell.norms else ctx.emit("concat", *cell.biases, axis=0)
    y = over_steps(ctx, joined(ctx, cell.w), x, bias)
    if cell.aux and aux is not None:
        y = ctx.emit("add", y, over_steps(ctx, joined(ctx, cell.aux), aux, None))
    return y


def step_of(ctx: OperatorContext, cell: Cell) -> Step:
    """A step: (gates' part of the input [N, G * H], [output state, cell state]) -> (output, both states)."""
    count, units = len(cell.gates), cell.units
    matrices = [r for r in cell.r if isinstance(r, Weights)]
    whole = joined(ctx, matrices) if len(matrices) == count else None
    plain = not cell.norms and not any(cell.peepholes) and whole is not None

    def step(e: Emitter, x: Value, states: Sequence[Value]) -> tuple[Value, list[Value]]:
        h, c = states
        if h.type.dtype is DType.QS8:
            h = e.emit("dequantize", h)
        if whole is not None:
            x = e.emit("add", x, whole.times(e, h))
        sums: dict[int, Value] = {}
        known: dict[int, Value] = {}
        if plain:
            together, sums[C] = e.emit(
                "split", _limited(e, cell, x), axis=1, sizes=[units * (count - 1), units]
            )
            parts = e.emit(
                "split", e.emit("sigmoid", together), axis=1, sizes=[units] * (count - 1)
            )
            known = dict(zip(cell.gates, parts, strict=False))
        else:
            parts = e.emit("split", x, axis=1, sizes=[units] * count)
            if whole is None:
                parts = [
                    e.emit("add", p, _times(e, r, h)) for p, r in zip(parts, cell.r, strict=True)
                ]
            sums = dict(zip(cell.gates, parts, strict=True))

        def gate(k: int, c: Value) -> Value:
            return known[k] if plain else e.emit("sigmoid", _sum(e, cell, k, sums[k], c))

        f = gate(F, c)
        i = e.emit("sub", 1.0, f) if cell.coupled else gate(I, c)
        g = sums[C] if plain else _sum(e, cell, C, sums[C], c)
        g = activated(e, g, cell.activation)
        c = e.emit("add", e.emit("mul", f, c), e.emit("mul", i, g))
        if cell.cell_clip:
            c = e.emit("clamp", c, lo=-cell.cell_clip, hi=cell.cell_clip)
        y = e.emit("mul", gate(O, c), activated(e, c, cell.activation))
        y = _output(e, cell, y)
        return y, [y, c]

    return step


def _times(e: Emitter, r: Weights | Diagonal, h: Value) -> Value:
    if isinstance(r, Weights):
        return r.times(e, h)
    y: Value = e.emit("mul", h, r.value)
    return y


def _sum(e: Emitter, cell: Cell, gate: int, x: Value, c: Value) -> Value:
    """The sum before the activation: with the peephole, then normalized."""
    k = cell.gates.index(gate)
    peephole = cell.peepholes[k]
    if peephole is not None:
        x = e.emit("add", x, e.emit("mul", c, peephole))
    if cell.norms:
        x = e.emit("layer_norm", x, cell.norms[k], cell.biases[k], axis=-1, eps=1e-8)
    return _limited(e, cell, x)


def _limited(e: Emitter, cell: Cell, x: Value) -> Value:
    """Sums as far as an integer cell holds them."""
    if cell.integer is None:
        return x
    y: Value = e.emit("clamp", x, lo=-8.0, hi=_LARGEST)
    return y


def _output(e: Emitter, cell: Cell, y: Value) -> Value:
    """The new output state from that of the cell."""
    if cell.projection is not None:
        if cell.hidden is not None:
            y = e.emit("dequantize", e.emit("quantize", y, **attributes_of(cell.hidden)))
        y = cell.projection.times(e, y, cell.projection_bias)
        if cell.output_clip is not None:
            y = e.emit("clamp", y, lo=cell.output_clip[0], hi=cell.output_clip[1])
    if cell.integer is not None:
        y = e.emit("quantize", y, **attributes_of(cell.integer))
    return y
