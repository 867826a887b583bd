# SPDX-License-Identifier: Apache-2.0
"""Operators that move quantized tensors, and give TFLite's own integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, T, const

_LOW = {"int8": -128, "uint8": 0}


def _given(rng: Any, kind: str, *shape: int, scale: float = 0.1, zero: int | None = None) -> T:
    low = _LOW[kind]
    at = int(rng.integers(low, low + 256)) if zero is None else zero
    return T(rng.integers(low, low + 256, shape).astype(kind), scale=scale, zero=at)


def _like(x: T) -> T:
    return T(kind=x.element, shape=(), scale=x.scale, zero=x.zero)


@pytest.mark.parametrize("seed", range(3))
def test_concatenation_of_unequal_parameters(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scales = [0.1, 0.07, 0.1]
    xs = [_given(rng, "uint8", 2, n, 40, scale=s) for n, s in zip((1, 3, 2), scales, strict=True)]
    Case("CONCATENATION", xs, [_like(xs[0])], {"axis": 1}, version=1).check(exact=True)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_concatenation(kind: str) -> None:
    rng = np.random.default_rng(0)
    xs = [_given(rng, kind, 2, n, 5, zero=3) for n in (1, 3)]
    fixed = const(xs[0].data, scale=0.1, zero=3)
    Case("CONCATENATION", [*xs, fixed], [_like(xs[0])], {"axis": -2}, version=2).check(exact=True)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("op", ["MAXIMUM", "MINIMUM"])
def test_extremes(op: str, kind: str) -> None:
    rng = np.random.default_rng(1)
    a, b = _given(rng, kind, 3, 4, 20, zero=9), _given(rng, kind, 4, 20, zero=9)
    Case(op, [a, b], [_like(a)], version=2).check(exact=True)


_MOVES: list[tuple[str, list[Any], dict[str, Any], int]] = [
    ("RESHAPE", [np.array([4, 30], np.int32)], {"new_shape": [4, 30]}, 1),
    ("TRANSPOSE", [np.array([0, 2, 3, 1], np.int32)], {}, 2),
    ("PAD", [np.array([[0, 0], [1, 2], [0, 1], [0, 0]], np.int32)], {}, 2),
    ("MIRROR_PAD", [np.array([[0, 0], [1, 2], [0, 1], [0, 0]], np.int32)], {"mode": "REFLECT"}, 2),
    ("SLICE", [np.array([0, 1, 0, 1], np.int32), np.array([1, 3, 2, 3], np.int32)], {}, 2),
    ("SPACE_TO_DEPTH", [], {"block_size": 2}, 2),
    ("GATHER", [np.array([2, 0], np.int32)], {"axis": 1}, 2),
    ("TILE", [np.array([1, 2, 1, 3], np.int32)], {}, 1),
    ("RESIZE_NEAREST_NEIGHBOR", [np.array([7, 3], np.int32)], {}, 2),
    ("REDUCE_MAX", [np.array([1, 2], np.int32)], {}, 2),
    ("EXPAND_DIMS", [np.array(1, np.int32)], {}, 1),
]


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize(("op", "more", "options", "version"), _MOVES, ids=[m[0] for m in _MOVES])
def test_moves(op: str, more: list[Any], options: dict[str, Any], version: int, kind: str) -> None:
    """Between real numbers and back, integers stay what they are."""
    x = _given(np.random.default_rng(2), kind, 1, 4, 6, 5, scale=0.0371)
    Case(op, [x, *map(const, more)], [_like(x)], options, version=version).check(exact=True)
