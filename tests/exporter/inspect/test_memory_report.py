# SPDX-License-Identifier: Apache-2.0
"""The memory report: plans drawn as text, what sets the peak, and what the file states."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.inspect.contents import inspect
from samara.exporter.inspect.memory_report import (
    PlanReport,
    differences,
    draws_boxes,
    memory_text,
    plan_letters,
    plan_text,
    plans_of,
)
from samara.exporter.ir import Builder, Memory, ProgramBuilder, read_file, save_program
from samara.exporter.types.text import plain
from samara.pybridge import MemoryRow, Session


def _row(name: str, first: int, last: int, offset: int, size: int, kind: str = "tensor") -> Any:
    return MemoryRow("main", name, kind, first, last, offset, size)


def _plan(nodes: int = 4) -> PlanReport:
    maker = ProgramBuilder()
    b = maker.function("main")
    x = b.input("x", "f32", [4])
    for i in range(nodes):
        x = b.op("sin", x, name=f"step{i}")
    b.finish([x], ["y"])
    rows = [
        _row("first", 0, 1, 0, 1024),
        _row("wide", 1, 2, 1024, 3072),
        _row("work", 2, 2, 0, 512, "scratch"),
        _row("last", 2, 3, 512, 512),
        MemoryRow("", "structures", "structure", 0, 0, 0, 999),
    ]
    (plan,) = plans_of(maker.finish(["main"]), rows)
    return plan


def test_a_plan_says_what_sets_its_peak() -> None:
    plan = _plan()
    assert plan.arena_bytes == 4096
    assert plan.live == (1024, 4096, 4096, 512)
    assert (plan.peak_node, plan.peak_bytes) == (1, 4096)
    assert [plan.pieces[i].name for i in plan.peak_pieces] == ["wide", "first"]
    assert plan_letters(plan) == {1: "A", 0: "B"}
    assert json.loads(json.dumps(plain(plan)))["nodes"] == ["step0", "step1", "step2", "step3"]


def test_the_drawing_shows_each_piece_where_it_lies() -> None:
    lines = plan_text(_plan(), width=40, ascii_only=True).splitlines()
    assert lines[0] == "arena of main: 4,096 bytes over 4 nodes"
    drawn = [line.partition("|")[2] for line in lines[1:17]]
    assert drawn[0] == "......AAAAAAAAAAAA......"
    assert drawn[11] == drawn[0]
    assert drawn[12] == drawn[13] == "BBBBBBBBBBBB############"
    assert drawn[14] == drawn[15] == "BBBBBBBBBBBB++++++......"
    assert lines[17].index("^") - lines[17].index("+") == 7
    assert "peak at node 1, step1: 4,096 bytes live" in lines[18]
    assert lines[20].split() == ["A", "tensor", "wide", "3,072", "75.0", "%", "1,024", "1-2"]


def test_many_nodes_share_columns() -> None:
    plan = _plan(nodes=500)
    for width in (20, 80, 137):
        lines = plan_text(plan, width=width).splitlines()[1:18]
        assert all(len(line) <= width for line in lines), width
        assert any("A" in line for line in lines)


def test_encodings_that_cannot_draw_get_ascii() -> None:
    assert draws_boxes("utf-8")
    assert not draws_boxes("ascii")
    assert not draws_boxes("latin-1")
    assert not draws_boxes("no such encoding")
    plan_text(_plan(), ascii_only=True).encode("ascii")


def _export(folder: Path, build: Any) -> Path:
    maker = ProgramBuilder()
    b = maker.function("main")
    b.finish([build(b)], ["y"])
    samara.export(maker.finish(["main"]), folder / "m.samara", optimize=False)
    return folder / "m.samara"


def _product(b: Builder) -> Any:
    x = b.op("exp", b.input("x", "f32", [16, 300]))
    return b.op("matmul", x, b.const(np.ones((300, 64), np.float32)))


@pytest.mark.parametrize("threads", [1, 2])
def test_inspect_reports_the_session_itself(tmp_path: Path, threads: int) -> None:
    path = _export(tmp_path, _product)
    memory = inspect(path, threads=threads).memory
    session = Session(path, threads=threads)
    (plan,) = memory.plans
    assert plan.pieces == tuple(r for r in session.memory() if r.planned)
    assert sum(r.size_bytes for r in memory.blocks) == session.total_bytes == memory.session_bytes
    assert memory.contract == read_file(path).memory
    assert memory.differences == ()
    text = memory_text(memory)
    assert "the file states (bytes, 64 bit; as here)" in text
    assert f"{session.arena_bytes - 16 * 300 * 4:>13,}  arena" in text


def test_a_file_that_states_something_else_is_shown_to(tmp_path: Path) -> None:
    path = _export(tmp_path, _product)
    file = read_file(path)
    false = [replace(m, arena=m.arena + 64) for m in file.memory]
    save_program(file.program, path, measure=lambda _: false)
    memory = inspect(path).memory
    assert len(memory.differences) == 1
    assert "main, 1 threads" in memory.differences[0]
    assert f"the file says {false[0].arena:,}" in memory.differences[0]
    assert "not as here" in memory_text(memory)


def test_only_rows_of_this_machine_are_compared() -> None:
    numbers = dict.fromkeys(
        ("shared_scratch", "thread_scratch", "blocks", "variables", "session", "model"), 0
    )
    m = Memory(
        "main", ("neon",), 1, (0, 4, 0), 64, arena=5, derived=0, peak_node=0, peak=5, **numbers
    )
    here = replace(m, isa=("avx2",), arena=9)
    assert differences([m], [here]) == ()
    assert differences([replace(m, isa=("avx2",), pointer_bits=32)], [here]) == ()
    assert differences([replace(m, isa=("avx2",), threads=2)], [here]) == ()
    assert len(differences([replace(m, isa=("avx2", "avx512"))], [here])) == 1


def test_functions_that_are_called_have_their_own_drawing(tmp_path: Path) -> None:
    maker = ProgramBuilder()
    body = maker.function("body")
    x = body.input("x", "f32", [64])
    body.finish([body.op("sin", body.op("cumsum", x, axis=0))], ["y"])
    b = maker.function("main")
    (y,) = b.op("call", b.op("exp", b.input("x", "f32", [64])), body="body")
    b.finish([b.op("cos", y)], ["y"])
    save_program(maker.finish(["main"]), tmp_path / "m.samara")
    main, called = inspect(tmp_path / "m.samara").memory.plans
    assert (main.function, called.function) == ("main", "body")
    calls = next(r for r in main.pieces if r.kind == "scratch")
    assert calls.size_bytes == called.arena_bytes


def test_where_nothing_runs_nothing_is_drawn(tmp_path: Path) -> None:
    path = _export(tmp_path, _product)
    memory = inspect(path, run=False).memory
    assert memory.plans == ()
    text = memory_text(memory)
    assert "arena of one session: unknown" in text
    assert "arena of main" not in text
    assert "the file states" in text
