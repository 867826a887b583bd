# SPDX-License-Identifier: Apache-2.0
"""The doctor names everything at once, and predicts what export then gives."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from samara.exporter.export import export
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir import ProgramBuilder, save_program
from samara.exporter.reports import DoctorReport, doctor, inspect
from samara.exporter.reports.needs import needs_of
from samara.exporter.types import ModelFormatError, SamaraError

ODD = """g (float[n, 3] x, float[2] idle, seq(float[2]) s) => (float[n, 3] y, float[2] z) {
    a = Nothing(x)  b = Nothing(x)  y = Relu(x)  r = RandomNormal<shape = [2]>()  z = Add(r, idle)
    q = SequenceLength(s) }"""


def saved(folder: Path, graph: str) -> Path:
    path = folder / "model.onnx"
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 21]> ' + graph), path)
    return path


def reasons(report: DoctorReport) -> dict[str, str]:
    return {f.subject: f.reason for f in report.findings}


def test_all_problems_in_one_table(tmp_path: Path) -> None:
    report = doctor(saved(tmp_path, ODD))
    assert not report.healthy
    assert report.prediction is None
    found = reasons(report)
    assert set(found) == {"input", "Nothing", "RandomNormal", "SequenceLength"}
    assert next(f for f in report.findings if f.subject == "Nothing").where == ("a", "b")
    assert "random numbers" in found["RandomNormal"]
    assert all(f.fix for f in report.findings)
    text = report.text()
    assert "will not work: 4" in text
    assert json.loads(json.dumps(report.to_json()))["healthy"] is False


def test_prediction_is_what_export_gives(onnx_path: Path, tmp_path: Path) -> None:
    predicted = doctor(onnx_path).prediction
    assert predicted is not None
    path = tmp_path / "m.samara"
    made = export(import_onnx(onnx_path), path)
    report = inspect(path)
    assert predicted.file_bytes == made.size_bytes == path.stat().st_size
    assert predicted.arena_bytes == report.memory.arena_bytes
    assert predicted.session_bytes == report.memory.session_bytes
    assert predicted.flops == sum(n.flops or 0 for n in report.main.nodes)
    assert (predicted.nodes, predicted.unknown_flops) == (made.nodes_after, 0)
    assert predicted.sizes == report.memory.sizes


def test_shapes_move_the_prediction(tmp_path: Path) -> None:
    path = saved(tmp_path, "g (float[n, 8] x) => (float[n, 8] y) { a = Exp(x)  y = Relu(a) }")
    small, large = (doctor(path, shapes={"x": (n, 8)}) for n in (1, 100))
    assert small.symbolic == large.symbolic == ()
    assert small.prediction is not None
    assert large.prediction is not None
    assert large.prediction.flops == 100 * small.prediction.flops > 0
    open_dim = doctor(path)
    assert [(s.name, s.axes) for s in open_dim.symbolic] == [("n", ("x[0]",))]


def test_what_is_doubtful(tmp_path: Path) -> None:
    graph = """g (float[n] x, float[3] idle) => (float[n] y, float[2] w)
        <float[2] known = {1.0, 2.0}> { y = Exp(x)  w = Identity(known) }"""
    report = doctor(saved(tmp_path, graph))
    assert report.healthy
    found = {f.subject: f.where for f in report.findings}
    assert found["output"] == ("w",)
    assert found["input"] == ("idle",)


def test_weights_that_are_no_numbers(tmp_path: Path) -> None:
    b = ProgramBuilder()
    f = b.function("main")
    x = f.input("x", "f32", [2])
    y = f.op("mul", x, f.const(np.array([1, np.nan], np.float32), "scale"))
    path = tmp_path / "m.samara"
    b.functions["main"] = f.finish([y], ["y"])
    save_program(b.finish(["main"]), path)
    assert reasons(doctor(path))["weights"] == "they hold NaN or infinity"


def test_flops_inside_control_flow(tmp_path: Path) -> None:
    body = (
        "body (int64 i, bool c, float[8] a) => (bool d, float[8] b) { d = Identity(c)  b = Exp(a) }"
    )
    graph = f"""g (float[8] x) => (float[8] y) {{
        n = Constant<value_int = 5>()  t = Constant<value = bool {{1}}>()
        y = Loop(n, t, x) <body = {body}> }}"""
    once = doctor(saved(tmp_path, "g (float[8] x) => (float[8] y) { y = Exp(x) }")).prediction
    loop = doctor(saved(tmp_path, graph)).prediction
    assert once is not None
    assert loop is not None
    assert (loop.flops, loop.unknown_flops) == (5 * once.flops, 0)


def library(folder: Path, *rows: str, version: str = "0.9.0") -> Path:
    """A file that carries a manifest with these rows, as a library for any machine does."""
    text = "\n".join(["samara-manifest 1", f"version {version}", "isa avx2", *rows, ""])
    (folder / "libsamara.so").write_bytes(b"\x7fELF" + text.encode() + b"\0")
    return folder / "libsamara.so"


def exported(folder: Path, graph: str) -> Path:
    path = folder / "m.samara"
    export(import_onnx(saved(folder, graph)), path)
    return path


TWO = "g (float[n] x) => (float[n] y) { a = Exp(x)  y = Sin(a) }"


def test_another_library_is_read(tmp_path: Path) -> None:
    path = exported(tmp_path, TWO)
    whole = needs_of(path).selection
    rows = [f"op {op} float32" for op in whole.ops] + [f"part {p}" for p in whole.parts or ()]
    assert doctor(path, library=library(tmp_path, *rows)).healthy
    assert doctor(path, library=tmp_path).library.startswith("libsamara.so 0.9.0 with 2 operators")
    assert doctor(path, library=library(tmp_path, "ops all", "parts all")).healthy
    old = doctor(path, library=library(tmp_path, *rows, version="0.0.1"))
    assert [f.subject for f in old.findings] == ["runtime"]


@pytest.mark.parametrize(
    ("left_out", "subject"),
    [("op sin float32", "sin"), ("part f32_vunary_exp", "f32_vunary_exp")],
)
def test_what_a_library_lacks(tmp_path: Path, left_out: str, subject: str) -> None:
    path = exported(tmp_path, TWO)
    whole = needs_of(path).selection
    rows = [f"op {op} float32" for op in whole.ops] + [f"part {p}" for p in whole.parts or ()]
    assert left_out in rows
    rows.remove(left_out)
    report = doctor(path, library=library(tmp_path, *rows))
    assert [(f.subject, f.level) for f in report.findings] == [(subject, "missing")]
    assert report.findings[0].where
    assert "samara build" in report.findings[0].fix


def test_a_library_without_an_element_type(tmp_path: Path) -> None:
    path = exported(tmp_path, TWO)
    rows = ("op exp float16", "op sin float32", "parts all")
    (finding,) = doctor(path, library=library(tmp_path, *rows)).findings
    assert finding.reason == "the library has no exp of float32"


def test_what_cannot_be_examined(tmp_path: Path, samara_path: Path) -> None:
    (tmp_path / "x.onnx").write_bytes(b"nothing")
    with pytest.raises(ModelFormatError):
        doctor(tmp_path / "x.onnx")
    with pytest.raises(SamaraError, match="no samara library"):
        doctor(samara_path, library=tmp_path)
    (tmp_path / "lib.so").write_bytes(b"nothing")
    with pytest.raises(ModelFormatError, match="no samara manifest"):
        doctor(samara_path, library=tmp_path / "lib.so")
