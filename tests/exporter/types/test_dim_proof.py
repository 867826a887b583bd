# SPDX-License-Identifier: Apache-2.0
"""Tests of proofs about dims, and of relations that must stay unknown."""

from __future__ import annotations

import pytest

from samara.exporter.types import (
    Born,
    Dim,
    Read,
    Sym,
    Tri,
    ceildiv,
    compare,
    dlt,
    dmax,
    dmin,
    provably_ge,
    provably_positive,
    select,
    sym,
)

n, h = sym("n"), sym("h")
m = sym("m", lower=1)
many = sym("many", lower=2)
unknown = Dim.atom(Read("s", 0))


def test_compare_says_yes_no_or_unknown() -> None:
    assert compare(n + 1, 1 + n) is Tri.YES
    assert compare(n, n + 1) is Tri.NO
    assert compare(n, h) is Tri.UNKNOWN
    assert compare(n, -1) is Tri.NO
    assert compare(n, 0) is Tri.UNKNOWN
    assert compare(m, 0) is Tri.NO
    assert compare(2 * n, 2 * h + 1) is Tri.NO
    assert compare(unknown, -1) is Tri.UNKNOWN
    assert compare(4, 4) is Tri.YES
    assert compare(n, 5, {"n": (6, None)}) is Tri.NO
    assert compare(n, 5, {"n": (5, 5)}) is Tri.YES


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (n, (0, None)),
        (-n, (None, 0)),
        (unknown, (None, None)),
        (Dim.atom(Read("s", 0, bits=True)), (0, 2**32 - 1)),
        (Dim.atom(Read("s", 0, lower=0, upper=1)), (0, 1)),
        (Dim.atom(Born("b", 0, 0, upper=Dim.const(12))), (0, 12)),
        (n * m - n, (0, None)),
        (many * m - many, (0, None)),
        (unknown * unknown, (0, None)),
        (n % 5, (0, 4)),
        (unknown % 5, (0, 4)),
        (n % m, (0, None)),
        (n // m, (0, None)),
        (n // unknown, (None, None)),
        (ceildiv(unknown, m), (None, None)),
        (n - 2 * (n // 2), (0, 1)),
        (n - dmin(n, 3), (0, None)),
        (dmax(n, 3) - n, (0, 3)),
        (dmin(n, 7) - 2, (-2, 5)),
        (dlt(n, h), (0, 1)),
        (select(dlt(n, h), 3, 9), (3, 9)),
    ],
)
def test_bounds(dim: Dim, expected: tuple[int | None, int | None]) -> None:
    assert dim.bounds() == expected


def test_bounds_take_facts_about_symbols_and_atoms() -> None:
    assert (2 * n + 1).bounds({"n": (2, 10)}) == (5, 21)
    assert (n * h).bounds({"n": (2, 10), Sym("h"): (0, 3)}) == (0, 30)
    assert unknown.bounds({Read("s", 0): (-1, 8)}) == (-1, 8)
    assert ((n + 1) // 2).bounds({"n": (None, 9)}) == (0, 5)
    # Bounds of one call do not affect the next.
    assert n.bounds() == (0, None)


def test_order_proofs() -> None:
    assert provably_ge(n, 0)
    assert provably_ge(n * m, n)
    assert not provably_ge(n * h, n)
    assert provably_ge(n + h, h)
    assert provably_ge(n, n // 2)
    assert provably_ge(ceildiv(n, 2) * 2, n)
    assert not provably_ge(n // 2 * 2, n)
    assert provably_ge(n // 2 * 2 + 1, n)
    assert provably_positive(m)
    assert not provably_positive(n)
    assert provably_positive(n, {"n": (1, None)})
    assert provably_positive(dmax(unknown, 1))
