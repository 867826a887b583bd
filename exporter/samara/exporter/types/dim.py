# SPDX-License-Identifier: Apache-2.0
"""Symbolic integer dims: canonical polynomials over symbols, tensor elements and opaque operations.

Every constructor simplifies, so equal polynomials compare equal. A simplification never changes a value,
but it may remove an error: `(a*b)//b` becomes `a` even if b may be 0. Symbols are at least 0 by default.

dim_ops and dim_proof import this module. When the package is imported they register the functions that
methods of Dim call, in BUILDERS and by `set_prove`.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from samara.exporter.types.dim_atoms import (
    INFIX,
    INTEGERS,
    ONE,
    Atom,
    Born,
    Bounds,
    DimOp,
    Monomial,
    Op,
    Reader,
    Sym,
    int64,
    mono_mul,
    single,
)
from samara.exporter.types.errors import ShapeError, UnsupportedError
from samara.exporter.types.interval import Interval

__all__ = ["Dim", "DimLike", "Substitution", "Tri", "as_dim", "build", "sym"]


# A file can ask for products of sums whose terms double with every factor, and for their sums. Dims of real
# models have a few.
MAX_TERMS: Final = 4096


Factor = tuple[Atom, int]
Terms = tuple[tuple[tuple[Factor, ...], int], ...]


class Tri(enum.Enum):
    """An answer about dims. It has no truth value, so that callers handle UNKNOWN."""

    NO = 0
    YES = 1
    UNKNOWN = 2

    def __bool__(self) -> bool:
        raise TypeError("a Tri is yes, no or unknown: compare it with `is`")


class Dim:
    """An immutable integer expression; arithmetic follows Python's (`//` and `%` floor)."""

    # `raw` maps monomials to nonzero coefficients; `value` is the constant, or None.
    # Neither changes after construction.
    __slots__ = ("_atoms", "_bounds", "_hash", "_terms", "raw", "value")
    # A numpy scalar on the left leaves the operation to Dim.
    __array_ufunc__ = None

    raw: dict[Monomial, int]
    value: int | None
    _hash: int | None
    _atoms: frozenset[Atom] | None
    _bounds: Interval | None
    _terms: Terms | None

    def __init__(self, value: DimLike = 0) -> None:
        """A constant, or a copy of `value`."""
        known = as_dim(value)
        self.raw = known.raw
        self.value = known.value
        self._hash = None
        self._atoms = None
        self._bounds = None
        self._terms = None

    @staticmethod
    def const(value: int) -> Dim:
        """The dim that is always `value`."""
        found = _SMALL.get(value)
        return build({ONE: value} if value else {}) if found is None else found

    @staticmethod
    def atom(atom: Atom) -> Dim:
        """The dim that is one atom."""
        return build({frozenset(((atom, 1),)): 1})

    # -- arithmetic ------------------------------------------------------------------------------

    def __add__(self, other: DimLike) -> Dim:
        if self.value is not None and (n := value_of(other)) is not None:
            return Dim.const(self.value + n)
        b = as_dim(other)
        if b.value == 0:
            return self
        terms = dict(self.raw)
        _accumulate(terms, b.raw, 1)
        return build(_few(terms))

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return build({mono: -coeff for mono, coeff in self.raw.items()})

    def __sub__(self, other: DimLike) -> Dim:
        if self.value is not None and (n := value_of(other)) is not None:
            return Dim.const(self.value - n)
        b = as_dim(other)
        if b.value == 0:
            return self
        terms = dict(self.raw)
        _accumulate(terms, b.raw, -1)
        return build(_few(terms))

    def __rsub__(self, other: DimLike) -> Dim:
        return as_dim(other) - self

    def __mul__(self, other: DimLike) -> Dim:
        n = value_of(other)
        if n is not None:
            return self.scaled(n)
        b = as_dim(other)
        if self.value is not None:
            return b.scaled(self.value)
        if len(self.raw) * len(b.raw) > MAX_TERMS:
            raise UnsupportedError(
                f"a product of symbolic dims has {len(self.raw)} times {len(b.raw)} terms, more than {MAX_TERMS}",
                fix="fix some of the symbols to numbers",
            )
        terms: dict[Monomial, int] = {}
        for mono, coeff in b.raw.items():
            shifted = {mono_mul(mono, m): c for m, c in self.raw.items()}
            if len(shifted) == len(self.raw):
                _accumulate(terms, shifted, coeff)
                continue
            # Squares of booleans collapse, so two products may meet.
            for m, c in self.raw.items():
                _accumulate(terms, {mono_mul(mono, m): c}, coeff)
        return build(terms)

    __rmul__ = __mul__

    def scaled(self, factor: int) -> Dim:
        """The product with a number."""
        if factor == 1:
            return self
        if factor == 0:
            return Dim.const(0)
        if self.value is not None:
            return Dim.const(self.value * factor)
        return build({mono: coeff * factor for mono, coeff in self.raw.items()})

    def __floordiv__(self, other: DimLike) -> Dim:
        return BUILDERS[DimOp.FLOORDIV](self, other)

    def __rfloordiv__(self, other: DimLike) -> Dim:
        return BUILDERS[DimOp.FLOORDIV](other, self)

    def __mod__(self, other: DimLike) -> Dim:
        return BUILDERS[DimOp.MOD](self, other)

    def __rmod__(self, other: DimLike) -> Dim:
        return BUILDERS[DimOp.MOD](other, self)

    # -- identity --------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Structural equality; a static dim equals its int. `compare` asks about values."""
        if isinstance(other, Dim):
            return self is other or self.raw == other.raw
        if isinstance(other, int):
            return self.value == other
        return NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            constant = self.value is not None
            self._hash = hash(self.value) if constant else hash(frozenset(self.raw.items()))
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        # Hashes of strings differ between processes, so the cached hash is not pickled.
        return (build, (self.raw,))

    def __bool__(self) -> bool:
        """Whether it is not 0; TypeError for a symbolic dim, whose value is unknown."""
        if self.value is None:
            raise TypeError(f"the truth of the symbolic dim {self} is not known; use compare()")
        return self.value != 0

    def __index__(self) -> int:
        if self.value is None:
            raise TypeError(f"the symbolic dim {self} is not an integer")
        return self.value

    @property
    def is_static(self) -> bool:
        """Whether it is a constant."""
        return self.value is not None

    def as_int(self) -> int:
        """The constant's value; ShapeError for a symbolic dim."""
        if self.value is None:
            raise ShapeError(
                f"the dim {self} is symbolic, a number is needed here",
                fix="fix " + ", ".join(sorted(map(str, self.atoms()))) + " to numbers",
            )
        return self.value

    def terms(self) -> Terms:
        """`((atom, power), …), coefficient` per term, in printing order; () stands for 1."""
        if self._terms is None:
            rows = [
                (tuple(sorted(mono, key=_factor_key) if len(mono) > 1 else mono), coeff)
                for mono, coeff in self.raw.items()
            ]
            if len(rows) > 1:
                rows.sort(key=_term_key)
            self._terms = tuple(rows)
        return self._terms

    def sole_atom(self) -> Atom | None:
        """The atom if the dim is exactly one atom, else None."""
        if len(self.raw) != 1:
            return None
        ((mono, coeff),) = self.raw.items()
        return single(mono) if coeff == 1 else None

    def atoms(self) -> frozenset[Atom]:
        """The polynomial's atoms, without those inside opaque operations."""
        return frozenset(atom for mono in self.raw for atom, _ in mono)

    def all_atoms(self) -> frozenset[Atom]:
        """Every atom it depends on, including those inside opaque operations."""
        if self._atoms is None:
            own = self.atoms()
            inner = (arg.all_atoms() for atom in own if isinstance(atom, Op) for arg in atom.args)
            self._atoms = own.union(*inner)
        return self._atoms

    def symbols(self) -> frozenset[str]:
        """The names of the symbols it depends on."""
        return frozenset(atom.name for atom in self.all_atoms() if isinstance(atom, Sym))

    # -- text ------------------------------------------------------------------------------------

    @property
    def is_word(self) -> bool:
        """Whether its text needs no parentheses as an operand."""
        if self.value is not None:
            return self.value >= 0
        atom = self.sole_atom()
        return atom is not None and not (isinstance(atom, Op) and atom.kind in INFIX)

    def __str__(self) -> str:
        if self.value is not None:
            return str(self.value)
        text = ""
        for factors, coeff in self.terms():
            alone = len(factors) == 1 and factors[0][1] == 1 and abs(coeff) == 1
            product = "*".join(_factor_text(atom, power, alone) for atom, power in factors)
            if not product:
                product = str(abs(coeff))
            elif abs(coeff) != 1:
                product = f"{abs(coeff)}*{product}"
            if text:
                text += f" - {product}" if coeff < 0 else f" + {product}"
            else:
                text = f"-{product}" if coeff < 0 else product
        return text

    def __repr__(self) -> str:
        return f"Dim({self})"

    # -- meaning ---------------------------------------------------------------------------------

    def substitute(self, mapping: Substitution) -> Dim:
        """The dim with symbols (by name) or atoms replaced everywhere, and simplified.

        ZeroDivisionError when a divisor becomes the constant 0.
        """
        if self.value is not None or not mapping:
            return self
        table = {
            (Sym(key) if isinstance(key, str) else key): as_dim(value)
            for key, value in mapping.items()
        }
        return self._replaced(table, {})

    def _replaced(self, table: dict[Atom, Dim], done: dict[Atom, Dim | None]) -> Dim:
        changed: dict[Atom, Dim] = {}
        for atom in self.atoms():
            new = _replace_atom(atom, table, done)
            if new is not None:
                changed[atom] = new
        if not changed:
            return self
        total = Dim.const(0)
        for mono, coeff in self.raw.items():
            kept = frozenset(factor for factor in mono if factor[0] not in changed)
            product = build({kept: coeff})
            for atom, power in mono:
                if atom in changed:
                    for _ in range(power):
                        product = product * changed[atom]
            total = total + product
        return total

    def evaluate(
        self, symbols: Mapping[str, int] | None = None, reader: Reader | None = None
    ) -> int:
        """The value by the runtime's rules: int64 throughout, both arms of a select are evaluated.

        `symbols` gives the symbols' values, `reader` those of Read and Born atoms. Raises KeyError for
        a missing value, OverflowError for an intermediate outside int64, ZeroDivisionError for a
        divisor of 0.
        """
        return self._evaluated(symbols or {}, reader, {})

    def _evaluated(
        self, symbols: Mapping[str, int], reader: Reader | None, done: dict[Atom, int]
    ) -> int:
        if self.value is not None:
            return int64(self.value)
        total = 0
        for factors, coeff in self.terms():
            product = int64(coeff)
            for atom, power in factors:
                if atom not in done:
                    done[atom] = _evaluate_atom(atom, symbols, reader, done)
                for _ in range(power):
                    product = int64(product * done[atom])
            total = int64(total + product)
        return total

    def bounds(self, env: Bounds | None = None) -> tuple[int | None, int | None]:
        """The best proven lower and upper bounds, None for an unbounded side.

        `env` tightens the bounds of symbols (by name) and atoms.
        """
        return self.interval(env).ends()

    def interval(self, env: Bounds | None) -> Interval:
        """`bounds` as an Interval."""
        if env:
            return _prove(self, env)
        if self._bounds is None:
            self._bounds = _prove(self, None)
        return self._bounds


DimLike = Dim | int
# Keys are names of symbols or atoms; typed Any because Mapping is invariant in its key.
Substitution = Mapping[Any, DimLike]

BUILDERS: Final[dict[DimOp, Callable[..., Dim]]] = {}
"""The functions of dim_ops that build an operation from its arguments, simplified as far as can be proved."""


def _unproved(dim: Dim, env: Bounds | None) -> Interval:
    raise AssertionError("dim_proof sets this")


_prove: Callable[[Dim, Bounds | None], Interval] = _unproved


def set_prove(prove: Callable[[Dim, Bounds | None], Interval]) -> None:
    """Set the function that proves bounds of a dim; dim_proof calls this once."""
    global _prove
    _prove = prove


def build(terms: dict[Monomial, int]) -> Dim:
    """A dim of `terms`, which are kept and have no zero coefficients."""
    dim = Dim.__new__(Dim)
    dim.raw = terms
    if not terms:
        dim.value = 0
    else:
        dim.value = terms.get(ONE) if len(terms) == 1 else None
    dim._hash = None
    dim._atoms = None
    dim._bounds = None
    dim._terms = None
    return dim


_SMALL: dict[int, Dim] = {n: build({ONE: n} if n else {}) for n in range(-16, 1025)}


def as_dim(value: DimLike) -> Dim:
    """An int, or anything with `__index__`, as a Dim; a Dim stays itself."""
    if isinstance(value, Dim):
        return value
    return Dim.const(operator.index(value))


def value_of(value: DimLike) -> int | None:
    """The number that it is, None for a symbolic dim."""
    return value.value if isinstance(value, Dim) else operator.index(value)


def sym(name: str, lower: int = 0, upper: int | None = None) -> Dim:
    """The input dim called `name`, known to be at least `lower` and at most `upper`."""
    return Dim.atom(Sym(name, lower, upper))


def _factor_key(factor: Factor) -> str:
    return str(factor[0])


def _term_key(term: tuple[tuple[Factor, ...], int]) -> tuple[int, list[tuple[str, int]]]:
    factors = term[0]
    return -sum(power for _, power in factors), [(str(atom), power) for atom, power in factors]


def _accumulate(into: dict[Monomial, int], terms: Mapping[Monomial, int], factor: int) -> None:
    for mono, coeff in terms.items():
        total = into.get(mono, 0) + coeff * factor
        if total:
            into[mono] = total
        else:
            del into[mono]


def _few(terms: dict[Monomial, int]) -> dict[Monomial, int]:
    """The terms of a sum. UnsupportedError for more than MAX_TERMS: proofs about them would take seconds."""
    if len(terms) > MAX_TERMS:
        raise UnsupportedError(
            f"a sum of symbolic dims has {len(terms)} terms, more than {MAX_TERMS}",
            fix="fix some of the symbols to numbers",
        )
    return terms


def _replace_atom(atom: Atom, table: dict[Atom, Dim], done: dict[Atom, Dim | None]) -> Dim | None:
    """The replacement of the atom, or None if nothing changes."""
    if atom in table:
        return table[atom]
    if atom in done:
        return done[atom]
    result: Dim | None = None
    if isinstance(atom, Op):
        args = [arg._replaced(table, done) for arg in atom.args]
        if any(new is not old for new, old in zip(args, atom.args, strict=True)):
            result = BUILDERS[atom.kind](*args)
    elif isinstance(atom, Born) and atom.upper is not None:
        upper = atom.upper._replaced(table, done)
        if upper is not atom.upper:
            result = Dim.atom(replace(atom, upper=upper))
    done[atom] = result
    return result


def _evaluate_atom(
    atom: Atom, symbols: Mapping[str, int], reader: Reader | None, done: dict[Atom, int]
) -> int:
    if isinstance(atom, Sym):
        return int64(symbols[atom.name])
    if isinstance(atom, Op):
        args = [arg._evaluated(symbols, reader, done) for arg in atom.args]
        if atom.kind in _DIVISIONS and args[1] == 0:
            raise ZeroDivisionError(f"division by 0 in the dim {atom}")
        return int64(INTEGERS[atom.kind](*args))
    if reader is None:
        raise KeyError(str(atom))
    return int64(reader(atom))


def _factor_text(atom: Atom, power: int, alone: bool) -> str:
    text = str(atom)
    bare = not (isinstance(atom, Op) and atom.kind in INFIX)
    # EQ and LT bind more loosely than a sum, so they need parentheses even alone.
    if not bare and (not alone or atom.is_bool):
        text = f"({text})"
    return text if power == 1 else f"{text}**{power}"


_DIVISIONS = frozenset({DimOp.FLOORDIV, DimOp.CEILDIV, DimOp.MOD})
