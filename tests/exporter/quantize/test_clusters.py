# SPDX-License-Identifier: Apache-2.0
"""Pointwise functions of one tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import conv, normal, ops, program
from tests.exporter.quantize.programs import agreement, applied, node_of

from samara.exporter.ir import Builder, Function, Node, Value
from samara.exporter.quantize._clusters import Cluster, find_clusters

X = [1, 6, 6, 4]


def clusters(build: Callable[[Builder, Value], Any]) -> list[Cluster]:
    f = program(lambda b: build(b, b.input("x", "f32", X))).main
    return find_clusters(f, users(f), {}, lambda _n: True)


def users(f: Function) -> dict[Value, list[Node | None]]:
    found: dict[Value, list[Node | None]] = {}
    for n in f.nodes:
        for v in n.inputs:
            if v is not None:
                found.setdefault(v, []).append(n)
    for v in f.outputs:
        found.setdefault(v, []).append(None)
    return found


def gelu(b: Builder, x: Value) -> Any:
    """By its tanh formula: eight operators, x thrice."""
    cube = b.op("mul", b.op("mul", x, x), x)
    inner = b.op("add", x, b.op("mul", cube, b.const(np.float32(0.044715))))
    t = b.op("tanh", b.op("mul", inner, b.const(np.float32(0.7978845608))))
    half = b.op("mul", x, b.const(np.float32(0.5)))
    return b.op("mul", half, b.op("add", t, b.const(np.float32(1))))


def test_a_function_of_one_tensor_is_one_cluster() -> None:
    (found,) = clusters(gelu)
    assert found.leaf.name == "x"
    assert len(found.nodes) == 9
    assert len(found.exits) == 1


def test_what_others_use_are_exits() -> None:
    def build(b: Builder, x: Value) -> Any:
        y = b.op("sigmoid", x)
        return [b.op("mul", x, y), b.op("transpose", y, perm=(0, 2, 1, 3))]

    (found,) = clusters(build)
    assert len(found.exits) == 2


def test_two_tensors_make_no_cluster_but_what_follows_may() -> None:
    def build(b: Builder, x: Value) -> Any:
        y = b.op("add", x, b.op("transpose", x, perm=(0, 2, 1, 3)))
        return b.op("mul", y, b.op("sigmoid", y))

    (found,) = clusters(build)
    assert found.leaf.name == "add"
    assert [n.op.name for n in found.nodes] == ["sigmoid", "mul"]


@pytest.mark.parametrize("shape", [(4,), (1, 1, 1, 4), (1, 6, 6, 4)])
def test_a_constant_per_channel_is_no_pointwise_function(shape: tuple[int, ...]) -> None:
    assert clusters(lambda b, x: b.op("neg", b.op("mul", x, b.const(normal(*shape))))) == []


def test_one_operator_alone_is_no_cluster() -> None:
    assert clusters(lambda b, x: b.op("sigmoid", x)) == []


def between(middle: Callable[[Builder, Value], Any]) -> Any:
    p = program(lambda b: conv(b, middle(b, conv(b, b.input("x", "f32", X), 4)), 3, seed=2))
    feeds = [{"x": normal(*X, seed=i)} for i in range(6)]
    return p, applied(p, feeds), feeds


def test_a_cluster_between_products_is_one_table() -> None:
    _, done, _ = between(gelu)
    assert ops(done.program)["qlookup"] == 1
    assert not {"tanh", "mul", "qmul", "qadd"} & (set(ops(done.program)) - {"mul"})
    kinds = {x.op: x for x in done.layers if x.op in ("tanh", "add")}
    assert all(x.scheme == "int8" and "one table" in x.reason for x in kinds.values())


def test_a_clamp_of_a_product_belongs_to_the_product() -> None:
    _, done, _ = between(
        lambda b, y: b.op("mul", b.op("relu", y), b.op("sigmoid", b.op("relu", y, name="r2")))
    )
    assert ops(done.program)["qlookup"] == 1

    _, done, _ = between(lambda b, y: gelu(b, b.op("relu", y)))
    quant = node_of(done.program, "qconv").outputs[0].type.quant
    assert quant is not None
    assert quant.zero_point == -128  # behind the relu


def test_only_the_ends_are_rounded() -> None:
    p, done, feeds = between(gelu)
    assert agreement(p, done.program, feeds) > 32


@pytest.mark.parametrize("op", ["isnan", "isinf", "atan2", "mod"])
def test_every_pointwise_operator_may_be_in_a_cluster(op: str) -> None:
    """The plan and the pass that makes the tables both ask the operator's row."""

    def build(b: Builder, x: Value) -> Any:
        more = (b.const(np.float32(2)),) if op in ("atan2", "mod") else ()
        y = b.op(op, x, *more)
        if not more:
            return b.op("where", y, b.const(np.float32(0)), x)
        return b.op("mul", y, x)

    (found,) = clusters(build)
    assert found.leaf.name == "x"
    assert found.nodes[0].op.name == op
