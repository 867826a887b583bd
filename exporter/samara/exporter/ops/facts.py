# SPDX-License-Identifier: Apache-2.0
"""What rows of the op table say about their operator in one word or two, for passes to ask."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypedDict

from samara.exporter.ops.integer import Build, Integer
from samara.exporter.types import DType, TensorType


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


class WeightForm(enum.Enum):
    """How a file stores a constant that an operator reads as weights (docs/reference/format.md).

    CONV: panels of [O, k..., C / groups], `groups` being the operator's attribute.
    MATMUL: panels of [K, N], or of [N, K] where the attribute `transpose_w` is set.
    BLOCKS: panels of 4-bit [N, K]; of 8 bits as MATMUL of [N, K].
    BIAS: row-major, padded so that kernels may read past its end.
    """

    CONV = enum.auto()
    MATMUL = enum.auto()
    BLOCKS = enum.auto()
    BIAS = enum.auto()


class Ends(enum.Enum):
    """Whether a run may end in an operator because of the values that it meets: an index out of
    range, a divisor of 0.

    INTEGERS: where the first operand holds integers.
    """

    NEVER = enum.auto()
    INTEGERS = enum.auto()
    ALWAYS = enum.auto()


class Epilogue(enum.Flag):
    """What an operator can do with its float32 results before it writes them: add a residual, the
    fourth input, then clamp (attributes `lo` and `hi`), then apply an activation (`post`).
    """

    NONE = 0
    RESIDUAL = enum.auto()
    CLAMP = enum.auto()
    ACTIVATION = enum.auto()
    ALL = RESIDUAL | CLAMP | ACTIVATION


@dataclass(frozen=True, slots=True)
class Post:
    """An activation as the `post` of an epilogue.

    when: what attributes of the activation must be. takes: attributes of the epilogue, and those of
    the activation that they hold.
    """

    name: str
    when: Mapping[str, Any] = field(default_factory=dict)
    takes: Mapping[str, str] = field(default_factory=dict)

    def attrs(self, given: Mapping[str, Any]) -> dict[str, Any] | None:
        """The epilogue's attributes for an activation with these; None where it is another one."""
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

    rounds: results are numbers that the operator makes, so that float16 and bfloat16, computed in
    float32, round once more. Integers are exact. docs/reference/numerics.md describes the table.
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


@dataclass(frozen=True, slots=True)
class Twin:
    """An ONNX operator that says the same of the same inputs.

    kind: its name. attrs: the attributes that both have, by the same names.
    """

    kind: str
    attrs: tuple[str, ...] = ()


# clamps(attrs) -> (lo, hi)
Clamps = Callable[[Mapping[str, Any]], tuple[float, float]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RowFacts:
    """The part of a row that passes ask, so that they need not know operators by name.

    kind: what it does with elements.
    int8_sums: where its weights are int8, products are added up in int32, activations being int8
        or rounded to it.
    tolerance: how far results may be from the reference.
    eager: how it runs outside of a Program. is_view: results may then share the first input's memory.
    strided: inputs that C reads with a pixel stride of their own, so that they may be cut out of
        others without a copy.
    weights: in which form a file stores these inputs where they are constants.
    newer: forms that need a newer runtime than `since`.
    epilogue: what it can do to its results before it writes them.
    posts: what it is as the activation of an epilogue. clamps: the limits, where it is a clamp.
    parameters: inputs that stand beside the data and have axes of their own.
    integer: what int8 does with it, and as which operator. build: how a node of that is made.
    copies: float results are elements of the inputs, bit by bit. settled: every float operation of it
        is settled, so that all devices give the same bits.
    masks: an infinity among its constants is a mask or a bound.
    ends: whether a run may end in it. cheap: it costs little, and may as well be computed.
    homogeneous: f(s * x) = s * f(x) for every channel and s > 0.
    is_alias: the result is the first input's bytes under another shape.
    device_c: what a device's kernel makes of elements a and b, as an expression in C, where no formula
        says it: by "floats", "integers", "words" (unsigned, for what wraps), "numbers" and "bools"
        (both to bool).
    onnx: its twin in ONNX, to which tests and the operator benchmark hold it, or a sentence that says
        why there is none. None: they compose one.
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
    copies: bool = False
    settled: bool = False
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
    copies: bool
    settled: bool
    masks: bool
    ends: Ends
    cheap: bool
    homogeneous: bool
    integer: Integer | None
    build: Build | None
    device_c: Mapping[str, str]
    onnx: Twin | str | None
