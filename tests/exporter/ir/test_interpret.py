# SPDX-License-Identifier: Apache-2.0
"""The reference interpreter: results, binding of dims, refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from samara.exporter.ir import Program, ProgramBuilder, Variable
from samara.exporter.ops import Guard
from samara.exporter.types import Dim, LimitError, SamaraError, ShapeError, Sym, TensorType


def _affine() -> Program:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", ["n", 3])
    y = b.op("mul", x, 2.0, outputs=["doubled"])
    z = b.op("add", y, b.const(np.array([1, 2, 3], np.float32), "shift"), outputs=["shifted"])
    b.finish([z], ["out"])
    return pb.finish(["main"])


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_outputs_by_name() -> None:
    out = _affine().run({"x": X})
    assert list(out) == ["out"]
    assert np.array_equal(out["out"], X * 2 + [1, 2, 3])


def test_lists_take_the_declared_dtype() -> None:
    out = _affine().run({"x": [[0, 0, 0]]})
    assert out["out"].tolist() == [[1, 2, 3]]


def test_kept_tensors() -> None:
    out = _affine().run({"x": X}, keep=["doubled"])
    assert np.array_equal(out["doubled"], X * 2)
    assert set(_affine().run({"x": X}, keep=True)) == {"x", "doubled", "shifted", "out"}


@pytest.mark.parametrize(
    ("feeds", "text"),
    [
        ({}, "input 'x' is missing"),
        ({"x": X, "y": X}, "there is no input 'y'"),
        ({"x": X.astype(np.float64)}, "has dtype float64, expected float32"),
        ({"x": X[0]}, "has rank 1"),
        ({"x": X[:, :2]}, "axis 1 is 2, not 3"),
    ],
)
def test_feeds_are_checked(feeds: dict[str, Any], text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        _affine().run(feeds)


def test_unknown_names_list_near_ones() -> None:
    with pytest.raises(ShapeError, match="did you mean 'doubled'"):
        _affine().run({"x": X}, keep=["dubled"])
    with pytest.raises(ShapeError, match="there is no function 'mani'"):
        _affine().run({"x": X}, function="mani")


def test_absorbed_names_say_where_they_went() -> None:
    program = _affine()
    f = program.main
    nodes = (replace(f.nodes[0], absorbed=("before",)), *f.nodes[1:])
    fused = program.with_function(replace(f, nodes=nodes))
    with pytest.raises(ShapeError, match="'before' was fused into node 'doubled'"):
        fused.run({"x": X}, keep=["before"])


def test_a_symbol_that_occurs_twice_must_agree() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", ["n"])
    y = b.input("y", "f32", ["n"])
    b.finish([b.op("add", x, y)], ["out"])
    program = pb.finish(["main"])
    with pytest.raises(ShapeError, match=r"input 'y'.*axis 0 is 3, not 2 \(n = 2\)"):
        program.run({"x": np.zeros(2, np.float32), "y": np.zeros(3, np.float32)})


def test_symbols_have_bounds() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", [Dim.atom(Sym("n", 2, 4))])
    b.finish([b.op("neg", x)], ["out"])
    program = pb.finish(["main"])
    assert program.run({"x": np.zeros(4, np.float32)})["out"].shape == (4,)
    for n in (1, 5):
        with pytest.raises(ShapeError, match="at least 2 and at most 4"):
            program.run({"x": np.zeros(n, np.float32)})


def test_guards_give_their_message() -> None:
    program = _affine()
    f = program.main
    n = f.inputs[0].type.shape[0]
    guard = Guard("eq", n % 2, Dim.const(0), "rows come in pairs", "pair")
    guarded = program.with_function(replace(f, guards=(guard,)))
    guarded.run({"x": X})
    with pytest.raises(ShapeError, match="rows come in pairs") as caught:
        guarded.run({"x": X[:1]})
    assert caught.value.node == "pair"


def test_reads_and_births() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "i64", ["n"])
    k = b.input("k", "i64", [1])
    rows = b.op("nonzero", x, name="rows")
    count = rows.type.shape[1]
    flat = b.op("reshape", rows, shape=(count,))
    head = b.op("slice", flat, begin=(0,), end=(b.read(k, 0, bound=count),), step=(1,))
    b.finish([head], ["head"])
    program = pb.finish(["main"])
    feeds = {"x": np.array([5, 0, 6, 7]), "k": np.array([2])}
    assert program.run(feeds)["head"].tolist() == [0, 2]
    with pytest.raises(SamaraError):
        program.run({**feeds, "k": np.array([4])})


def test_a_read_above_its_bound_is_a_limit() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    k = b.input("k", "i64", [])
    b.finish([b.op("iota", length=b.read(k, 0, bound=5))], ["out"])
    program = pb.finish(["main"])
    assert program.run({"k": np.array(5)})["out"].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(LimitError, match="is 6, its bound is 5"):
        program.run({"k": np.array(6)})


def test_if_runs_one_branch() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    flag = b.input("flag", "bool", [])
    x = b.input("x", "f32", ["n"])
    then, orelse = b.child("then"), b.child("else")
    a = then.op("neg", x)
    message = orelse.op(
        "trap",
        x,
        message="must be true",
        dtypes=(1,),
        ranks=(1,),
        shape=(orelse.translate(x.type.shape[0]),),
    )
    (out,) = b.if_(flag, (then, [a]), (orelse, list(message)))
    b.finish([out], ["out"])
    program = pb.finish(["main"])
    x_data = np.ones(3, np.float32)
    assert program.run({"flag": np.array(True), "x": x_data})["out"].tolist() == [-1, -1, -1]
    with pytest.raises(SamaraError, match="must be true"):
        program.run({"flag": np.array(False), "x": x_data})


def test_loop_carries_and_stacks() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", ["n"])
    step = b.input("step", "f32", ["n"])
    trips = b.input("trips", "i64", [])
    body = b.child("body")
    body.input("i", "i64", [])
    go = body.input("go", "bool", [])
    acc = body.input("acc", "f32", ["n"])
    more = body.op("add", acc, step)
    last, steps = b.loop(trips, None, [x], (body, [go, more, more]))
    b.finish([last, steps], ["last", "steps"])
    program = pb.finish(["main"])
    feeds = {"x": np.zeros(2, np.float32), "step": np.array([1, 2], np.float32)}
    out = program.run({**feeds, "trips": np.array(3)})
    assert out["last"].tolist() == [3, 6]
    assert out["steps"].tolist() == [[1, 2], [2, 4], [3, 6]]
    assert program.run({**feeds, "trips": np.array(0)})["steps"].shape == (0, 2)


def _counter() -> Program:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", [2])
    total = b.input("total", "f32", [2])
    y = b.op("add", x, total)
    f = b.finish([y, b.op("neg", y)], ["sum", "neg"])
    program = pb.finish(
        ["main"], [Variable("memory", TensorType.of("f32", [2]), np.ones(2, np.float32))]
    )
    return program.with_function(replace(f, reads={"total": "memory"}, writes={0: "memory"}))


def test_variables_are_read_and_written() -> None:
    program = _counter()
    state: dict[str, Any] = {}
    x = np.array([1, 2], np.float32)
    out = program.run({"x": x}, state=state)
    assert list(out) == ["neg"]
    assert state["memory"].tolist() == [2, 3]
    program.run({"x": x}, state=state)
    assert state["memory"].tolist() == [3, 5]
    # Without a state every run starts from the initial values.
    assert program.run({"x": x})["neg"].tolist() == [-2, -3]


def test_numpy_errors_name_the_node() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", [3])
    i = b.input("i", "i64", [1])
    b.finish([b.op("gather", x, i, name="pick")], ["out"])
    program = pb.finish(["main"])
    with pytest.raises(SamaraError) as caught:
        program.run({"x": np.zeros(3, np.float32), "i": np.array([7])})
    assert (caught.value.op, caught.value.node) == ("gather", "pick")
