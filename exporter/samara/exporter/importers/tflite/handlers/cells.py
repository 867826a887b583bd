# SPDX-License-Identifier: Apache-2.0
"""What recurrent operators share: weights, states that live on between calls, and steps over a sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from samara.exporter.importers.common.emitter import Emitter
from samara.exporter.importers.tflite.context import (
    ACTIVATIONS,
    OperatorContext,
    need_static,
    require,
)
from samara.exporter.importers.tflite.handlers.windows import is_hybrid
from samara.exporter.ir.builder import Builder
from samara.exporter.ir.program import Source, Value
from samara.exporter.types import Dim, DType, Quant, as_dim

__all__ = [
    "Body",
    "Step",
    "Weights",
    "activated",
    "joined",
    "over_steps",
    "scanned",
    "set_state",
    "state_of",
    "to_operator_layout",
    "to_time_major",
    "vector_of",
    "weights_of",
]

# One step: (the part of its input, states before) -> (result, states after).
Step = Callable[[Emitter, Value, Sequence[Value]], tuple[Value, list[Value]]]


class Body(Emitter):
    """Makes the nodes of a loop's body. Their names differ from those outside of it."""

    def __init__(self, ctx: OperatorContext, builder: Builder, where: str) -> None:
        self.ctx = ctx
        self.builder = builder
        self.where = where

    @property
    def op_type(self) -> str:
        return self.ctx.op_type

    @property
    def label(self) -> str:
        return f"{self.ctx.label}/{self.where}"

    @property
    def source(self) -> Source:
        return self.ctx.source

    @property
    def output_names(self) -> Sequence[str]:
        return [self.label]


# ---- weights


@dataclass(frozen=True, slots=True)
class Weights:
    """A matrix [units, depth].

    rounded: int8 weights whose float operand is quantized while running. factors: numbers [groups, 1], one for each
    group of equally many rows, that the matrix is multiplied with.
    """

    value: Value
    rounded: bool
    factors: Value | None = None

    @property
    def units(self) -> int:
        return self.value.type.shape[0].as_int()

    def times(self, e: Emitter, x: Value, bias: Value | None = None) -> Value:
        """x [rows, depth] times the matrix, plus a bias [units]."""
        w = self.value
        if w.type.dtype is DType.QS8 and not self.rounded:
            w = e.emit("dequantize", w)
        op = "matmul_dynamic" if self.rounded else "matmul"
        y: Value
        if self.factors is None:
            y = e.emit(op, x, w, bias, transpose_w=True)
            return y
        groups = self.factors.type.shape[0].as_int()
        grouped = (groups, self.units // groups)
        if bias is not None:
            bias = e.emit("div", e.emit("reshape", bias, shape=grouped), self.factors)
            bias = e.emit("reshape", bias, shape=(self.units,))
        y = e.emit(op, x, w, bias, transpose_w=True)
        rows = y.type.shape[0]
        y = e.emit("mul", e.emit("reshape", y, shape=(rows, *grouped)), self.factors)
        y = e.emit("reshape", y, shape=(rows, self.units))
        return y


def weights_of(ctx: OperatorContext, index: int, x: int = 0) -> Weights:
    """The matrix that is input `index`; int8 ones stay int8. x: the input that it is multiplied with."""
    hybrid = is_hybrid(ctx, x, index)
    if ctx.rank(index) != 2:
        raise ctx.wrong(f"input {index} is {ctx.type(index)}, expected a matrix")
    need_static(ctx, ctx.shape(index), f"the shape of input {index}")
    if hybrid:
        ctx.need_constant(index, f"input {index}")
    return Weights(_signed(ctx, index) if hybrid else ctx.stored(index), rounded=hybrid)


def vector_of(ctx: OperatorContext, index: int) -> Value:
    """Weights that meet float activations, real."""
    if ctx.type(index).dtype is not DType.QS8:
        return ctx.value(index)
    made: Value = ctx.emit("dequantize", _signed(ctx, index))
    return made


def _signed(ctx: OperatorContext, index: int) -> Value:
    """int8 weights beside float activations. The bytes of type uint8 are read as int8 without a zero point."""
    value = ctx.stored(index)
    quant = value.type.quant
    if ctx.tensor(index).type != "UINT8" or quant is None or value.constant is None:
        return value
    data = (value.constant.view(np.uint8) ^ np.uint8(0x80)).view(np.int8)
    return ctx.const(data, DType.QS8, Quant.per_tensor(quant.scales[0]))


def joined(ctx: OperatorContext, parts: Sequence[Weights]) -> Weights:
    """Matrices with the same depth below each other."""
    values = [p.value for p in parts]
    quants = [v.type.quant for v in values if v.type.quant is not None and v.constant is not None]
    if len(quants) < len(parts):
        real = [v if v.type.quant is None else ctx.emit("dequantize", v) for v in values]
        return Weights(ctx.emit("concat", *real, axis=0), rounded=False)
    data = np.concatenate([v.constant for v in values if v.constant is not None])
    if not parts[0].rounded and len({p.units for p in parts}) == 1 and _are_plain(quants):
        # A scale per row would take as many bytes as several columns.
        factors = ctx.const(np.array([[q.scale] for q in quants], np.float32))
        unit = ctx.const(data, DType.QS8, Quant.per_tensor(1.0))
        return Weights(unit, rounded=False, factors=factors)
    scales: list[float] = []
    zeros: list[int] = []
    for p, q in zip(parts, quants, strict=True):
        require(ctx, q.axis in (None, 0), "weights have scales along their second axis")
        scales += np.broadcast_to(q.scale_array(), (p.units,)).tolist()
        zeros += np.broadcast_to(q.zero_point_array(), (p.units,)).tolist()
    made = ctx.const(data, DType.QS8, Quant.per_axis(scales, 0, zeros))
    return Weights(made, parts[0].rounded)


def _are_plain(quants: Sequence[Quant]) -> bool:
    return all(q.is_per_tensor and q.is_symmetric for q in quants)


# ---- states


def state_of(
    ctx: OperatorContext, index: int, shape: Sequence[Dim], *, stored: bool = False
) -> Value:
    """A variable tensor as real numbers (or as it is stored), in this shape; the file may have another."""
    tensor = ctx.tensor(index)
    if not tensor.is_variable:
        raise ctx.unsupported(
            f"input {index} ({tensor.key}) is a state and no variable tensor",
            "convert the model again",
        )
    value = ctx.stored(index) if stored else ctx.value(index)
    if value.type.shape == tuple(shape):
        return value
    seen: Value = ctx.emit("reshape", value, shape=tuple(shape))
    return seen


def set_state(ctx: OperatorContext, index: int, value: Value) -> None:
    """Let a variable tensor hold this value from here on."""
    shape = tuple(as_dim(n) for n in ctx.tensor(index).shape)
    if value.type.shape != shape:
        value = ctx.emit("reshape", value, shape=shape)
    ctx.assign(index, value)


# ---- sequences


def activated(e: Emitter, x: Value, name: str) -> Value:
    """A fused activation by its name."""
    rule = ACTIVATIONS.get(name)
    if rule is None:
        raise e.unsupported(
            f"fused activation {name} is not known", "convert the model with another activation"
        )
    if rule == ():
        return x
    y: Value = e.emit(rule[0], x, **rule[1])
    return y


def to_time_major(ctx: OperatorContext, x: Value, time_major: bool) -> Value:
    """x [N, T, I] as [T, N, I], if it is not so already."""
    if x.type.rank != 3:
        raise ctx.wrong(f"the input is {x.type}, expected rank 3")
    return x if time_major else _swapped(ctx, x)


def _swapped(e: Emitter, x: Value) -> Value:
    first, second, size = x.type.shape
    y: Value
    if as_dim(1) in (first, second):
        y = e.emit("reshape", x, shape=(second, first, size))
    else:
        y = e.emit("transpose", x, perm=(1, 0, 2))
    return y


def to_operator_layout(ctx: OperatorContext, y: Value, time_major: bool) -> Value:
    """y [T, N, O] in the layout of the operator."""
    return y if time_major else _swapped(ctx, y)


def over_steps(ctx: OperatorContext, w: Weights, x: Value, bias: Value | None) -> Value:
    """x [T, N, I] times weights [G, I], plus a bias [G]: [T, N, G]."""
    steps, batch, size = x.type.shape
    rows = ctx.emit("reshape", x, shape=(steps * batch, size))
    y: Value = ctx.emit("reshape", w.times(ctx, rows, bias), shape=(steps, batch, w.units))
    return y


def scanned(
    ctx: OperatorContext,
    x: Value,
    states: Sequence[Value],
    step: Step,
    *,
    back: bool = False,
) -> tuple[Value, list[Value]]:
    """(results [T, N, O], states after the last step) of `step` over x [T, N, I], from the last one on if `back`."""
    steps, batch, size = x.type.shape
    if steps == as_dim(1):
        y, after = step(ctx, ctx.emit("reshape", x, shape=(batch, size)), states)
        return ctx.emit("reshape", y, shape=(1, *y.type.shape)), after
    name = "backward" if back else "forward"
    body = Body(ctx, ctx.builder.child(name), name)
    builder = body.builder
    iteration = builder.input("iteration", DType.I64, ())
    go = builder.input("condition", DType.BOOL, ())
    before = [builder.formal(f"state{k}", s.type) for k, s in enumerate(states)]
    length = _scalar(ctx, steps)
    at = body.emit("sub", ctx.emit("sub", length, 1), iteration) if back else iteration
    y, after = step(body, body.emit("gather", x, at, axis=0), before)
    made = ctx.builder.loop(
        length, None, states, (builder, [go, *after, y]), name=f"{ctx.label}.{name}"
    )
    stacked = made[-1]
    shape = (steps, *stacked.type.shape[1:])
    if stacked.type.shape != shape:
        stacked = ctx.emit("reshape", stacked, shape=shape)
    if back:
        stacked = _reversed(ctx, stacked)
    return stacked, list(made[:-1])


def _scalar(ctx: OperatorContext, dim: Dim) -> Value:
    """A dim as an int64 scalar."""
    if dim.is_static:
        return ctx.const(np.int64(dim.as_int()))
    made: Value = ctx.emit("dims", values=[dim], dtype=DType.I64, scalar=True)
    return made


def _reversed(ctx: OperatorContext, y: Value) -> Value:
    rank = y.type.rank
    turned: Value = ctx.emit(
        "slice",
        y,
        begin=[y.type.shape[0] - 1, *[0] * (rank - 1)],
        end=[-1, *y.type.shape[1:]],
        step=[-1, *[1] * (rank - 1)],
    )
    return turned
