# SPDX-License-Identifier: Apache-2.0
"""Frozen inputs become constants, and branches that depend on them are resolved."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.ir import Program, ProgramBuilder, as_constant, freeze, verify
from samara.exporter.ir.merge import merge
from samara.exporter.types import DType, ShapeError


def ops(p: Program) -> Counter[str]:
    return Counter(n.op.name for f in p.functions.values() for n in f.nodes)


def rated(x: Any, rate: Any) -> Any:
    """A scripted function whose input `rate` selects a branch and a nested branch."""
    if rate == 16000:
        y = x * 2
        if rate > 8000:
            y = y + x.mean()
    elif rate == 8000:
        y = x - 1
    else:
        y = x * 0
    return y


def scripted() -> Program:
    example = (samara.tensor(np.ones((2, 3), np.float32)), samara.tensor(np.int64(16000)))
    program: Program = samara.script(rated, example, dynamic={"x": {0: "n"}})
    return program


@pytest.mark.parametrize("rate", [16000, 8000, 4000])
def test_a_scripted_branch_goes(rate: int) -> None:
    program = scripted()
    assert ops(program)["if"] >= 2
    frozen = freeze(program, {"rate": rate})
    verify(frozen)
    assert [v.name for v in frozen.main.inputs] == ["x"]
    assert ops(frozen)["if"] == 0
    assert len(frozen.functions) == 1
    x = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    want = program.run({"x": x, "rate": np.int64(rate)})
    got = frozen.run({"x": x})
    for name, array in want.items():
        np.testing.assert_array_equal(got[name], array)


def test_a_traced_input_goes() -> None:
    example = {"x": samara.tensor(np.ones(3, np.float32)), "k": samara.tensor(np.float32(2))}
    program = samara.trace(lambda x, k: x * k, example)
    frozen = freeze(program, {"k": 3})
    assert frozen.run({"x": np.ones(3, np.float32)})["output"].tolist() == [3, 3, 3]
    assert freeze(program, {}) is program


def branching() -> tuple[Program, dict[str, np.ndarray[Any, Any]]]:
    """Branches with data-dependent sizes, and a loop with a nested branch."""
    maker = ProgramBuilder()
    b = maker.function("main")
    x = b.input("x", "f32", ["n", 3])
    flag = b.input("flag", "bool", ())
    count = b.input("count", "i64", [1])
    then, orelse = b.child("then"), b.child("else")
    long = then.read(count, 0, 4)
    head = then.op("slice", x, begin=(0, 0), end=(long, 3), step=(1, 1))
    kept = then.op("nonzero", then.op("reshape", head, shape=(long * 3,)))
    a = then.op("cast", kept, to="f32")
    e = orelse.op("reshape", orelse.op("exp", x), shape=(1, as_dims(b, x) * 3))
    (y,) = b.if_(flag, (then, [a]), (orelse, [e]), outputs=["y"])
    body = b.child("body")
    body.input("i", "i64", ())
    on = body.input("on", "bool", ())
    h = body.formal("h", x.type)
    one, two = body.child("one"), body.child("two")
    (step,) = body.if_(flag, (one, [one.op("add", h, x)]), (two, [two.op("mul", h, x)]))
    (z,) = b.loop(b.const(np.int64(3)), None, [x], (body, [on, step]))
    b.finish([y, z], ["y", "z"])
    feeds = {"x": np.array([[1, 0, 2], [0, 3, 4], [5, 6, 0]], np.float32),
             "flag": np.array(True), "count": np.array([2])}  # fmt: skip
    return maker.finish(["main"]), feeds


def as_dims(b: Any, x: Any) -> Any:
    return x.type.shape[0]


@pytest.mark.parametrize("flag", [True, False])
def test_sizes_that_data_decide_and_loops(flag: bool) -> None:
    program, feeds = branching()
    feeds["flag"] = np.array(flag)
    want = program.run(feeds)
    frozen = freeze(program, {"flag": flag})
    verify(frozen)
    assert ops(frozen)["if"] == 0
    got = frozen.run({k: v for k, v in feeds.items() if k != "flag"})
    both = freeze(program, {"flag": flag, "count": [2]})
    verify(both)
    alone = both.run({"x": feeds["x"]})
    for name, array in want.items():
        np.testing.assert_array_equal(got[name], array)
        np.testing.assert_array_equal(alone[name], array)


def test_a_size_that_the_constant_has_holds_for_all() -> None:
    maker = ProgramBuilder()
    b = maker.function("main")
    x, w = b.input("x", "f32", ["n", 3]), b.input("w", "f32", ["n", 3])
    b.finish([b.op("mul", x, w)], ["y"])
    frozen = freeze(maker.finish(["main"]), {"w": np.ones((5, 3), np.float32)})
    assert frozen.main.inputs[0].type.static_shape() == (5, 3)


def test_every_entry_that_has_the_input() -> None:
    program = merge({"a": scripted(), "b": scripted()})
    frozen = freeze(program, {"rate": 8000})
    assert [len(frozen.functions[e].inputs) for e in frozen.entries] == [1, 1]


@pytest.mark.parametrize(
    ("value", "dtype", "shape", "want"),
    [
        (16000, DType.I64, (), np.int64(16000)),
        (1, DType.F32, (2, 2), np.ones((2, 2), np.float32)),
        ([1, 2, 3, 4], DType.I64, (2, 2), np.array([[1, 2], [3, 4]])),
        ([[1.5], [2]], DType.F16, (None, 1), np.array([[1.5], [2]], np.float16)),
        (True, DType.BOOL, (), np.array(True)),
        (1, DType.BOOL, (1,), np.array([True])),
        ([], DType.I64, (0,), np.zeros(0, np.int64)),
        (float("inf"), DType.F32, (), np.float32("inf")),
        (np.array([7], np.uint8), DType.U8, (1,), np.array([7], np.uint8)),
    ],
)  # fmt: skip
def test_values_that_fit(value: Any, dtype: DType, shape: Any, want: Any) -> None:
    made = as_constant("k", value, dtype, shape)
    assert made.dtype == want.dtype
    np.testing.assert_array_equal(made, want)
    assert made.shape == want.shape


@pytest.mark.parametrize(
    ("value", "dtype", "shape", "said"),
    [
        (1.5, DType.I64, (), "is 1.5, which int64 does not hold"),
        (300, DType.U8, (), "is 300, which uint8 does not hold"),
        (-1, DType.U32, (), "does not hold"),
        (1e60, DType.F32, (), "does not hold"),
        (2, DType.BOOL, (), "does not hold"),
        (True, DType.F32, (), "does not hold"),
        ("a", DType.I64, (), "does not hold"),
        (10**30, DType.I64, (), "does not hold"),
        ([[1], [1, 2]], DType.I64, (None,), "is not an array of numbers"),
        (np.float64(1), DType.F32, (), "has dtype float64, the input is float32[]"),
        ([1, 2, 3], DType.I64, (2,), "has shape [3], the input is int64[2]"),
        (np.zeros(4, np.float32), DType.F32, (2, 2), "has shape [4], the input is float32[2, 2]"),
        (1, DType.F32, (None, 2), "has shape [], the input is float32[?, 2]"),
    ],
)
def test_values_that_do_not_fit(value: Any, dtype: DType, shape: Any, said: str) -> None:
    with pytest.raises(ShapeError) as caught:
        as_constant("k", value, dtype, shape)
    assert said in str(caught.value)
    assert "'k'" in str(caught.value)


def test_names_that_are_no_inputs() -> None:
    with pytest.raises(ShapeError, match="no input 'rat' to freeze") as caught:
        freeze(scripted(), {"rat": 1})
    assert "did you mean 'rate'" in str(caught.value)
