# SPDX-License-Identifier: Apache-2.0
"""LSTM cells as nodes of one step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import const
from tests.exporter.importers.tflite.recurrent_models import (
    floats,
    lstm_case,
    lstm_checked,
    operators,
)

from samara.exporter.types import DType, ShapeError, UnsupportedError


@pytest.mark.parametrize("kind", ["float", "hybrid"])
@pytest.mark.parametrize(
    "more",
    [
        {"project": True},
        {"project": True, "bias": True, "options": {"proj_clip": 0.3}},
        {"norm": True},
        {"norm": True, "coupled": True, "peephole": True, "project": True},
        {"options": {"cell_clip": 0.2}},
        {"coupled": True, "options": {"cell_clip": 0.2}},
        {"diagonal": True},
        {"options": {"fused_activation_function": "RELU"}},
        {"options": {"fused_activation_function": "RELU6"}},
    ],
)
def test_steps(kind: str, more: dict[str, Any]) -> None:
    outputs = 3 if more.get("project") else 6
    program = lstm_checked(kind, (2, 3, 5), (5, 6, outputs), **more)
    assert "lstm" not in operators(program)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"zero": -4},
        {"coupled": True},
        {"peephole": True},
        {"options": {"time_major": True}},
        {"options": {"cell_clip": 0.5}},
        {"project": True, "zero": 3},
        {"project": True, "bias": True, "options": {"proj_clip": 0.3}},
        {"norm": True, "steps": 2},
        {"norm": True, "coupled": True, "peephole": True, "project": True, "steps": 2},
    ],
)
def test_integers(more: dict[str, Any]) -> None:
    outputs = 4 if more.get("project") else 8
    program = lstm_checked("int8", (2, 3, 5), (5, 8, outputs), **more)
    assert {v.type.dtype for v in program.variables} == {DType.I8, DType.I16}


def test_refusals() -> None:
    rng = np.random.default_rng(7)
    x = floats(rng, 2, 3, 5)
    case = lstm_case(rng, "float", x, (5, 6, 6), options={"fused_activation_function": "NONE"})
    case.refused(UnsupportedError, "without activation")
    case = lstm_case(rng, "float", x, (5, 6, 6), options={"cell_clip": -1.0})
    case.refused(ShapeError, "cell_clip -1.0 is negative")
    case = lstm_case(rng, "float", x, (5, 6, 6))
    inputs = list(case.inputs)
    inputs[2] = None
    replace(case, inputs=inputs).refused(ShapeError, "weights of a gate are missing")
    inputs = list(case.inputs)
    inputs[18] = const(np.zeros((2, 6), np.float32))
    replace(case, inputs=inputs).refused(UnsupportedError, "no variable tensor")
    case = lstm_case(rng, "int8", x.astype(np.int8), (5, 6, 6))
    inner = [case.intermediates[0]] * 12
    replace(case, intermediates=inner).refused(UnsupportedError, "rounds every product to 8 bits")
