# SPDX-License-Identifier: Apache-2.0
"""What becomes int8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import conv, normal, ops, program
from tests.exporter.quantize.programs import PLAIN, applied, cnn, node_of

from samara.exporter.ir import Builder, Program, Value
from samara.exporter.quantize._plan import Plan, layer_names, make_plan, resolve_layers
from samara.exporter.quantize.recipe import Recipe
from samara.exporter.types import QuantizationError

X = [1, 6, 6, 4]


def plan(p: Program, unseen: str = "", **recipe: Any) -> Plan:
    functions = p.functions.values()
    chosen = Recipe.from_dict(recipe)
    return make_plan(p.main, chosen, layer_names(functions), lambda v: v.name != unseen)


def integer(found: Plan) -> list[str]:
    return [n.op.name for n in found.function.nodes if n in found.roles]


def of(build: Callable[[Builder, Value], Any], **more: Any) -> Plan:
    return plan(program(lambda b: build(b, b.input("x", "f32", X))), **more)


def test_a_chain_of_products_is_integer() -> None:
    found = plan(cnn())
    assert integer(found) == ["conv", "max_pool", "conv", "reduce_mean", "matmul"]
    assert {a.op.name: b.op.name for a, b in found.clamps.items()} == {"conv": "relu"}
    assert [n.op.name for n in found.float_results] == ["matmul"]


def test_what_stands_before_the_first_product_stays_float_unless_the_input_is_int8() -> None:
    def build(b: Builder, x: Value) -> Any:
        return conv(b, b.op("mul", x, b.const(np.float32(2))), 3)

    assert integer(of(build)) == ["conv"]
    assert integer(of(build, inputs="int8")) == ["mul", "conv"]


def test_values_are_rounded_before_they_move() -> None:
    found = of(lambda b, x: conv(b, b.op("transpose", x, perm=(0, 2, 1, 3)), 3))
    assert integer(found) == ["transpose", "conv"]
    assert found.group(found.function.inputs[0]) is found.group(found.function.nodes[0].outputs[0])


def test_what_only_float_operators_use_stays_float() -> None:
    def build(b: Builder, x: Value) -> Any:
        y = conv(b, x, 4)
        spread = b.op("reduce_mean", b.op("mul", y, y), axes=(1, 2), keepdims=True)
        return conv(b, b.op("mul", y, b.op("rsqrt", spread)), 3, seed=2)

    found = of(build)
    assert integer(found) == ["conv", "mul", "conv"]
    kept = {n.op.name: r for n, r in found.reasons.items()}
    assert kept["reduce_mean"] == "only float operators use its result"


def test_a_product_before_float_operators_has_a_float_result() -> None:
    def build(b: Builder, x: Value) -> Any:
        return conv(b, b.op("lrn", conv(b, x, 4), size=3, alpha=1, beta=0.5, bias=1), 3, seed=2)

    found = of(build)
    assert [n.op.name for n in found.roles] == ["conv", "conv"]
    assert len(found.float_results) == 2


def test_what_was_not_seen_stays_float() -> None:
    p = program(lambda b: conv(b, conv(b, b.input("x", "f32", X), 4), 3, seed=2))
    name = p.main.nodes[0].outputs[0].name
    found = plan(p, unseen=name)
    assert found.roles == {}
    assert set(found.reasons.values()) == {"calibration saw no finite value there"}


def test_a_tail_may_be_asked_for() -> None:
    def build(b: Builder, x: Value) -> Any:
        return b.op("softmax", conv(b, x, 4), axis=3)

    assert integer(of(build)) == ["conv"]
    assert integer(of(build, layers={"softmax": "int8"})) == ["conv", "softmax"]
    assert integer(of(build, layers={"softmax": "float"})) == ["conv"]


def test_int8_outputs_need_their_tail_in_int8() -> None:
    def build(b: Builder, x: Value) -> Any:
        return b.op("softmax", b.op("sigmoid", conv(b, x, 4)), axis=3)

    assert integer(of(build)) == ["conv"]
    assert integer(of(build, outputs="int8")) == ["conv", "sigmoid", "softmax"]


def test_a_float_layer_parts_the_chain() -> None:
    p = program(lambda b: b.op("relu", conv(b, conv(b, b.input("x", "f32", X), 4), 3, seed=2)))
    first, second = (n.outputs[0].name for n in p.main.nodes if n.op.name == "conv")
    assert integer(plan(p, layers={second: "float"})) == ["conv"]
    assert integer(plan(p, layers={first: "float", second: "float"})) == []


# ---- names


def test_layers_are_found_by_node_tensor_and_absorbed_name() -> None:
    p = cnn()
    node = node_of(p, "matmul")
    functions = [p.main]
    names = layer_names(functions)
    assert names[node] == node.name
    for spelled in (node.name, node.outputs[0].name):
        recipe = Recipe.from_dict({"layers": {spelled: "float"}})
        assert list(resolve_layers(functions, recipe)) == [node.name]


def test_the_result_of_a_clamp_means_the_product_before_it() -> None:
    made = program(
        lambda b: b.op("relu", conv(b, b.input("x", "f32", X), 3), name="act", outputs=["shown"])
    )
    product = next(n for n in made.main.nodes if n.op.name == "conv")
    found = resolve_layers([made.main], Recipe.from_dict({"layers": {"shown": "float"}}))
    assert list(found) == [layer_names([made.main])[product]]


def test_nodes_of_one_name_go_by_their_tensors() -> None:
    p = program(lambda b: b.op("neg", b.op("neg", b.input("x", "f32", X), name="a"), name="b"))
    assert sorted(layer_names([p.main]).values()) == ["a", "b"]
    same = program(lambda b: b.op("neg", b.op("neg", b.input("x", "f32", X))))
    assert len(set(layer_names([same.main]).values())) == 2


def test_unknown_and_double_names_are_refused() -> None:
    p = cnn()
    node = node_of(p, "matmul")
    with pytest.raises(QuantizationError, match=f"no layer '{node.name}x'.*\n.*did you mean"):
        resolve_layers([p.main], Recipe.from_dict({"layers": {f"{node.name}x": "float"}}))
    double = program(lambda b: b.op("neg", b.input("x", "f32", X), name="node", outputs=["tensor"]))
    recipe = Recipe.from_dict({"layers": {"node": "float", "tensor": "int8"}})
    with pytest.raises(QuantizationError, match="both mean layer"):
        resolve_layers([double.main], recipe)


def test_computed_weights_of_a_convolution_stay_float() -> None:
    def build(b: Builder, x: Value) -> Any:
        w = b.op("neg", b.input("w", "f32", [3, 1, 1, 4]))
        return b.op("conv", x, w, **PLAIN)

    found = of(build)
    assert integer(found) == []
    assert list(found.reasons.values()) == ["its weights are computed"]


def test_a_clamp_behind_what_moves_is_the_products() -> None:
    """A nearest resize between a convolution and its relu keeps the relu in the convolution."""

    def build(b: Builder) -> Any:
        x = conv(b, b.input("x", "f32", [1, 6, 6, 4]), 4)
        y = b.op("resize", x, sizes=(12, 12), scales=(0, 0), mode="nearest")
        return conv(b, b.op("relu", y), 3, seed=2)

    p = program(build)
    feeds = [{"x": normal(1, 6, 6, 4, seed=i)} for i in range(4)]
    found = ops(applied(p, feeds).program)
    assert found["qconv"] == 2
    assert found["resize"] == 1
    assert not {"qlookup", "relu", "clamp"} & set(found)
