# SPDX-License-Identifier: Apache-2.0
"""Cutting an ONNX graph at any tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import kinds, normal, parse, refused

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.importers.onnx.cut import cut_model
from samara.exporter.types import ShapeError

MODEL = parse("""g (float[2, 3] x, float[3] other) => (float[2, 4] y, float[2, 3] z)
<float[3, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> {
    a = Relu(x)  b = Tanh(a)  y = MatMul(b, w)  z = Add(x, other) }""")


def names(program: Any) -> tuple[list[str], list[str]]:
    return [v.name for v in program.main.inputs], list(program.main.output_names)


def test_outputs() -> None:
    program = import_onnx(MODEL, outputs=["b"])
    assert names(program) == (["x"], ["b"])
    assert kinds(program) == ["relu", "tanh"]
    x = normal(2, 3)
    np.testing.assert_allclose(program.run({"x": x})["b"], np.tanh(np.maximum(x, 0)), rtol=1e-6)


def test_inputs() -> None:
    program = import_onnx(MODEL, inputs=["b"], outputs=["y"])
    assert names(program) == (["b"], ["y"])
    assert kinds(program) == ["matmul"]
    assert program.main.inputs[0].type.static_shape() == (2, 3)


def test_what_is_needed_besides_stays_an_input() -> None:
    program = import_onnx(MODEL, inputs=["a"])
    assert names(program) == (["a", "x", "other"], ["y", "z"])


def test_several_outputs_in_the_order_asked_for() -> None:
    assert names(import_onnx(MODEL, outputs=["y", "a"]))[1] == ["y", "a"]


def test_an_input_or_constant_as_output() -> None:
    program = import_onnx(MODEL, outputs=["x", "w"])
    assert names(program) == (["x"], ["x", "w"])
    assert program.run({"x": normal(2, 3)})["w"].shape == (3, 4)


def test_a_constant_as_input() -> None:
    program = import_onnx(MODEL, inputs=["b", "w"], outputs=["y"])
    assert names(program) == (["b", "w"], ["y"])


def test_problems_outside_the_cut_do_not_matter() -> None:
    model = parse("g (float[2, 2] x) => (float y, float[2, 2] z) { y = Det(x)  z = Relu(x) }")
    assert kinds(import_onnx(model, outputs=["z"])) == ["relu"]
    assert kinds(import_onnx(model, inputs=["y"], outputs=["y"])) == []


def test_captured_tensors_are_needed() -> None:
    model = parse("""g (float[2] x, bool c) => (float[2] y) {
        h = Relu(x)
        y = If(c) <then_branch = t () => (float[2] a) { a = Neg(h) },
            else_branch = e () => (float[2] b) { b = Exp(h) }> }""")
    cut = cut_model(model, None, ["y"])
    assert [n.op_type for n in cut.graph.node] == ["Relu", "If"]
    inside = import_onnx(model, inputs=["h", "c"])
    assert names(inside) == (["h", "c"], ["y"])


@pytest.mark.parametrize("side", ["inputs", "outputs"])
def test_an_unknown_name(side: str) -> None:
    model = parse("g (float[2] x) => (float[2] result) { hidden = Relu(x)  result = Neg(hidden) }")
    caught = refused(model, ShapeError, "no tensor 'hiden'", **{side: ["hiden"]})
    assert "near names: hidden" in str(caught)
    refused(model, ShapeError, "no tensor 'qqqq'", **{side: ["qqqq"]})


def test_a_type_that_nobody_knows() -> None:
    model = parse(
        "g (float[2] x) => (float[2] y) { h = there.Mystery(x)  y = Relu(h) }", more=', "there" : 1'
    )
    refused(model, ShapeError, "the type of tensor 'h' is not known", inputs=["h"])


def test_a_cut_to_nothing() -> None:
    refused(MODEL, ShapeError, "names no tensor", outputs=[])
