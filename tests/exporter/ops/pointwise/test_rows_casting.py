# SPDX-License-Identifier: Apache-2.0
"""Known answers of casts, of values and of bits."""

from __future__ import annotations

import numpy as np

from samara.exporter import ops


def test_casts_are_total() -> None:
    x = np.array([-1.9, 1.9, 300, -300, np.nan, np.inf, 3e18, 1e30], np.float32)
    np.testing.assert_array_equal(
        ops.cast(x, to="i8"), np.array([-1, 1, 127, -128, 0, 127, 127, 127])
    )
    np.testing.assert_array_equal(ops.cast(x[:5], to="u8"), np.array([0, 1, 255, 0, 0]))
    assert ops.cast(x, to="i64")[-2:].tolist() == [int(np.float32(3e18)), 2**63 - 1]
    np.testing.assert_array_equal(ops.cast(np.array([256, -1]), to="u8"), np.array([0, 255]))
    zeros = np.array([0, np.nan, -0.5, -0.0], np.float32)
    np.testing.assert_array_equal(ops.cast(zeros, to="bool"), [False, True, True, False])


def test_bits_are_taken_as_they_are() -> None:
    x = np.array([1.0, -0.0, np.inf], np.float32)
    bits = ops.bitcast(x, to="u32")
    assert bits.tolist() == [0x3F800000, 0x80000000, 0x7F800000]
    np.testing.assert_array_equal(ops.bitcast(bits, to="f32"), x)
    assert ops.bitcast(np.array([-1], np.int64), to="u64").tolist() == [2**64 - 1]
    assert ops.bitcast(np.array([0, 3], np.uint8), to="bool").tolist() == [False, True]
