# SPDX-License-Identifier: Apache-2.0
"""Sets of code points, and the record of Unicode."""

from __future__ import annotations

import pytest

from samara.exporter.text import code_points as cp


def test_sets() -> None:
    small, odd = ((0, 4),), cp.ranges_of([1, 3, 5])
    assert odd == ((1, 2), (3, 4), (5, 6))
    assert cp.union(small, odd) == ((0, 4), (5, 6))
    assert cp.intersection(small, odd) == ((1, 2), (3, 4))
    assert cp.without(small, odd) == ((0, 1), (2, 3))
    assert cp.complement(cp.complement(odd)) == odd
    assert cp.complement(()) == cp.EVERY
    assert cp.contains(odd, 3)
    assert not cp.contains(odd, 4)


def test_the_record() -> None:
    assert cp.contains(cp.named("Lu"), ord("A"))
    assert cp.contains(cp.named("white"), 0x3000)
    assert not cp.contains(cp.named("white"), 0x200B)
    assert cp.is_known("Han")
    assert not cp.is_known("Klingon")
    with pytest.raises(KeyError):
        cp.named("Klingon")
    assert cp.mapping("lower")[ord("Ä")] == "ä"
    assert cp.mapping("nfd")[ord("é")] == "e\u0301"
    assert cp.mapping("nfkd")[ord("½")] == "1\u20442"
    assert cp.combining_classes()[0x0301] == 230
    assert (ord("e"), 0x0301, ord("é")) in cp.compositions()


def test_categories_cover_every_character_once() -> None:
    names = [n for n in cp._record()["sets"] if len(n) == 2]
    assert len(names) == 29
    assert sum(high - low for n in names for low, high in cp.named(n)) == cp.END - 0x800
