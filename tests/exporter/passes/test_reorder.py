# SPDX-License-Identifier: Apache-2.0
"""Nodes are reordered only if that takes less memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import apply, conv, program

import samara
from samara.exporter.ir import Builder, Program, Variable, save_program
from samara.exporter.passes import EXPORT, reorder, run_passes
from samara.exporter.types import TensorType
from samara.pybridge import BackendError, Session


def _branches(b: Builder, *, count: int = 4) -> Any:
    """Branches that are wide in the middle, with interleaved nodes."""
    x = b.op("exp", b.input("x", "f32", [1, 8, 8, 4]))
    wide = [conv(b, x, 64, seed=i) for i in range(count)]
    narrow = [conv(b, w, 4, seed=9 + i) for i, w in enumerate(wide)]
    total = narrow[0]
    for n in narrow[1:]:
        total = b.op("add", total, n)
    return total


def _arena(p: Program, folder: Path, **options: Any) -> int:
    save_program(p, folder / "m.samara")
    return Session(folder / "m.samara", **options).arena_bytes


def test_branches_run_one_after_the_other(tmp_path: Path) -> None:
    before = program(_branches)
    after = apply(reorder.PASS, before)
    assert [n.name for n in after.main.nodes] != [n.name for n in before.main.nodes]
    assert sorted(n.name for n in after.main.nodes) == sorted(n.name for n in before.main.nodes)
    for threads in (1, 2):
        small, large = (_arena(p, tmp_path, threads=threads) for p in (after, before))
        assert small < 0.6 * large


def test_bits_stay(tmp_path: Path) -> None:
    before = program(_branches)
    after = reorder.PASS.run(before)
    feeds = {"x": np.random.default_rng(3).standard_normal((1, 8, 8, 4)).astype(np.float32)}
    answers = []
    for p in (before, after):
        save_program(p, tmp_path / "m.samara")
        answers.append(Session(tmp_path / "m.samara", threads=2).run(feeds)["out0"])
    assert answers[0].tobytes() == answers[1].tobytes()


def _chain(b: Builder) -> Any:
    x = b.input("x", "f32", [1, 8, 8, 4])
    for i in range(5):
        x = conv(b, x, 4, seed=i)
    return x


def _equal_branches(b: Builder) -> Any:
    x = b.op("exp", b.input("x", "f32", [1, 8, 8, 4]))
    return b.op("mul", conv(b, x, 4, seed=1), conv(b, x, 4, seed=2))


def _unbounded(b: Builder) -> Any:
    x = b.op("exp", b.input("x", "f32", ["n", 8, 8, 4]))
    wide = [conv(b, x, 64, seed=i) for i in range(2)]
    return b.op("add", conv(b, wide[0], 4), conv(b, wide[1], 4))


@pytest.mark.parametrize("build", [_chain, _equal_branches, _unbounded])
def test_an_order_that_takes_no_less_stays(build: Callable[[Builder], Any]) -> None:
    before = program(build)
    assert reorder.PASS.run(before) is before


def test_the_runtime_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    before = program(_branches)
    says = iter([[100, 100], [90, 101]])
    monkeypatch.setattr(reorder, "_arenas", lambda *_: next(says))
    assert reorder.PASS.run(before) is before
    says = iter([[100, 100], [90, 100]])
    assert reorder.PASS.run(before) is not before


def test_without_a_runtime_the_order_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> list[int]:
        raise BackendError("no library")

    monkeypatch.setattr(reorder, "_arenas", refuse)
    before = program(_branches)
    assert reorder.PASS.run(before) is before


def test_effects_keep_their_order() -> None:
    f = program(_branches).main
    free = reorder._needs(f, set())
    assert not all(n & 1 << (i - 1) for i, n in enumerate(free) if i)
    chained = reorder._needs(
        replace(f, nodes=tuple(replace(n, op=_trap()) for n in f.nodes)), set()
    )
    assert all(n & 1 << (i - 1) for i, n in enumerate(chained) if i)


def _trap() -> Any:
    from samara.exporter.ops import all_ops

    return next(op for op in all_ops() if op.name == "trap")


def test_a_state_is_read_before_and_written_after(tmp_path: Path) -> None:
    plain = program(_branches)
    state = Variable("s", TensorType.of("f32", [1, 8, 8, 4]), np.ones((1, 8, 8, 4), np.float32))
    main = replace(plain.main, reads={"x": "s"}, writes={0: "s"})
    before = replace(plain.with_function(main), variables=(state,))
    after = reorder.PASS.run(before)
    assert after is not before
    states = []
    for p in (before, after):
        save_program(p, tmp_path / "m.samara")
        session = Session(tmp_path / "m.samara")
        session.run({})
        states.append(session.state["s"].tobytes())
    assert states[0] == states[1]


def test_data_dependent_dims_are_not_moved_over() -> None:
    def build(b: Builder) -> Any:
        x = b.op("exp", b.input("x", "f32", [400]))
        found = b.op("nonzero", x)
        late = b.op("gather", x, b.op("reshape", found, shape=(found.type.shape[1],)), axis=0)
        return b.op("sin", late), b.op("cos", b.op("sin", x))

    f = program(build).main
    fences = reorder._fences(f)
    names = [n.op.name for n in f.nodes]
    assert any(names[n] in ("nonzero", "reshape") for n in fences)


def test_export_runs_it_last_and_can_do_without(tmp_path: Path) -> None:
    assert EXPORT[-1] is reorder.PASS
    before = program(_branches)
    after, report = run_passes(before, EXPORT, check=True)
    row = report.rows[-1]
    assert (row.name, row.changed) == ("reorder", True)
    assert row.difference == 0.0
    small = samara.export(before, tmp_path / "a.samara").memory[0]
    large = samara.export(before, tmp_path / "b.samara", disable=["reorder"]).memory[0]
    assert small.arena < large.arena
    assert [n.name for n in after.main.nodes] != [n.name for n in before.main.nodes]
