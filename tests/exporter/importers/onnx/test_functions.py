# SPDX-License-Identifier: Apache-2.0
"""Functions of models, and of ONNX's own operators."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.helper as oh
import onnx.parser
import pytest
from tests.exporter.importers.onnx.models import (
    Case,
    agree,
    built,
    ints,
    kinds,
    normal,
    refused,
    witness,
)

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.importers.onnx.functions import function_body, has_body, inlined
from samara.exporter.types import ModelFormatError, UnsupportedError

LOCAL = """
<ir_version: 8, opset_import: ["" : 21, "local" : 1]>
g (float[2, 3] x) => (float[2, 3] y) { h = local.twice(x)  y = local.scaled<by = 3.0>(h) }
<domain: "local", opset_import: ["" : 21, "local" : 1]>
twice (a) => (b) { b = Add(a, a) }
<domain: "local", opset_import: ["" : 21, "local" : 1]>
scaled <by: float = 2.0> (a) => (b) { f = Constant<value_float: float = @by>()  t = local.twice(a)  b = Mul(t, f) }
"""


def test_functions_of_the_model() -> None:
    model = onnx.parser.parse_model(LOCAL)
    got = import_onnx(model).run({"x": normal(2, 3)})["y"]
    np.testing.assert_allclose(got, normal(2, 3) * 12, rtol=1e-6)
    assert kinds(import_onnx(model)) == ["add", "add", "mul"]


def test_a_function_of_another_opset_is_converted() -> None:
    text = LOCAL.replace('"" : 21, "local" : 1]>\ntwice', '"" : 18, "local" : 1]>\ntwice')
    # A call within a function has no types.
    refused(onnx.parser.parse_model(text), UnsupportedError, "cannot be expanded")
    text = text.replace("t = local.twice(a)", "t = Add(a, a)")
    got = import_onnx(onnx.parser.parse_model(text)).run({"x": normal(2, 3)})["y"]
    np.testing.assert_allclose(got, normal(2, 3) * 12, rtol=1e-6)


@pytest.mark.parametrize(
    "body",
    [
        "b = local.twice(a)",
        "t = local.scaled(a)  b = Add(t, t)",
        """c = Constant<value_int = 1>()  k = Cast<to = 9>(c)
        b = If(k) <then_branch = t () => (p) { p = local.twice(a) }, else_branch = e () => (q) { q = Neg(a) }>""",
    ],
)
def test_functions_that_call_themselves(body: str) -> None:
    model = onnx.parser.parse_model(LOCAL.replace("b = Add(a, a)", body))
    refused(model, ModelFormatError, "calls itself")


def test_a_model_without_functions_is_left_alone() -> None:
    model = Case("Relu", [normal(2)]).model()
    assert inlined(model) is model


def test_an_unknown_function() -> None:
    text = LOCAL.replace("h = local.twice(x)", "h = local.thrice(x)")
    refused(onnx.parser.parse_model(text), UnsupportedError, "local::thrice")


# ---- operators that ONNX defines by others


def test_a_body_without_context() -> None:
    node = oh.make_node("Softsign", ["x"], ["y"])
    body = function_body(node, 21, [None])
    assert body is not None
    formal, results, nodes = body
    assert len(formal) == len(results) == 1
    assert {n.op_type for n in nodes} >= {"Abs", "Add", "Div"}


def test_no_body() -> None:
    assert function_body(oh.make_node("Relu", ["x"], ["y"]), 13, [None]) is None
    assert function_body(oh.make_node("Nothing", ["x"], ["y"], domain="there"), 1, [None]) is None


def test_attributes_reach_the_body() -> None:
    for alpha in (0.5, 2.0):
        node = oh.make_node("ThresholdedRelu", ["x"], ["y"], alpha=alpha)
        body = function_body(node, 22, [None])
        assert body is not None
        constants = [a for n in body[2] for a in n.attribute if a.name == "value_float"]
        assert alpha in [a.f for a in constants]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_operators_are_imported_through_their_bodies(reduction: str) -> None:
    inputs, attrs = [normal(4, 5), ints(1, 0, 4, 2)], {"reduction": reduction}
    Case("SoftmaxCrossEntropyLoss", inputs, attrs, 13, reference=True, rtol=1e-4).check()


def test_outputs_that_are_not_asked_for() -> None:
    """A node may skip results in the middle."""
    results = ["y", "", "", "scores"]
    node = oh.make_node("Attention", ["q", "k", "v"], results, qk_matmul_output_mode=0)
    feeds = {n: normal(1, 2, 3, 4, seed=i) for i, n in enumerate("qkv")}
    model = built([node], feeds, ["y", "scores"], opset=23)
    want = witness(model, feeds, reference=True)
    agree(import_onnx(model).run(feeds), want, rtol=1e-4, atol=1e-5)


def test_has_body() -> None:
    assert has_body(oh.make_node("Celu", ["x"], ["y"]), 12)
    assert not has_body(oh.make_node("Conv", ["x", "w"], ["y"]), 12)
    assert not has_body(oh.make_node("NoSuchOperator", ["x"], ["y"]), 12)
