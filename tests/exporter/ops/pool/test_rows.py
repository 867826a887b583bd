# SPDX-License-Identifier: Apache-2.0
"""Known answers of pools."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import InferContext
from samara.exporter.types import Dim, ShapeError, Sym, TensorType, floordiv

X = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
TWO: dict[str, Any] = {
    "kernel": (2, 2),
    "strides": (2, 2),
    "dilations": (1, 1),
    "pads": (0, 0, 0, 0),
}


def test_max_pool() -> None:
    assert ops.max_pool(X, **TWO).ravel().tolist() == [5, 7, 13, 15]
    padded = ops.max_pool(-X, **{**TWO, "pads": (1, 1, 1, 1)})
    # Padding never wins, although every element is negative.
    assert padded[0, :, :, 0].tolist() == [[0, -1, -3], [-4, -5, -7], [-12, -13, -15]]
    alone = ops.max_pool(X.astype(np.int8), **{**TWO, "pads": (2, 2, 0, 0)})
    assert alone[0, 0, 0, 0] == -128


def test_average_pool_counts() -> None:
    two = {**TWO, "pads": (1, 1, 1, 1), "extend": (0, 0)}
    inside = ops.avg_pool(X, **two)
    assert inside[0, :, :, 0].tolist() == [[0, 1.5, 3], [6, 7.5, 9], [12, 13.5, 15]]
    counted = ops.avg_pool(X, **two, count_include_pad=True)
    assert counted[0, :, :, 0].tolist() == [[0, 0.75, 0.75], [3, 7.5, 4.5], [3, 6.75, 3.75]]


def test_what_extends_is_never_counted() -> None:
    attrs = {**TWO, "kernel": (3, 3), "strides": (3, 3), "extend": (2, 2)}
    for include in (False, True):
        got = ops.avg_pool(X, **attrs, count_include_pad=include)
        assert got[0, 1, 1, 0] == 15
        assert got[0, 0, 1, 0] == (3 + 7 + 11) / 3


def test_average_of_nothing_is_zero() -> None:
    got = ops.avg_pool(X, **{**TWO, "pads": (2, 2, 0, 0)}, extend=(0, 0))
    assert got[0, 0, 0, 0] == 0


def test_lp_pool() -> None:
    x = np.array([3, -4], np.float32).reshape(1, 2, 1)
    attrs: dict[str, Any] = {"kernel": (2,), "strides": (1,), "dilations": (1,), "pads": (0, 0)}
    assert ops.lp_pool(x, **attrs).ravel().tolist() == [5]
    assert ops.lp_pool(x, **attrs, p=1).ravel().tolist() == [7]


def test_sizes() -> None:
    h = Dim.atom(Sym("h"))
    attrs = ops.max_pool.complete({**TWO, "kernel": (3, 3), "pads": (1, 1, 1, 1)})
    ctx = InferContext(ops.max_pool, [TensorType.of("f32", (1, h, 7, 5))], attrs)
    wanted = TensorType.of("f32", (1, floordiv(h - 1, 2) + 1, 4, 5))
    assert ops.max_pool.infer(ctx) == (wanted,)
    small = InferContext(
        ops.max_pool, [TensorType.of("f32", (1, 1, 7, 5))], ops.max_pool.complete(TWO)
    )
    with pytest.raises(ShapeError, match="window is larger"):
        ops.max_pool.infer(small)
