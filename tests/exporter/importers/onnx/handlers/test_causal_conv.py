# SPDX-License-Identifier: Apache-2.0
"""CausalConvWithState against onnx.reference: states, kernels of every length, sizes known at run time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, Case, native, normal

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import UnsupportedError

CLOSE: Any = {"rtol": 1e-4, "atol": 1e-5}
B, C = 2, 5


def case(length: int, taps: int, bias: bool, state: bool, outputs: int = 2, **attrs: Any) -> Case:
    inputs: list[Array | None] = [
        normal(B, C, length),
        normal(C, 1, taps, seed=1),
        normal(C, seed=2) if bias else None,
        normal(B, C, taps - 1, seed=3) if state else None,
    ]
    while inputs[-1] is None:
        inputs.pop()
    return Case("CausalConvWithState", inputs, attrs, 27, (1, 2), outputs, reference=True, **CLOSE)


@pytest.mark.parametrize("taps", [1, 2, 4])
@pytest.mark.parametrize("length", [1, 6])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("state", [False, True])
def test_forms(taps: int, length: int, bias: bool, state: bool) -> None:
    case(length, taps, bias, state).check_native()


@pytest.mark.parametrize("activation", ["none", "silu", "swish"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_activations(activation: str, outputs: int) -> None:
    case(6, 3, True, False, outputs, activation=activation).check_native()


def test_a_sequence_in_two_parts() -> None:
    """With the state between them the halves give what the whole gives; batch and length are symbols."""
    whole = case(7, 4, True, False)
    (want,) = native(import_onnx(whole.model()), whole.feeds())
    part = case(7, 4, True, True)
    model = part.model()
    for info in model.graph.input:
        info.type.tensor_type.shape.dim[0].dim_param = "batch"
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "length"
    program = import_onnx(model)
    x, state = whole.feeds()["x0"], np.zeros((B, C, 3), np.float32)
    pieces = []
    for piece in (x[:, :, :2], x[:, :, 2:]):
        (got,) = native(program, {"x0": piece, "x3": state})
        pieces.append(got["y0"])
        state = got["y1"]
    np.testing.assert_allclose(np.concatenate(pieces, 2), want["y0"], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(state, want["y1"])


def test_an_activation_that_is_not_known() -> None:
    case(6, 3, False, False, activation="relu").refused(UnsupportedError, "use none, silu or swish")
