# SPDX-License-Identifier: Apache-2.0
"""Pooling: gradients, float32, PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import parity
from tests.exporter.frontend.parity import functional as f

import samara
from samara.nn import functional as F
from samara.pybridge.errors import ShapeError, UnsupportedError

CASES: parity.Cases = {
    "max_pool1d": (lambda m, x: f(m).max_pool1d(x, 3, 2, 1), (2, 3, 9)),
    "max_pool2d": (lambda m, x: f(m).max_pool2d(x, 2), (2, 3, 4, 6)),
    "max_pool2d_overlap": (lambda m, x: f(m).max_pool2d(x, (3, 2), (1, 2), (1, 0)), (1, 2, 5, 6)),
    "max_pool2d_dilated": (lambda m, x: f(m).max_pool2d(x, 2, 1, 0, 2), (1, 2, 5, 6)),
    "max_pool2d_ceil": (lambda m, x: f(m).max_pool2d(x, 3, 2, 1, ceil_mode=True), (1, 2, 6, 7)),
    "max_pool2d_unbatched": (lambda m, x: f(m).max_pool2d(x, 2), (3, 4, 4)),
    "max_pool3d": (lambda m, x: f(m).max_pool3d(x, 2), (1, 2, 4, 2, 4)),
    "avg_pool1d": (lambda m, x: f(m).avg_pool1d(x, 3, 2, 1), (2, 3, 9)),
    "avg_pool2d": (lambda m, x: f(m).avg_pool2d(x, 2), (2, 3, 4, 6)),
    "avg_pool2d_exclude": (lambda m, x: f(m).avg_pool2d(x, 3, 2, 1, count_include_pad=False), (1, 2, 5, 6)),
    "avg_pool2d_ceil": (lambda m, x: f(m).avg_pool2d(x, 3, 2, 1, ceil_mode=True), (1, 2, 6, 7)),
    "avg_pool2d_divisor": (lambda m, x: f(m).avg_pool2d(x, 2, 2, 1, divisor_override=3), (1, 2, 4, 6)),
    "avg_pool3d": (lambda m, x: f(m).avg_pool3d(x, 2), (1, 2, 4, 2, 4)),
    "lp_pool1d": (lambda m, x: f(m).lp_pool1d(x, 2, 2), (2, 3, 6)),
    "lp_pool2d": (lambda m, x: f(m).lp_pool2d(x, 2, 2, 1), (1, 2, 4, 3)),
    "adaptive_avg_pool1d": (lambda m, x: f(m).adaptive_avg_pool1d(x, 3), (2, 3, 7)),
    "adaptive_avg_pool2d": (lambda m, x: f(m).adaptive_avg_pool2d(x, (2, 3)), (2, 3, 5, 7)),
    "adaptive_avg_pool2d_even": (lambda m, x: f(m).adaptive_avg_pool2d(x, (2, 3)), (2, 3, 4, 6)),
    "adaptive_avg_pool2d_one": (lambda m, x: f(m).adaptive_avg_pool2d(x, 1), (2, 3, 4, 5)),
    "adaptive_avg_pool2d_none": (lambda m, x: f(m).adaptive_avg_pool2d(x, (None, 2)), (1, 2, 3, 5)),
    "adaptive_avg_pool3d": (lambda m, x: f(m).adaptive_avg_pool3d(x, 2), (1, 2, 3, 2, 4)),
    "adaptive_max_pool1d": (lambda m, x: f(m).adaptive_max_pool1d(x, 3), (2, 3, 7)),
    "adaptive_max_pool2d": (lambda m, x: f(m).adaptive_max_pool2d(x, (2, 3)), (2, 3, 5, 7)),
    "adaptive_max_pool3d": (lambda m, x: f(m).adaptive_max_pool3d(x, 1), (1, 2, 3, 2, 4)),
}  # fmt: skip


test_gradients, test_second_gradients, test_float32, test_exported, test_as_pytorch = parity.proofs(
    CASES, *parity.CALLS
)


def test_equal_elements_give_the_gradient_to_the_first() -> None:
    x: Any = samara.zeros(1, 1, 2, 2, requires_grad=True)
    F.max_pool2d(x, 2).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy()[0, 0], [[1, 0], [0, 0]])


def test_errors() -> None:
    x = samara.zeros(1, 1, 4, 4)
    with pytest.raises(ShapeError, match="more than half"):
        F.max_pool2d(x, 2, padding=2)
    with pytest.raises(UnsupportedError, match="return_indices"):
        F.max_pool2d(x, 2, return_indices=True)
    with pytest.raises(ShapeError, match="dimensions"):
        F.avg_pool2d(samara.zeros(2, 2), 2)
