# SPDX-License-Identifier: Apache-2.0
"""Algebraic simplification."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from tests.exporter.passes.programs import apply, normal, ops, program

from samara.exporter.ir import Builder, Value
from samara.exporter.passes import simplify


def _made(b: Builder, n: int) -> Value:
    """A tensor that is not a constant."""
    made: Value = b.op("neg", b.const(normal(n)))
    return made


def _expanded(b: Builder, v: Value, *shape: int) -> Value:
    made: Value = b.op("expand", v, shape=shape)
    return made


# (program, remaining operators beside the final exp)
CASES: dict[str, tuple[Callable[[Builder, Value], Value], dict[str, int]]] = {
    "identity": (lambda b, x: b.op("identity", x), {}),
    "cast to the same": (lambda b, x: b.op("cast", x, to="f32"), {}),
    "add 0": (lambda b, x: b.op("add", x, 0.0), {}),
    "0 + x": (lambda b, x: b.op("add", b.const(0 * normal(1)), x), {}),
    "add 1": (lambda b, x: b.op("add", x, 1.0), {"add": 1}),
    "sub 0": (lambda b, x: b.op("sub", x, 0.0), {}),
    "0 - x": (lambda b, x: b.op("sub", b.const(0 * normal(1)), x), {"sub": 1}),
    "mul 1": (lambda b, x: b.op("mul", x, 1.0), {}),
    "div 1": (lambda b, x: b.op("div", x, 1.0), {}),
    "1 / x": (lambda b, x: b.op("div", b.const(0 * normal(1) + 1), x), {"div": 1}),
    "mul of mul by a power of two": (lambda b, x: b.op("mul", b.op("mul", x, 3.0), 0.5), {"mul": 1}),
    "mul of mul that would round": (lambda b, x: b.op("mul", b.op("mul", x, 3.0), 0.7), {"mul": 2}),
    "neg neg": (lambda b, x: b.op("neg", b.op("neg", x)), {}),
    "floor floor": (lambda b, x: b.op("floor", b.op("floor", x)), {"floor": 1}),
    "relu relu": (lambda b, x: b.op("relu", b.op("relu", x)), {"relu": 1}),
    "relu of clamp": (lambda b, x: b.op("relu", b.op("clamp", x, lo=-1, hi=0.5)), {"clamp": 1}),
    "clamp of relu": (lambda b, x: b.op("clamp", b.op("relu", x), lo=-1, hi=0.5), {"clamp": 1}),
    "clamp of clamp": (lambda b, x: b.op("clamp", b.op("clamp", x, lo=0, hi=1), lo=-1, hi=0.5), {"clamp": 1}),
    "open clamp": (lambda b, x: b.op("clamp", x, lo=-math.inf, hi=math.inf), {}),
    "reshape to the same": (lambda b, x: b.op("reshape", x, shape=[2, 3]), {}),
    "reshape of reshape": (lambda b, x: b.op("reshape", b.op("reshape", x, shape=[6]), shape=[3, 2]), {"reshape": 1}),
    "transpose there and back": (lambda b, x: b.op("transpose", b.op("transpose", x, perm=[1, 0]), perm=[1, 0]), {}),
    "expand to the same": (lambda b, x: b.op("expand", x, shape=[2, 3]), {}),
    "whole slice": (lambda b, x: b.op("slice", x, begin=[0, 0], end=[2, 3], step=[1, 1]), {}),
    "reversing slice": (lambda b, x: b.op("slice", x, begin=[1, 0], end=[-1, 3], step=[-1, 1]), {"slice": 1}),
    "pad by 0": (lambda b, x: b.op("pad", x, pads=[0] * 4), {}),
    "tile by 1": (lambda b, x: b.op("tile", x, repeats=[1, 1]), {}),
    "concat of one": (lambda b, x: b.op("concat", x, axis=0), {}),
    "concat with nothing": (lambda b, x: b.op("concat", x, b.const(normal(0, 3)), axis=0), {}),
    "split in one": (lambda b, x: b.op("split", x, axis=0, sizes=[2])[0], {}),
    "square": (lambda b, x: b.op("pow", x, 2.0), {"mul": 1}),
    "square root": (lambda b, x: b.op("pow", b.op("abs", x), 0.5), {"abs": 1, "sqrt": 1}),
    "sum_to the same": (lambda b, x: b.op("sum_to", x, shape=[2, 3]), {}),
    "sum_to of less": (lambda b, x: b.op("sum_to", x, shape=[1, 3]), {"sum_to": 1}),
    "add an expanded 0": (lambda b, x: b.op("add", _expanded(b, b.const(0 * normal(1)), 2, 3), x), {}),
    "mul by an expanded tensor": (lambda b, x: b.op("mul", x, _expanded(b, _made(b, 3), 2, 3)), {"mul": 1, "neg": 1}),
    "expanded operand of a wider result": (
        lambda b, x: b.op("mul", b.op("reshape", x, shape=[2, 1, 3]), _expanded(b, _made(b, 1), 2, 1)),
        {"reshape": 1, "mul": 1, "expand": 1, "neg": 1},
    ),
    "where of an expanded tensor": (
        lambda b, x: b.op("where", b.op("le", x, 0.0), _expanded(b, _made(b, 3), 2, 3), x),
        {"where": 1, "le": 1, "neg": 1},
    ),
    "sum over 1": (lambda b, x: b.op("reduce_sum", b.op("reshape", x, shape=[6, 1]), axes=[1]), {"reshape": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rule(name: str) -> None:
    build, left = CASES[name]
    before = program(lambda b: b.op("exp", build(b, b.input("x", "f32", [2, 3]))))
    found = ops(apply(simplify.PASS, before))
    assert found == {**left, "exp": 1}


def test_an_output_keeps_a_tensor_of_its_own() -> None:
    before = program(lambda b: b.op("identity", b.input("x", "f32", [2])))
    assert ops(apply(simplify.PASS, before)) == {"identity": 1}
