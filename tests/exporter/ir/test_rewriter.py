# SPDX-License-Identifier: Apache-2.0
"""Editing functions: uses, replacement, order, updated dims, and linear cost."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

from samara.exporter.ir import Builder, Program, ProgramBuilder, Rewriter, verify
from samara.exporter.types import Dim, DType, Read


def _start() -> tuple[ProgramBuilder, Builder]:
    pb = ProgramBuilder()
    return pb, pb.function("main")


def _done(program: Program, rewriter: Rewriter) -> Program:
    changed = program.with_function(rewriter.finish())
    verify(changed)
    return changed


def _chain() -> Program:
    pb, b = _start()
    x = b.input("x", "f32", ["n"])
    y = b.op("relu", x, name="a")
    y = b.op("neg", y, name="b")
    y = b.op("relu", y, name="c")
    b.finish([y], ["out"])
    return pb.finish(["main"])


def _names(program: Program) -> list[str]:
    return [n.op.name for n in program.main.nodes]


def test_nothing_changed_is_the_same_object() -> None:
    program = _chain()
    assert Rewriter(program.main, program).finish() is program.main


def test_replace_node_keeps_names_and_position() -> None:
    program = _chain()
    rw = Rewriter(program.main, program)
    for node in rw.nodes():
        if node.op.name == "neg":
            rw.replace_node(node, "mul", node.inputs[0], rw.const(np.float32(-1)), absorbed=("t",))
    done = _done(program, rw)
    assert _names(done) == ["relu", "mul", "relu"]
    node = done.main.nodes[1]
    assert (node.outputs[0].name, node.name, node.absorbed) == ("b", "b", ("t",))
    x = np.array([-1, 2], np.float32)
    assert np.array_equal(done.run({"x": x})["out"], program.run({"x": x})["out"])


def test_replace_value_drops_what_is_dead() -> None:
    program = _chain()
    rw = Rewriter(program.main, program)
    neg = next(n for n in rw.nodes() if n.op.name == "neg")
    source = neg.inputs[0]
    assert source is not None
    assert rw.only_user(source) is neg
    rw.replace_value(neg.outputs[0], source)
    assert [n.name for n in rw.users(source)] == ["b", "c"]
    assert _names(_done(program, rw)) == ["relu", "relu"]


def test_handles_stay_valid() -> None:
    program = _chain()
    rw = Rewriter(program.main, program)
    first, second, third = rw.nodes()
    new = rw.op("abs", first.inputs[0], before=first)
    rw.replace_value(first.outputs[0], new)
    now = rw.current(second)
    assert now is not None
    assert now.inputs == (new,)
    assert rw.producer(third.inputs[0]) is now
    rw.remove(first)
    assert rw.current(first) is None
    with pytest.raises(ValueError, match="was removed"):
        rw.remove(first)
    with pytest.raises(ValueError, match="in use"):
        rw.remove(second)


def test_outputs_are_uses() -> None:
    pb, b = _start()
    x = b.input("x", "f32", [2])
    y = b.op("neg", x)
    b.finish([y, y, x], ["a", "b", "c"])
    program = pb.finish(["main"])
    rw = Rewriter(program.main, program)
    assert rw.is_output(y)
    assert rw.only_user(x) is None
    rw.replace_value(y, rw.op("abs", x))
    done = _done(program, rw)
    out = done.run({"x": np.array([-1, 1], np.float32)})
    assert out["a"].tolist() == out["b"].tolist() == [1, 1]
    assert done.main.output_names == ("a", "b", "c")


def test_order_is_repaired() -> None:
    pb, b = _start()
    x = b.input("x", "f32", [2])
    y = b.op("neg", x, name="early")
    z = b.op("abs", x, name="late")
    b.finish([y, z], ["y", "z"])
    program = pb.finish(["main"])
    rw = Rewriter(program.main, program)
    rw.replace_value(x, x)
    early = next(rw.nodes())
    rw.replace_node(early, "neg", z)
    done = _done(program, rw)
    assert [n.name for n in done.main.nodes] == ["late", "early"]


def test_a_node_that_needs_itself_is_refused() -> None:
    program = _chain()
    rw = Rewriter(program.main, program)
    first, _, third = rw.nodes()
    rw.replace_node(first, "relu", third.outputs[0])
    with pytest.raises(ValueError, match="needs its own result"):
        rw.finish()


def test_a_replacement_must_fit() -> None:
    pb, b = _start()
    x = b.input("x", "f32", ["n", 4])
    y = b.op("reduce_sum", x, axes=(1,), keepdims=True)
    b.finish([b.op("neg", y)], ["out"])
    program = pb.finish(["main"])
    rw = Rewriter(program.main, program)
    node = next(rw.nodes())
    with pytest.raises(ValueError, match="cannot stand for"):
        rw.replace_node(node, "reduce_sum", x, axes=(1,), keepdims=False)


def _read_program() -> Program:
    """The size of an iota is an element of a node's output."""
    pb, b = _start()
    k = b.input("k", "i64", [2])
    doubled = b.op("mul", k, b.const(np.array([2, 2])), name="doubled")
    size = b.read(doubled, 1, bound=100)
    b.finish([b.op("iota", length=size)], ["out"])
    return pb.finish(["main"])


def test_reads_keep_their_producer_alive() -> None:
    program = _read_program()
    rw = Rewriter(program.main, program)
    doubled = program.main.nodes[0].outputs[0]
    assert rw.is_read(doubled)
    assert not rw.is_read(program.main.inputs[0])
    rw.op("neg", doubled)  # dead
    done = _done(program, rw)
    assert _names(done) == ["mul", "iota"]


def test_reads_follow_a_replaced_value() -> None:
    program = _read_program()
    rw = Rewriter(program.main, program)
    mul = next(rw.nodes())
    k = mul.inputs[0]
    assert k is not None
    rw.replace_value(mul.outputs[0], rw.op("add", k, k, before=mul, outputs=["sum"]))
    done = _done(program, rw)
    assert _names(done) == ["add", "iota"]
    (atom,) = done.main.outputs[0].type.shape[0].atoms()
    assert atom == Read("sum", 1)
    assert done.main.bounds[atom] == 100
    assert done.run({"k": np.array([1, 2])})["out"].tolist() == [0, 1, 2, 3]


def test_reads_of_a_constant_fold() -> None:
    program = _read_program()
    rw = Rewriter(program.main, program)
    mul = next(rw.nodes())
    rw.replace_value(mul.outputs[0], rw.const(np.array([4, 6])))
    done = _done(program, rw)
    assert _names(done) == ["iota"]
    assert done.main.outputs[0].type.static_shape() == (6,)
    assert not done.main.bounds


def test_births_follow_a_replaced_node() -> None:
    pb, b = _start()
    x = b.input("x", "bool", [3])
    rows = b.op("nonzero", x, name="rows")
    tail = b.op("reshape", rows, shape=(rows.type.shape[1],), name="flat")
    b.finish([b.op("neg", tail)], ["out"])
    program = pb.finish(["main"])
    rw = Rewriter(program.main, program)
    rw.replace_value(rows, rw.const(np.array([[0, 2]])))
    done = _done(program, rw)
    assert done.main.outputs[0].type.static_shape() == (2,)
    assert done.run({"x": np.ones(3, np.bool_)})["out"].tolist() == [0, -2]


def test_substituted_symbols_reach_everything() -> None:
    pb, b = _start()
    x = b.input("x", "f32", ["n", 3])
    n = x.type.shape[0]
    y = b.op("reshape", x, shape=(n * 3,))
    b.finish([b.op("expand", y, shape=(2, n * 3))], ["out"])
    program = pb.finish(["main"])
    rw = Rewriter(program.main, program)
    (atom,) = n.atoms()
    rw.substitute(atom, 5)
    done = _done(program, rw)
    assert [v.type.static_shape() for v in (*done.main.inputs, *done.main.outputs)] == [
        (5, 3),
        (2, 15),
    ]


def test_guards_of_dead_nodes_go() -> None:
    pb, b = _start()
    x = b.input("x", "f32", ["n"])
    y = b.input("y", "f32", ["m"])
    z = b.op("add", x, y, name="sum")
    b.finish([z], ["out"])
    program = pb.finish(["main"])
    rw = Rewriter(program.main, program)
    rw.set_outputs([x])
    done = rw.finish()
    assert done.nodes == ()


def test_dtype_and_rank_are_checked() -> None:
    program = _chain()
    rw = Rewriter(program.main, program)
    node = next(rw.nodes())
    with pytest.raises(ValueError, match="cannot stand for"):
        rw.replace_value(node.outputs[0], rw.op("cast", node.inputs[0], to=DType.I32))


def _long(count: int) -> Program:
    pb, b = _start()
    y: Any = b.input("x", "f32", [Dim.const(2)])
    for i in range(count):
        y = b.op("neg" if i % 2 else "abs", y)
    b.finish([y], ["out"])
    return pb.finish(["main"])


def _replace_all(program: Program) -> None:
    rw = Rewriter(program.main, program)
    for node in rw.nodes():
        if node.op.name == "neg":
            rw.replace_node(node, "relu", node.inputs[0])
    rw.finish()


def _lines_run(work: Callable[[], object]) -> int:
    """The number of Python lines that `work` executes, counting each iteration."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def test_many_edits_stay_linear() -> None:
    programs = [_long(n) for n in (40, 50, 400)]
    _replace_all(programs[0])  # fill the caches
    small, large = (_lines_run(functools.partial(_replace_all, p)) for p in programs[1:])
    assert small > 50 * 20
    # Eight times the nodes; quadratic work would take 64 times as many lines.
    assert large < 8.5 * small


def test_a_constant_in_place_of_a_tensor_bounds_the_size() -> None:
    pb, b = _start()
    x = b.input("n", "i64", [])
    limit = b.op("relu", x, name="limit")
    y = b.op("range", np.int64(0), limit, np.int64(1), name="steps")
    b.finish([b.op("neg", y, name="last")], ["out"])
    program = pb.finish(["main"])
    assert not program.main.bounds
    rw = Rewriter(program.main, program)
    rw.replace_value(limit, rw.const(np.int64(3), "three"))
    done = _done(program, rw)
    assert [str(bound) for bound in done.main.bounds.values()] == ["3"]
    assert done.run({"n": np.int64(7)})["out"].tolist() == [0, -1, -2]
