# SPDX-License-Identifier: Apache-2.0
"""Tests of interval arithmetic: results contain every value, and finite ends are attained."""

from __future__ import annotations

import itertools
import math

from samara.exporter.types.interval import ANY, Interval

SMALL = [Interval(a, b) for a in range(-3, 4) for b in range(a, 4)]


def _values(interval: Interval) -> range:
    return range(int(interval.lo), int(interval.hi) + 1)


def test_closed_results_are_exact() -> None:
    for a, b in itertools.product(SMALL, SMALL):
        pairs = list(itertools.product(_values(a), _values(b)))
        sums = [x + y for x, y in pairs]
        assert (a + b).ends() == (min(sums), max(sums))
        products = [x * y for x, y in pairs]
        assert (a * b).ends() == (min(products), max(products))
        if b.lo >= 1:
            quotients = [x // y for x, y in pairs]
            assert a.floordiv(b).ends() == (min(quotients), max(quotients))
        joined = {*_values(a), *_values(b)}
        assert a.join(b).ends() == (min(joined), max(joined))


def test_powers_are_exact() -> None:
    for a in SMALL:
        for exponent in (1, 2, 3, 4):
            powers = [x**exponent for x in _values(a)]
            result = a.power(exponent)
            assert result.ends() == (min(powers), max(powers))
    assert ANY.power(2).ends() == (0, None)
    assert ANY.power(3).ends() == (None, None)


def test_open_ends() -> None:
    natural = Interval.of(0, None)
    assert natural.ends() == (0, None)
    assert (natural + Interval(1, 2)).ends() == (1, None)
    assert (-natural).ends() == (None, 0)
    assert (natural * Interval(0, 0)).ends() == (0, 0)
    assert (natural * Interval(-2, 3)).ends() == (None, None)
    assert (natural * natural).ends() == (0, None)
    assert natural.floordiv(Interval.of(1, None)).ends() == (0, None)
    assert Interval(-5, -5).floordiv(Interval.of(2, None)).ends() == (-3, -1)
    assert natural.floordiv(Interval(0, 3)) is ANY
    assert ANY.meet(Interval(1, 2)).ends() == (1, 2)
    assert ANY.lo == -math.inf


def test_ends_stay_exact_beyond_floats() -> None:
    big = 2**70 + 1
    assert Interval(big, big).ends() == (big, big)
    assert (Interval(big, big) + Interval(1, 1)).ends() == (big + 1, big + 1)
    assert (Interval(10**400, 10**400) * Interval.of(1, None)).ends() == (10**400, None)
