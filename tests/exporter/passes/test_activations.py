# SPDX-License-Identifier: Apache-2.0
"""Spelled-out activations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import apply, ops, program

from samara.exporter.ir import Builder, Value
from samara.exporter.passes import fuse_patterns

Spelled = Callable[[Builder, Value], Any]


def _relu6(b: Builder, x: Any) -> Any:
    return b.op("clamp", b.op("add", x, 3.0), lo=0.0, hi=6.0)


def _cubic(b: Builder, x: Any, form: str) -> Any:
    """sqrt(2 / pi) * (x + 0.044715 x^3)."""
    factor = math.sqrt(2 / math.pi)
    if form == "pow":
        return b.op("mul", b.op("add", x, b.op("mul", b.op("pow", x, 3.0), 0.044715)), factor)
    square = b.op("mul", b.op("mul", x, x), 0.044715)
    return b.op("mul", b.op("mul", x, factor), b.op("add", square, 1.0))


def _half(b: Builder, x: Any, curve: str, inside: Any) -> Any:
    return b.op("mul", b.op("mul", x, b.op("add", b.op(curve, inside), 1.0)), 0.5)


CASES: dict[str, tuple[str, Spelled]] = {
    "silu": ("silu", lambda b, x: b.op("mul", b.op("sigmoid", x), x)),
    "hard_swish": (
        "hard_swish", lambda b, x: b.op("mul", x, b.op("hard_sigmoid", x, alpha=1 / 6, beta=0.5)),
    ),
    "hard_swish, divided last": ("hard_swish", lambda b, x: b.op("div", b.op("mul", x, _relu6(b, x)), 6.0)),
    "hard_swish, gate divided": ("hard_swish", lambda b, x: b.op("mul", b.op("div", _relu6(b, x), 6.0), x)),
    "hard_swish, times a sixth": ("hard_swish", lambda b, x: b.op("mul", x, b.op("mul", _relu6(b, x), 1 / 6))),
    "hard_sigmoid": ("hard_sigmoid", lambda b, x: b.op("div", _relu6(b, x), 6.0)),
    "hard_sigmoid, clamped last": (
        "hard_sigmoid", lambda b, x: b.op("clamp", b.op("sub", b.op("mul", x, 0.2), -0.5), lo=0.0, hi=1.0),
    ),
    "gelu": ("gelu", lambda b, x: _half(b, x, "erf", b.op("div", x, math.sqrt(2)))),
    "gelu, half first": (
        "gelu",
        lambda b, x: b.op(
            "mul", b.op("mul", x, 0.5), b.op("add", 1.0, b.op("erf", b.op("mul", x, math.sqrt(0.5))))
        ),
    ),
    "gelu of tanh": ("gelu", lambda b, x: _half(b, x, "tanh", _cubic(b, x, "pow"))),
    "gelu of tanh, factored": ("gelu", lambda b, x: _half(b, x, "tanh", _cubic(b, x, "mul"))),
}  # fmt: skip

OTHERS: dict[str, Spelled] = {
    "silu of a doubled gate": lambda b, x: b.op("mul", b.op("sigmoid", b.op("mul", x, 2.0)), x),
    "another sixth": lambda b, x: b.op("div", b.op("mul", x, _relu6(b, x)), 5.0),
    "another tensor": lambda b, x: b.op(
        "mul", b.op("neg", x), b.op("div", _relu6(b, b.op("exp", x)), 6.0)
    ),
    "a clamp to other ends": lambda b, x: b.op("clamp", b.op("mul", x, 0.2), lo=0.0, hi=2.0),
    "a plain clamp": lambda b, x: b.op("clamp", x, lo=0.0, hi=1.0),
    "a square": lambda b, x: b.op("clamp", b.op("mul", x, x), lo=0.0, hi=1.0),
    "erf of another scale": lambda b, x: _half(b, x, "erf", b.op("div", x, 1.5)),
    "tanh of x": lambda b, x: _half(b, x, "tanh", b.op("mul", x, 0.79788456)),
    "a number by x": lambda b, x: b.op("clamp", b.op("div", 2.0, x), lo=0.0, hi=1.0),
}


@pytest.mark.parametrize("name", CASES)
def test_spelled_out(name: str) -> None:
    op, spelled = CASES[name]
    found = ops(apply(fuse_patterns.PASS, program(lambda b: spelled(b, b.input("x", "f32", [9])))))
    assert found == {op: 1}


@pytest.mark.parametrize("name", OTHERS)
def test_others_stay(name: str) -> None:
    found = ops(
        apply(fuse_patterns.PASS, program(lambda b: OTHERS[name](b, b.input("x", "f32", [9]))))
    )
    assert not {"silu", "hard_swish", "gelu"} & set(found)
    assert found["hard_sigmoid"] == (name == "another tensor")


def test_a_gate_with_other_users_stays() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [9])
        gate = b.op("sigmoid", x)
        return b.op("mul", gate, x), gate

    assert ops(apply(fuse_patterns.PASS, program(build))) == {"sigmoid": 1, "mul": 1}


def test_a_number_that_spreads_x_stays() -> None:
    """A constant of more dims than x."""

    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [9])
        wide = b.op("add", x, b.const(np.full((1, 1), 3.0, np.float32)))
        return b.op("div", b.op("clamp", wide, lo=0.0, hi=6.0), 6.0)

    assert "hard_sigmoid" not in ops(apply(fuse_patterns.PASS, program(build)))
