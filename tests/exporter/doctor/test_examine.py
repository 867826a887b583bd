# SPDX-License-Identifier: Apache-2.0
"""The doctor names everything at once, and predicts what export then gives."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from samara.exporter.build import write_source
from samara.exporter.doctor.examine import DoctorReport, doctor
from samara.exporter.export import export
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.inspect.contents import inspect
from samara.exporter.ir import ProgramBuilder, save_program
from samara.exporter.measure.survey import needs_of
from samara.exporter.package.bare_metal import HOSTED
from samara.exporter.package.lists import lists
from samara.exporter.testing import steered_program
from samara.exporter.types import ModelFormatError, SamaraError
from samara.pybridge import sources

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
    with pytest.raises(ModelFormatError, match="has no manifest of samara"):
        doctor(samara_path, library=tmp_path / "lib.so")


def softmax_of_bytes(folder: Path) -> Path:
    """A file with an int8 softmax, whose table is uint32."""
    b = ProgramBuilder().function("main")
    scores = b.op("quantize", b.input("x", "f32", [2, 8]), scales=(0.1,), zero_points=(0,))
    table = np.arange(256, dtype=np.uint32)
    y = b.op("qsoftmax", scores, b.const(table, "exponentials"), axis=1)
    b.finish([b.op("dequantize", y)], ["y"])
    save_program(b.program.finish(["main"]), folder / "m.samara")
    return folder / "m.samara"


def test_tables_are_no_slow_computation(tmp_path: Path) -> None:
    assert doctor(softmax_of_bytes(tmp_path), run=False).findings == ()
    slow = doctor(saved(tmp_path, "g (double[4] x) => (double[4] y) { a = Exp(x)  y = Sin(a) }"))
    assert reasons(slow) == {
        "float64": "2 nodes compute in float64, by portable kernels, an element at a time"
    }
    text = "g (double[4] x) => (double[4, 1] y) <int64[1] a = {1}> { y = Unsqueeze(x, a) }"
    moved = doctor(saved(tmp_path, text))
    assert moved.findings == ()


def test_masks_are_no_broken_weights(tmp_path: Path) -> None:
    masked = np.array([-np.inf, 0, 0, 0], np.float32)
    for op, broken in (("add", False), ("mul", True)):
        b = ProgramBuilder().function("main")
        b.finish([b.op(op, b.input("x", "f32", [4]), b.const(masked, "mask"))], ["y"])
        save_program(b.program.finish(["main"]), tmp_path / "m.samara")
        assert ("weights" in reasons(doctor(tmp_path / "m.samara"))) == broken


def test_flops_with_a_library_are_those_of_sizes_that_are_said(tmp_path: Path) -> None:
    path = exported(tmp_path, TWO)
    whole = library(tmp_path, "ops all", "parts all")
    here, there = doctor(path).prediction, doctor(path, library=whole).prediction
    assert here is not None
    assert there is not None
    assert there.flops == here.flops > 0
    assert there.sizes == here.sizes == {"n": 1}
    assert "export gives (with n=1)" in doctor(path, library=whole).text()
    large = doctor(path, library=whole, shapes={"x": (100,)})
    assert large.prediction is not None
    assert large.prediction.flops == 100 * there.flops
    assert "(with n=100)" in large.text()
    still = doctor(path, library=whole, run=False).prediction
    assert still is not None
    assert (still.flops, still.sizes, still.arena_bytes) == (there.flops, {"n": 1}, None)


def test_sizes_that_nothing_ran_with_fit_the_model(tmp_path: Path) -> None:
    b = ProgramBuilder().function("main")
    x = b.input("x", "f32", [1, "long"])
    y = b.op("slice", x, begin=(0, 100), end=tuple(x.type.shape), step=(1, 1))
    b.finish([b.op("exp", y)], ["y"])
    save_program(b.program.finish(["main"]), tmp_path / "m.samara")
    found = doctor(tmp_path / "m.samara", run=False).prediction
    assert found is not None
    assert found.sizes == {"long": 128}
    assert found.unknown_flops == 0


def test_inputs_decide_what_runs(tmp_path: Path) -> None:
    save_program(steered_program(), tmp_path / "m.samara")
    assert doctor(tmp_path / "m.samara", inputs={"rate": "16000"}).healthy
    with pytest.raises(SamaraError, match="no input 'rat'"):
        doctor(tmp_path / "m.samara", inputs={"rat": 1})


FIXED = """g (float[1, 3, 8, 8] x, float[8, 3, 3, 3] w) => (float[1, 8, 8, 8] y) {
    a = Conv<pads = [1, 1, 1, 1]>(x, w)  y = Relu(a) }"""


def assert_read(folder: Path, net: Path, other: Path) -> None:
    """The C files in a folder are those of a build for `net`."""
    for given in (folder, folder / "net_model.c", folder / "net.h"):
        report = doctor(net, library=given)
        assert report.findings == (), given
        assert report.library.startswith("net_model.c 0.")
        lacks = reasons(doctor(other, library=given))
        assert lacks["sin"] == "the library has no operator sin"


def two_files(folder: Path) -> tuple[Path, Path]:
    (folder / "other").mkdir()
    other = exported(folder, "g (float[4] x) => (float[4] y) { y = Sin(x) }")
    other = other.rename(folder / "other" / "m.samara")
    return exported(folder, FIXED), other


@pytest.mark.parametrize("target", ["source", "cortex-m4f"])
def test_c_files_are_read(target: str, tmp_path: Path) -> None:
    net, other = two_files(tmp_path)
    needed = needs_of(net).selection
    assert needed.parts is not None
    parts = needed.parts - HOSTED if target != "source" else needed.parts
    selection = replace(needed, parts=parts, target=target, version="0.5.0")
    folder = tmp_path / "c"
    folder.mkdir()
    rows = "\n".join(lists(selection, sources()).values())
    (folder / "net_model.c").write_text("// a runtime\n" + rows + "\nint more(void);\n")
    (folder / "net.h").write_text('/* its first line, "samara-manifest 1". */')
    assert_read(folder, net, other)
    (folder / "example.c").write_text('#include "net.h"\n')
    with pytest.raises(ModelFormatError, match=r"example\.c has no manifest of samara"):
        doctor(net, library=folder / "example.c")
    (folder / "more_model.c").write_text("")
    with pytest.raises(SamaraError, match=r"holds several: more_model\.c, net_model\.c"):
        doctor(net, library=folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "bare_metal", [None, pytest.param("cortex-m4f", marks=pytest.mark.extended)]
)
def test_builds_of_c_files_are_read(bare_metal: str | None, tmp_path: Path) -> None:
    net, other = two_files(tmp_path)
    write_source([net], out=tmp_path / "c", name="net", bare_metal=bare_metal, embed=True)
    assert_read(tmp_path / "c", net, other)
