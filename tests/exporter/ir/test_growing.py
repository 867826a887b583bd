# SPDX-License-Identifier: Apache-2.0
"""Caches as variables that grow: the same answers as with an input and an output, for any layout of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter.ir import Program, ProgramBuilder, verify
from samara.exporter.ir.growing import Cache, with_caches
from samara.exporter.types import Dim, DType, Sym, UnsupportedError, dmin

PAST = Sym("past", 0, 9)


def program(axis: int, dims: tuple[int, ...], *, counted: bool = False) -> Program:
    """A cache of these sizes, whose rows lie along `axis`, and the sum of all rows.

    counted: it also gives the positions of the new rows, in two forms.
    """
    made = ProgramBuilder()
    b = made.function("main")
    given: list[Any] = list(dims)
    given[axis] = Dim.atom(PAST)
    past = b.input("old", "f32", given)
    given[axis] = "n"
    rows = b.input("rows", "f32", given)
    step = rows.type.shape[axis]
    every = b.op("concat", past, rows, axis=axis)
    outputs = [every, b.op("reduce_sum", every, axes=(axis,))]
    if counted:
        count = b.op("dims", values=(past.type.shape[axis],), dtype=DType.I32)
        outputs += [b.op("iota", length=step, start=past.type.shape[axis] + 2), count]
    b.finish(outputs, ["all", "sum", "places", "count"][: len(outputs)])
    return made.finish(["main"])


@pytest.mark.parametrize(
    ("axis", "dims", "held"),
    [
        (1, (1, 0, 2), (1, 9, 2)),
        (2, (1, 3, 0, 2), (1, 9, 3, 2)),
        (3, (1, 3, 2, 0), (1, 9, 3, 2)),
        (2, (4, 3, 0, 2), (1, 9, 4, 3, 2)),
        (0, (0, 3), (1, 9, 3)),
        (0, (0,), (1, 9)),
    ],
)
def test_rows_along_any_axis(axis: int, dims: tuple[int, ...], held: tuple[int, ...]) -> None:
    before = program(axis, dims)
    after = with_caches(before, [Cache("old", "all", axis)], PAST, 9)
    verify(after)
    assert after.variable("old").type.static_shape() == held
    assert after.variable("old").length == "past_length"
    state: dict[str, Any] = {}
    shape = list(dims)
    old = np.zeros(shape, np.float32)
    for n in (2, 1, 4):
        shape[axis] = n
        rows = np.random.default_rng(n).standard_normal(shape).astype(np.float32)
        want = before.run({"old": old, "rows": rows})
        got = after.run({"rows": rows}, state=state)
        assert list(got) == ["sum"]
        np.testing.assert_array_equal(got["sum"], want["sum"])
        old = want["all"]
    assert state["past_length"] == 7


def test_the_count_is_data_where_it_was_a_size() -> None:
    before = program(1, (1, 0, 2), counted=True)
    after = with_caches(before, [Cache("old", "all", 1)], PAST, 9)
    verify(after)
    atoms = {a for n in after.main.nodes if n.op.name == "iota" for a in n.attrs["start"].atoms()}
    assert not atoms
    state: dict[str, Any] = {}
    rows = np.ones((1, 3, 2), np.float32)
    after.run({"rows": rows}, state=state)
    got = after.run({"rows": rows}, state=state)
    assert got["places"].tolist() == [5, 6, 7]
    assert got["count"].tolist() == [3]
    assert got["count"].dtype == np.int32


def test_a_name_in_use_is_left_alone() -> None:
    made = ProgramBuilder()
    b = made.function("main")
    past = b.input("old", "f32", [1, Dim.atom(PAST)])
    rows = b.input("past_length", "f32", [1, "n"])
    b.finish([b.op("concat", past, rows, axis=1)], ["all"])
    after = with_caches(made.finish(["main"]), [Cache("old", "all", 1)], PAST, 9)
    verify(after)
    assert after.variable("old").length == "past_length.2"


@pytest.mark.parametrize(("most", "settled"), [(9, True), (30, True), (8, False)])
def test_tables_as_long_as_the_caches_limit_nothing(most: int, settled: bool) -> None:
    made = ProgramBuilder()
    b = made.function("main")
    past = b.input("old", "f32", [1, Dim.atom(PAST)])
    rows = b.input("rows", "f32", [1, "n"])
    every = b.op("concat", past, rows, axis=1)
    total = every.type.shape[1]
    table = b.const(np.arange(most, dtype=np.float32))
    cut = b.op("slice", table, begin=(0,), end=(dmin(total, most),), step=(1,))
    b.finish([every, cut], ["all", "cut"])
    after = with_caches(made.finish(["main"]), [Cache("old", "all", 1)], PAST, 9)
    verify(after)
    (size,) = after.main.outputs[1].type.shape
    assert ("min" not in str(size)) is settled


def test_caches_that_gain_other_numbers_of_rows_are_refused() -> None:
    made = ProgramBuilder()
    b = made.function("main")
    outputs = []
    for name, size in (("a", "n"), ("b", "m")):
        past = b.input(name, "f32", [1, Dim.atom(PAST)])
        outputs.append(b.op("concat", past, b.input(f"{name}.rows", "f32", [1, size]), axis=1))
    b.finish(outputs, ["a.all", "b.all"])
    caches = [Cache("a", "a.all", 1), Cache("b", "b.all", 1)]
    with pytest.raises(UnsupportedError, match=r"it gains m rows in a run, and 'a.all' n"):
        with_caches(made.finish(["main"]), caches, PAST, 9)


def test_an_output_that_is_no_growth_is_refused() -> None:
    made = ProgramBuilder()
    b = made.function("main")
    past = b.input("old", "f32", [1, Dim.atom(PAST)])
    b.finish([b.op("neg", past), past], ["all", "same"])
    before = made.finish(["main"])
    with pytest.raises(UnsupportedError, match=r"'all' is not input 'old' .* made by neg"):
        with_caches(before, [Cache("old", "all", 1)], PAST, 9)
    with pytest.raises(UnsupportedError, match="it is the input itself"):
        with_caches(before, [Cache("old", "same", 1)], PAST, 9)
