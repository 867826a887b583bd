# SPDX-License-Identifier: Apache-2.0
"""Stored layouts: the same bits without deriving; unsuitable ones are derived."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import samara
from samara.exporter.export import export
from samara.exporter.ir import Program, ProgramBuilder, save_program
from samara.exporter.package.prepack import derived_layouts
from samara.pybridge.memory_use import CountedModel, DerivedLayout, instruction_sets

SIDE, CHANNELS = 32, 32


@pytest.fixture(scope="module")
def program() -> Program:
    """A 3x3 convolution large enough for Winograd."""
    rng = np.random.default_rng(5)
    builder = ProgramBuilder()
    f = builder.function("main")
    x = f.input("x", "f32", (1, SIDE, SIDE, CHANNELS))
    w = rng.standard_normal((CHANNELS, 3, 3, CHANNELS), dtype=np.float32)
    y = f.op("conv", x, w, strides=[1, 1], pads=[1, 1, 1, 1], dilations=[1, 1], name="y")
    f.finish([y], ["y"])
    return builder.finish(["main"])


def _derived_bytes(path: Path) -> int:
    """The layouts that a session of the file's first entry derives."""
    with CountedModel(path) as model:
        model.session(function="main", threads=1)
        return sum(len(row.data) for row in model.derived())


def _answer(source: Path | bytes) -> bytes:
    x = np.random.default_rng(6).standard_normal((1, SIDE, SIDE, CHANNELS), dtype=np.float32)
    found: np.ndarray = samara.Session(samara.Model(source), threads=1).run({"x": x})["y"]
    return found.tobytes()


def test_stored_layouts_are_used(program: Program, tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain.samara", tmp_path / "packed.samara"
    export(program, plain, check=False)
    report = export(program, packed, check=False, prepack=instruction_sets())
    derived = _derived_bytes(plain)
    assert derived > 0
    assert report.prepacked is not None
    assert report.prepacked >= derived
    assert "derived weight layouts" in str(report)
    assert packed.stat().st_size >= plain.stat().st_size + derived
    assert _derived_bytes(packed) == 0
    assert _answer(packed) == _answer(plain)
    # The contract in the file agrees.
    assert all(row.derived == 0 for row in report.memory)
    # Reading drops stored layouts.
    assert str(samara.open_program(packed)) == str(samara.open_program(plain))


@pytest.mark.parametrize("change", ["version", "size", "layout", "op"])
def test_others_are_derived(program: Program, tmp_path: Path, change: str) -> None:
    plain = tmp_path / "plain.samara"
    save_program(program, plain)

    def other(row: DerivedLayout) -> DerivedLayout:
        if change == "version":
            return replace(row, version=row.version + 1)
        if change == "layout":
            return replace(row, layout=row.layout ^ 1)
        if change == "op":
            return replace(row, op=row.op + 1)
        return replace(row, data=row.data[:-4])

    path = tmp_path / f"{change}.samara"
    save_program(
        program,
        path,
        prepack=lambda file: [other(r) for r in derived_layouts(program, file, ("scalar",))],
    )
    assert _derived_bytes(path) > 0
    assert _answer(path) == _answer(plain)


@pytest.mark.parametrize("shift", [0, 4, 16])
def test_bytes_in_memory_serve_where_they_are_aligned(
    program: Program, tmp_path: Path, shift: int
) -> None:
    path = tmp_path / "packed.samara"
    export(program, path, check=False, prepack=instruction_sets())
    data = np.fromfile(path, np.uint8)
    room = np.empty(data.size + 128, np.uint8)
    start = -room.ctypes.data % 64 + shift
    room[start : start + data.size] = data
    with CountedModel(room[start : start + data.size].data) as model:
        model.session(function="main", threads=1)
        assert bool(model.derived()) == (shift != 0)
    # At any address of the bytes.
    assert _answer(path.read_bytes()) == _answer(path)


def test_a_model_that_derives_nothing(tmp_path: Path) -> None:
    builder = ProgramBuilder()
    f = builder.function("main")
    f.finish([f.op("relu", f.input("x", "f32", (1, 4)))], ["y"])
    report = export(
        builder.finish(["main"]), tmp_path / "m.samara", check=False, prepack=("scalar",)
    )
    assert report.prepacked == 0
    assert samara.Session(tmp_path / "m.samara").run({"x": np.ones((1, 4), np.float32)})["y"].all()
