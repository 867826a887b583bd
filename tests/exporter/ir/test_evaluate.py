# SPDX-License-Identifier: Apache-2.0
"""Computing one node: attributes, quantization parameters, and errors that name the node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from samara.exporter.ir import Node, ProgramBuilder
from samara.exporter.ir.evaluate import concrete_attrs, evaluate_node
from samara.exporter.types import Quant, SamaraError, sym


def _last(op: str, *inputs: Any, **attrs: Any) -> Node:
    b = ProgramBuilder().function("main")
    b.op(op, *inputs, **attrs)
    return b.nodes[-1]


def test_dims_become_numbers() -> None:
    n = sym("n")
    node = _last("expand", np.float32(1), shape=(n, 2))
    attrs = concrete_attrs(node.op, node.attrs, lambda d: d.evaluate({"n": 3}))
    assert attrs["shape"] == (3, 2)
    (array,) = evaluate_node(node, [np.ones((), np.float32)], attrs)
    assert array.shape == (3, 2)


def test_quantization_parameters_are_passed() -> None:
    b = ProgramBuilder().function("main")
    x = b.input("x", "qs8", [2], Quant.per_tensor(0.5, 1))
    b.op("dequantize", x)
    (array,) = evaluate_node(b.nodes[-1], [np.array([1, 3], np.int8)], {})
    assert array.tolist() == [0, 1]


def test_errors_of_references_name_the_node() -> None:
    node = _last("div", np.array([1]), np.array([0]), name="quotient")
    with pytest.raises(SamaraError) as caught:
        evaluate_node(node, [v.constant for v in node.inputs if v is not None], {})
    assert (caught.value.op, caught.value.node) == ("div", "quotient")


@pytest.mark.parametrize("error", [ValueError("bad"), IndexError("bad"), ZeroDivisionError("bad")])
def test_errors_of_numpy_are_translated(error: Exception) -> None:
    def refuse(*_: Any) -> Any:
        raise error

    node = _last("neg", np.float32(1), name="minus")
    op = object.__new__(type(node.op))
    for field in type(node.op).__dataclass_fields__:
        object.__setattr__(op, field, getattr(node.op, field))
    object.__setattr__(op, "reference", refuse)
    with pytest.raises(SamaraError, match="bad") as caught:
        evaluate_node(replace(node, op=op), [np.ones((), np.float32)], {})
    assert caught.value.node == "minus"
    assert caught.value.__cause__ is error


def test_missing_outputs_are_noticed() -> None:
    node = _last("neg", np.float32(1))
    twice = replace(node, outputs=node.outputs * 2)
    with pytest.raises(SamaraError, match="1 outputs computed, 2 declared"):
        evaluate_node(twice, [np.ones((), np.float32)], {})
