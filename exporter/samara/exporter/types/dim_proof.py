# SPDX-License-Identifier: Apache-2.0
"""Proofs about dims: intervals, equality and order."""

from __future__ import annotations

import math
from collections.abc import Mapping

from samara.exporter.types.dim import Dim, DimLike, Tri, as_dim, build, set_prove, value_of
from samara.exporter.types.dim_atoms import (
    ONE,
    Atom,
    Born,
    Bounds,
    DimOp,
    Op,
    Read,
    Sym,
    bits_f32,
    scale_value,
    single,
)
from samara.exporter.types.interval import ANY, Interval

__all__ = ["compare", "provably_ge", "provably_positive", "prove"]


def compare(a: DimLike, b: DimLike, env: Bounds | None = None) -> Tri:
    """Whether two dims have equal values: always, never, or unknown."""
    x, y = value_of(a), value_of(b)
    if x is not None and y is not None:
        return Tri.YES if x == y else Tri.NO
    a, b = as_dim(a), as_dim(b)
    if a is b:
        return Tri.YES
    gap = a - b
    if gap.value is not None:
        return Tri.YES if gap.value == 0 else Tri.NO
    offset = gap.raw.get(ONE, 0)
    if offset % math.gcd(*(coeff for mono, coeff in gap.raw.items() if mono)):
        return Tri.NO
    known = gap.interval(env)
    if known.lo > 0 or known.hi < 0:
        return Tri.NO
    return Tri.YES if known.lo == 0 == known.hi else Tri.UNKNOWN


def provably_ge(a: DimLike, b: DimLike, env: Bounds | None = None) -> bool:
    """Whether a >= b is certain."""
    x, y = value_of(a), value_of(b)
    if x is not None and y is not None:
        return x >= y
    gap = as_dim(a) - b
    return gap.interval(env).lo >= 0 if gap.value is None else gap.value >= 0


def provably_positive(a: DimLike, env: Bounds | None = None) -> bool:
    """Whether a >= 1 is certain."""
    return as_dim(a).interval(env).lo >= 1


# How many terms are looked through one after the other; each at most doubles the work.
_PROOF_DEPTH = 4


def prove(dim: Dim, env: Bounds | None) -> Interval:
    """The tightest known interval of the dim; Dim.interval caches it."""
    if dim.value is not None:
        return Interval(dim.value, dim.value)
    ranges = {atom: _atom_interval(atom, env) for atom in dim.atoms()}
    direct = _term_intervals(dim, ranges)
    if len(dim.raw) == 1:
        return direct
    high = -_lower_of(-dim, ranges, env, _PROOF_DEPTH)
    return direct.meet(Interval(_lower_of(dim, ranges, env, _PROOF_DEPTH), high))


def _lower(dim: Dim, env: Bounds | None, depth: int) -> int | float:
    """The best provable lower bound of a sum."""
    if dim.value is not None:
        return dim.value
    return _lower_of(dim, {atom: _atom_interval(atom, env) for atom in dim.atoms()}, env, depth)


def _lower_of(
    dim: Dim, ranges: Mapping[Atom, Interval], env: Bounds | None, depth: int
) -> int | float:
    """A lower bound from the ranges of the dim's atoms; it looks through floors, minima and maxima."""
    best = _term_intervals(dim, ranges).lo
    if len(dim.raw) == 1:
        return best
    if any(single(mono) is None for mono in dim.raw if mono):
        best = max(best, _shifted_lower(dim, ranges))
    if depth == 0:
        return best
    for mono, coeff in dim.raw.items():
        atom = single(mono)
        if not isinstance(atom, Op):
            continue
        rest = dim - build({mono: coeff})
        if atom.kind is DimOp.MIN or atom.kind is DimOp.MAX:
            lows = [_lower(rest + coeff * arg, env, depth - 1) for arg in atom.args]
            # A minimum with a positive factor is the smaller of both arguments, a maximum the larger.
            worse = (atom.kind is DimOp.MIN) == (coeff > 0)
            return max(best, min(lows) if worse else max(lows))
        divisor = atom.args[1].value if atom.kind is DimOp.FLOORDIV else None
        if divisor is not None and divisor > 0:
            # x - k + 1 <= k * (x // k) <= x, multiplied through by k.
            top = atom.args[0] - (divisor - 1) if coeff > 0 else atom.args[0]
            low = _lower(divisor * rest + coeff * top, env, depth - 1)
            return max(best, -(-low // divisor) if isinstance(low, int) else low)
    return best


def _term_intervals(dim: Dim, ranges: Mapping[Atom, Interval]) -> Interval:
    total = Interval(0, 0)
    for mono, coeff in dim.raw.items():
        product = Interval(coeff, coeff)
        for atom, power in mono:
            product = product * ranges[atom].power(power)
        total = total + product
    return total


def _shifted_lower(dim: Dim, ranges: Mapping[Atom, Interval]) -> int | float:
    """A lower bound that handles `n*m - m`: each atom is written as its bound plus a rest."""
    table: dict[Atom, Dim] = {}
    rests: dict[Atom, Interval] = {}
    for atom, known in ranges.items():
        rests[atom] = known
        if isinstance(known.lo, int) and known.lo != 0 and not atom.is_bool:
            table[atom] = Dim.atom(atom) + known.lo
            rests[atom] = Interval(0, known.hi - known.lo)
    if not table:
        return -math.inf
    return _term_intervals(_shift(dim, table), rests).lo


def _shift(dim: Dim, table: Mapping[Atom, Dim]) -> Dim:
    """The polynomial with atoms replaced at the top level, not inside operations."""
    total = Dim.const(0)
    for mono, coeff in dim.raw.items():
        product = Dim.const(coeff)
        for atom, power in mono:
            for _ in range(power):
                product = product * table.get(atom, Dim.atom(atom))
        total = total + product
    return total


def _atom_interval(atom: Atom, env: Bounds | None) -> Interval:
    if isinstance(atom, Op):
        known = _op_interval(atom, [arg.interval(env) for arg in atom.args])
    elif isinstance(atom, Born):
        limit = math.inf if atom.upper is None else atom.upper.interval(env).hi
        known = Interval(0, max(limit, 0))
    elif isinstance(atom, Read) and atom.bits:
        known = Interval(0, 2**32 - 1)
    else:
        known = Interval.of(atom.lower, atom.upper)
    if env:
        for key in (atom.name, atom) if isinstance(atom, Sym) else (atom,):
            if key in env:
                known = known.meet(Interval.of(*env[key]))
    return known


def _op_interval(op: Op, args: list[Interval]) -> Interval:
    a, b = args[0], args[1]
    if op.kind is DimOp.FLOORDIV:
        return a.floordiv(b)
    if op.kind is DimOp.CEILDIV:
        return -((-a).floordiv(b))
    if op.kind is DimOp.MOD:
        if b.lo < 1:
            return ANY
        return Interval(0, min(b.hi - 1, a.hi) if a.lo >= 0 else b.hi - 1)
    if op.kind is DimOp.MIN:
        return Interval(min(a.lo, b.lo), min(a.hi, b.hi))
    if op.kind is DimOp.MAX:
        return Interval(max(a.lo, b.lo), max(a.hi, b.hi))
    if op.kind is DimOp.SELECT:
        return b.join(args[2])
    if op.kind is DimOp.SCALE_F32:
        return _scaled_interval(a, op.args[1])
    return Interval(0, 1)


def _scaled_interval(a: Interval, bits: Dim) -> Interval:
    """Bounds of a float32 product by a constant scale; it is monotone in the dim."""
    if bits.value is None or not 0 <= bits_f32(bits.value) < math.inf:
        return ANY

    pattern = bits.value
    try:
        lo = scale_value(a.lo, pattern) if isinstance(a.lo, int) else a.lo
        hi = scale_value(a.hi, pattern) if isinstance(a.hi, int) else a.hi
    except OverflowError:
        return ANY
    return Interval(lo, hi)


set_prove(prove)
