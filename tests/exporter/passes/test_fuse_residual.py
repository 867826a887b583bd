# SPDX-License-Identifier: Apache-2.0
"""Residual fusion."""

from __future__ import annotations

from typing import Any

from tests.exporter.passes.programs import apply, conv, ops, program

from samara.exporter.ir import Builder
from samara.exporter.passes import fuse_residual


def test_the_sum_becomes_an_epilogue() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [1, 4, 4, 2])
        return b.op("add", x, conv(b, x, 2))

    after = apply(fuse_residual.PASS, program(build))
    assert ops(after) == {"conv": 1}
    assert after.main.nodes[0].inputs[3] is after.main.inputs[0]


def test_of_two_products_the_later_absorbs() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [1, 4, 4, 2])
        return b.op("add", conv(b, x, 2, seed=1), conv(b, x, 2, seed=2))

    after = apply(fuse_residual.PASS, program(build))
    assert ops(after) == {"conv": 2}
    assert after.main.nodes[1].inputs[3] is after.main.nodes[0].outputs[0]


def test_a_sum_that_broadcasts_stays() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [1, 4, 4, 2])
        return b.op("add", conv(b, x, 2), b.input("y", "f32", [1, 1, 1, 2]))

    assert ops(apply(fuse_residual.PASS, program(build))) == {"conv": 1, "add": 1}


def test_a_product_with_an_activation_stays() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [1, 4, 4, 2])
        return b.op("add", conv(b, x, 2, lo=0.0), x)

    assert ops(apply(fuse_residual.PASS, program(build))) == {"conv": 1, "add": 1}
