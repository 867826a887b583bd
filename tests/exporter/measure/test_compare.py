# SPDX-License-Identifier: Apache-2.0
"""Comparing two ways of running a model, layer by layer."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.pages import EVIL, read

from samara.exporter.export import export
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir import Program, ProgramBuilder, save_program
from samara.exporter.measure.compare import (
    REFERENCE,
    Side,
    compare,
    compare_files,
    parse_side,
    sqnr_db,
)
from samara.exporter.types import ModelFormatError, ShapeError


def _chain(folder: Path, name: str, factor: float, function: str = "main") -> Path:
    """x -> a = 2x -> b = a * factor -> c = b + 1; `far` is an output that factor does not touch."""
    program = ProgramBuilder()
    f = program.function(function)
    x = f.input("x", "f32", [8])
    a = f.op("mul", x, 2.0, name="a")
    b = f.op("mul", a, factor, name="b")
    c = f.op("add", b, 1.0, name="c")
    far = f.op("cast", f.op("lt", x, 0.0, name="negative"), to="i32", name="far")
    f.finish([c, far], ["c", "far"])
    path = folder / f"{name}.samara"
    save_program(program.finish([function]), path)
    return path


@pytest.mark.parametrize("options", ["", "@backend=reference"])
def test_functions_of_other_names(tmp_path: Path, options: str) -> None:
    a, b = _chain(tmp_path, "a", 3.0), _chain(tmp_path, "b", 3.0, "forward")
    report = compare(parse_side(f"{a}{options}"), Side(str(b)))
    assert report.agree
    assert len(report.rows) >= 2


def test_c_runtime_against_the_reference(samara_path: Path) -> None:
    report = compare(Side(str(samara_path)))
    assert report.agree
    assert report.first_beyond is None
    names = [r.tensor for r in report.rows]
    assert len(names) == len(set(names))
    assert [r.output for r in report.rows][-1]
    assert all(r.op for r in report.rows)
    assert report.uncompared == ()
    assert report.sizes == {"batch": 1}
    assert all(r.sqnr_db > 100 for r in report.rows)
    assert "agree: the largest of" in report.text()


def test_configurations_of_one_file(samara_path: Path) -> None:
    a = parse_side(f"{samara_path}@isa=scalar,threads=1")
    b = parse_side(f"{samara_path}@threads=2")
    report = compare(a, b, shapes={"image": (3, 3, 8, 8)})
    assert report.agree
    assert report.sizes == {}
    assert report.rows[0].shape[0] == 3
    same = compare(b, Side(str(samara_path)))
    assert all(r.max_difference == 0 and math.isinf(r.sqnr_db) for r in same.rows)


def test_the_first_wrong_tensor_is_named(tmp_path: Path) -> None:
    a, b = _chain(tmp_path, "a", 1.5), _chain(tmp_path, "b", 1.75)
    x = np.linspace(-1, 1, 8, dtype=np.float32)
    report = compare(Side(str(a)), Side(str(b)), feeds={"x": x})
    assert not report.agree
    by_name = {r.tensor: r for r in report.rows}
    assert by_name["a"].max_difference == 0
    assert by_name["far"].tolerances == 0
    assert report.first_beyond is not None
    assert report.first_beyond.tensor == "b"
    assert by_name["b"].max_difference == pytest.approx(0.5)
    assert by_name["b"].tolerances == pytest.approx(
        np.max(np.abs(x) * 0.5 / (1e-4 + 1e-3 * np.abs(3.5 * x) + 2e-5 * 7)), rel=1e-3
    )
    assert by_name["b"].sqnr_db == pytest.approx(20 * math.log10(3.5 / 0.5), abs=1e-3)
    text = report.text()
    assert "DIFFER; first beyond the tolerance: b (mul" in text
    assert "> c" in text
    assert report.text(worst=1).count("float32") == 1
    again = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert again["agree"] is False
    assert again["rows"][0]["sqnr_db"] == "inf"


def test_a_notebook_shows_where_it_begins(tmp_path: Path) -> None:
    a, b = _chain(tmp_path, "a", 1.5), _chain(tmp_path, "b", 1.75)
    report = compare(Side(str(a)), Side(str(b)))
    shown = report._repr_html_()
    texts = read(shown)
    assert any(t.startswith("DIFFER; first beyond the tolerance: b") for t in texts)
    bars = dict(re.findall(r"<title>(\w+) \(\w+\)[^<]*</title><rect class=\"(\w+)\"", shown))
    assert bars["a"] == "good"
    assert bars["b"] == "poor"
    assert "c (output)" in texts
    evil = replace(report, a=EVIL, rows=tuple(replace(r, tensor=EVIL) for r in report.rows))
    assert EVIL in read(evil._repr_html_())
    rounded = replace(report, bound=replace(report.bound, kind="sqnr"))
    assert "dB of signal to noise" in read(rounded._repr_html_())


def test_integers_must_be_equal(tmp_path: Path) -> None:
    def build(offset: int) -> Program:
        program = ProgramBuilder()
        f = program.function("main")
        f.finish([f.op("add", f.input("x", "i32", [3]), offset, name="y")], ["y"])
        return program.finish(["main"])

    for name, offset in (("a", 1), ("b", 2)):
        save_program(build(offset), tmp_path / name)
    report = compare(Side(str(tmp_path / "a")), Side(str(tmp_path / "b")))
    (row,) = report.rows
    assert row.max_difference == 1
    assert math.isinf(row.tolerances)
    assert not report.agree


def test_optimized_against_not_optimized(onnx_path: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.samara"
    export(import_onnx(onnx_path), plain, optimize=False, check=False)
    fused = tmp_path / "fused.samara"
    export(import_onnx(onnx_path), fused, check=False)
    report = compare(Side(str(plain)), Side(str(fused)))
    assert report.agree
    assert any(r.output for r in report.rows)
    assert report.uncompared  # what fusion took away
    assert "tensors of A are not in B" in report.text()


def test_state_takes_part(counter_path: Path) -> None:
    report = compare(Side(str(counter_path)))
    assert [r.tensor for r in report.rows] == ["after", "more"]
    assert report.agree


def test_files_as_the_command_line_names_them(onnx_path: Path, tmp_path: Path) -> None:
    image = np.ones((2, 3, 8, 8), np.float32)
    np.save(tmp_path / "image.npy", image)
    notes: list[str] = []
    report = compare_files(
        str(onnx_path),
        f"{onnx_path}@isa=scalar",
        inputs={"image": str(tmp_path / "image.npy")},
        note=notes.append,
    )
    assert report.agree
    assert (report.a, report.b) == (str(onnx_path), f"{onnx_path}@isa=scalar")
    assert len(notes) == 1  # converted once for both sides
    assert report.rows[0].shape[0] == 2
    assert "reference interpreter" in compare_files(str(onnx_path)).b


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("m.samara", Side("m.samara")),
        ("m.samara@isa=avx2", Side("m.samara", "avx2")),
        ("a@b/m.samara@threads=3,isa=scalar", Side("a@b/m.samara", "scalar", 3)),
        ("m.samara@backend=reference", Side("m.samara", backend=REFERENCE)),
    ],
)
def test_sides(text: str, side: Side) -> None:
    assert parse_side(text) == side
    assert parse_side(str(side)) == side


def test_path_with_an_at_sign(tmp_path: Path) -> None:
    path = tmp_path / "a@b"
    path.write_text("")
    assert parse_side(str(path)) == Side(str(path))


@pytest.mark.parametrize("text", ["m@isa", "m@fast=1", "m@isa=", "m@threads=two"])
def test_wrong_sides(text: str) -> None:
    with pytest.raises(ShapeError):
        parse_side(text)


def test_absent_function_and_file(samara_path: Path) -> None:
    with pytest.raises(ShapeError, match="no function 'f'"):
        compare_files(str(samara_path), function="f")
    with pytest.raises(ModelFormatError, match="neither"):
        compare_files(__file__)


def test_sqnr() -> None:
    x = np.array([3.0, 4.0])
    assert sqnr_db(x, x) == math.inf
    assert sqnr_db(x, x + np.array([0.5, 0.0])) == pytest.approx(20.0)
    assert sqnr_db(x * 0, x) == -math.inf
    assert math.isnan(sqnr_db(x, np.array([np.nan, 4.0])))


def test_float16_storage_is_of_devices() -> None:
    assert Side("m.samara", backend="opencl", accuracy="float16").precision == "float16"
    assert Side("m.samara", accuracy="float16").precision == "default"
    assert Side("m.samara", accuracy="bfloat16").precision == "bfloat16"
