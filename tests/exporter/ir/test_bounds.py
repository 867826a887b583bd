# SPDX-License-Identifier: Apache-2.0
"""Upper bounds of dims, and sessions of bounded programs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.exporter.passes.programs import conv, program

import samara
from samara.exporter.export import export
from samara.exporter.ir import Builder, Program, Value
from samara.exporter.ir.bounds import is_growing, with_bounds


def small() -> Program:
    return program(lambda b: b.op("relu", conv(b, b.input("x", "f32", ["n", 4, 4, 2]), 3)))


def _range() -> Program:
    def build(b: Builder) -> Value:
        n = b.op("add", b.input("n", "i64", []), 0)
        zero, one = b.const(np.int64(0)), b.const(np.int64(1))
        value: Value = b.op("range", zero, b.op("mul", n, n), one)
        return value

    return program(build)


def test_bounds_end_growing(tmp_path: Path) -> None:
    p = _range()
    assert is_growing(p, "main")
    name = p.main.outputs[0].name
    bounded = with_bounds(p, {name: 100})
    assert not is_growing(bounded, "main")
    assert export(p, tmp_path / "m.samara", check=False).growing == ("main",)
    assert export(p, tmp_path / "b.samara", check=False, bounds={name: 100}).growing == ()
    assert samara.Model(tmp_path / "m.samara").function(None).growing
    assert not samara.Model(tmp_path / "b.samara").function(None).growing
    session = samara.Session(tmp_path / "b.samara")
    assert session.run({"n": np.int64(9)})[session.outputs[0].name].size == 81
    with pytest.raises(samara.LimitError):
        session.run({"n": np.int64(11)})


def test_a_bound_of_an_input_dim_plans_ahead(tmp_path: Path) -> None:
    p = program(lambda b: b.op("exp", b.op("sin", b.input("x", "f32", ["n", 4]))))
    report = export(p, tmp_path / "m.samara", bounds={"n": 50})
    assert report.program.main.inputs[0].type.shape[0].bounds() == (0, 50)
    assert report.program.main.nodes[0].outputs[0].type.shape[0].bounds() == (0, 50)
    assert report.memory[0].arena == 832  # 50 x 4 float32, in place
    session = samara.Session(tmp_path / "m.samara", threads=1)
    assert session.arena_bytes == 832 + 832
    session.resize({"x": (7, 4)})
    assert session.arena_bytes == 832 + 832
    with pytest.raises(samara.ShapeError):
        with_bounds(p, {"m": 3})


def test_an_unknown_bound_is_named() -> None:
    with pytest.raises(samara.ShapeError, match="no symbolic dim 'm'") as error:
        with_bounds(small(), {"m": 3})
    assert "n" in str(error.value.fix)
