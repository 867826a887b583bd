# SPDX-License-Identifier: Apache-2.0
"""Gradients of counted loops in every context; other loops are refused with the author's line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.exporter.ir.gradients import check, normal, squared, with_loss
from tests.ops import control_programs

from samara.exporter.ir import ProgramBuilder, Source, backward, verify
from samara.exporter.types import UnsupportedError


def counted_loop_of_floats() -> control_programs.Controlled:
    """x = sin(x) * step; the number of steps is an input, which may be 0 or negative."""
    b = ProgramBuilder().function("main")
    trips, x = b.input("trips", "i64", []), b.input("x", "f32", ["n"])
    step = b.input("step", "f32", ["n"])
    body = b.child("body")
    _, go, acc = (
        body.input("i", "i64", []),
        body.input("go", "bool", []),
        body.input("a", "f32", ["n"]),
    )
    more = body.op("mul", body.op("sin", acc), step)
    (last,) = b.loop(trips, None, [x], (body, [go, more]))
    b.finish([last], ["last"])
    feeds = tuple(
        {"trips": np.array(t), "x": normal(n), "step": 1 + normal(n, seed=1) / 4}
        for t, n in ((3, 3), (0, 3), (1, 2), (-2, 2))
    )
    return control_programs.Controlled(b.program.finish(["main"]), feeds)


def if_in_loop() -> control_programs.Controlled:
    """Every other step squares, with a condition input that stays true."""
    b = ProgramBuilder().function("main")
    x, w = b.input("x", "f32", [2]), b.input("w", "f32", [2])
    body = b.child("body")
    i, go, acc = (
        body.input("i", "i64", []),
        body.input("go", "bool", []),
        body.input("a", "f32", [2]),
    )
    odd = body.op("eq", body.op("mod", i, 2), 1)
    then, orelse = body.child("then"), body.child("else")
    (more,) = body.if_(
        odd, (then, [then.op("mul", acc, acc)]), (orelse, [orelse.op("mul", acc, w)])
    )
    yes = body.op("logical_and", go, body.const(np.array(True)))
    last, rows = b.loop(
        b.const(np.array(4)), b.const(np.array(True)), [x], (body, [yes, more, body.op("exp", acc)])
    )
    b.finish([last, rows], ["last", "rows"])
    feeds = ({"x": normal(2) / 2, "w": 1 + normal(2, seed=1) / 4},)
    return control_programs.Controlled(b.program.finish(["main"]), feeds)


LOOPS = (
    counted_loop_of_floats,
    if_in_loop,
    control_programs.stacked_loop,
    control_programs.nested_loops,
)


@pytest.mark.parametrize("make", LOOPS, ids=lambda m: m.__name__)
def test_loops(make: Callable[[], control_programs.Controlled], tmp_path: Path) -> None:
    controlled = make()
    program = with_loss(controlled.program)
    wrt = [v.name for v in program.main.inputs if v.type.dtype.is_float]
    check(program, controlled.feeds, wrt, tmp_path)


def test_a_loop_outside_the_branch_that_asks() -> None:
    """The loop of the enclosing function stacks, the branch captures the stack."""
    b = ProgramBuilder().function("main")
    flag, trips = b.input("flag", "bool", []), b.input("trips", "i64", [])
    x = b.input("x", "f32", ["n"])
    body = b.child("body")
    _, go, acc = (
        body.input("i", "i64", []),
        body.input("go", "bool", []),
        body.input("a", "f32", ["n"]),
    )
    (last,) = b.loop(trips, None, [x], (body, [go, body.op("mul", acc, x)]))
    then, orelse = b.child("then"), b.child("else")
    (dx,) = backward(then, [squared(then, last)], [then.const(np.ones((), np.float32))], [x])
    assert dx is not None
    (out,) = b.if_(flag, (then, [dx]), (orelse, [orelse.op("neg", x)]))
    b.finish([out], ["out"])
    program = b.program.finish(["main"])
    verify(program)
    given = np.array([0.5, -1.5], np.float32)
    feeds = {"flag": np.array(True), "trips": np.array(2), "x": given}
    np.testing.assert_allclose(program.run(feeds)["out"], 6 * given**5, rtol=1e-6)
    assert program.run({**feeds, "flag": np.array(False)})["out"].tolist() == [-0.5, 1.5]


def test_a_loop_stacks_only_what_the_way_back_reads() -> None:
    """The gradient of a running sum needs no values of its steps."""
    b = ProgramBuilder().function("main")
    x, s = b.input("x", "f32", [2]), b.input("s", "f32", [2])
    body = b.child("body")
    _, go, acc = (
        body.input("i", "i64", []),
        body.input("go", "bool", []),
        body.input("a", "f32", [2]),
    )
    (last,) = b.loop(b.const(np.array(3)), None, [s], (body, [go, body.op("add", acc, x)]))
    b.finish([squared(b, last)], ["loss"])
    made = b.program.finish(["main"]).gradient("loss", ["x"])
    loops = [n for n in made.main.nodes if n.op.name == "loop"]
    assert [len(n.outputs) for n in loops] == [1, 2]
    out = made.run({"x": np.array([1, 2], np.float32), "s": np.zeros(2, np.float32)})
    assert out["grad/x"].tolist() == [18, 36]


def test_gradient_of_a_gradient_of_a_loop() -> None:
    """The second gradient: of x**8, 8 x**7, and of its square by x again."""
    b = ProgramBuilder().function("main")
    x = b.input("x", "f32", [])
    body = b.child("body")
    _, go, acc = (
        body.input("i", "i64", []),
        body.input("go", "bool", []),
        body.input("a", "f32", []),
    )
    (last,) = b.loop(b.const(np.array(3)), None, [x], (body, [go, body.op("mul", acc, acc)]))
    b.finish([last], ["loss"])
    once = b.program.finish(["main"]).gradient("loss", ["x"])
    twice = once.gradient("grad/x", ["x"])
    verify(twice)
    out = twice.run({"x": np.float32(1.5)})
    np.testing.assert_allclose(out["grad/x"], 8 * 1.5**7, rtol=1e-6)
    np.testing.assert_allclose(out["grad/x.2"], 56 * 1.5**6, rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (control_programs.while_loop, "a loop that ends on a condition"),
        (
            control_programs.growing_carry,
            "'acc' enters a step as f32[k] and leaves it as f32[k + 1]",
        ),
    ],
)
def test_other_loops_are_refused_at_their_line(
    make: Callable[[], control_programs.Controlled], why: str
) -> None:
    program = with_loss(make().program)
    nodes = [replace(n, source=Source("model.py", 31)) for n in program.main.nodes]
    program = program.with_function(replace(program.main, nodes=tuple(nodes)))
    with pytest.raises(UnsupportedError) as caught:
        program.gradient("loss", ["x"])
    assert why in str(caught.value)
    assert "model.py:31: the gradient of a loop" in str(caught.value)
    assert caught.value.op == "loop"


def test_a_condition_that_depends_on_data_is_refused() -> None:
    b = ProgramBuilder().function("main")
    x = b.input("x", "f32", [2])
    body = b.child("body")
    _, go, acc = (
        body.input("i", "i64", []),
        body.input("go", "bool", []),
        body.input("a", "f32", [2]),
    )
    more = body.op("mul", acc, 2.0)
    small = body.op("lt", body.op("reduce_max", more, axes=(0,)), 10.0)
    on = body.op("logical_and", go, small)
    (last,) = b.loop(b.const(np.array(3)), None, [x], (body, [on, more]))
    b.finish([squared(b, last)], ["loss"])
    with pytest.raises(UnsupportedError, match="ends on a condition"):
        b.program.finish(["main"]).gradient("loss", ["x"])
