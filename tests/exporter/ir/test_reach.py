# SPDX-License-Identifier: Apache-2.0
"""Order and reach of nodes: through tensors, dims and guards."""

from __future__ import annotations

import pytest

from samara.exporter.ir import Builder, Function, ProgramBuilder
from samara.exporter.ir.infer import Substitution
from samara.exporter.ir.reach import Reach, ordered


def _function() -> Function:
    """out = expand(x, [n read from a tensor]); a dead node besides."""
    pb = ProgramBuilder()
    b: Builder = pb.function("main")
    x = b.input("x", "f32", [1])
    n = b.input("n", "i64", [1])
    size = b.op("relu", n, name="size")
    b.op("exp", x, name="dead")
    grown = b.op("expand", x, shape=(b.read(size, 0),), name="grown")
    b.finish([b.op("neg", grown, name="last")], ["out"])
    return pb.finish(["main"]).main


def _live(f: Function) -> set[str]:
    reach = Reach(f.nodes, f.inputs, f.guards, {n.name for n in f.nodes}, f.bounds, Substitution())
    reach.need_all(f.outputs)
    assert set(reach.guards()) <= set(f.guards)
    return {n.name for n in reach.live}


def test_a_dim_needs_the_node_that_it_reads() -> None:
    assert _live(_function()) == {"size", "grown", "last"}


def test_nodes_are_sorted_by_tensors_and_dims() -> None:
    f = _function()
    size, dead, grown, last = f.nodes
    table = Substitution()
    assert ordered(list(f.nodes), table, f.inputs) == [size, dead, grown, last]
    assert ordered([dead, last, grown, size], table, f.inputs) == [dead, size, grown, last]
    other = ordered([last, dead, size, grown], table, f.inputs)
    assert other == [size, grown, last, dead]


def test_a_cycle_is_refused() -> None:
    f = _function()
    last = f.nodes[-1]
    loop = type(last)(last.op, last.outputs, last.outputs, last.attrs, "loop")
    with pytest.raises(ValueError, match="'loop' needs its own result"):
        ordered([loop], Substitution(), f.inputs)
