# SPDX-License-Identifier: Apache-2.0
"""Shared parts of backward passes: dependent values, inputs for gradients, pruning, errors."""

from __future__ import annotations

import numpy as np

from samara.exporter import ops
from samara.exporter.ir import ProgramBuilder, Source
from samara.exporter.ir.gradient_parts import (
    Home,
    Symbol,
    finished,
    gradient_input,
    reach,
    refusal,
    zeros_like,
)


def test_reach_follows_floats_only() -> None:
    b = ProgramBuilder().function("main")
    x = b.input("x", "f32", [3])
    y = b.op("relu", x)
    index = b.op("argmax", y, axis=0)
    z = b.op("mul", y, y)
    assert reach(b.nodes, [x]) == {x, y, z}
    assert index not in reach(b.nodes, [y])
    assert reach(b.nodes, [z]) == {z}


def test_zeros_have_the_type_of_the_value() -> None:
    maker = ProgramBuilder()
    b = maker.function("main")
    x = b.input("x", "f32", ["n", 2])
    b.finish([zeros_like(b, x)])
    (got,) = maker.finish(["main"]).run({"x": np.ones((4, 2), np.float32)}).values()
    assert (got.shape, got.dtype) == ((4, 2), np.dtype(np.float32))
    assert not got.any()


def test_sizes_that_the_caller_does_not_know_become_symbols() -> None:
    maker = ProgramBuilder()
    b = maker.function("main")
    x = b.input("x", "f32", ["n", 2])
    same, other = gradient_input(maker, b, x), gradient_input(maker, b, x, [0])
    assert same.type.shape == x.type.shape
    assert other.type.shape[0] != x.type.shape[0]
    assert other.type.shape[1] == 2


def test_finished_functions_have_only_nodes_that_are_needed() -> None:
    maker = ProgramBuilder()
    b = maker.function("main")
    x = b.input("x", "f32", [3])
    wanted = b.op("relu", x)
    b.op("exp", x)
    made = finished(b, [wanted])
    assert [n.op.name for n in made.nodes] == ["relu"]
    assert maker.functions["main"] is made


def test_nodes_of_a_pass_are_named_after_the_node_they_belong_to() -> None:
    b = ProgramBuilder().function("main")
    x = b.input("x", "f32", [3])
    b.op("relu", x, name="act", source=Source("net.py", 7))
    home = Home(b)
    home.node = b.nodes[0]
    made = ops.neg(Symbol(home, x))
    assert isinstance(made, Symbol)
    assert (b.nodes[-1].name, b.nodes[-1].source) == ("grad/act/neg", Source("net.py", 7))
    error = refusal(b.nodes[0], "no gradient here")
    assert error.message.startswith("net.py:7: ")
    assert error.node == "act"
