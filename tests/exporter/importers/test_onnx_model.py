# SPDX-License-Identifier: Apache-2.0
"""`samara.import_onnx`: named without the onnx package, at work with it."""

from __future__ import annotations

import inspect

import onnx
from onnx import helper
from tests.exporter.importers.onnx.models import built, normal, refused

import samara
from samara.exporter.importers.onnx import importer


def _model(op: str) -> onnx.ModelProto:
    return built([helper.make_node(op, ["x"], ["y"])], {"x": normal(2)}, ["y"], opset=17)


def test_a_model_becomes_a_program() -> None:
    program = samara.import_onnx(_model("Relu"), rename={"x": "input"})
    assert [v.name for v in program.main.inputs] == ["input"]


def test_unknown_operators_are_refused() -> None:
    refused(_model("NoSuchOperator"), samara.UnsupportedError, "NoSuchOperator")


def test_arguments_are_those_of_diagnose() -> None:
    ours, its = (inspect.signature(f) for f in (samara.import_onnx, importer.diagnose))
    assert list(ours.parameters.values()) == list(its.parameters.values())
