# SPDX-License-Identifier: Apache-2.0
"""Variables of an import: read at entry, assigned at exit."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter.importers.tflite.state import State, Variables
from samara.exporter.ir.builder import ProgramBuilder
from samara.exporter.types import DType, ShapeError, UnsupportedError


def _state() -> State:
    return State(Variables(), ProgramBuilder().function("main"))


def test_a_variable_is_an_input_once() -> None:
    state = _state()
    state.variables.begin("v", DType.F32, np.ones(3, np.float32))
    assert state.read("v") is state.read("v")
    assert [v.name for v in state.builder.inputs] == ["v"]
    assert list(state.written()) == []


def test_what_is_assigned_is_read_afterwards() -> None:
    state = _state()
    x = state.builder.input("x", DType.F32, [3])
    state.assign("v", x)
    assert state.read("v") is x
    assert list(state.written()) == [("v", x)]
    (variable,) = state.variables.all()
    assert variable.initial.tolist() == [0, 0, 0]


def test_a_body_keeps_its_assignments() -> None:
    state = _state()
    x = state.builder.input("x", DType.F32, [3])
    state.assign("v", x)
    inner = state.inner()
    assert inner.read("v") is x
    inner.assign("v", state.builder.op("abs", x))
    assert state.read("v") is x
    assert list(inner.assigned) == ["v"]


def test_what_cannot_be() -> None:
    state = _state()
    with pytest.raises(UnsupportedError, match="'v' is read before anything is assigned"):
        state.read("v")
    with pytest.raises(ShapeError, match="needs a static one"):
        state.assign("v", state.builder.input("n", DType.F32, ["n"]))
    state.assign("w", state.builder.input("x", DType.F32, [3]))
    with pytest.raises(ShapeError, match="'w' is float32"):
        state.assign("w", state.builder.input("i", DType.I32, [3]))
    with pytest.raises(ShapeError, match="in one place"):
        state.variables.begin("w", DType.I32, np.zeros(3, np.int32))
