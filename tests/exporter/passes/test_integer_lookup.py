# SPDX-License-Identifier: Apache-2.0
"""Functions of one int8 value as tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import in_steps, integer, ops, program, real, real_constant

from samara.exporter.ir import Builder, Value
from samara.exporter.passes import fuse_quantized
from samara.exporter.types import Quant

X, Y = Quant.per_tensor(0.05, -20), Quant.per_tensor(0.03, 11)

CHAINS: dict[str, Callable[[Builder, Value], Any]] = {
    "sigmoid": lambda b, x: b.op("sigmoid", x),
    "gelu": lambda b, x: b.op("gelu", x, approximate="none"),
    "leaky relu": lambda b, x: b.op("leaky_relu", x, alpha=0.2),
    "relu": lambda b, x: b.op("relu", x),
    "prelu": lambda b, x: b.op("prelu", x, b.const(np.array([0.3], np.float32))),
    "pow": lambda b, x: b.op("pow", x, b.const(np.float32(3))),
    "silu": lambda b, x: b.op("mul", x, b.op("sigmoid", x)),
    "swish": lambda b, x: b.op(
        "div", b.op("mul", x, b.op("clamp", b.op("add", x, 3.0), lo=0.0, hi=6.0)), 6.0
    ),
    "log of nothing": lambda b, x: b.op("log", x),
    "where": lambda b, x: b.op("where", b.op("lt", x, 0.5), b.op("neg", x), b.op("exp", x)),
    "int8 scalar": lambda b, x: b.op(
        "mul", x, real_constant(b, [[100]], Quant.per_tensor(0.01, 3))
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_becomes_one_table(name: str) -> None:
    after = integer(lambda b: in_steps(b, CHAINS[name](b, real(b, "x", [4, 300], X)), Y), steps=0)
    assert ops(after) == {"qlookup": 1}


def test_a_clamp_behind_it_is_in_the_table() -> None:
    def build(b: Builder) -> Value:
        y = b.op("clamp", b.op("sin", real(b, "x", [300], X)), lo=-0.5, hi=0.25)
        return in_steps(b, y, Y)

    assert ops(integer(build, steps=0)) == {"qlookup": 1}


def test_a_slope_per_channel_is_no_table() -> None:
    def build(b: Builder) -> Value:
        slopes = b.const(np.array([0.1, 0.2], np.float32))
        return in_steps(b, b.op("prelu", real(b, "x", [4, 2], X), slopes), Y)

    assert ops(fuse_quantized.PASS.run(program(build)))["prelu"] == 1


def test_two_operands_are_no_table() -> None:
    def build(b: Builder) -> Value:
        a, c = real(b, "a", [8], X), real(b, "b", [8], X)
        return in_steps(b, b.op("atan2", a, c), Y)

    assert ops(fuse_quantized.PASS.run(program(build)))["atan2"] == 1


def test_what_grows_by_a_constant_is_no_table() -> None:
    def build(b: Builder) -> Value:
        y = b.op("pow", real(b, "x", [1], X), b.const(np.full((3,), 2, np.float32)))
        return in_steps(b, y, Y)

    assert ops(fuse_quantized.PASS.run(program(build)))["pow"] == 1
