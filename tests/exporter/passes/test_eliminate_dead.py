# SPDX-License-Identifier: Apache-2.0
"""Dead code."""

from __future__ import annotations

from typing import Any

from tests.exporter.passes.programs import apply, ops, program

from samara.exporter.ir import Builder, ProgramBuilder
from samara.exporter.passes import eliminate_dead


def test_nodes_that_no_output_needs_go() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [3])
        b.op("sin", b.op("cos", x))
        return b.op("exp", x)

    assert ops(apply(eliminate_dead.PASS, program(build))) == {"exp": 1}


def test_a_node_that_a_dim_reads_stays() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [6])
        n = b.op("add", b.input("n", "i64", []), 1)
        return b.op("slice", x, begin=[0], end=[b.read(n, 0, bound=6)], step=[1])

    before = program(build)
    assert ops(eliminate_dead.PASS.run(before)) == {"add": 1, "slice": 1}


def test_functions_that_nobody_calls_go() -> None:
    maker = ProgramBuilder()
    for name in ("main", "other"):
        b = maker.function(name)
        b.finish([b.op("exp", b.input("x", "f32", [1]))])
    both = maker.finish(["main", "other"])
    from dataclasses import replace

    assert list(eliminate_dead.PASS.run(replace(both, entries=("main",))).functions) == ["main"]
