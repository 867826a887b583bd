# SPDX-License-Identifier: Apache-2.0
"""Reductions and normalizations that give TFLite's own integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, T, const


def _given(rng: Any, kind: str, *shape: int) -> T:
    low = {"int8": -128, "uint8": 0, "int16": -32768}[kind]
    size = 65536 if kind == "int16" else 256
    zero = 0 if kind == "int16" else int(rng.integers(low, low + size))
    data = rng.integers(low, low + size, shape).astype(kind)
    return T(data, scale=float(np.float32(rng.uniform(0.005, 0.2))), zero=zero)


def _sum(op: str, x: T, axes: list[int], scale: float, keep: bool) -> Case:
    zero = 0 if x.element == "INT16" else x.zero
    y = T(kind=x.element, shape=(), scale=float(np.float32(scale)), zero=zero)
    axis = const(np.array(axes, np.int32))
    return Case(op, [x, axis], [y], {"keep_dims": keep}, version=2)


_AXES = [[1, 2], [3], [0, 1], [-1, -2]]


@pytest.mark.parametrize(
    ("op", "kind"), [("MEAN", "int8"), ("MEAN", "uint8"), ("MEAN", "int16"), ("SUM", "uint8")]
)
@pytest.mark.parametrize("seed", range(4))
def test_sums(op: str, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = _given(rng, kind, 2, 7, 6, 5)
    count = float(np.prod([x.sizes[a] for a in _AXES[seed]]))
    assert isinstance(x.scale, float)
    scale = x.scale * rng.uniform(0.6, 2) * (count**0.5 if op == "SUM" else 1)
    _sum(op, x, _AXES[seed], scale, bool(seed % 2)).check(exact=True)


def test_sum_of_signed_bytes() -> None:
    """Where neither inputs nor results are negative, the reference kernel reads what the file says."""
    data = np.random.default_rng(0).integers(0, 128, (2, 7, 6, 5)).astype(np.int8)
    x = T(data, scale=0.05, zero=10)
    _sum("SUM", x, [1, 2], 0.05 * 40, False).check(exact=True)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("op", ["ARG_MAX", "ARG_MIN"])
def test_positions(op: str, kind: str) -> None:
    """The first of equal elements."""
    x = _given(np.random.default_rng(0), kind, 3, 200, 4)
    axis = const(np.array(1, np.int32))
    Case(op, [x, axis], [T(kind="INT64", shape=())], {"output_type": "INT64"}, version=2).check(
        exact=True
    )
