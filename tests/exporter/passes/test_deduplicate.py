# SPDX-License-Identifier: Apache-2.0
"""Common subexpressions."""

from __future__ import annotations

from typing import Any

from tests.exporter.passes.programs import apply, normal, ops, program

from samara.exporter.ir import Builder
from samara.exporter.passes import deduplicate


def test_equal_nodes_are_computed_once() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [3])
        return b.op("add", b.op("exp", x), b.op("exp", x))

    assert ops(apply(deduplicate.PASS, program(build))) == {"exp": 1, "add": 1}


def test_equal_constants_count_as_one() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [3])
        return b.op("mul", b.op("add", x, b.const(normal(3))), b.op("add", x, b.const(normal(3))))

    assert ops(apply(deduplicate.PASS, program(build))) == {"add": 1, "mul": 1}


def test_other_attributes_are_other_nodes() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [3])
        return b.op("add", b.op("leaky_relu", x, alpha=0.1), b.op("leaky_relu", x, alpha=0.2))

    before = program(build)
    assert deduplicate.PASS.run(before) is before


def test_two_outputs_stay_two_tensors() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [3])
        return [b.op("exp", x), b.op("exp", x)]

    assert ops(apply(deduplicate.PASS, program(build))) == {"exp": 2}
