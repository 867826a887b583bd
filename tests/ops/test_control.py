# SPDX-License-Identifier: Apache-2.0
"""Programs with control flow in the C runtime against the reference interpreter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.ops.control_programs import PROGRAMS, Controlled

import samara
from samara.exporter.ir import Program, save_program
from samara.exporter.ir.bounds import with_bounds
from samara.exporter.ir.builder import ProgramBuilder
from samara.exporter.testing import assert_close

NAMES = [p.__name__ for p in PROGRAMS]


def _opened(program: Program, folder: Path) -> samara.Model:
    save_program(program, folder / "p.samara")
    return samara.Model(folder / "p.samara")


def _compare(controlled: Controlled, model: samara.Model, threads: int) -> None:
    session = samara.Session(model, threads=threads)
    # In one session, forwards and back, so that plans and leftovers of one run meet the next.
    for feeds in (*controlled.feeds, *controlled.feeds[::-1]):
        want, got = controlled.program.run(feeds), session.run(feeds)
        assert set(got) == set(want)
        for name, value in want.items():
            assert_close(got[name], value, "reduce_sum")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("make", PROGRAMS, ids=NAMES)
def test_against_the_interpreter(
    make: Callable[[], Controlled], threads: int, tmp_path: Path
) -> None:
    controlled = make()
    model = _opened(controlled.program, tmp_path)
    assert model.function(None).growing == controlled.growing
    _compare(controlled, model, threads)


@pytest.mark.parametrize("make", PROGRAMS, ids=NAMES)
def test_bounds_end_growing(make: Callable[[], Controlled], tmp_path: Path) -> None:
    controlled = make()
    if not controlled.bounds:
        return
    model = _opened(with_bounds(controlled.program, controlled.bounds), tmp_path)
    assert not model.function(None).growing
    _compare(controlled, model, 1)


def test_a_bound_is_a_limit(tmp_path: Path) -> None:
    """More than the bound allows is an error that says so, and the session goes on."""
    b = ProgramBuilder().function("main")
    size = b.input("size", "i64", [1])
    b.finish([b.op("iota", length=b.read(size, 0, bound=4))], ["y"])
    session = samara.Session(_opened(b.program.finish(["main"]), tmp_path))
    assert session.run({"size": np.array([4])})["y"].tolist() == [0, 1, 2, 3]
    with pytest.raises(samara.LimitError, match="bound 4"):
        session.run({"size": np.array([5])})
    assert session.run({"size": np.array([2])})["y"].tolist() == [0, 1]


def test_trap(tmp_path: Path) -> None:
    b = ProgramBuilder().function("main")
    flag, x = b.input("flag", "bool", []), b.input("x", "f32", [2])
    then, orelse = b.child("then"), b.child("else")
    stop = then.op("trap", x, message="no such branch", dtypes=(1,), ranks=(1,), shape=(2,))
    (y,) = b.if_(flag, (then, list(stop)), (orelse, [orelse.op("neg", x)]))
    b.finish([y], ["y"])
    session = samara.Session(_opened(b.program.finish(["main"]), tmp_path))
    feeds = {"flag": np.array(False), "x": np.ones(2, np.float32)}
    assert session.run(feeds)["y"].tolist() == [-1, -1]
    with pytest.raises(samara.SamaraError, match="no such branch"):
        session.run({**feeds, "flag": np.array(True)})
    assert session.run(feeds)["y"].tolist() == [-1, -1]


def test_data_errors(tmp_path: Path) -> None:
    """Index values and integer divisors are checked while running, on one thread and on two."""
    for threads in (1, 2):
        b = ProgramBuilder().function("main")
        x, i = b.input("x", "f32", [5]), b.input("i", "i64", ["n"])
        b.finish([b.op("gather", x, i), b.op("div", i, b.op("add", i, 1))], ["y", "q"])
        session = samara.Session(_opened(b.program.finish(["main"]), tmp_path), threads=threads)
        feeds = {"x": np.arange(5, dtype=np.float32)}
        assert session.run({**feeds, "i": np.array([4, -5])})["y"].tolist() == [4, 0]
        with pytest.raises(samara.SamaraError, match="5"):
            session.run({**feeds, "i": np.array([5])})
        with pytest.raises(samara.SamaraError, match="zero"):
            session.run({**feeds, "i": np.array([-1])})
