# SPDX-License-Identifier: Apache-2.0
"""Properties of operators in the rows of the op table, for passes to query."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypedDict

from samara.exporter.ops.integer import Build, Integer
from samara.exporter.types import DType, TensorType


class Kind(enum.Enum):
    """How an operator combines the elements of its operands.

    SOURCE: makes elements from attributes, dims, numbers or a random key.
    POINTWISE: an element of the result depends on one element of each operand, at the same position after
        broadcasting.
    CONVERTING: as POINTWISE; changes the representation of numbers, not their values.
    MOVING: moves elements of the operands to other positions; may add a padding value.
    REDUCING: sums, maxima and minima, sorting and searching, along axes.
    PRODUCT: sums of products of two operands.
    WINDOW: a window without weights slides over the spatial axes.
    RESAMPLING: elements are interpolated at computed positions.
    NORMALISING: scales a row, or a channel, by its own statistics.
    RECURRENT: steps along a sequence with a state.
    TRANSFORM: a linear-algebra or signal transform of whole rows or matrices.
    LOSS: a loss and its gradient.
    UPDATE: an optimizer's step.
    CONTROL: calls functions of the Program, or other code.
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
    NUMPY: a function of eager.py: NumPy's, or the C kernel where that is faster.
    KERNEL: the C kernel, whatever the size; the reference for dtypes that C lacks.
    LARGE: the C kernel if the first operand is large, for elementwise operators; else the reference.
    LARGE_REDUCTION: the same for a result of another shape.
    """

    REFERENCE = enum.auto()
    NUMPY = enum.auto()
    KERNEL = enum.auto()
    LARGE = enum.auto()
    LARGE_REDUCTION = enum.auto()


class WeightForm(enum.Enum):
    """How a file stores a constant that an operator reads as weights (docs/reference/format.md).

    CONV: panels of [O, k..., C / groups], `groups` being the operator's attribute.
    MATMUL: panels of [K, N], or of [N, K] if the attribute `transpose_w` is set.
    BLOCKS: panels of 4-bit [N, K]; of 8 bits as MATMUL of [N, K].
    SCALES: with the attribute activations=int8 as MATMUL of [N, K], otherwise row-major.
    TABLE: a table of rows, 4-bit or 8-bit values and scales: row-major, but in panels where a product with
    activations=int8 has the same weights.
    BIAS: row-major, padded so that kernels may read past its end.
    """

    CONV = enum.auto()
    MATMUL = enum.auto()
    BLOCKS = enum.auto()
    SCALES = enum.auto()
    TABLE = enum.auto()
    BIAS = enum.auto()


class Ends(enum.Enum):
    """Whether values can make an operator end the run with an error: an index out of range, a divisor of 0.

    INTEGERS: only if the first operand has integers.
    """

    NEVER = enum.auto()
    INTEGERS = enum.auto()
    ALWAYS = enum.auto()


class Epilogue(enum.Flag):
    """Steps that an operator can apply to its float32 results before it writes them: add a residual (the fourth
    input), then clamp (attributes `lo` and `hi`), then apply an activation (`post`).
    """

    NONE = 0
    RESIDUAL = enum.auto()
    CLAMP = enum.auto()
    ACTIVATION = enum.auto()
    ALL = RESIDUAL | CLAMP | ACTIVATION


@dataclass(frozen=True, slots=True)
class Post:
    """An activation as the `post` of an epilogue.

    when: required attributes of the activation. takes: attributes of the epilogue, and the attributes of the
    activation that they store.
    """

    name: str
    when: Mapping[str, Any] = field(default_factory=dict)
    takes: Mapping[str, str] = field(default_factory=dict)

    def attrs(self, given: Mapping[str, Any]) -> dict[str, Any] | None:
        """The epilogue's attributes for an activation with these; None if it is another activation."""
        if any(given[k] != v for k, v in self.when.items()):
            return None
        return {"post": self.name, **{k: given[v] for k, v in self.takes.items()}}

    def activation(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The activation's attributes for an epilogue with these."""
        return {**self.when, **{v: given[k] for k, v in self.takes.items()}}


@dataclass(frozen=True, slots=True)
class Newer:
    """A form of an operator that needs a newer runtime than the operator itself.

    holds: whether a node has it, by the types of its inputs.
    """

    since: str
    what: str
    holds: Callable[[Sequence[TensorType | None]], bool]


def _dtype(inputs: Sequence[TensorType | None], index: int) -> DType | None:
    t = inputs[index]
    return None if t is None else t.dtype


QUANTIZED_WEIGHTS: Final = Newer(
    "0.4.0", "quantized weights", lambda inputs: _dtype(inputs, 1) is DType.QS8
)
HALF_WEIGHTS: Final = Newer(
    "0.4.0",
    "float16 weights beside float32",
    lambda inputs: (_dtype(inputs, 0), _dtype(inputs, 1)) == (DType.F32, DType.F16),
)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a float32 result may be from the reference: |got - want| <= absolute + relative |want|.

    rounds: the operator computes new numbers, so that float16 and bfloat16, computed in float32, are rounded once
    more. Integers are exact. docs/reference/numerics.md describes the table.
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

# The tolerance of most operators.
BOUNDED: Final = Tolerance(1e-6, 2e-6)
# Results are elements of the operands, or small integers: exact in every dtype.
UNCHANGED: Final = Tolerance(0.0, 0.0, rounds=False)
# Exact in float32 and float64, because IEEE arithmetic fixes the result.
ROUNDED: Final = Tolerance(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Twin:
    """An ONNX operator with the same result for the same inputs.

    kind: its name. attrs: the attributes that both have, by the same names.
    """

    kind: str
    attrs: tuple[str, ...] = ()


# clamps(attrs) -> (lo, hi)
Clamps = Callable[[Mapping[str, Any]], tuple[float, float]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RowFacts:
    """The part of a row that passes query, so that they need not know operators by name.

    kind: how it combines elements.
    int8_sums: with int8 weights, products are added in int32; activations are int8 or rounded to it.
    tolerance: how far results may be from the reference.
    eager: how it runs outside of a Program. is_view: results may then share the first input's memory.
    strided: inputs that C reads with a pixel stride, so that they may be views of a larger tensor.
    weights: how a file stores these inputs if they are constants.
    newer: forms that need a newer runtime than `since`.
    epilogue: steps that it can apply to its results before it writes them.
    posts: its names as the activation of an epilogue. clamps: the limits, if it is a clamp.
    parameters: inputs that are parameters, whose axes are not those of the data.
    picked: inputs of which a run reads only the rows that indices name.
    integer: its int8 form. build: how a node of an integer operator is made.
    copies: float results are elements of the inputs, bit by bit. settled: every float operation is fixed, so that
        all devices give the same bits.
    exact: what exact models (accuracy="exact") compute, the same bits on every CPU: "same" if the reference has
        them already, because every operation rounds once; else the reference of the exact form of float32 and
        float16, with the keywords of `reference`. None: there is no exact form. exact_with: attributes of the nodes
        that have it.
    masks: an infinity among its constants is a mask or a bound.
    ends: whether values can make it end the run. cheap: it costs little, so computing it again is fine.
    homogeneous: f(s * x) = s * f(x) for every channel and s > 0.
    is_alias: the result is the first input's bytes under another shape.
    device_c: the expression in C of a device's kernel for elements a and b, for operators without a formula: by
        "floats", "integers", "words" (unsigned, for operations that wrap), "numbers" and "bools" (both to bool).
    onnx: the ONNX operator that tests and the operator benchmark compare it with, or a sentence that says why
        there is none. None: they compose one.
    """

    kind: Kind
    int8_sums: bool = False
    is_alias: bool = False
    tolerance: Tolerance = BOUNDED
    eager: Eager = Eager.REFERENCE
    is_view: bool = False
    strided: tuple[str, ...] = ()
    weights: Mapping[str, WeightForm] = field(default_factory=dict)
    newer: tuple[Newer, ...] = ()
    epilogue: Epilogue = Epilogue.NONE
    posts: tuple[Post, ...] = ()
    clamps: Clamps | None = None
    parameters: tuple[str, ...] = ()
    picked: tuple[str, ...] = ()
    copies: bool = False
    settled: bool = False
    exact: Callable[..., Any] | Literal["same"] | None = None
    exact_with: Mapping[str, Any] = field(default_factory=dict)
    masks: bool = False
    ends: Ends = Ends.NEVER
    cheap: bool = False
    homogeneous: bool = False
    integer: Integer | None = None
    build: Build | None = None
    device_c: Mapping[str, str] = field(default_factory=dict)
    onnx: Twin | str | None = None


class Facts(TypedDict, total=False):
    """The fields of OpSpec that functions which declare several rows only pass on."""

    int8_sums: bool
    is_alias: bool
    tolerance: Tolerance
    eager: Eager
    is_view: bool
    strided: tuple[str, ...]
    weights: Mapping[str, WeightForm]
    newer: tuple[Newer, ...]
    epilogue: Epilogue
    posts: tuple[Post, ...]
    clamps: Clamps | None
    parameters: tuple[str, ...]
    picked: tuple[str, ...]
    copies: bool
    settled: bool
    exact: Callable[..., Any] | Literal["same"] | None
    exact_with: Mapping[str, Any]
    masks: bool
    ends: Ends
    cheap: bool
    homogeneous: bool
    integer: Integer | None
    build: Build | None
    device_c: Mapping[str, str]
    onnx: Twin | str | None
