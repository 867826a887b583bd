# SPDX-License-Identifier: Apache-2.0
"""The doctor names everything at once, and predicts what export then gives."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from samara.exporter.export import export
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir import ProgramBuilder, save_program
from samara.exporter.reports import DoctorReport, doctor, inspect
from samara.exporter.types import BackendError, ModelFormatError

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


_STUB = """
#include <stddef.h>
const char *samara_version(void) { return "VERSION"; }
size_t samara_op_count(void) { return 1; }
const char *samara_op_name(size_t i) { return i == 0 ? "exp" : NULL; }
int samara_model_open_path(const char *p, const void *o, void **m, void *e) {
  (void)p, (void)o, (void)e;
  *m = NULL;
  return 0;
}
void samara_model_close(void *m) { (void)m; }
"""


@pytest.fixture
def stub(tmp_path: Path, need_tool: Callable[[str, str], str]) -> Callable[[str], Path]:
    """A library of a version that knows one operator."""

    def build(version: str) -> Path:
        source = tmp_path / "stub.c"
        source.write_text(_STUB.replace("VERSION", version))
        folder = tmp_path / version
        folder.mkdir()
        command = [need_tool("cc", "cc"), "-shared", "-fPIC", "-o", str(folder / "libsamara.so")]
        subprocess.run([*command, str(source)], check=True)
        return folder

    return build


def test_another_library_is_asked(tmp_path: Path, stub: Callable[[str], Path]) -> None:
    source = saved(tmp_path, "g (float[n] x) => (float[n] y) { a = Exp(x)  y = Sin(a) }")
    path = tmp_path / "m.samara"
    export(import_onnx(source), path)
    new = doctor(path, library=stub("0.9.0"))
    assert [(f.subject, f.level) for f in new.findings] == [("sin", "missing")]
    old = doctor(path, library=stub("0.0.1") / "libsamara.so")
    assert {f.subject for f in old.findings} == {"sin", "runtime"}
    assert doctor(path).healthy


def test_what_cannot_be_examined(tmp_path: Path, samara_path: Path) -> None:
    (tmp_path / "x.onnx").write_bytes(b"nothing")
    with pytest.raises(ModelFormatError):
        doctor(tmp_path / "x.onnx")
    with pytest.raises(BackendError, match="no samara library"):
        doctor(samara_path, library=tmp_path)
    (tmp_path / "lib.so").write_bytes(b"nothing")
    with pytest.raises(BackendError, match="cannot be loaded here"):
        doctor(samara_path, library=tmp_path / "lib.so")
