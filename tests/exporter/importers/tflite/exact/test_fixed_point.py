# SPDX-License-Identifier: Apache-2.0
"""Fixed-point multipliers and their two roundings."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter.importers.tflite.exact.fixed_point import Fixed, divided, half_away


def test_mantissa_and_shift() -> None:
    assert Fixed.of(0.5) == Fixed((1 << 30,), (0,))
    assert Fixed.of(1.0) == Fixed((1 << 30,), (1,))
    assert Fixed.of(0.0) == Fixed((0,), (0,))
    assert Fixed.of(2.0**-40) == Fixed((0,), (0,))
    assert Fixed.of(1 - 2.0**-40) == Fixed((1 << 30,), (1,))  # the mantissa rounds up to 2^31
    assert Fixed.of([0.25, 0.25]) == Fixed((1 << 30,), (-1,))


def test_halves() -> None:
    assert [half_away(x) for x in (0.5, -0.5, 1.5, 2.49)] == [1, -1, 2, 2]
    assert list(divided([6, -6, 5, -5, 2, -2], 2)) == [2, -2, 1, -1, 1, -1]
    assert list(divided([6, -6], 0)) == [6, -6]


@pytest.mark.parametrize("real", [0.3, 0.011, 1.7, 2.0**-12])
def test_times(real: float) -> None:
    x = np.random.default_rng(0).integers(-(2**20), 2**20, 1000)
    assert np.abs(Fixed.of(real).times(x) - x * real).max() < 1  # both roundings together
