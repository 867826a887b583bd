# SPDX-License-Identifier: Apache-2.0
"""Nodes against ONNX's schemas."""

from __future__ import annotations

from typing import Any

import onnx.helper as oh
import pytest

from samara.exporter.importers.onnx.schemas import check_node, rules_of
from samara.exporter.types import ModelFormatError


def test_rules_follow_the_opset() -> None:
    old, new = rules_of("", "Clip", 6), rules_of("ai.onnx", "Clip", 13)
    assert old is not None
    assert new is not None
    assert (old.most_inputs, new.most_inputs) == (1, 3)
    assert set(old.attributes) == {"min", "max"}
    assert rules_of("com.microsoft", "Gelu", 1) is None
    assert rules_of("", "Gelu", 6) is None
    assert rules_of("", "Relu", 1 << 40) is None


@pytest.mark.parametrize(
    ("op", "inputs", "attrs"),
    [
        ("Relu", ["x"], {}),
        ("Clip", ["x", "", "high"], {}),
        ("Concat", ["x"] * 9, {"axis": 1}),
        ("Anything", [], {"unknown": 1}),
    ],
)
def test_good_nodes(op: str, inputs: list[str], attrs: dict[str, Any]) -> None:
    check_node(oh.make_node(op, inputs, ["y"], **attrs), 21)


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "message"),
    [
        ("Relu", [], {}, "0 inputs, opset 21 has 1"),
        ("Clip", ["x"] * 4, {}, "4 inputs, opset 21 has 1 to 3"),
        ("Concat", ["x"], {}, "attribute 'axis' is missing"),
        ("Squeeze", ["x"], {"axes": [1]}, "attribute 'axes' is not known in opset 21"),
        ("Concat", ["x"], {"axis": "one"}, "attribute 'axis' is STRING, not INT"),
        ("Conv", ["x", "w"], {"strides": 2}, "attribute 'strides' is INT, not INTS"),
    ],
)
def test_broken_nodes(op: str, inputs: list[str], attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelFormatError, match=message) as caught:
        check_node(oh.make_node(op, inputs, ["y"], name="here", **attrs), 21)
    assert caught.value.node == "here"


def test_too_many_outputs() -> None:
    with pytest.raises(ModelFormatError, match="2 outputs, opset 21 has 1"):
        check_node(oh.make_node("Relu", ["x"], ["y", "z"]), 21)
