# SPDX-License-Identifier: Apache-2.0
"""Interval arithmetic over integers with open ends, for proofs about dims."""

from __future__ import annotations

import math

__all__ = ["ANY", "Interval"]

# Only infinities are floats, so comparisons stay exact.
End = int | float


class Interval:
    """All integers from `lo` to `hi`, both included; infinite if unbounded. Never empty."""

    __slots__ = ("hi", "lo")

    def __init__(self, lo: End, hi: End) -> None:
        self.lo = lo
        self.hi = hi

    @staticmethod
    def of(lo: int | None, hi: int | None) -> Interval:
        """The interval with these ends; None is unbounded."""
        return Interval(-math.inf if lo is None else lo, math.inf if hi is None else hi)

    def ends(self) -> tuple[int | None, int | None]:
        """Both ends, None for an unbounded one."""
        return _finite(self.lo), _finite(self.hi)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.lo + other.lo, self.hi + other.hi)

    def __neg__(self) -> Interval:
        return Interval(-self.hi, -self.lo)

    def __mul__(self, other: Interval) -> Interval:
        if self.lo == self.hi == 1:
            return other
        low, high = other.lo, other.hi
        products = (
            _times(self.lo, low),
            _times(self.lo, high),
            _times(self.hi, low),
            _times(self.hi, high),
        )
        return Interval(min(products), max(products))

    def power(self, exponent: int) -> Interval:
        """The values of x**exponent (exponent >= 1) for x in this interval."""
        if exponent == 1:
            return self
        low, high = _power(self.lo, exponent), _power(self.hi, exponent)
        if exponent % 2:
            return Interval(low, high)
        crosses = self.lo <= 0 <= self.hi
        return Interval(0 if crosses else min(low, high), max(low, high))

    def floordiv(self, other: Interval) -> Interval:
        """The values of x // y; unbounded if y may be zero or negative."""
        if other.lo < 1:
            return ANY
        quotients = [_divide(x, y) for x in (self.lo, self.hi) for y in (other.lo, other.hi)]
        return Interval(min(quotients), max(quotients))

    def join(self, other: Interval) -> Interval:
        """The smallest interval that contains both."""
        return Interval(min(self.lo, other.lo), max(self.hi, other.hi))

    def meet(self, other: Interval) -> Interval:
        """The intersection. Both must hold one number, so that it is not empty."""
        return Interval(max(self.lo, other.lo), min(self.hi, other.hi))


ANY = Interval(-math.inf, math.inf)


def _finite(end: End) -> int | None:
    return end if isinstance(end, int) else None


def _times(a: End, b: End) -> End:
    if a == 0 or b == 0:
        return 0
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    return math.inf if (a > 0) == (b > 0) else -math.inf


def _power(x: End, exponent: int) -> End:
    result: End = 1
    for _ in range(exponent):
        result = _times(result, x)
    return result


def _divide(x: End, y: End) -> End:
    """floor(x / y) for y >= 1; a limit if x or y is infinite."""
    if not isinstance(x, int):
        # y takes finite values too, so the quotient stays unbounded.
        return x
    if not isinstance(y, int):
        return -1 if x < 0 else 0
    return x // y
