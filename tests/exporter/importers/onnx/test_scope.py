# SPDX-License-Identifier: Apache-2.0
"""Names, initializers, problems and the materialisation of computed shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnx.parser
import pytest
from tests.exporter.importers.onnx.models import normal, parse, refused

from samara.exporter.importers.common.operand import Poison, Ratio, Scaled, ShapeData, shape_data
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.importers.onnx import scope as scope_module
from samara.exporter.importers.onnx.branches import convert_graph
from samara.exporter.importers.onnx.scope import ImportState, Scope
from samara.exporter.ir import ProgramBuilder, Value
from samara.exporter.types import (
    DType,
    ShapeError,
    UnsupportedError,
    as_dim,
    deq,
    f32_bits,
    sym,
)


def scope_of(text: str, **inputs: Any) -> Scope:
    """A scope over the nodes of a graph whose inputs are bound."""
    graph = parse(text).graph
    builder = ProgramBuilder().function("main")
    state, results = ImportState({"": 21}, convert_graph), [o.name for o in graph.output]
    scope = Scope(state, builder, graph.node, results, initializers=graph.initializer)
    for name, shape in inputs.items():
        scope.bind(name, builder.input(name, "f32", shape))
    return scope


WEIGHTED = "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }"
RELU = "g (float[2] x) => (float[2] y) { y = Relu(x) }"


def test_lookup() -> None:
    scope = scope_of(WEIGHTED, x=[2])
    weight = scope.lookup("w")
    assert isinstance(weight, Value)
    assert weight.is_constant
    assert scope.lookup("w") is weight
    with pytest.raises(ShapeError, match="nothing makes it"):
        scope.lookup("q")


def test_an_output_that_its_operator_does_not_make() -> None:
    scope = scope_of("g (float[2] x) => (float[2] y) { a, b = Relu(x)  y = Neg(b) }", x=[2])
    with pytest.raises(ShapeError, match="'b' is an output of Relu '' that the importer does not"):
        scope.lookup("b")


def test_a_name_made_twice() -> None:
    model = parse("g (float[2] x) => (float[2] y) { y = Relu(x)  y = Neg(x) }")
    refused(model, ShapeError, "'y' is made twice")


def test_a_broken_initializer() -> None:
    model = parse(WEIGHTED)
    model.graph.initializer[0].dims[0] = 1 << 40
    refused(model, UnsupportedError, "the data of initializer 'w' cannot be read")


def test_an_initializer_of_another_type() -> None:
    model = parse("g (float[2] x) => (float[2] y) <double[2] w = {1, 2}> { y = Add(x, w) }")
    model.graph.initializer[0].data_type = onnx.TensorProto.COMPLEX64
    refused(model, UnsupportedError, "initializer 'w': element type complex64")


def test_failures_poison_what_follows() -> None:
    text = "g (float[2] x) => (float[2] y) { a = Multinomial(x)  b = Relu(a)  y = Neg(b) }"
    scope = scope_of(text, x=[2])
    (y,) = convert_graph(scope)
    assert isinstance(y, Poison)
    assert [p.op for p in scope.problems] == ["Multinomial"]
    assert scope.problems[0].unsupported


def test_what_breaks_a_rule_is_recorded_with_its_cause() -> None:
    scope = scope_of(RELU, x=[2])

    def convert() -> None:
        raise IndexError("out of range")

    scope.attempt(scope.nodes[0], convert)
    (problem,) = scope.problems
    assert isinstance(problem.cause, IndexError)
    assert "IndexError: out of range" in problem.reason
    assert isinstance(scope.lookup("y"), Poison)


def test_other_exceptions_pass() -> None:
    scope = scope_of(RELU, x=[2])

    def convert() -> None:
        raise SystemError

    with pytest.raises(SystemError):
        scope.attempt(scope.nodes[0], convert)


def test_assumptions() -> None:
    scope = scope_of(RELU, x=[2])
    predicate = deq(sym("n"), 3)
    scope.assume(predicate, 1)
    assert scope.known(predicate * 5) == 5
    other = deq(sym("m"), 3)
    scope.assume(1 - other, 1)
    assert scope.known(other) == 0
    assert scope.known(sym("n")) == sym("n")


@pytest.mark.parametrize("dtype", [DType.I64, DType.I32, DType.BOOL])
def test_dims_become_tensors(dtype: DType) -> None:
    scope = scope_of(RELU, x=["n"])
    elements = [[deq(sym("n"), 1), 1]] if dtype is DType.BOOL else [[sym("n"), 4]]
    value = scope.materialise(shape_data(elements, dtype), "s")
    assert value.type.dtype is dtype
    assert value.type.static_shape() == (1, 2)
    assert scope.materialise(shape_data(sym("n")), "k").type.rank == 0


def test_known_dims_become_constants() -> None:
    scope = scope_of(RELU, x=["n"])
    value = scope.materialise(shape_data([2, 3]), "s")
    assert value.constant is not None
    assert value.constant.tolist() == [2, 3]


def test_products_and_quotients_become_tensors() -> None:
    scope = scope_of(RELU, x=["n"])
    n = sym("n")
    elements = np.empty(4, object)
    elements[:] = [n, Scaled(n, as_dim(f32_bits(0.25))), Ratio(n, as_dim(4)), 0.5]
    value = scope.materialise(ShapeData(elements, DType.F32), "s")
    scope.builder.program.functions["main"] = scope.builder.finish([value], ["s"])
    program = scope.builder.program.finish(["main"])
    got = program.run({"x": normal(7)})["s"]
    np.testing.assert_array_equal(got, np.array([7, 1.75, 1.75, 0.5], np.float32))


def nested(depth: int) -> onnx.ModelProto:
    """An If in an If in an If…"""
    inner = onnx.parser.parse_graph("g () => (float[2] o) { o = Relu(x) }")
    plain = onnx.parser.parse_graph("g () => (float[2] p) { p = Neg(x) }")
    for k in range(depth):
        node = oh.make_node("If", ["c"], [f"o{k}"], then_branch=inner, else_branch=plain)
        inner = oh.make_graph([node], "g", [], [oh.make_empty_tensor_value_info(f"o{k}")])
    model = parse("g (float[2] x, bool c) => (float[2] y) { y = Relu(x) }")
    del model.graph.node[:]
    model.graph.node.extend(inner.node)
    model.graph.output[0].name = f"o{depth - 1}"
    return model


def test_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    program = import_onnx(nested(20))
    for value in (True, False):
        got = program.run({"x": normal(2), "c": np.array(value)})["o19"]
        np.testing.assert_array_equal(got, np.maximum(normal(2), 0) if value else -normal(2))
    monkeypatch.setattr(scope_module, "MAX_DEPTH", 5)
    refused(nested(6), UnsupportedError, "nest deeper than 5")


def test_an_unknown_operator_behind_a_failed_one_is_reported_too() -> None:
    model = parse(
        "g (float[2] x) => (float[2] y) { a = RandomNormalLike(x)  b = Multinomial(a)  y = Relu(b) }"
    )
    caught = refused(model, UnsupportedError)
    text = str(caught)
    assert "2 problems" in text
    assert "RandomNormalLike" in text
    assert "Multinomial" in text
    assert "Relu" not in text
