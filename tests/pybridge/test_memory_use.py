# SPDX-License-Identifier: Apache-2.0
"""Where bytes are, as the runtime says and counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from samara.exporter.ir import ProgramBuilder, save_program, to_bytes
from samara.exporter.ir.program import Program
from samara.pybridge import MemoryRow, Session, ShapeError
from samara.pybridge.memory_use import CountedModel, instruction_sets


def _program(shape: tuple[int | str, ...] = (8, 100)) -> Program:
    maker = ProgramBuilder()
    b = maker.function("main")
    x = b.input("x", "f32", shape)
    weights = b.const(np.ones((100, 30), np.float32))
    b.finish([b.op("softmax", b.op("matmul", x, weights), axis=-1)], ["y"])
    return maker.finish(["main"])


def test_rows_of_a_session_add_up(tmp_path: Path) -> None:
    save_program(_program(), tmp_path / "m.samara")
    session = Session(tmp_path / "m.samara", threads=2)
    rows = session.memory()
    held = [r for r in rows if r.kind in ("arena", "block")]
    assert sum(r.size_bytes for r in held) == session.arena_bytes
    assert sum(r.size_bytes for r in rows if not r.planned) == session.total_bytes
    block = next(r for r in rows if r.kind == "block")
    assert (block.function, block.name, block.size_bytes) == ("main", "x", 8 * 100 * 4)
    tensors = [r for r in rows if r.kind == "tensor"]
    assert [(r.first, r.last) for r in tensors] == [(0, 1)]
    assert all(r.offset + r.size_bytes <= _one(rows, "arena").size_bytes for r in tensors)


def test_without_shapes_there_are_none(tmp_path: Path) -> None:
    save_program(_program(("n", 100)), tmp_path / "m.samara")
    session = Session(tmp_path / "m.samara")
    assert session.memory() == ()
    session.resize({"x": (3, 100)})
    assert session.memory() != ()


def test_a_counted_model_says_what_opening_and_sessions_take(tmp_path: Path) -> None:
    path = tmp_path / "m.samara"
    save_program(_program(), path)
    whole = Session(path, threads=2, isa="scalar")
    with CountedModel(path) as model, CountedModel(path.read_bytes()) as other:
        assert model.program_bytes == int.from_bytes(path.read_bytes()[8:16], "little")
        assert model.model_bytes > model.program_bytes
        assert other.model_bytes == model.model_bytes
        assert not model.is_growing("main")
        counted = model.session(function="main", threads=2, isa="scalar")
        assert counted.session_bytes == whole.total_bytes
        assert counted.arena_bytes == whole.arena_bytes
        assert counted.rows == whole.memory()
        assert counted.pointer_bits in (32, 64)
        assert model.session(function="main", threads=2, isa="scalar") == counted
        with pytest.raises(ShapeError, match="sse9"):
            model.session(function="main", threads=1, isa="sse9")
    model.close()


def test_a_model_that_does_not_open_leaves_nothing() -> None:
    with pytest.raises(Exception, match="not a samara file"):
        CountedModel(b"x" * len(to_bytes(_program())))


def test_instruction_sets_begin_with_portable_c() -> None:
    names = instruction_sets()
    assert names[0] == "scalar"
    assert len(set(names)) == len(names)


def _one(rows: tuple[MemoryRow, ...], kind: str) -> MemoryRow:
    (row,) = (r for r in rows if r.kind == kind)
    return row
