# SPDX-License-Identifier: Apache-2.0
"""Layer normalization and projection of the integer LSTM in TFLite's integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.exporter.importers.common.emitter import Emitter
from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.exact.fixed_point import (
    Fixed,
    divided_by,
    high_half,
    scaled,
    shifted_right,
)
from samara.exporter.importers.tflite.exact.normalization import divided_at_run_time, inverse_root
from samara.exporter.importers.tflite.exact.quantized import scale_of, zero_of
from samara.exporter.importers.tflite.model import Tensor
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, Quant

_MOST: Final = (1 << 15) - 1


def limited(e: Emitter, x: Value, most: int = _MOST, least: int | None = None) -> Value:
    """int64 x in least…most; least is -most - 1 unless given."""
    low = -most - 1 if least is None else least
    made: Value = e.emit("min", e.emit("max", x, e.const(np.int64(low))), e.const(np.int64(most)))
    return made


@dataclass(frozen=True, slots=True)
class Norm:
    """Layer normalization of one gate: weights and biases [units]; guard: the least variance."""

    weights: npt.NDArray[Any]
    bias: npt.NDArray[Any]
    scale: Fixed
    guard: int

    def of(self, e: Emitter, x: Value) -> Value:
        """x [N, units], int64 of 16 bits, in and out."""

        def one(value: int) -> Value:
            return e.const(np.int64(value))

        units = self.weights.size
        total = e.emit("reduce_sum", x, axes=[1], keepdims=True)
        squares = e.emit("reduce_sum", e.emit("mul", x, x), axes=[1], keepdims=True)
        # Division towards zero.
        size = e.emit("div", e.emit("mul", e.emit("abs", total), one(1024)), one(units))
        mean = e.emit("mul", size, e.emit("sign", total))
        spread = e.emit("mul", squares, one((1 << 20) // units))
        variance = shifted_right(e, e.emit("sub", spread, e.emit("mul", mean, mean)), 20)
        safe = e.emit("where", e.emit("lt", variance, one(1)), one(self.guard), variance)
        factor, right = inverse_root(e, safe)
        centred = e.emit("sub", e.emit("mul", x, one(1024)), mean)
        level = divided_at_run_time(e, high_half(e, centred, factor), right)
        level = e.emit("mul", level, e.const(self.weights.astype(np.int64)))
        level = e.emit("add", level, e.const(self.bias.astype(np.int64)))
        return limited(e, scaled(e, divided_by(e, level, np.array([10])), self.scale))


def norm_of(ctx: OperatorContext, weights: int, bias: int) -> Norm:
    """The normalization with these inputs."""
    scale = scale_of(ctx.tensor(weights))
    fixed = Fixed.of(float(scale))
    return Norm(
        ctx.need_constant(weights, "the coefficients"),
        ctx.need_constant(bias, "the biases"),
        Fixed(fixed.mantissas, (fixed.shifts[0] + 12,)),
        max(1, int(np.float32(10000) * scale)),
    )


@dataclass(frozen=True, slots=True)
class Projection:
    """A matrix [outputs, units] with its bias [outputs]; zero: of the hidden state."""

    w: Value
    bias: Value | None
    scale: Fixed
    zero: int

    def of(self, e: Emitter, hidden: Value, state: Quant, clip: int) -> Value:
        """The output state of hidden qs8 [N, units], limited to -clip…clip if clip is not 0."""
        attrs = {"scales": (1.0,), "zero_points": (-self.zero,), "axis": -1}
        x = e.emit("reinterpret", hidden, to=DType.QS8, **attrs)
        acc = e.emit("qmatmul", x, self.w, self.bias, transpose_w=True, to=DType.I32)
        level = e.emit("add", scaled(e, acc, self.scale), e.const(np.int64(state.zero_points[0])))
        level = limited(e, level, 127)
        if clip:
            level = limited(e, level, clip, -clip)
        made: Value = e.emit("cast", level, to=DType.I8)
        return made


def projection_of(ctx: OperatorContext, w: int, bias: int, hidden: Tensor) -> Projection:
    """The projection with these inputs; the state that it makes is the operator's output."""
    matrix = ctx.need_constant(w, "the weights")
    real = scale_of(ctx.tensor(w)) * scale_of(hidden) / scale_of(ctx.output(0))
    bias_value = None
    if ctx.has(bias):
        bias_value = ctx.const(ctx.need_constant(bias, "the bias").astype(np.int32))
    return Projection(
        ctx.const(matrix, DType.QS8, Quant.per_tensor(1.0, 0)),
        bias_value,
        Fixed.of(float(real)),
        zero_of(hidden),
    )
