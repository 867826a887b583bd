# SPDX-License-Identifier: Apache-2.0
"""Quantized operands as integers, and results of integers in the form in which they are stored."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.exporter.importers.tflite import tensors
from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.model import Tensor
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, Quant

BYTES: Final = ("INT8", "UINT8")
_RANGES: Final = {"INT8": (-128, 127), "UINT8": (-128, 127), "INT16": (-(1 << 15), (1 << 15) - 1)}
_PLAIN: Final = Quant.per_tensor(1.0, 0)


def scale_of(tensor: Tensor) -> np.float32:
    """The scale of a tensor that has one."""
    assert tensor.parameters is not None
    return np.float32(tensor.parameters.scales[0])


def zero_of(tensor: Tensor) -> int:
    """The zero point of a tensor that has one, as it is stored: of uint8 less 128."""
    assert tensor.parameters is not None
    return tensor.parameters.zero_points[0] - (128 if tensor.type == "UINT8" else 0)


def is_whole(tensor: Tensor, *types: str) -> bool:
    """Whether a tensor is quantized with one scale, and of one of these types."""
    p = tensors.parameters_of(tensor)
    return p is not None and len(p.scales) == 1 and tensor.type in types


def are_whole(ctx: OperatorContext, *types: str, inputs: int | None = None) -> bool:
    """Whether the first inputs (or all) and the first output are so."""
    count = ctx.input_count if inputs is None else inputs
    given = [ctx.tensor(i) for i in range(count)]
    return all(is_whole(t, *types) for t in (*given, ctx.output(0)))


def integers(ctx: OperatorContext, index: int, to: DType = DType.I32) -> Value:
    """Input `index` as int32 or int64, in the numbers in which it is stored (uint8 less 128)."""
    value = ctx.stored(index)
    if value.constant is not None:
        return ctx.const(np.asarray(value.constant).astype(to.numpy), to)
    if value.type.dtype is DType.QS8:
        value = ctx.emit("reinterpret", value, to=DType.I8)
    made: Value = ctx.emit("cast", value, to=to)
    return made


def centred(ctx: OperatorContext, index: int, to: DType = DType.I32) -> Value:
    """Input `index` less its zero point."""
    zero = zero_of(ctx.tensor(index))
    x = integers(ctx, index, to)
    if zero == 0:
        return x
    made: Value = ctx.emit("sub", x, ctx.const(np.asarray(zero, to.numpy)))
    return made


@dataclass(frozen=True, slots=True)
class Result:
    """The form of an output: its parameters, and the range of its stored integers."""

    tensor: Tensor
    lo: int
    hi: int

    @property
    def scale(self) -> np.float32:
        return scale_of(self.tensor)

    @property
    def zero(self) -> int:
        return zero_of(self.tensor)

    @property
    def is_bytes(self) -> bool:
        return self.tensor.type in BYTES

    def steps(
        self, ctx: OperatorContext, x: Value, divisor: float, zero: int | None = None
    ) -> Value:
        """float32 x / divisor, rounded with halves to even, plus the zero point (or `zero`)."""
        at = self.zero if zero is None else zero
        attrs = {"scales": (divisor,), "zero_points": (at,), "axis": -1}
        return self.bytes(ctx, ctx.emit("quantize", x, **attrs))

    def bytes(self, ctx: OperatorContext, x: Value) -> Value:
        """The bytes of x (qs8 or int8), clamped, as this output."""
        if (self.lo, self.hi) == (-128, 127):
            return self.reinterpreted(ctx, x)
        if x.type.dtype is not DType.QS8:
            x = as_qs8(ctx, x, 0)
        return self.looked_up(ctx, x, np.arange(-128, 128))

    def reinterpreted(self, ctx: OperatorContext, x: Value) -> Value:
        """The bytes of x as this output."""
        quant = tensors.quant_of(self.tensor)
        assert quant is not None
        attrs = tensors.attributes_of(quant)
        made: Value = ctx.named(self.tensor.key, "reinterpret", x, to=DType.QS8, **attrs)
        return made

    def looked_up(self, ctx: OperatorContext, x: Value, table: npt.NDArray[Any]) -> Value:
        """table[x + 128] for qs8 x, clamped."""
        entries = ctx.const(np.clip(table, self.lo, self.hi).astype(np.int8))
        attrs = {"scale": float(self.scale), "zero_point": self.zero}
        made: Value = ctx.named(self.tensor.key, "qlookup", x, entries, **attrs)
        return made

    def whole(self, ctx: OperatorContext, x: Value, zero: int | None = None) -> Value:
        """Integers x (int32 or int64) plus the zero point (or `zero`), clamped and stored."""
        kind = x.type.dtype.numpy
        at = self.zero if zero is None else zero
        if at:
            x = ctx.emit("add", x, ctx.const(np.asarray(at, kind)))
        x = ctx.emit("max", x, ctx.const(np.asarray(self.lo, kind)))
        x = ctx.emit("min", x, ctx.const(np.asarray(self.hi, kind)))
        made: Value
        if self.is_bytes:
            return self.bytes(ctx, ctx.emit("cast", x, to=DType.I8))
        made = ctx.named(self.tensor.key, "cast", x, to=DType.I16)
        return made


def as_qs8(ctx: OperatorContext, x: Value, zero: int, scale: float = 1.0) -> Value:
    """The bytes of x as qs8 with this scale and zero point."""
    attrs = {"scales": (scale,), "zero_points": (zero,), "axis": -1}
    made: Value = ctx.emit("reinterpret", x, to=DType.QS8, **attrs)
    return made


def result_of(ctx: OperatorContext, activation: str | None = None, index: int = 0) -> Result:
    """The form of an output with the range of the fused activation (or of `activation`)."""
    tensor = ctx.output(index)
    lo, hi = _RANGES[tensor.type]
    name = ctx.option("fused_activation_function", "NONE") if activation is None else activation
    low, high = _BOUNDS.get(name, (None, None))
    if low is not None:
        lo = max(lo, level(tensor, low))
    if high is not None:
        hi = min(hi, level(tensor, high))
    return Result(tensor, lo, hi)


_BOUNDS: Final = {
    "RELU": (0.0, None),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
}


def level(tensor: Tensor, real: float) -> int:
    """The stored integer of a real number, not clamped."""
    steps = float(np.float32(real) / scale_of(tensor))
    return zero_of(tensor) + int(math.copysign(math.floor(abs(steps) + 0.5), steps))


def looked_up(ctx: OperatorContext, index: int, table: npt.NDArray[Any]) -> Value:
    """table[q - lowest] for the stored integers q of input `index`; the table has 2^8 or 2^16 entries."""
    half = table.size // 2
    value = ctx.stored(index)
    if value.constant is not None:
        return ctx.const(table[np.asarray(value.constant, np.int64) + half])
    # Negative indices count from the end.
    entries = ctx.const(np.concatenate([table[half:], table[:half]]))
    made: Value = ctx.emit("gather", entries, integers(ctx, index), axis=0, wrap=True)
    return made
