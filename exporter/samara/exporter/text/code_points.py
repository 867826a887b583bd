# SPDX-License-Identifier: Apache-2.0
"""Sets of code points, and what PyPI's `tokenizers` knows of Unicode.

The record unicode.bin is measured by tools/gen_unicode.py. It takes the place of Python's unicodedata, which
follows another version of Unicode in each release of Python.
"""

from __future__ import annotations

import functools
import json
import zlib
from collections.abc import Iterable
from importlib import resources
from typing import Any

Ranges = tuple[tuple[int, int], ...]
"""A set of code points: half-open ranges, sorted, with gaps between them."""

END = 0x110000
EVERY: Ranges = ((0, END),)


def union(*sets: Ranges) -> Ranges:
    """Code points in at least one of the sets.
    >>> union(((1, 3),), ((3, 4), (9, 10)))
    ((1, 4), (9, 10))
    """
    out: list[tuple[int, int]] = []
    for low, high in sorted(r for one in sets for r in one):
        if out and low <= out[-1][1]:
            out[-1] = (out[-1][0], max(high, out[-1][1]))
        else:
            out.append((low, high))
    return tuple(out)


def complement(points: Ranges) -> Ranges:
    """All other code points."""
    edges = [0, *(edge for r in points for edge in r), END]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return tuple((low, high) for low, high in pairs if low < high)


def intersection(first: Ranges, second: Ranges) -> Ranges:
    """Code points in both sets."""
    return complement(union(complement(first), complement(second)))


def without(first: Ranges, second: Ranges) -> Ranges:
    """Code points of the first set that the second lacks."""
    return intersection(first, complement(second))


def ranges_of(points: Iterable[int]) -> Ranges:
    """Single code points as a set."""
    return union(tuple((p, p + 1) for p in points))


def contains(points: Ranges, point: int) -> bool:
    """Whether the set has the code point."""
    return any(low <= point < high for low, high in points)


@functools.cache
def _record() -> dict[str, Any]:
    data = resources.files("samara.exporter.text").joinpath("unicode.bin").read_bytes()
    found: dict[str, Any] = json.loads(zlib.decompress(data))
    return found


@functools.cache
def named(name: str) -> Ranges:
    """A recorded set: a general category, a script, or a set of tools/gen_unicode.py. KeyError if unknown."""
    out, at = [], 0
    runs = _record()["sets"][name]
    for gap, length in zip(runs[::2], runs[1::2], strict=True):
        out.append((at + gap, at + gap + length))
        at += gap + length
    return tuple(out)


def is_known(name: str) -> bool:
    """Whether the record has a set of that name."""
    return name in _record()["sets"]


@functools.cache
def mapping(name: str) -> dict[int, str]:
    """A recorded replacement of single code points: "lower", "nfd" or "nfkd" (without Hangul syllables)."""
    return dict(_record()["maps"][name])


def combining_classes() -> dict[int, int]:
    """Canonical combining classes other than 0."""
    return dict(_record()["combining"])


def compositions() -> list[tuple[int, int, int]]:
    """First, second, and their canonical composition; sorted, without Hangul."""
    return [(a, b, c) for a, b, c in _record()["compositions"]]
