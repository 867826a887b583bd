# SPDX-License-Identifier: Apache-2.0
"""`samara.import_onnx`: named without the onnx package, at work with it."""

from __future__ import annotations

import inspect

import onnx
import pytest
from onnx import TensorProto, helper

import samara
from samara.exporter.importers.onnx import importer


def _model(op: str) -> onnx.ModelProto:
    graph = helper.make_graph(
        [helper.make_node(op, ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_a_model_becomes_a_program() -> None:
    program = samara.import_onnx(_model("Relu"), rename={"x": "input"})
    assert [v.name for v in program.main.inputs] == ["input"]


def test_all_problems_are_raised_together() -> None:
    model = _model("Relu")
    model.graph.node[0].op_type = "NoSuchOperator"
    with pytest.raises(samara.UnsupportedError, match="NoSuchOperator"):
        samara.import_onnx(model)


def test_arguments_are_those_of_diagnose() -> None:
    ours, its = (inspect.signature(f) for f in (samara.import_onnx, importer.diagnose))
    assert list(ours.parameters.values()) == list(its.parameters.values())
