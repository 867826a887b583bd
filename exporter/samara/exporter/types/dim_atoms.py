# SPDX-License-Identifier: Apache-2.0
"""The parts of dims: symbols, tensor elements, opaque operations, and products of them."""

from __future__ import annotations

import enum
import functools
import math
import operator
import struct
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from samara.exporter.types.dim import Dim

__all__ = [
    "INFIX",
    "INTEGERS",
    "ONE",
    "Atom",
    "Born",
    "Bounds",
    "DimOp",
    "Monomial",
    "Op",
    "Read",
    "Reader",
    "Sym",
    "bits_f32",
    "f32_bits",
    "int64",
    "mono_div",
    "mono_mul",
    "scale_value",
    "single",
]

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1


class DimOp(enum.Enum):
    """Operations that a polynomial cannot express; their arguments are dims."""

    FLOORDIV = "floordiv"
    CEILDIV = "ceildiv"
    MOD = "mod"
    MIN = "min"
    MAX = "max"
    EQ = "eq"
    LT = "lt"
    SELECT = "select"
    SCALE_F32 = "scale_f32"


@dataclass(frozen=True, slots=True)
class Sym:
    """A named dim of an input. The bounds are facts about it, not part of its identity."""

    name: str
    lower: int = field(default=0, compare=False)
    upper: int | None = field(default=None, compare=False)
    is_bool: ClassVar[bool] = False

    # Called so often that the generated methods, which make tuples, would be slow.
    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Sym) and self.name == other.name)

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Read:
    """Element `index` of a small tensor that is in host memory when dims are evaluated.

    `key` identifies the tensor and is opaque here. With `bits` the tensor is float32 and the value is
    its bit pattern, zero-extended (0 … 2**32 - 1); otherwise it is bool or integer.
    """

    key: Hashable
    index: int
    bits: bool = False
    lower: int | None = field(default=None, compare=False)
    upper: int | None = field(default=None, compare=False)
    is_bool: ClassVar[bool] = False

    def __str__(self) -> str:
        return f"{'bits' if self.bits else 'read'}({self.key}, {self.index})"


@dataclass(frozen=True, slots=True)
class Born:
    """Dim `axis` of output `output` of the node `key`, known only once that node has run."""

    key: Hashable
    output: int
    axis: int
    upper: Dim | None = field(default=None, compare=False)
    is_bool: ClassVar[bool] = False

    def __str__(self) -> str:
        return f"born({self.key}, {self.output}, {self.axis})"


@dataclass(frozen=True, slots=True)
class Op:
    """An opaque operation. Only the constructors of dim_ops make it, after simplification."""

    kind: DimOp
    args: tuple[Dim, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Monomials and tables of atoms ask for it again and again.
        object.__setattr__(self, "_hash", hash((self.kind.value, self.args)))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Op) or self._hash != other._hash:
            return False
        return self.kind is other.kind and self.args == other.args

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        # Hashes of texts differ from process to process.
        return Op, (self.kind, self.args)

    @property
    def is_bool(self) -> bool:
        """Whether the value is 0 or 1, so that its square is itself."""
        return self.kind is DimOp.EQ or self.kind is DimOp.LT

    def __str__(self) -> str:
        return _text(self)


@functools.lru_cache(maxsize=1 << 14)
def _text(op: Op) -> str:
    # Cached, because printing and ordering a nested expression need the texts of its parts repeatedly.
    text = [str(arg) for arg in op.args]
    if op.kind is DimOp.SCALE_F32 and op.args[1].is_static:
        text[1] = repr(bits_f32(op.args[1].as_int()))
    infix = INFIX.get(op.kind)
    if infix is None:
        return f"{op.kind.value}({', '.join(text)})"
    wrapped = [t if arg.is_word else f"({t})" for t, arg in zip(text, op.args, strict=True)]
    return infix.join(wrapped)


INFIX = {DimOp.FLOORDIV: "//", DimOp.MOD: " % ", DimOp.EQ: " == ", DimOp.LT: " < "}

Atom = Sym | Read | Born | Op
# A product of atoms with powers; the empty one is 1. A set is canonical without an order of opaque keys.
Monomial = frozenset[tuple[Atom, int]]
# Keys are names of symbols or atoms; typed Any because Mapping is invariant in its key.
Bounds = Mapping[Any, tuple[int | None, int | None]]
Reader = Callable[[Read | Born], int]

ONE: Monomial = frozenset()


def mono_mul(a: Monomial, b: Monomial) -> Monomial:
    if not a:
        return b
    if not b:
        return a
    powers = dict(a)
    for atom, power in b:
        if atom not in powers:
            powers[atom] = power
        elif not atom.is_bool:
            powers[atom] += power
    return frozenset(powers.items())


def mono_div(a: Monomial, b: Monomial) -> Monomial | None:
    """The monomial q with q * b == a, or None."""
    if not b:
        return a
    powers = dict(a)
    for atom, power in b:
        left = powers.get(atom, 0) - power
        if left < 0:
            return None
        powers[atom] = left
    return frozenset((atom, power) for atom, power in powers.items() if power)


def single(mono: Monomial) -> Atom | None:
    """The atom if the monomial is exactly one atom, else None."""
    if len(mono) != 1:
        return None
    ((atom, power),) = mono
    return atom if power == 1 else None


def f32_bits(x: float) -> int:
    """The bit pattern of x rounded to float32, 0 … 2**32 - 1; OverflowError beyond float32."""
    return int.from_bytes(struct.pack("<f", x), "little")


def bits_f32(bits: int) -> float:
    """The float32 with that bit pattern (the low 32 bits), as a Python float."""
    value: float = struct.unpack("<f", (bits & 0xFFFFFFFF).to_bytes(4, "little"))[0]
    return value


def scale_value(a: int, bits: int) -> int:
    # The conversion from int64 rounds once; Python's own float would round twice.
    with np.errstate(over="ignore", invalid="ignore"):
        product = float(np.int64(int64(a)).astype(np.float32) * np.float32(bits_f32(bits)))
    if not math.isfinite(product):
        raise OverflowError(f"the scaled dim {a} * {bits_f32(bits)} is not finite")
    return int64(math.floor(product))


def int64(value: int) -> int:
    if not INT64_MIN <= value <= INT64_MAX:
        raise OverflowError(f"the dim value {value} does not fit int64")
    return value


# The runtime's arithmetic, before the check for int64.
INTEGERS: dict[DimOp, Callable[..., int]] = {
    DimOp.FLOORDIV: operator.floordiv,
    DimOp.CEILDIV: lambda a, b: -(-a // b),
    DimOp.MOD: operator.mod,
    DimOp.MIN: min,
    DimOp.MAX: max,
    DimOp.EQ: lambda a, b: int(a == b),
    DimOp.LT: lambda a, b: int(a < b),
    DimOp.SELECT: lambda condition, a, b: a if condition else b,
    DimOp.SCALE_F32: scale_value,
}
