# SPDX-License-Identifier: Apache-2.0
"""The view of an operator: operands, options, fused activations, errors with their place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, Graph, Op, T, built, const

from samara import import_tflite
from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.graph import Graph as Converted
from samara.exporter.importers.tflite.graph import ImportState
from samara.exporter.importers.tflite.model import read_model
from samara.exporter.importers.tflite.state import State, Variables
from samara.exporter.ir.builder import ProgramBuilder
from samara.exporter.types import DType, ShapeError, UnsupportedError

X = np.linspace(-3, 9, 12, dtype=np.float32).reshape(3, 4)


def _context(*tensors: T, op: Op | None = None) -> OperatorContext:
    """The first operator of a model, with all that is not constant bound to inputs."""
    wanted = op or Op("ADD", [0, 1], [2], {"fused_activation_function": "RELU"})
    model = read_model(built(Graph(tensors, [wanted], [], [])), "m")
    builder = ProgramBuilder().function("main")
    graph = Converted(ImportState(model), builder, model.subgraphs[0], State(Variables(), builder))
    for i, t in enumerate(tensors):
        if not t.constant:
            graph.bind(i, builder.input(f"x{i}", DType.parse(t.element.lower()), t.sizes))
    return OperatorContext(graph, model.subgraphs[0].operators[0])


def test_operands() -> None:
    c = _context(T(X), const(np.array([2, 3], np.int32)), T(kind="FLOAT32", shape=(1,)))
    assert c.input_count == 2
    assert c.has(1)
    assert not c.has(2)
    assert c.rank(0) == 2
    assert [d.as_int() for d in c.dims(1)] == [2, 3]
    assert c.constant(0) is None
    assert c.need_constant(1, "it").tolist() == [2, 3]
    assert c.option("fused_activation_function") == "RELU"
    assert c.option("nothing", 7) == 7
    assert c.axis(-1, 3) == 2
    with pytest.raises(ShapeError, match="axis 3 is out of range for rank 3"):
        c.axis(3, 3)
    with pytest.raises(ShapeError, match="input 5 is missing"):
        c.value(5)
    with pytest.raises(UnsupportedError, match="it must be a constant"):
        c.need_constant(0, "it")
    error = c.wrong("odd")
    assert (error.op, error.node) == ("ADD", "t2")


def test_a_quantized_operand_is_seen_as_real_numbers_once() -> None:
    q = const(np.array([1, 3], np.int8), scale=0.5, zero=1)
    c = _context(T(X), q, T(kind="FLOAT32", shape=(1,)))
    assert c.value(1) is c.value(1)
    assert c.value(1).type.dtype is DType.F32
    assert c.stored(1).type.dtype is DType.QS8
    assert c.plain(1).type.dtype is DType.I8


@pytest.mark.parametrize("function", ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_fused_activations(function: str, dtype: Any) -> None:
    x = T(X.astype(dtype))
    options = {"fused_activation_function": function}
    Case("ADD", [x, x], [T(kind=x.element, shape=(3, 4))], options).check()


def test_an_activation_that_is_not_known() -> None:
    case = Case("ADD", [T(X), T(X)], options={"fused_activation_function": "SIGN_BIT"})
    case.refused(UnsupportedError, "fused activation SIGN_BIT is not known")


def test_nodes_know_where_they_come_from() -> None:
    tensors = [T(X), T(kind="FLOAT32", shape=(3, 4), name="net/layer/Abs")]
    program = import_tflite(built(Graph(tensors, [Op("ABS", [0], [1])], [0], [1])))
    (node,) = program.main.nodes
    assert node.source is not None
    assert node.source.detail == "net/layer/Abs (ABS) in net.layer"
    assert node.outputs[0].name == "net/layer/Abs"
