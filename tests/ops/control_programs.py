# SPDX-License-Identifier: Apache-2.0
"""Programs with control flow and data-dependent sizes, what to feed them, and whether they grow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from samara.exporter.ir import Program
from samara.exporter.ir.builder import Builder, ProgramBuilder
from samara.exporter.ir.program import Value
from samara.exporter.testing import Array
from samara.exporter.types import as_dim

Feeds = Mapping[str, Array]


@dataclass(frozen=True)
class Controlled:
    """A program, feeds for it, and bounds by name under which a run allocates nothing.

    growing: whether the program grows without those bounds.
    """

    program: Program
    feeds: tuple[Feeds, ...]
    growing: bool = False
    bounds: Mapping[str, int] = field(default_factory=dict)


def _f(*values: float) -> Array:
    return np.array(values, np.float32)


def _i(value: int) -> Array:
    return np.array(value, np.int64)


def _b(value: bool) -> Array:
    return np.array(value)


def _done(b: Builder, outputs: Mapping[str, Value]) -> Program:
    main = b.finish(list(outputs.values()), list(outputs))
    return b.program.finish([main.name])


def _body(
    b: Builder, **carried: tuple[str, list[Any]]
) -> tuple[Builder, Value, Value, list[Value]]:
    body = b.child("body")
    i, go = body.input("i", "i64", []), body.input("go", "bool", [])
    return body, i, go, [body.input(k, *kind) for k, kind in carried.items()]


def if_of_equal_shapes() -> Controlled:
    b = ProgramBuilder().function("main")
    flag, x, y = b.input("flag", "bool", []), b.input("x", "f32", ["n"]), b.input("y", "f32", ["n"])
    then, orelse = b.child("then"), b.child("else")
    yes = [then.op("add", x, y), then.op("mul", x, 2.0)]
    no = [orelse.op("neg", y), x]
    p, q = b.if_(flag, (then, yes), (orelse, no))
    program = _done(b, {"p": b.op("exp", p), "q": q})
    feeds = [
        {"flag": _b(flag), "x": np.linspace(0, 1, n, dtype=np.float32), "y": np.ones(n, np.float32)}
        for flag, n in ((True, 3), (False, 3), (False, 8), (True, 1), (True, 0))
    ]
    return Controlled(program, tuple(feeds))


def if_of_other_shapes() -> Controlled:
    """Its output has n or 2n elements, so at most 2n."""
    b = ProgramBuilder().function("main")
    flag, x = b.input("flag", "bool", []), b.input("x", "f32", [5])
    then, orelse = b.child("then"), b.child("else")
    (y,) = b.if_(flag, (then, [then.op("concat", x, x, axis=0)]), (orelse, [orelse.op("abs", x)]))
    total = b.op("reduce_sum", y, axes=(0,))
    feeds = tuple({"flag": _b(f), "x": _f(1, -2, 3, -4, 5)} for f in (True, False, True))
    return Controlled(_done(b, {"y": b.op("neg", y), "total": total}), feeds)


def nested_ifs() -> Controlled:
    b = ProgramBuilder().function("main")
    p, q, x = b.input("p", "bool", []), b.input("q", "bool", []), b.input("x", "f32", ["n"])
    rows = b.op("nonzero", x, name="rows")
    outer, other = b.child("then"), b.child("else")
    inner, inner_other = outer.child("then"), outer.child("else")
    deep = inner.op("neg", rows)
    (mid,) = outer.if_(q, (inner, [deep]), (inner_other, [inner_other.op("abs", rows)]))
    (y,) = b.if_(p, (outer, [mid]), (other, [other.op("mul", rows, 3)]))
    feeds = tuple(
        {"p": _b(p), "q": _b(q), "x": _f(1, 0, 2, 0, 5)[:n]}
        for p, q, n in ((True, True, 5), (True, False, 3), (False, True, 2), (True, True, 4))
    )
    return Controlled(_done(b, {"y": y}), feeds)


def counted_loop() -> Controlled:
    """x = x * 1.5 + step, `trips` times, a number that is fed."""
    b = ProgramBuilder().function("main")
    trips, x = b.input("trips", "i64", []), b.input("x", "f32", ["n"])
    step = b.input("step", "f32", ["n"])
    body, _, go, (acc,) = _body(b, acc=("f32", ["n"]))
    more = body.op("add", body.op("mul", acc, 1.5), step)
    (last,) = b.loop(trips, None, [x], (body, [go, more]))
    feeds = tuple(
        {"trips": _i(t), "x": np.arange(n, dtype=np.float32), "step": np.ones(n, np.float32)}
        for t, n in ((4, 3), (0, 3), (1, 17), (7, 2), (-3, 2))
    )
    return Controlled(_done(b, {"last": b.op("sqrt", last)}), feeds)


def while_loop() -> Controlled:
    """Doubles until the sum exceeds 100."""
    b = ProgramBuilder().function("main")
    x = b.input("x", "f32", [3])
    body, _, _, (acc,) = _body(b, acc=("f32", [3]))
    more = body.op("mul", acc, 2.0)
    total = body.op("reduce_sum", more, axes=(0,))
    go = body.op("le", total, 100.0)
    (last,) = b.loop(None, b.const(np.array(True)), [x], (body, [go, more]))
    return Controlled(_done(b, {"last": last}), ({"x": _f(1, 2, 3)}, {"x": _f(90, 90, 90)}))


def stacked_loop() -> Controlled:
    """Two carried values that change places, and a stacked one with a constant number of trips."""
    b = ProgramBuilder().function("main")
    x, y = b.input("x", "f32", [4]), b.input("y", "f32", [4])
    body, i, go, (p, q) = _body(b, p=("f32", [4]), q=("f32", [4]))
    scaled = body.op("mul", p, body.op("cast", i, to="f32"))
    made = b.loop(b.const(_i(5)), None, [x, y], (body, [go, q, body.op("add", p, q), scaled]))
    feeds = ({"x": _f(1, 2, 3, 4), "y": _f(5, 6, 7, 8)},)
    return Controlled(_done(b, dict(zip(("p", "q", "rows"), made, strict=True))), feeds)


def stacked_while() -> Controlled:
    """How many rows are stacked only the data say."""
    b = ProgramBuilder().function("main")
    x = b.input("x", "f32", [2])
    body, _, _, (acc,) = _body(b, acc=("f32", [2]))
    more = body.op("mul", acc, 3.0)
    go = body.op("lt", body.op("reduce_max", more, axes=(0,)), 1000.0)
    last, rows = b.loop(None, b.const(np.array(True)), [x], (body, [go, more, acc]))
    program = _done(b, {"last": last, "rows": rows})
    feeds = ({"x": _f(1, 2)}, {"x": _f(500, 1)}, {"x": _f(0.01, 0.02)})
    return Controlled(program, feeds, True, {_key(rows): 16})


def growing_carry() -> Controlled:
    """A list that gets one element per trip."""
    b = ProgramBuilder().function("main")
    trips, x = b.input("trips", "i64", []), b.input("x", "f32", [2])
    body, i, go, (acc,) = _body(b, acc=("f32", ["k"]))
    element = body.op("reshape", body.op("cast", i, to="f32"), shape=(1,))
    (last,) = b.loop(trips, None, [x], (body, [go, body.op("concat", acc, element, axis=0)]))
    doubled = b.op("mul", last, 2.0)
    feeds = tuple({"trips": _i(t), "x": _f(7, 8)} for t in (0, 1, 6, 3))
    # Carried values cannot be bounded from outside; the loop's own bound is by trips.
    return Controlled(_done(b, {"y": doubled}), feeds, True)


def stack_into_loop() -> Controlled:
    """How many rows the second loop is given only the first one's trips say."""
    b = ProgramBuilder().function("main")
    trips, x = b.input("trips", "i64", []), b.input("x", "f32", [3])
    body, _, go, (acc,) = _body(b, acc=("f32", [3]))
    _, rows = b.loop(trips, None, [x], (body, [go, body.op("mul", acc, 0.5), acc]))
    other, i, on, (total,) = _body(b, total=("f32", [3]))
    more = other.op("add", total, other.op("gather", rows, i))
    (last,) = b.loop(trips, None, [x], (other, [on, more]))
    feeds = tuple({"trips": _i(t), "x": _f(1, 2, 3)} for t in (3, 0, 7, 1))
    return Controlled(_done(b, {"last": last}), feeds, True, {_key(rows): 9})


def nested_loops() -> Controlled:
    b = ProgramBuilder().function("main")
    x = b.input("x", "f32", ["n"])
    outer, i, go, (acc,) = _body(b, acc=("f32", ["n"]))
    inner, j, on, (part,) = _body(outer, part=("f32", ["n"]))
    # A value of the outer body and one of main, both captured.
    step = inner.op("mul", x, inner.op("cast", inner.op("add", i, j), to="f32"))
    (summed,) = outer.loop(
        outer.op("add", i, 1), None, [acc], (inner, [on, inner.op("add", part, step)])
    )
    last, rows = b.loop(b.const(_i(3)), None, [x], (outer, [go, summed, summed]))
    feeds = tuple({"x": np.linspace(1, 2, n, dtype=np.float32)} for n in (2, 9, 1))
    return Controlled(_done(b, {"last": last, "rows": rows}), feeds)


def loop_in_if() -> Controlled:
    b = ProgramBuilder().function("main")
    flag, x = b.input("flag", "bool", []), b.input("x", "f32", [3])
    then, orelse = b.child("then"), b.child("else")
    body, _, go, (acc,) = _body(then, acc=("f32", [3]))
    (last,) = then.loop(then.const(_i(4)), None, [x], (body, [go, body.op("mul", acc, x)]))
    (y,) = b.if_(flag, (then, [last]), (orelse, [orelse.op("abs", x)]))
    feeds = tuple({"flag": _b(f), "x": _f(1, -2, 3)} for f in (True, False))
    return Controlled(_done(b, {"y": y}), feeds)


def calls() -> Controlled:
    """One function called twice with other sizes, and once through another."""
    pb = ProgramBuilder()
    soft = pb.function("soft")
    x = soft.input("x", "f32", ["n", "m"])
    soft.finish([soft.op("softmax", x), soft.op("reduce_max", x, axes=(1,))])
    twice = pb.function("twice")
    u = twice.input("u", "f32", ["k", "k"])
    first, _ = twice.op("call", u, body="soft")
    second, top = twice.op("call", first, body="soft")
    twice.finish([second, top])
    b = pb.function("main")
    p, q = b.input("p", "f32", ["a", 4]), b.input("q", "f32", ["c", "c"])
    one, top = b.op("call", p, body="soft")
    two, top2 = b.op("call", q, body="twice")
    rng = np.random.default_rng(7)
    feeds = tuple(
        {
            "p": rng.standard_normal((a, 4), dtype=np.float32),
            "q": rng.standard_normal((c, c), dtype=np.float32),
        }
        for a, c in ((2, 3), (5, 1), (1, 6))
    )
    return Controlled(_done(b, {"one": one, "top": top, "two": two, "top2": top2}), feeds)


def bounded_nonzero() -> Controlled:
    """nonzero has at most as many columns as its input has elements."""
    b = ProgramBuilder().function("main")
    x = b.input("x", "f32", ["n", 3])
    rows = b.op("nonzero", x, name="rows")
    count = rows.type.shape[1]
    first = b.op("slice", rows, begin=(0, 0), end=(1, count), step=(1, 1))
    picked = b.op(
        "gather",
        x,
        b.op("reshape", first, shape=(count,)),
    )
    feeds = (
        {"x": np.eye(3, dtype=np.float32)},
        {"x": np.zeros((2, 3), np.float32)},
        {"x": np.ones((4, 3), np.float32)},
        {"x": np.ones((0, 3), np.float32)},
    )
    return Controlled(_done(b, {"rows": rows, "picked": picked}), feeds)


def float_range() -> Controlled:
    """How long it is only the data say; `bounds` gives room."""
    b = ProgramBuilder().function("main")
    stop = b.input("stop", "f32", [])
    made = b.op("range", b.const(np.float32(0)), stop, b.const(np.float32(0.5)), name="made")
    feeds = tuple({"stop": np.array(v, np.float32)} for v in (2, 0, 3.3, -1))
    return Controlled(_done(b, {"y": b.op("mul", made, 2.0)}), feeds, True, {_key(made): 40})


def read_size() -> Controlled:
    """A size that is fed as a number: reshape and iota by it."""
    b = ProgramBuilder().function("main")
    size, x = b.input("size", "i64", [1]), b.input("x", "f32", [12])
    n = b.read(size, 0)
    table = b.op("reshape", x, shape=(n, as_dim(12) // n))
    rows = b.op("reduce_sum", table, axes=(1,))
    feeds = tuple(
        {"size": np.array([k]), "x": np.arange(12, dtype=np.float32)} for k in (3, 4, 1, 12)
    )
    program = _done(b, {"rows": rows, "count": b.op("iota", length=n)})
    return Controlled(program, feeds, True, {"size": 12})


def _key(value: Value) -> str:
    """The name by which `bounds` knows the data-dependent size of the value."""
    atom = value.type.shape[0].sole_atom()
    return str(getattr(atom, "key", value.name))


PROGRAMS: tuple[Callable[[], Controlled], ...] = (
    *(if_of_equal_shapes, if_of_other_shapes, nested_ifs, counted_loop, while_loop, stacked_loop),
    *(stacked_while, stack_into_loop, growing_carry, nested_loops, loop_in_if, calls),
    *(bounded_nonzero, float_range, read_size),
)
