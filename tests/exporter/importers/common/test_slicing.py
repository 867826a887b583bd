# SPDX-License-Identifier: Apache-2.0
"""Bounds of slices, as numpy takes them."""

from __future__ import annotations

import pytest

from samara.exporter.importers.common.slicing import slice_bounds
from samara.exporter.types import as_dim


@pytest.mark.parametrize("dim", [0, 1, 4])
@pytest.mark.parametrize("step", [1, -1])
def test_bounds_are_numpys(dim: int, step: int) -> None:
    for start in range(-6, 7):
        for end in range(-6, 7):
            b, e = (d.as_int() for d in slice_bounds(as_dim(dim), as_dim(start), as_dim(end), step))
            want = list(range(dim))[slice(start, end, step)]
            got = list(range(dim))[b : (e if e >= 0 else None) : step]
            assert got == want or (b == e and not want)
