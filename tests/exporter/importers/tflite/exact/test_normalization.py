# SPDX-License-Identifier: Apache-2.0
"""L2_NORMALIZATION that gives TFLite's own integers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, T


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("size", [1, 2, 5, 64, 1000])
def test_l2_normalization(kind: str, size: int) -> None:
    """Rows of all lengths, one of zeros."""
    rng = np.random.default_rng(size)
    low = 0 if kind == "uint8" else -128
    zero = int(rng.integers(low, low + 256))
    spread = np.array([0, 1, 2, 5, 20, 80, 255, 255]).reshape(-1, 1)
    data = np.clip(zero + np.rint(rng.uniform(-1, 1, (8, size)) * spread), low, low + 255)
    x = T(data.astype(kind), scale=0.05, zero=zero)
    y = T(kind=kind.upper(), shape=(), scale=1 / 128, zero=128 if kind == "uint8" else 0)
    Case("L2_NORMALIZATION", [x], [y], version=2).check(exact=True)
