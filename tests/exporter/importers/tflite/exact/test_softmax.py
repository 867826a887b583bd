# SPDX-License-Identifier: Apache-2.0
"""SOFTMAX and LOG_SOFTMAX that give TFLite's own integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, T


def _given(rng: Any, kind: str, *shape: int) -> T:
    info = np.iinfo(kind)
    data = rng.integers(info.min, info.max + 1, shape).astype(kind)
    zero = int(rng.integers(info.min, info.max + 1))
    return T(data, scale=float(np.float32(rng.uniform(0.005, 0.2))), zero=zero)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("seed", range(8))
def test_softmax(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = _given(rng, kind, 20, [2, 4, 10, 12, 100, 1000, 1, 3][seed])
    y = T(kind=kind.upper(), shape=(), scale=1 / 256, zero=0 if kind == "uint8" else -128)
    Case("SOFTMAX", [x], [y], {"beta": [1.0, 0.5, 2.0][seed % 3]}, version=2).check(exact=True)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("seed", range(8))
def test_log_softmax(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = _given(rng, kind, 20, [2, 4, 10, 12, 100, 1000, 1, 3][seed])
    y = T(kind=kind.upper(), shape=(), scale=1 / 16, zero=255 if kind == "uint8" else 127)
    Case("LOG_SOFTMAX", [x], [y], version=2).check(exact=True)
