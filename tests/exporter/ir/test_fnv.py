# SPDX-License-Identifier: Apache-2.0
"""FNV-1a: published values, and blocks against the definition."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter.ir.fnv import OFFSET, PRIME, fnv1a


def test_it_is_the_published_one() -> None:
    assert fnv1a(b"") == 0xCBF29CE484222325
    assert fnv1a(b"a") == 0xAF63DC4C8601EC8C
    assert fnv1a(b"foobar") == 0x85944171F73967E8


@pytest.mark.parametrize("size", [7, 8, 9, 1000, (1 << 15) - 1, 1 << 15, (1 << 16) + 13])
def test_blocks(size: int) -> None:
    data = np.random.default_rng(size).integers(0, 256, size).astype(np.uint8).tobytes()
    value = OFFSET
    for byte in data:
        value = (value ^ byte) * PRIME % (1 << 64)
    assert fnv1a(data) == fnv1a(memoryview(data)) == value
