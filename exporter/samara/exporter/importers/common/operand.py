# SPDX-License-Identifier: Apache-2.0
"""What an ONNX tensor name stands for: a Value, dims known as expressions, or a failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, DType, as_dim, floordiv, scale_f32

# Larger integer tensors are treated as data, not as shapes.
MAX_SHAPE_ELEMENTS = 256


@dataclass(frozen=True, slots=True)
class Scaled:
    """float32(dim) * factor: the result of Shape → Cast → Mul, until a Floor or Cast makes it a dim again."""

    dim: Dim
    bits: Dim

    def floor(self) -> Dim:
        return scale_f32(self.dim, self.bits)


@dataclass(frozen=True, slots=True)
class Ratio:
    """float32(dim) / float32(divisor): the result of Shape → Cast → Div, until it becomes a dim again."""

    dim: Dim
    divisor: Dim

    def floor(self) -> Dim:
        return floordiv(self.dim, self.divisor)


@dataclass(frozen=True, slots=True, eq=False)
class ShapeData:
    """A small integer, bool or float tensor whose elements are known as dim expressions.

    `elements` is an object array of Dim (in float tensors also Scaled, Ratio or float); its shape is the tensor's.
    """

    elements: npt.NDArray[Any]
    dtype: DType

    def dims(self) -> tuple[Any, ...]:
        return tuple(self.elements.reshape(-1).tolist())

    def is_static(self) -> bool:
        return all(isinstance(d, Dim) and d.is_static for d in self.dims())

    def array(self) -> npt.NDArray[Any]:
        """The data, if it is static."""
        flat = [d.as_int() for d in self.dims()]
        return np.array(flat, self.dtype.numpy).reshape(self.elements.shape)


@dataclass(frozen=True, slots=True)
class Poison:
    """The result of a node that could not be converted; nodes that depend on it are skipped."""

    reason: str


Operand = Value | ShapeData | Poison


def shape_data(elements: Any, dtype: DType = DType.I64) -> ShapeData:
    """From a nested sequence or array of dims and ints."""
    array = np.empty(np.shape(elements), dtype=object)
    flat = np.asarray(elements, dtype=object).reshape(-1)
    array.reshape(-1)[:] = [d if isinstance(d, Scaled | Ratio) else as_dim(d) for d in flat]
    return ShapeData(array, dtype)


def as_shape_data(operand: Operand) -> ShapeData | None:
    """Shape data of an operand: the operand itself, or a small integer or bool constant as dims."""
    if isinstance(operand, ShapeData):
        return operand
    if not isinstance(operand, Value) or operand.constant is None:
        return None
    data = operand.constant
    if data.size > MAX_SHAPE_ELEMENTS or data.ndim > 4:
        return None
    if operand.type.dtype in (DType.I32, DType.I64, DType.BOOL):
        elements = np.empty(data.shape, dtype=object)
        elements.reshape(-1)[:] = [as_dim(int(v)) for v in data.reshape(-1)]
        return ShapeData(elements, operand.type.dtype)
    return None
