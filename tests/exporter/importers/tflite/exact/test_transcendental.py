# SPDX-License-Identifier: Apache-2.0
"""Fixed-point functions against the real ones. Bit equality is tested through the operators that use them."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter.importers.tflite.exact.transcendental import NARROW, WIDE


def test_exp() -> None:
    x = -np.arange(0, 2**31, 2**20)
    error = WIDE.exp_of_negative(x, 5) / 2**31 - np.exp(x / 2**26)
    assert np.abs(error).max() < 2.0**-21


@pytest.mark.parametrize("bits", [0, 3, 6])
def test_tanh_and_logistic(bits: int) -> None:
    x = np.arange(-(2**15), 2**15)
    real = x / 2.0 ** (15 - bits)
    assert np.abs(NARROW.tanh(x, bits) / 2**15 - np.tanh(real)).max() < 2.0**-11
    if bits == 3:
        assert np.abs(NARROW.logistic(x, 3) / 2**15 - 1 / (1 + np.exp(-real))).max() < 2.0**-11


def test_constants() -> None:
    assert WIDE.number(1 / 3) == 715827883
    assert NARROW.number(1.0) == 2**15 - 1
