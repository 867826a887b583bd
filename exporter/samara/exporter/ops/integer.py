# SPDX-License-Identifier: Apache-2.0
"""The int8 form of a float operator. The plan of `quantize`, the pass that makes integer operators and
quantization-aware training all query the same rows.

The row of a float operator has an `Integer`, that of an integer operator the `build` of its nodes.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.exporter.types import Quant, TensorType

Array = npt.NDArray[Any]


class Role(enum.Enum):
    """The role of an operator in int8.

    PRODUCT: worth int8 by itself; the other roles become int8 if an operand is int8 already.
    COMPUTED: has an integer form; its result has its own quantization parameters.
    TABLE: a function of one element, by a table of 256 results.
    CLAMP: fused into the operator before it, or keeps the parameters of its operand.
    MOVING: moves or chooses elements; the parameters stay equal.
    """

    PRODUCT = "product"
    COMPUTED = "computed"
    TABLE = "table"
    CLAMP = "clamp"
    MOVING = "moving"


@dataclass(frozen=True, slots=True)
class Given:
    """A node of a float operator, in a Program or in training.

    known(i): the numbers of input i if they are constant, else None. imported: it came quantized from a file, so
    ties must be rounded as in the engine that the file was made for.
    """

    attrs: Mapping[str, Any]
    types: tuple[TensorType | None, ...]
    known: Callable[[int], Array | None]
    imported: bool = False

    def type(self, index: int) -> TensorType | None:
        """The type of an input; None if it is absent."""
        return self.types[index] if index < len(self.types) else None


@dataclass(frozen=True, slots=True)
class Plain:
    """A constant operand of the integer operator: its array and its name."""

    array: Array
    name: str


@dataclass(frozen=True, slots=True)
class Real:
    """A constant operand in int8, with the finest parameters that hold its numbers."""

    numbers: Array


@dataclass(frozen=True, slots=True)
class Form:
    """A node of an integer operator, without scale, zero point and clamp of its result.

    operands: positions of the int8 inputs, or constants.
    """

    operands: tuple[int | Plain | Real | None, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)


# build(given, quants, y, options) -> Form | None. quants: parameters of the int8 operands, in the
# order of Integer.operands; y: those of the result. None: it cannot be made with these.
Build = Callable[[Given, Sequence[Quant], Quant, Mapping[str, Any]], Form | None]


def _always(given: Given) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Integer:
    """The int8 form of a float operator.

    form: the integer operator, and `options` for its `build`.
    operands: positions of the int8 inputs.
    fits: whether a node has the form, by attributes, types and constant inputs.
    moves: positions of the inputs whose elements the node moves to its results; None: it computes.
    fill: position of a number that moving inserts.
    joins: results have the elements of several inputs, from the first position in `moves` on.
    on_bytes: it moves plain int8 and does not support quantized tensors.
    steep: the function has a pole or ends somewhere. Rounding its input near that point is unsafe, and a range does
        not show it, so int8 is never chosen.
    late: behind the last product it would lose accuracy and gain little, so it stays float there.
    planned: `quantize` chooses int8 for it; if False, only quantized files have it in int8.
    result: the fixed parameters of its result.
    dynamic: the operator with int8 weights that rounds activations while running.
    """

    role: Role
    form: str = ""
    operands: tuple[int, ...] = (0,)
    options: Mapping[str, Any] = field(default_factory=dict)
    fits: Callable[[Given], bool] = _always
    moves: Callable[[Given], tuple[int, ...] | None] | None = None
    fill: int | None = None
    joins: bool = False
    on_bytes: bool = False
    steep: bool = False
    late: bool = False
    planned: bool = True
    result: Quant | None = None
    dynamic: str = ""

    def role_of(self, given: Given) -> tuple[Role, tuple[int, ...]] | None:
        """(role, positions of int8 inputs) of a node; None if it stays float."""
        moved = None if self.moves is None else self.moves(given)
        if moved is not None:
            return Role.MOVING, moved
        if self.role is Role.MOVING or self.steep or not self.fits(given):
            return None
        return self.role, self.operands


def moved(*positions: int) -> Callable[[Given], tuple[int, ...] | None]:
    """The same inputs for every node, except for scatters that add."""

    def moves(given: Given) -> tuple[int, ...] | None:
        return positions if given.attrs.get("reduction", "none") == "none" else None

    return moves


def _all_parts(given: Given) -> tuple[int, ...]:
    return tuple(range(len(given.types)))


def _padded(given: Given) -> tuple[int, ...] | None:
    fill = given.type(1)
    return (0,) if fill is None or (given.known(1) is not None and fill.rank == 0) else None


def plain_product(given: Given) -> bool:
    """A product without residual and activation, with a constant bias."""
    if given.type(3) is not None or given.attrs["post"] != "none":
        return False
    return given.type(2) is None or given.known(2) is not None


MOVED = Integer(Role.MOVING, moves=moved(0))
TABLE = Integer(Role.TABLE, late=True)
STEEP = Integer(Role.TABLE, late=True, steep=True)
CLAMP = Integer(Role.CLAMP)
EXTREME = Integer(Role.MOVING, moves=moved(0), on_bytes=True)
PADDED = Integer(Role.MOVING, moves=_padded, fill=1)
JOINED = Integer(Role.MOVING, moves=_all_parts, joins=True)
CHOSEN = Integer(Role.MOVING, moves=moved(1, 2), joins=True, planned=False)
SCATTERED = Integer(Role.MOVING, moves=moved(0, 2), planned=False)


def product(form: str, dynamic: str = "") -> Integer:
    """A product of activations by weights."""
    return Integer(Role.PRODUCT, form, (0, 1), fits=plain_product, dynamic=dynamic)


def same_attributes(names: Sequence[str]) -> Build:
    """The form of one operand with the same attributes."""

    def build(given: Given, quants: Sequence[Quant], y: Quant, options: Any) -> Form:
        return Form((0,), {n: given.attrs[n] for n in names})

    return build


def tail_of(t: TensorType | None, axis: int) -> tuple[int, ...] | None:
    """The sizes from `axis` on; None if one is symbolic."""
    if t is None:
        return None
    tail = t.shape[axis % t.rank :]
    return tuple(d.as_int() for d in tail) if all(d.is_static for d in tail) else None


def normalises(given: Given) -> bool:
    """A norm over axes of known sizes with constant scale and bias."""
    held = [i for i in range(1, len(given.types)) if given.types[i] is not None]
    if any(given.known(i) is None for i in held):
        return False
    return tail_of(given.type(0), given.attrs["axis"]) is not None


def build_norm(root_of_sum: bool) -> Build:
    """Norms in steps of the output. root_of_sum: the form takes the root of a sum, not of a mean."""

    def build(given: Given, quants: Sequence[Quant], y: Quant, options: Any) -> Form | None:
        shape = tail_of(given.type(0), given.attrs["axis"])
        assert shape is not None
        step = np.float64(y.scale)
        factor = np.sqrt(np.float64(np.prod(shape, dtype=np.float64))) if root_of_sum else 1.0
        eps = float(np.float32(given.attrs["eps"])) / quants[0].scale ** 2
        scale, bias = (_numbers(given, i) for i in (1, 2))
        scale = np.ones(shape) if scale is None else scale
        with np.errstate(over="ignore"):
            rows = [("scale", (scale * (factor / step)).astype(np.float32))]
            if bias is not None:
                rows.append(("bias", (bias / step).astype(np.float32)))
        smallest = float(np.finfo(np.float32).tiny)
        if not (all(np.isfinite(v).all() for _, v in rows) and smallest <= eps < 1e38):
            return None
        operands = tuple(Plain(v, name) for name, v in rows)
        return Form((0, *operands), {"axis": given.attrs["axis"], "eps": eps})

    return build


def _numbers(given: Given, index: int) -> Array | None:
    known = given.known(index) if given.type(index) is not None else None
    return None if known is None else known.astype(np.float64)
