# SPDX-License-Identifier: Apache-2.0
"""The memory contract from the runtime."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from samara.exporter.ir import Builder, Program, ProgramBuilder, Value, Variable, save_program
from samara.exporter.package.memory_plan import THREADS, live_bytes, measure, peak_of
from samara.exporter.types import SamaraError, TensorType
from samara.pybridge import MemoryRow, Session
from samara.pybridge.memory_use import instruction_sets


def _row(name: str, first: int, last: int, offset: int, size: int) -> MemoryRow:
    return MemoryRow("main", name, "tensor", first, last, offset, size)


def test_the_peak_is_where_most_lives() -> None:
    rows = [_row("a", 0, 1, 0, 64), _row("b", 1, 3, 64, 128), _row("c", 3, 3, 0, 64)]
    assert live_bytes(rows) == [64, 192, 128, 192]
    peak = peak_of(rows)
    assert (peak.node, peak.bytes) == (1, 192)
    assert [r.name for r in peak.rows] == ["b", "a"]
    assert live_bytes([]) == []
    assert peak_of([]).bytes == 0


def _file(folder: Path, build: Callable[[Builder], Value]) -> tuple[Program, Path]:
    maker = ProgramBuilder()
    b = maker.function("main")
    b.finish([build(b)], ["y"])
    program = maker.finish(["main"])
    save_program(program, folder / "m.samara")
    return program, folder / "m.samara"


def _product(b: Builder) -> Value:
    x = b.input("x", "f32", [64, 300])
    weights = b.const(np.ones((300, 200), np.float32))
    made: Value = b.op("relu", b.op("matmul", x, weights))
    return made


def test_numbers_are_those_of_sessions(tmp_path: Path) -> None:
    program, path = _file(tmp_path, _product)
    rows = measure(program, path)
    covered = [(isa, r.threads) for r in rows for isa in r.isa]
    assert sorted(covered) == sorted((i, t) for i in instruction_sets() for t in THREADS)
    for row in rows:
        for isa in row.isa:
            session = Session(path, threads=row.threads, isa=isa)
            assert row.arena + row.blocks == session.arena_bytes
            assert row.session_bytes == session.total_bytes
            assert row.peak <= row.arena
            planned = [r for r in session.memory() if r.kind == "scratch"]
            most = max((r.size_bytes for r in planned), default=0)
            assert row.shared_scratch + row.threads * row.thread_scratch == most
    assert [r.threads for r in measure(program, path, threads=(2,), isas=("scalar",))] == [2]


def test_every_function_has_its_own_derived_layouts(tmp_path: Path) -> None:
    maker = ProgramBuilder()
    for name in ("one", "two"):
        b = maker.function(name)
        b.finish([_product(b)], ["y"])
    program = maker.finish(["one", "two"])
    save_program(program, tmp_path / "m.samara")
    rows = measure(program, tmp_path / "m.samara", threads=(1,), isas=("scalar",))
    one, two = rows
    assert (one.function, two.function) == ("one", "two")
    assert one.derived == two.derived


def test_variables_are_counted(tmp_path: Path) -> None:
    maker = ProgramBuilder()
    b = maker.function("main")
    x = b.input("x", "f32", [50])
    b.finish([b.op("add", x, 1.0)], ["y"])
    plain = maker.finish(["main"])
    state = Variable("state", TensorType.of("f32", [50]), np.zeros(50, np.float32))
    main = replace(plain.main, reads={"x": "state"}, writes={0: "state"})
    program = replace(plain.with_function(main), variables=(state,))
    save_program(program, tmp_path / "m.samara")
    (row,) = measure(program, tmp_path / "m.samara", threads=(1,), isas=("scalar",))
    assert row.variables == 2 * 256


@pytest.mark.parametrize("growing", [False, True])
def test_what_has_no_bound_has_no_contract(tmp_path: Path, growing: bool) -> None:
    def build(b: Builder) -> Value:
        if not growing:
            made: Value = b.op("relu", b.input("x", "f32", ["n", 4]))
            return made
        zero, one = b.const(np.int64(0)), b.const(np.int64(1))
        counted: Value = b.op("range", zero, b.input("n", "i64", ()), one)
        return counted

    program, path = _file(tmp_path, build)
    assert measure(program, path) == ()


def test_what_cannot_run_here_is_reported(tmp_path: Path) -> None:
    program, path = _file(tmp_path, _product)
    heard: list[tuple[str, SamaraError]] = []
    rows = measure(program, path, isas=("sse9",), refused=lambda f, e: heard.append((f, e)))
    assert rows == ()
    assert [f for f, _ in heard] == ["main"]
    assert "sse9" in str(heard[0][1])
    assert measure(program, path, isas=("sse9",)) == ()
