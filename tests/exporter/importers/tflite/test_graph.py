# SPDX-License-Identifier: Apache-2.0
"""Conversion of a subgraph: failures poison what follows, constants are loaded, bugs are reported with a cause."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Graph, Op, T, built, const

from samara import import_tflite
from samara.exporter.importers.tflite import registry
from samara.exporter.importers.tflite.graph import label_of, named
from samara.exporter.importers.tflite.importer import diagnose
from samara.exporter.importers.tflite.model import read_model
from samara.exporter.importers.tflite.registry import Rule
from samara.exporter.types import ShapeError, UnsupportedError

X = np.ones((2, 3), np.float32)
Y = T(kind="FLOAT32", shape=(2, 3))


def test_one_failure_is_one_problem() -> None:
    ops = [Op("FlexA", [0], [1], is_custom=True), Op("ABS", [1], [2]), Op("NEG", [2], [3])]
    found = diagnose(built(Graph([T(X), Y, Y, Y], ops, [0], [3])))
    assert [(p.op, p.node) for p in found.problems] == [("FlexA", "t1")]
    assert found.problems[0].unsupported


def test_a_tensor_that_nothing_makes() -> None:
    with pytest.raises(ShapeError, match="tensor 't1' is used but nothing makes it"):
        import_tflite(built(Graph([T(X), Y, Y], [Op("ADD", [0, 1], [2])], [0], [2])))


def test_a_converters_bug_is_a_problem_with_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(ctx: object) -> None:
        raise IndexError("out of range")

    monkeypatch.setitem(registry._RULES, "ABS", Rule(broken, 5))
    found = diagnose(built(Graph([T(X), Y], [Op("ABS", [0], [1])], [0], [1])))
    (problem,) = found.problems
    assert isinstance(problem.cause, IndexError)
    assert "breaks TFLite's rules" in problem.reason


def test_an_output_may_be_an_input_or_a_constant() -> None:
    program = import_tflite(built(Graph([T(X), const(X * 2)], [], [0], [0, 1])))
    got = list(program.run({"t0": X}).values())
    np.testing.assert_array_equal(got[0], X)
    np.testing.assert_array_equal(got[1], X * 2)


def test_data_in_another_file() -> None:
    w = T(kind="FLOAT32", shape=(2, 3), more={"external_buffer": 1})
    with pytest.raises(UnsupportedError, match="lies in another file"):
        import_tflite(built(Graph([T(X), w, Y], [Op("ADD", [0, 1], [2])], [0], [2])))


def test_what_has_no_exact_form_is_refused_where_exactness_is_asked_for() -> None:
    x = np.array([1, 4, 9], np.int8)
    tensors = [T(x, scale=0.5), T(kind="INT8", shape=(3,), scale=0.1)]
    data = built(Graph(tensors, [Op("RSQRT", [0], [1], version=2)], [0], [1]))
    assert import_tflite(data).main.nodes
    with pytest.raises(UnsupportedError, match="RSQRT of int8 has no exact form"):
        import_tflite(data, exact=True)


def test_names_of_operators() -> None:
    model = read_model(built(Graph([T(X), Y], [Op("ABS", [0], [1], version=2)], [0], [1])), "m")
    (operator,) = model.subgraphs[0].operators
    assert label_of(model.subgraphs[0], operator) == "t1"
    assert named(operator) == "ABS v2"
