# SPDX-License-Identifier: Apache-2.0
"""Elements of tensors by their places: each answer is what the interpreter computes there, or an open place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from samara.exporter.ir import Builder, Function, Node, ProgramBuilder, Value
from samara.exporter.passes._elements import Element, Elements, Facts, Place
from samara.exporter.types import Dim, DType, Read, Sym, as_dim

P, S = Dim.atom(Sym("p")), Dim.atom(Sym("s"))
I, J = Dim.atom(Sym("i")), Dim.atom(Sym("j"))
WITHIN = (I, S - 1 - I, J, P + S - 1 - J, P)
SEEN, HIDDEN = Facts(*WITHIN, P + I - J), Facts(*WITHIN, J - P - I - 1)
LOW = np.float32(-3e38)


class Built:
    """A function whose inputs have the sizes p and s, and the elements of its tensors."""

    def __init__(self) -> None:
        self.builder = ProgramBuilder().function("main")
        self.past = self.builder.input("past", "f32", ["p"])
        self.new = self.builder.input("new", "f32", ["s"])
        self.count = self.builder.input("count", "i64", [])

    def at(self, value: Value, place: Sequence[Dim | int], facts: Facts = SEEN) -> Element:
        makers = {v: n for n in self.builder.nodes for v in n.outputs}

        def producer(v: Value | None) -> Node | None:
            return None if v is None else makers.get(v)

        return Elements(producer, facts).at(value, [as_dim(d) for d in place])


def op(b: Built | Builder, name: str, *inputs: Any, **attrs: Any) -> Value:
    made: Value = (b.builder if isinstance(b, Built) else b).op(name, *inputs, **attrs)
    return made


def rows(b: Built) -> Value:
    """Positions of the new rows, [s, 1]."""
    return op(b, "reshape", op(b, "iota", length=S, start=P), shape=(S, 1))


def keys(b: Built) -> Value:
    return op(b, "iota", length=P + S)


MASKS: dict[str, Callable[[Built], Value]] = {
    "where": lambda b: op(b, "where", op(b, "le", keys(b), rows(b)), np.float32(0), LOW),
    "not": lambda b: op(
        b, "where", op(b, "logical_not", op(b, "lt", rows(b), keys(b))), np.float32(0), LOW
    ),
    "product": lambda b: op(
        b, "mul", op(b, "cast", op(b, "lt", rows(b), keys(b)), to=DType.F32), LOW
    ),
    "rest": lambda b: op(
        b,
        "mul",
        op(b, "sub", b.builder.const(np.float32(1)), op(b, "cast", op(b, "le", keys(b), rows(b)), to=DType.F32)),
        LOW,
    ),
    "triangle": lambda b: op(
        b,
        "where",
        op(b, "slice", b.builder.const(np.tri(9, dtype=bool)), begin=(P, 0), end=(P + S, P + S), step=(1, 1)),
        np.float32(0),
        LOW,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MASKS)
def test_causal_masks(name: str) -> None:
    b = Built()
    mask = MASKS[name](b)
    assert b.at(mask, (I, J), SEEN) == 0
    assert b.at(mask, (I, J), HIDDEN) == float(LOW)
    assert isinstance(b.at(mask, (I, J), Facts(*WITHIN)), Place)
    values = Finished(b, mask).run(2, 3)
    np.testing.assert_array_equal(values == 0, np.tri(3, 5, 2, dtype=bool))


def test_a_mask_of_other_positions_is_not_causal() -> None:
    b = Built()
    wrong = op(b, "where", op(b, "lt", keys(b), rows(b)), np.float32(0), LOW)
    assert isinstance(b.at(wrong, (I, J), SEEN), Place)
    assert b.at(wrong, (I, J), HIDDEN) == float(LOW)


class Finished:
    """A tensor of a function, to be run with sizes p and s."""

    def __init__(self, b: Built, value: Value) -> None:
        self.function: Function = b.builder.finish([value], ["y"])
        self.program = b.builder.program.finish(["main"])

    def run(self, past: int, new: int) -> np.ndarray[Any, Any]:
        feeds = {
            "past": np.zeros(past, np.float32),
            "new": np.zeros(new, np.float32),
            "count": np.array(past),
        }
        return self.program.run(feeds)["y"]


def integers(b: Built) -> Value:
    """[s, p + s, 2] of positions, moved about."""
    both = op(b, "add", op(b, "mul", rows(b), np.int64(3)), keys(b))  # [s, p + s]
    wide = op(b, "expand", op(b, "reshape", both, shape=(1, S, P + S)), shape=(2, S, P + S))
    turned = op(b, "transpose", wide, perm=(1, 2, 0))
    return op(b, "neg", op(b, "sub", turned, op(b, "dims", values=(P, S))))


def test_integers_are_what_the_interpreter_computes() -> None:
    b = Built()
    value = integers(b)
    found = b.at(value, (I, J, 1))
    assert isinstance(found, Dim)
    past, new = 4, 3
    got = Finished(b, value).run(past, new)
    for i in range(new):
        for j in range(past + new):
            sizes = {"p": past, "s": new, "i": i, "j": j}
            assert got[i, j, 1] == found.evaluate(sizes)


def test_places_through_movements() -> None:
    b = Built()
    x = b.builder.input("x", "f32", [1, "t", 2, 5])
    T = x.type.shape[1]
    used = op(b, "slice", x, begin=(0, 0, 0, 1), end=(1, T, 2, 5), step=(1, 1, 1, 1))
    heads = op(b, "transpose", used, perm=(0, 2, 1, 3))
    apart = op(b, "reshape", heads, shape=(1, 2, 1, T, 4))
    wide = op(b, "expand", apart, shape=(1, 2, 3, T, 4))
    together = op(b, "reshape", wide, shape=(1, 6, T, 4))
    own, among = Dim.atom(Sym("own", 0, 1)), Dim.atom(Sym("among", 0, 2))
    found = b.at(together, (0, own * 3 + among, J, I))
    assert found == Place(x, (as_dim(0), J, own, I + 1))
    wrong = op(b, "reshape", op(b, "transpose", wide, perm=(0, 2, 1, 3, 4)), shape=(1, 6, T, 4))
    assert b.at(wrong, (0, own * 3 + among, J, I)) != found


def test_parts_sums_and_choices() -> None:
    b = Built()
    old, new = op(b, "iota", length=P), op(b, "iota", length=S, start=100)
    both = op(b, "concat", old, new, axis=0)
    assert b.at(both, [P + I]) == I + 100
    assert isinstance(b.at(both, [I]), Place)  # which part it lies in is not known
    ones = op(b, "expand", b.builder.const(np.int64(1)), shape=(2, P + S))
    assert b.at(op(b, "reduce_sum", ones, axes=(1,)), [0]) == P + S
    assert b.at(op(b, "cumsum", ones, axis=1), (0, J)) == J + 1
    table = b.builder.const(np.arange(7))
    assert b.at(op(b, "gather", table, b.builder.const(np.array([2]))), [0]) == 2
    picked = op(b, "gather", keys(b), rows(b), axis=0)
    assert b.at(picked, (I, 0)) == P + I
    both_axes = op(b, "expand", keys(b), shape=(2, P + S))
    pairs = op(b, "dims", values=(1, 0))
    assert b.at(op(b, "gather_nd", both_axes, pairs), ()) == 0
    assert b.at(op(b, "gather_nd", both_axes, b.builder.const(np.array([[0], [1]]))), (1, J)) == J
    first, second = b.builder.op("split", keys(b), axis=0, sizes=[P, S])
    assert b.at(second, [I]) == P + I
    assert b.at(first, [0]) == 0
    higher = op(b, "max", keys(b), op(b, "dims", values=(0,)))
    assert b.at(higher, [J]) == J


@pytest.mark.parametrize("shifted", [False, True])
def test_elements_that_are_written_to_their_own_places(shifted: bool) -> None:
    b = Built()
    data = op(b, "expand", b.builder.const(np.float32(0)), shape=(1, S, P + S))
    updates = op(b, "expand", b.builder.const(np.float32(5)), shape=(1, S, P + S))
    own = op(b, "iota", length=S, start=1 if shifted else 0)
    parts = [
        op(b, "reshape", op(b, "expand", x, shape=(1, S, P + S)), shape=(1, S, P + S, 1))
        for x in (b.builder.const(np.array([[[0]]])), op(b, "reshape", own, shape=(S, 1)), keys(b))
    ]
    indices = op(b, "concat", *parts, axis=3)
    found = b.at(op(b, "scatter_nd", data, indices, updates), (0, I, J))
    assert isinstance(found, Place) if shifted else found == 5


def test_zero_times_any_of_some_numbers() -> None:
    b = Built()
    unknown = op(b, "lt", b.past, np.float32(1))
    for low, found in ((LOW, 0.0), (np.float32(-np.inf), None)):
        either = op(b, "where", unknown, np.float32(0), b.builder.const(low))
        product = b.at(op(b, "mul", either, b.builder.const(np.float32(0))), [I])
        assert isinstance(product, Place) if found is None else product == found


def test_nothing_is_said_of_data() -> None:
    b = Built()
    for value in (b.past, op(b, "add", b.past, 1.0), op(b, "exp", b.past)):
        found = b.at(value, [I])
        assert isinstance(found, Place)
    assert b.at(b.count, ()) == Dim.atom(Read("count", 0))
    table = b.builder.const(np.array([1, 5, 2]))
    assert isinstance(b.at(table, [I]), Place)
    assert isinstance(b.at(table, [7]), Place)
    cut = op(b, "cast", op(b, "iota", length=S, dtype=DType.I64), to=DType.I8)
    assert isinstance(b.at(cut, [I]), Place)


def test_facts() -> None:
    facts = Facts(I, J - I - 3)
    assert facts.holds(J - 3) is True
    assert facts.holds(I - J) is False
    assert facts.holds(J - 4) is None
    assert not facts.contradict
    assert Facts(I, -I - 1).contradict
