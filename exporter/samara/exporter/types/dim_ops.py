# SPDX-License-Identifier: Apache-2.0
"""Non-polynomial operations on dims, which simplify as far as they can prove."""

from __future__ import annotations

import math
from collections.abc import Iterator

from samara.exporter.types.dim import BUILDERS, Dim, DimLike, Tri, as_dim, build
from samara.exporter.types.dim_atoms import ONE, DimOp, Monomial, Op, mono_div, scale_value
from samara.exporter.types.dim_proof import compare, provably_ge, provably_positive

__all__ = [
    "ceildiv",
    "deq",
    "dlt",
    "dmax",
    "dmin",
    "floordiv",
    "mod",
    "scale_f32",
    "select",
]


def floordiv(a: DimLike, b: DimLike) -> Dim:
    """a // b, rounded towards minus infinity; ZeroDivisionError for the constant 0."""
    a, b = as_dim(a), as_dim(b)
    if b.value is not None:
        return _floordiv_const(a, b.value)
    quotient, rest = _divide(a, b)
    if rest.value == 0:
        return quotient
    rest, b = _cancel(rest, b)
    if b.value is not None:
        return quotient + _floordiv_const(rest, b.value)
    if provably_ge(rest, 0) and provably_ge(b, rest + 1):
        return quotient
    return quotient + Dim.atom(Op(DimOp.FLOORDIV, (rest, b)))


def ceildiv(a: DimLike, b: DimLike) -> Dim:
    """a / b, rounded towards plus infinity; ZeroDivisionError for the constant 0."""
    a, b = as_dim(a), as_dim(b)
    if b.value is not None:
        sign = -1 if b.value < 0 else 1
        return _floordiv_const(sign * a + (abs(b.value) - 1), abs(b.value))
    quotient, rest = _divide(a, b)
    if rest.value == 0:
        return quotient
    rest, b = _cancel(rest, b)
    if b.value is not None:
        return quotient + ceildiv(rest, b)
    if provably_positive(rest) and provably_ge(b, rest):
        return quotient + 1
    return quotient + Dim.atom(Op(DimOp.CEILDIV, (rest, b)))


def mod(a: DimLike, b: DimLike) -> Dim:
    """a - b * (a // b), with the divisor's sign; ZeroDivisionError for the constant 0."""
    a, b = as_dim(a), as_dim(b)
    if b.value is not None:
        return _mod_const(a, b.value)
    rest = _divide(a, b)[1]
    if rest.value == 0 or (provably_ge(rest, 0) and provably_ge(b, rest + 1)):
        return rest
    return Dim.atom(Op(DimOp.MOD, (rest, b)))


def _divide(a: Dim, b: Dim) -> tuple[Dim, Dim]:
    """(quotient, rest) with a == quotient * b + rest; the rest is 0 if the division is exact."""
    if len(b.raw) == 1:
        ((mono, divisor),) = b.raw.items()
        return _divide_term(a, mono, divisor)
    exact = _divide_exact(a, b)
    return (Dim.const(0), a) if exact is None else (exact, Dim.const(0))


def _divide_term(a: Dim, mono: Monomial, divisor: int) -> tuple[Dim, Dim]:
    quotient: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for m, coeff in a.raw.items():
        left = mono_div(m, mono)
        if left is None:
            rest[m] = coeff
            continue
        if m:
            # Round towards zero: a rest of the same sign keeps interval proofs tight.
            count = abs(coeff) // abs(divisor) * (1 if (coeff < 0) == (divisor < 0) else -1)
        else:
            count = coeff // divisor
        if count:
            quotient[left] = count
        if coeff != count * divisor:
            rest[m] = coeff - count * divisor
    return build(quotient), build(rest)


def _divide_exact(a: Dim, b: Dim) -> Dim | None:
    """The quotient by a sum, or None if polynomial long division leaves a rest."""
    if any(atom.is_bool for atom in b.atoms()):
        return None
    lead, lead_coeff = _leading(b)
    rest, quotient = a, Dim.const(0)
    # Exact long division removes a leading term per step.
    for _ in range(8 * len(a.raw)):
        if rest.value == 0:
            return quotient
        top, coeff = _leading(rest)
        left = mono_div(top, lead)
        if left is None or coeff % lead_coeff:
            return None
        step = build({left: coeff // lead_coeff})
        quotient = quotient + step
        rest = rest - step * b
    return None


def _leading(a: Dim) -> tuple[Monomial, int]:
    """The term of the highest degree, of several the last in lexical order."""
    return max(
        a.raw.items(),
        key=lambda term: (
            sum(power for _, power in term[0]),
            sorted(str(atom) for atom, power in term[0] for _ in range(power)),
        ),
    )


def _cancel(a: Dim, b: Dim) -> tuple[Dim, Dim]:
    """Numerator and divisor without common factors; the divisor's leading term is positive."""
    common = math.gcd(*a.raw.values(), *b.raw.values())
    if _leading(b)[1] < 0:
        common = -common
    powers = dict(next(iter(a.raw)))
    for mono in (*a.raw, *b.raw):
        here = dict(mono)
        powers = {atom: min(p, here[atom]) for atom, p in powers.items() if atom in here}
    shared = frozenset((atom, power) for atom, power in powers.items() if not atom.is_bool)
    if common == 1 and not shared:
        return a, b
    return _divide_term(a, shared, common)[0], _divide_term(b, shared, common)[0]


def _floordiv_const(a: Dim, k: int) -> Dim:
    if k == 0:
        raise ZeroDivisionError(f"division of the dim {a} by 0")
    if a.value is not None:
        return Dim.const(a.value // k)
    if k < 0:
        a, k = -a, -k
    quotient, rest = _divide_term(a, ONE, k)
    step = math.gcd(k, *(coeff for mono, coeff in rest.raw.items() if mono))
    if step > 1:
        # floor((g*x + c) / (g*m)) == floor((x + floor(c/g)) / m), and c stays below g*m.
        rest, k = _divide_term(rest, ONE, step)[0], k // step
    if k == 1:
        return quotient + rest
    if rest.value is not None:
        return quotient + rest.value // k
    offset = rest.raw.get(ONE, 0)
    atom = (rest - offset).sole_atom()
    if isinstance(atom, Op) and atom.kind is DimOp.FLOORDIV:
        inner = atom.args[1].value
        if inner is not None and inner > 0:
            return quotient + _floordiv_const(atom.args[0] + offset * inner, inner * k)
    known = rest.interval(None)
    if isinstance(known.lo, int) and isinstance(known.hi, int) and known.lo // k == known.hi // k:
        return quotient + known.lo // k
    return quotient + Dim.atom(Op(DimOp.FLOORDIV, (rest, Dim.const(k))))


def _mod_const(a: Dim, k: int) -> Dim:
    if k == 0:
        raise ZeroDivisionError(f"division of the dim {a} by 0")
    if k < 0:
        return -_mod_const(-a, -k)
    if a.value is not None:
        return Dim.const(a.value % k)
    rest = _divide_term(a, ONE, k)[1]
    step = math.gcd(k, *(coeff for mono, coeff in rest.raw.items() if mono))
    if step > 1:
        # (g*x + c) mod g*m == g * ((x + floor(c/g)) mod m) + c mod g.
        left = rest.raw.get(ONE, 0) % step
        return _mod_const(_divide_term(rest, ONE, step)[0], k // step).scaled(step) + left
    if rest.value is not None:
        return Dim.const(rest.value % k)
    known = rest.interval(None)
    if isinstance(known.lo, int) and isinstance(known.hi, int) and known.lo // k == known.hi // k:
        return rest - known.lo // k * k
    return Dim.atom(Op(DimOp.MOD, (rest, Dim.const(k))))


def dmin(first: DimLike, *others: DimLike) -> Dim:
    """The smallest of the dims."""
    return _extreme(DimOp.MIN, (first, *others))


def dmax(first: DimLike, *others: DimLike) -> Dim:
    """The largest of the dims."""
    return _extreme(DimOp.MAX, (first, *others))


def _extreme(kind: DimOp, dims: tuple[DimLike, ...]) -> Dim:
    kept: list[Dim] = []
    for dim in dict.fromkeys(leaf for d in dims for leaf in _leaves(kind, as_dim(d))):
        if any(_dominates(kind, other, dim) for other in kept):
            continue
        kept = [other for other in kept if not _dominates(kind, dim, other)]
        kept.append(dim)
    kept.sort(key=lambda dim: (dim.is_static, str(dim)))
    result = kept[0]
    for dim in kept[1:]:
        result = Dim.atom(Op(kind, (result, dim)))
    return result


def _leaves(kind: DimOp, dim: Dim) -> Iterator[Dim]:
    atom = dim.sole_atom()
    if isinstance(atom, Op) and atom.kind is kind:
        for arg in atom.args:
            yield from _leaves(kind, arg)
    else:
        yield dim


def _dominates(kind: DimOp, a: Dim, b: Dim) -> bool:
    """Whether a rules out b as the result."""
    return provably_ge(b, a) if kind is DimOp.MIN else provably_ge(a, b)


def deq(a: DimLike, b: DimLike) -> Dim:
    """1 where a == b, else 0."""
    answer = compare(a, b)
    if answer is not Tri.UNKNOWN:
        return Dim.const(1 if answer is Tri.YES else 0)
    left, right = _sides(as_dim(a) - as_dim(b))
    if (left.is_static, str(left)) > (right.is_static, str(right)):
        left, right = right, left
    return Dim.atom(Op(DimOp.EQ, (left, right)))


def dlt(a: DimLike, b: DimLike) -> Dim:
    """1 where a < b, else 0."""
    gap = as_dim(a) - as_dim(b)
    known = gap.interval(None)
    if known.hi < 0:
        return Dim.const(1)
    if known.lo >= 0:
        return Dim.const(0)
    return Dim.atom(Op(DimOp.LT, _sides(gap)))


def _sides(gap: Dim) -> tuple[Dim, Dim]:
    """The sides of a relation with this gap up to a positive factor, with positive signs only."""
    step = math.gcd(*gap.raw.values())
    left = {mono: coeff // step for mono, coeff in gap.raw.items() if coeff > 0}
    right = {mono: -coeff // step for mono, coeff in gap.raw.items() if coeff < 0}
    return build(left), build(right)


def select(condition: DimLike, a: DimLike, b: DimLike) -> Dim:
    """a where the condition is not 0, else b; both are evaluated."""
    condition, a, b = as_dim(condition), as_dim(a), as_dim(b)
    if a == b:
        return a
    known = condition.interval(None)
    if known.lo > 0 or known.hi < 0:
        return a
    if known.lo == 0 == known.hi:
        return b
    if known.lo == 0 and known.hi == 1:
        if a.value == 1 and b.value == 0:
            return condition
        opposite = 1 - condition
        if a.value == 0 and b.value == 1:
            return opposite
        if len(opposite.raw) < len(condition.raw):
            return select(opposite, b, a)
    return Dim.atom(Op(DimOp.SELECT, (condition, a, b)))


def scale_f32(a: DimLike, bits: DimLike) -> Dim:
    """floor(float32(a) * scale), one float32 product; `bits` is the float32 scale's pattern.

    Opaque even for whole scales: float32(a) rounds beyond 2**24.
    """
    a, bits = as_dim(a), as_dim(bits)
    if bits.value is not None and a.value is not None:
        return Dim.const(scale_value(a.value, bits.value))
    return Dim.atom(Op(DimOp.SCALE_F32, (a, bits)))


BUILDERS.update(
    {
        DimOp.FLOORDIV: floordiv,
        DimOp.CEILDIV: ceildiv,
        DimOp.MOD: mod,
        DimOp.MIN: dmin,
        DimOp.MAX: dmax,
        DimOp.EQ: deq,
        DimOp.LT: dlt,
        DimOp.SELECT: select,
        DimOp.SCALE_F32: scale_f32,
    }
)
