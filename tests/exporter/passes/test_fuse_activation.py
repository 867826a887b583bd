# SPDX-License-Identifier: Apache-2.0
"""Activation fusion."""

from __future__ import annotations

from typing import Any

import pytest
from tests.exporter.passes.programs import apply, conv, normal, ops, program

from samara.exporter.ir import Builder
from samara.exporter.passes import fuse_activation


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("relu", {}),
        ("clamp", {"lo": -0.5, "hi": 0.7}),
        ("sigmoid", {}),
        ("tanh", {}),
        ("hard_swish", {}),
        ("silu", {}),
        ("gelu", {}),
        ("gelu", {"approximate": "tanh"}),
        ("leaky_relu", {"alpha": 0.3}),
        ("elu", {"alpha": 0.6}),
        ("hard_sigmoid", {"alpha": 0.3, "beta": 0.4}),
    ],
)
def test_activation_becomes_the_epilogue(op: str, attrs: dict[str, Any]) -> None:
    after = apply(
        fuse_activation.PASS,
        program(lambda b: b.op(op, conv(b, b.input("x", "f32", [1, 4, 4, 2]), 3), **attrs)),
    )
    assert ops(after) == {"conv": 1}


def test_clamps_meet_and_an_activation_closes() -> None:
    def build(b: Builder) -> Any:
        y = b.op("matmul", b.input("x", "f32", [2, 4]), b.const(normal(4, 5)))
        return b.op("relu", b.op("tanh", b.op("clamp", b.op("relu", y), lo=-1, hi=0.5)))

    after = apply(fuse_activation.PASS, program(build))
    assert ops(after) == {"matmul": 1, "relu": 1}
    attrs = after.main.nodes[0].attrs
    assert (attrs["lo"], attrs["hi"], attrs["post"]) == (0.0, 0.5, "tanh")


def test_a_result_that_is_an_output_too_stays() -> None:
    def build(b: Builder) -> Any:
        y = conv(b, b.input("x", "f32", [1, 4, 4, 2]), 3)
        return [y, b.op("relu", y)]

    assert ops(apply(fuse_activation.PASS, program(build))) == {"conv": 1, "relu": 1}
