# SPDX-License-Identifier: Apache-2.0
"""The memory contract in the file: round trip, and refusal of unknown functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from samara.exporter.ir import Memory, ProgramBuilder, from_bytes, read_file, save_program
from samara.exporter.ir.file_assemble import assemble
from samara.exporter.ir.file_write import rows_of
from samara.exporter.ir.memory_contract import memory_rows, read_memory
from samara.exporter.ir.program import Program
from samara.exporter.types import ModelFormatError
from samara.pybridge import Session
from samara.pybridge.memory_use import CountedModel


def _program() -> Program:
    maker = ProgramBuilder()
    b = maker.function("main")
    b.finish([b.op("relu", b.input("x", "f32", [4]))], ["y"])
    return maker.finish(["main"])


def _memory(**more: object) -> Memory:
    numbers = {name: 10**i for i, name in enumerate(Memory.__slots__) if name not in ("isa",)}
    given = {
        **numbers, "function": "main", "isa": ("scalar", "avx2"), "runtime": (0, 4, 1),
        "threads": 3, "pointer_bits": 64, "peak_node": 0,
    }  # fmt: skip
    return Memory(**{**given, **more})


def test_rows_say_what_was_measured() -> None:
    m = _memory()
    (row,) = memory_rows([m], {"main": 0})
    assert row["isa"] == "scalar avx2"
    assert row["runtime"] == 4 << 8 | 1
    assert read_memory([row], ["main"]) == (m,)
    assert m.session_bytes == m.arena + m.blocks + m.variables + m.session
    with pytest.raises(ModelFormatError, match="no function 0"):
        read_memory([row], [])


def test_the_file_keeps_it_and_runs(tmp_path: Path) -> None:
    path, seen = tmp_path / "m.samara", []

    def measure(file: memoryview) -> list[Memory]:
        with CountedModel(file, trusted=True) as model:
            seen.append(model.session(function="main", threads=1).arena_bytes)
        with pytest.raises(ModelFormatError, match="checksum"):
            CountedModel(file)
        return [_memory(), _memory(threads=1, arena=2**40)]

    size = save_program(_program(), path, measure=measure)
    assert size == path.stat().st_size
    assert len(seen) == 1
    assert read_file(path).memory == (_memory(), _memory(threads=1, arena=2**40))
    assert Session(path).run({"x": -np.ones(4, np.float32)})["y"].max() == 0
    assert [p.name for p in tmp_path.iterdir()] == ["m.samara"]


def test_what_cannot_be_measured_leaves_no_file(tmp_path: Path) -> None:
    def measure(file: memoryview) -> list[Memory]:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        save_program(_program(), tmp_path / "m.samara", measure=measure)
    assert list(tmp_path.iterdir()) == []


def test_a_file_may_state_nothing() -> None:
    row, segments = rows_of(_program())
    assert from_bytes(b"".join(assemble(row, segments))).memory == ()
    row["memory"] = memory_rows([_memory()], {"main": 7})
    with pytest.raises(ModelFormatError, match="no function 7"):
        from_bytes(b"".join(assemble(row, segments)))
