# SPDX-License-Identifier: Apache-2.0
"""Activations of int16 tensors that give TFLite's own integers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, T

from samara.exporter.importers.tflite.exact.short import sigmoid_table

_ALL = np.arange(-32768, 32768).astype(np.int16).reshape(1, -1)


@pytest.mark.parametrize("op", ["LOGISTIC", "TANH"])
@pytest.mark.parametrize("scale", [2.0**-12, 2.0**-11, 2.0**-10, 0.0003, 0.00101, 1e-5])
def test_functions(op: str, scale: float) -> None:
    y = T(kind="INT16", shape=(), scale=2.0**-15)
    Case(op, [T(_ALL, scale=scale)], [y], version=3).check(exact=True)


@pytest.mark.parametrize("seed", range(4))
def test_softmax(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-32768, 32768, (12, [2, 9, 100, 1000][seed])).astype(np.int16)
    scale = [2.0**-12, 0.0003, 1e-5, 0.001][seed]
    y = T(kind="INT16", shape=(), scale=2.0**-15)
    options = {"beta": [1.0, 0.7][seed % 2]}
    Case("SOFTMAX", [T(x, scale=scale)], [y], options, version=3).check(exact=True)


def test_sigmoid_table() -> None:
    table = sigmoid_table()
    assert np.abs(table - 65536 / (1 + np.exp(-np.arange(256) / 24))).max() < 1.2
    assert (np.diff(table) >= 0).all()
