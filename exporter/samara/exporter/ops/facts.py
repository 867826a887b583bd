# SPDX-License-Identifier: Apache-2.0
"""What rows of the op table say about their operator in one word or two, for passes to ask."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final, TypedDict

from samara.exporter.types import DType


class Kind(enum.Enum):
    """What an operator does with the elements of its operands.

    SOURCE: makes elements from attributes, dims, numbers or a random key.
    POINTWISE: an element of the result depends on one element of each operand, those at its place
        after broadcasting.
    CONVERTING: as POINTWISE, but it changes how numbers are represented, not what they mean.
    MOVING: the results hold elements of the operands at other places, and perhaps a padding value.
    REDUCING: sums, extremes, sorting and searching, along axes.
    PRODUCT: sums of products of two operands.
    WINDOW: a window slides over the spatial axes, without weights.
    RESAMPLING: elements are interpolated at computed places.
    NORMALISING: scales a row, or a channel, by statistics of it.
    RECURRENT: steps along a sequence with a state.
    TRANSFORM: a linear-algebra or signal transform of whole rows or matrices.
    LOSS: a loss and its gradient.
    UPDATE: an optimizer's step.
    CONTROL: calls functions of the Program, or code outside of it.
    """

    SOURCE = enum.auto()
    POINTWISE = enum.auto()
    CONVERTING = enum.auto()
    MOVING = enum.auto()
    REDUCING = enum.auto()
    PRODUCT = enum.auto()
    WINDOW = enum.auto()
    RESAMPLING = enum.auto()
    NORMALISING = enum.auto()
    RECURRENT = enum.auto()
    TRANSFORM = enum.auto()
    LOSS = enum.auto()
    UPDATE = enum.auto()
    CONTROL = enum.auto()


class Eager(enum.Enum):
    """How frontend/eager.py runs an operator outside of a Program.

    REFERENCE: its reference.
    NUMPY: a faster NumPy function, which eager.py holds.
    KERNEL: the C kernel, whatever the size; the reference for dtypes that C lacks.
    LARGE: the C kernel where the first operand is large, element by element; else the reference.
    LARGE_REDUCTION: the same, and the result has another shape.
    """

    REFERENCE = enum.auto()
    NUMPY = enum.auto()
    KERNEL = enum.auto()
    LARGE = enum.auto()
    LARGE_REDUCTION = enum.auto()


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a float32 result may be from the reference: |got - want| <= absolute + relative |want|.

    rounds: results are numbers that the operator makes, so that float16 and bfloat16, computed in
    float32, round once more. Integers are exact. docs/numerics.md describes the table.
    """

    absolute: float
    relative: float
    rounds: bool = True

    def of(self, dtype: DType) -> tuple[float, float]:
        """(absolute, relative) for results of a dtype."""
        exact = (self.absolute, self.relative) == _EXACT
        if not dtype.is_float or not self.rounds:
            return _EXACT
        if dtype is DType.F64:
            return _EXACT if exact else _F64
        unit = _UNITS.get(dtype, _EXACT)
        return self.absolute + unit[0], self.relative + unit[1]


_EXACT: Final = (0.0, 0.0)
_F64: Final = (1e-12, 1e-12)  # over the C library; sums in any order
# A unit in the last place, and the smallest number.
_UNITS: Final = {DType.F16: (2.0**-23, 2.0**-10), DType.BF16: (0.0, 2.0**-7)}

# Of most operators.
BOUNDED: Final = Tolerance(1e-6, 2e-6)
# Results are elements of the operands, or small integers: exact in every dtype.
UNCHANGED: Final = Tolerance(0.0, 0.0, rounds=False)
# Exact in float32 and float64, for IEEE arithmetic leaves no choice.
ROUNDED: Final = Tolerance(0.0, 0.0)


class Facts(TypedDict, total=False):
    """The fields of OpSpec that functions which declare several rows only pass on."""

    int8_sums: bool
    is_alias: bool
    tolerance: Tolerance
    eager: Eager
    is_view: bool
