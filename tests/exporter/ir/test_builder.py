# SPDX-License-Identifier: Apache-2.0
"""Building functions: names, constants, reads, and bodies with captures."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter.ir import Builder, ProgramBuilder, verify
from samara.exporter.types import Born, Dim, DType, Read, ShapeError


def _start() -> tuple[ProgramBuilder, Builder]:
    pb = ProgramBuilder()
    return pb, pb.function("main")


def test_names_are_unique() -> None:
    pb, b = _start()
    x = b.input("x", "f32", [2])
    names = [b.op("neg", x, name="x").name, b.op("neg", x, name="x").name, b.const(0, "x").name]
    assert names == ["x.2", "x.3", "x.4"]
    assert pb.function("main").name == "main.2"


def test_scalars_are_weak() -> None:
    _, b = _start()
    x = b.input("x", "f16", [2])
    y = b.op("mul", x, 2)
    assert y.type.dtype is DType.F16
    (two,) = [v for v in b.nodes[0].inputs if v is not None and v.is_constant]
    assert two.type.dtype is DType.F16


def test_several_outputs() -> None:
    _, b = _start()
    x = b.input("x", "f32", [5])
    p, q = b.op("split", x, axis=0, sizes=(2, 3), outputs=["p", "q"])
    assert (p.name, q.name) == ("p", "q")
    assert q.type.static_shape() == (3,)


def test_rules_and_attributes_are_checked() -> None:
    _, b = _start()
    x = b.input("x", "f32", [2])
    with pytest.raises(ShapeError):
        b.op("add", x, b.input("y", "f32", [3]))
    with pytest.raises(TypeError, match="no attribute"):
        b.op("neg", x, axis=1)


def test_reads_fold_on_constants() -> None:
    _, b = _start()
    assert b.read(b.const(np.array([3, 4])), 1) == 4
    assert b.read(b.const(np.float32(1)), 0) == 0x3F800000
    k = b.input("k", "i64", [2])
    atom = b.read(k, 1, bound=9).sole_atom()
    assert atom == Read("k", 1)
    assert atom is not None
    assert b.bounds[atom] == 9
    with pytest.raises(ShapeError, match="cannot be read"):
        b.read(b.input("u", "u8", [1]), 0)


def test_born_bounds_are_collected() -> None:
    pb, b = _start()
    x = b.input("x", "f32", ["n", 2])
    rows = b.op("nonzero", x, name="rows")
    assert b.bounds == {Born("rows", 0, 1): x.type.shape[0] * 2}
    b.finish([rows])
    verify(pb.finish(["main"]))


def test_bodies_capture_what_they_use() -> None:
    pb, b = _start()
    flag = b.input("flag", "bool", [])
    x = b.input("x", "f32", ["n"])
    y = b.input("y", "f32", ["n"])
    then, orelse = b.child("then"), b.child("else")
    a, c = then.op("add", x, y), orelse.op("neg", y)
    (out,) = b.if_(flag, (then, [a]), (orelse, [c]))
    b.finish([out], ["out"])
    program = pb.finish(["main"])
    verify(program)
    # Both branches take the same captures, in one order.
    assert [v.name for v in program.functions["main/then"].inputs] == ["x", "y"]
    assert [v.name for v in program.functions["main/else"].inputs] == ["x", "y"]
    assert out.type == x.type
    one = np.ones(2, np.float32)
    run = program.run({"flag": np.array(True), "x": one, "y": one})
    assert run["out"].tolist() == [2, 2]


def test_captures_reach_through_two_levels() -> None:
    pb, b = _start()
    flag = b.input("flag", "bool", [])
    x = b.input("x", "f32", ["n"])
    rows = b.op("nonzero", x, name="rows")
    outer, other = b.child("then"), b.child("else")
    inner, inner_other = outer.child("then"), outer.child("else")
    # The born dim of `rows` becomes a symbol inside.
    deep = inner.op("neg", rows)
    (mid,) = outer.if_(flag, (inner, [deep]), (inner_other, [inner_other.op("abs", rows)]))
    (out,) = b.if_(flag, (outer, [mid]), (other, [other.op("abs", rows)]))
    b.finish([out], ["out"])
    program = pb.finish(["main"])
    verify(program)
    feeds = {"flag": np.array(True), "x": np.array([1, 0, 2], np.float32)}
    assert program.run(feeds)["out"].tolist() == [[0, -2]]


def test_reads_of_surrounding_values() -> None:
    pb, b = _start()
    flag = b.input("flag", "bool", [])
    k = b.input("k", "i64", [1])
    size = b.read(k, 0, bound=6)
    then, orelse = b.child("then"), b.child("else")
    long = then.op("iota", length=size)
    short = orelse.op("iota", length=Dim.const(1))
    (out,) = b.if_(flag, (then, [long]), (orelse, [short]))
    b.finish([out], ["out"])
    program = pb.finish(["main"])
    verify(program)
    for value, expected in ((True, [0, 1, 2]), (False, [0])):
        feeds = {"flag": np.array(value), "k": np.array([3])}
        assert program.run(feeds)["out"].tolist() == expected


def test_loops_capture() -> None:
    pb, b = _start()
    x = b.input("x", "f32", ["n"])
    step = b.input("step", "f32", ["n"])
    body = b.child("body")
    i = body.input("i", "i64", [])
    body.input("go", "bool", [])
    acc = body.input("acc", "f32", ["n"])
    more = body.op("add", acc, step)
    (last,) = b.loop(None, b.const(np.array(True)), [x], (body, [body.op("lt", i, 2), more]))
    b.finish([last], ["last"])
    program = pb.finish(["main"])
    verify(program)
    one = np.ones(2, np.float32)
    assert program.run({"x": one, "step": one * 2})["last"].tolist() == [7, 7]


def test_foreign_values_are_refused() -> None:
    pb, b = _start()
    x = b.input("x", "f32", [2])
    with pytest.raises(ValueError, match="does not belong to function other"):
        pb.function("other").op("neg", x)


def test_unreached_functions_are_left_out() -> None:
    pb, b = _start()
    b.finish([b.input("x", "f32", [2])])
    other = pb.function("other")
    other.finish([other.input("x", "f32", [2])])
    assert list(pb.finish(["main"]).functions) == ["main"]


def test_a_finished_function_goes_on() -> None:
    """Reopening extends the function; under another name it extends a copy."""
    b = ProgramBuilder().function("main")
    x = b.input("x", "f32", ["n", "m.7"])
    b.finish([b.op("neg", x, outputs=["y"])], ["y"])
    program = b.program.finish(["main"])
    again = ProgramBuilder.of(program)
    assert str(again.fresh_symbol("m")) == "m.8"  # an unused symbol
    more, copy = again.reopen(program.main), again.reopen(program.main, "main")
    assert (more.name, copy.name) == ("main", "main.2")
    y = more.nodes[0].outputs[0]
    assert more.op("exp", y, outputs=["y"]).name == "y.2"
    more.finish([y, more.nodes[-1].outputs[0]], ["y", "z"])
    copy.finish([y], ["y"])
    made = again.finish(["main", "main.2"])
    verify(made)
    assert [len(made.functions[n].nodes) for n in ("main", "main.2")] == [2, 1]
    assert len(program.main.nodes) == 1
    given = np.ones((1, 2), np.float32)
    assert made.run({"x": given}, function="main.2")["y"].tolist() == [[-1, -1]]


def test_carried_values_of_data_dependent_size() -> None:
    pb, b = _start()
    x = b.input("x", "f32", ["n", 2])
    rows = b.op("nonzero", x, name="rows")
    child = b.child("body")
    i, go = child.input("i", "i64", []), child.input("go", "bool", [])
    formal = child.formal("rows", rows.type)
    assert formal.type.shape[0] == 2
    assert not isinstance(formal.type.shape[1].sole_atom(), Born)
    assert child.translate(rows.type.shape[1]) == formal.type.shape[1]
    same = child.formal("x", x.type)
    assert same.type == x.type
    more = child.op("add", formal, i)
    made = b.loop(b.const(np.int64(3)), None, [rows, x], (child, [go, more, same]))
    assert [v.type for v in made] == [rows.type, x.type]
    b.finish(made)
    program = pb.finish(["main"])
    verify(program)
    got = program.run({"x": np.eye(2, dtype=np.float32)})
    np.testing.assert_array_equal(got["loop"], np.array([[3, 4], [3, 4]]))


def test_forgotten_functions_free_their_names() -> None:
    pb, b = _start()
    child = b.child("then")
    inner = child.child("body")
    inner.finish([inner.const(np.float32(1))])
    pb.forget(child.name)
    assert pb.functions == {}
    assert b.child("then").name == "main/then"
    assert b.child("then").child("body").name == "main/then.2/body"
