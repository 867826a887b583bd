# SPDX-License-Identifier: Apache-2.0
"""Known answers of elementwise operators."""

from __future__ import annotations

import math

import numpy as np

from samara.exporter import ops


def f32(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array(values, np.float32)


def test_rounding_halves_go_to_even() -> None:
    got = ops.round(f32(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.4999998))
    np.testing.assert_array_equal(got, f32(-2, -2, -0.0, 0, 2, 2, 3))


def test_nan_passes_through_clamp_and_relu() -> None:
    np.testing.assert_array_equal(
        ops.clamp(f32(np.nan, -9, 9, 0.5), lo=-1, hi=1), f32(np.nan, -1, 1, 0.5)
    )
    np.testing.assert_array_equal(ops.relu(f32(np.nan, -1, 2)), f32(np.nan, 0, 2))


def test_limits_of_smooth_functions() -> None:
    ends = f32(-200, 0, 200)
    np.testing.assert_array_equal(ops.sigmoid(ends), f32(0, 0.5, 1))
    np.testing.assert_allclose(ops.softplus(ends), f32(0, math.log(2), 200), rtol=1e-6)
    np.testing.assert_array_equal(ops.silu(ends), f32(-0.0, 0, 200))
    np.testing.assert_allclose(ops.gelu(f32(1.0)), f32(0.8413447), rtol=1e-6)
    np.testing.assert_allclose(ops.gelu(f32(1.0), approximate="tanh"), f32(0.841192), rtol=1e-6)
    np.testing.assert_allclose(ops.elu(ends, alpha=2.0), f32(-2, 0, 200))


def test_erf_is_exact() -> None:
    np.testing.assert_array_equal(ops.erf(f32(0.5, -4, 0)), f32(math.erf(0.5), math.erf(-4), 0))


def test_float16_rounds_once() -> None:
    x = np.array([2049, 0.1], np.float16)
    got = ops.sigmoid(x)
    assert got.dtype == np.float16
    want = 1 / (1 + np.exp(-x.astype(np.float64)))
    np.testing.assert_array_equal(got, want.astype(np.float16))


def test_integers_wrap() -> None:
    low = np.array([-128, 5], np.int8)
    np.testing.assert_array_equal(ops.neg(low), np.array([-128, -5], np.int8))
    np.testing.assert_array_equal(ops.abs(low), np.array([-128, 5], np.int8))


def test_signs_of_infinities() -> None:
    x = f32(np.inf, -np.inf, np.nan, 0)
    assert ops.isinf(x).tolist() == [True, True, False, False]
    assert ops.isinf(x, negative=False).tolist() == [True, False, False, False]
    assert ops.isnan(x).tolist() == [False, False, True, False]
