# SPDX-License-Identifier: Apache-2.0
"""Which outputs exact operators have: the ranges of fused activations."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, T

from samara import import_tflite


@pytest.mark.parametrize("function", ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])
@pytest.mark.parametrize("zero", [-128, -3, 60])
def test_activation_ranges(function: str, zero: int) -> None:
    x = T(np.arange(-128, 128).astype(np.int8), scale=0.1, zero=zero)
    y = T(kind="INT8", shape=(), scale=0.1, zero=zero)
    one = T(np.array([zero], np.int8), scale=0.1, zero=zero)
    options = {"fused_activation_function": function}
    Case("ADD", [x, one], [y], options, version=2).check(exact=True)


def test_real_operators_are_left_to_their_other_converter() -> None:
    x = T(np.arange(4, dtype=np.float32))
    model = Case("ADD", [x, x]).model()
    names = [[n.op.name for n in import_tflite(model, exact=e).main.nodes] for e in (False, True)]
    assert names[0] == names[1]
