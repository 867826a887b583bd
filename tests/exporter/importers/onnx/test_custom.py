# SPDX-License-Identifier: Apache-2.0
"""ONNX nodes of registered operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from tests.exporter.importers.onnx.models import refused

import samara
from samara.exporter.ops.custom import rows
from samara.exporter.passes import PIPELINE, run_passes


@pytest.fixture(autouse=True)
def _registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_REGISTERED", dict(rows._REGISTERED))


def model(graph: str, opsets: str = '"" : 21, "my.domain" : 3') -> onnx.ModelProto:
    parsed: onnx.ModelProto = onnx.parser.parse_model(
        f"<ir_version: 8, opset_import: [{opsets}]> g {graph}"
    )
    return parsed


def test_a_node_with_attributes_and_optional_parts() -> None:
    seen: list[Any] = []

    def reference(
        x: Any, absent: Any, w: Any, *, by: float = 2.0, k: int = 1, tag: str = ""
    ) -> Any:
        seen.append((absent, by, k, tag))
        return x * np.float32(by) + w, np.array(x.shape, np.int64)

    def infer(x: Any, absent: Any, w: Any, **attributes: Any) -> Any:
        assert absent is None
        return [x, ("int64", [len(x.shape)])]

    samara.register_op("my.domain::Mix", reference=reference, infer=infer)
    program = samara.import_onnx(
        model("""(float[n, 2] x, float[2] w) => (float[n, 2] y) {
        y = my.domain.Mix<tag = "t", by = 3.0>(x, "", w) }""")
    )
    x = np.ones((3, 2), np.float32)
    got = program.run({"x": x, "w": np.array([1, 2], np.float32)})
    assert got["y"].tolist() == [[4, 5]] * 3
    assert seen == [(None, 3.0, 1, "t")]
    (node,) = program.main.nodes
    assert str(node.outputs[0].type.shape[0]) == "n"
    assert node.name == "y"
    assert node.source is not None
    assert "Mix" in node.source.detail


def test_constants_are_not_folded() -> None:
    samara.register_op("my.domain::Random", reference=lambda x: x)
    program = samara.import_onnx(
        model("""(float[2] x) => (float[2] y) <float[2] c = {1, 2}> {
        a = my.domain.Random(c)  y = Add(a, x) }""")
    )
    for p in (program, run_passes(program, PIPELINE)[0]):
        assert [n.op.name for n in p.main.nodes] == ["custom", "add"]


def test_an_unregistered_operator_says_what_to_do() -> None:
    made = model("(float[2] x) => (float[2] y) { y = my.domain.Other(x) }")
    refused(made, samara.UnsupportedError, r'samara\.register_op\("my.domain::Other"')


def test_an_operator_of_onnx_may_be_replaced() -> None:
    samara.register_op("ai.onnx::Det", reference=np.linalg.det, infer=lambda x: x.with_shape())
    program = samara.import_onnx(model("(float[2, 2] x) => (float y) { y = Det(x) }"))
    got = program.run({"x": np.array([[1, 2], [3, 4]], np.float32)})["y"]
    assert got == pytest.approx(-2)


def test_a_function_of_the_model_may_be_replaced() -> None:
    parsed = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 21, "my.domain" : 3]>
        g (float[2] x) => (float[2] y) { h = my.domain.twice(x)  y = my.domain.same(h) }
        <opset_import: ["" : 21], domain: "my.domain"> twice (x) => (y) { y = Add(x, x) }
        <opset_import: ["" : 21], domain: "my.domain"> same (x) => (y) { y = Identity(x) }"""
    )
    assert samara.import_onnx(parsed).main.nodes[0].op.name == "add"
    samara.register_op("my.domain::twice", reference=lambda x: 2 * x)
    program = samara.import_onnx(parsed)
    assert program.main.nodes[0].op.name == "custom"
    assert program.run({"x": np.ones(2, np.float32)})["y"].tolist() == [2, 2]
    assert len(parsed.functions) == 2


def test_what_cannot_travel() -> None:
    samara.register_op("my.domain::Same", reference=lambda x, **attributes: x)
    node = onnx.helper.make_node(
        "Same", ["x"], ["y"], "same", domain="my.domain", t=onnx.numpy_helper.from_array(np.ones(2))
    )
    made = model("(float[2] x) => (float[2] y) { y = my.domain.Same(x) }")
    made.graph.node[0].CopyFrom(node)
    refused(made, samara.UnsupportedError, "attribute 't' of my.domain::Same is a tensor")
    two = model("(float[2] x) => (float[2] y) { y, z = my.domain.Same(x) }")
    refused(two, samara.ShapeError, "2 outputs, infer of my.domain::Same gives 1")
