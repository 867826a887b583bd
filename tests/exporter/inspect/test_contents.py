# SPDX-License-Identifier: Apache-2.0
"""The inspect report: nodes, kernels, memory, promises, and files that cannot run here."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from samara.exporter.inspect.contents import TokenizerRow, family_of, inspect
from samara.exporter.inspect.html import html_page
from samara.exporter.ir import ProgramBuilder, open_program, save_program
from samara.exporter.ops import all_ops
from samara.exporter.text.tokenizer import compile_tokenizer
from samara.exporter.types import ModelFormatError, Quant, ShapeError
from samara.pybridge import Session


def test_what_a_file_holds(samara_path: Path) -> None:
    report = inspect(samara_path)
    assert report.size_bytes == samara_path.stat().st_size
    assert report.golden == 1
    assert json.loads(report.metadata["labels"])[2] == "maple"
    main = report.main
    assert [str(t) for t in main.inputs] == ["image: float32[batch, 3, 8, 8]"]
    assert [str(t) for t in main.outputs] == ["score: float32[batch, 4]"]
    assert not main.growing
    assert report.operators["conv"] == 1
    assert [t.interior for t in report.transposes] == [False]
    conv = next(n for n in main.nodes if n.op == "conv")
    assert conv.promise == "bounded"
    assert conv.family == "linear"
    assert conv.source == "conv (Conv)"
    assert conv.flops is not None
    assert conv.flops >= 2 * 8 * 8 * 6 * 27
    assert inspect(samara_path, run=False).main.nodes[0].flops is None
    assert next(n for n in main.nodes if n.op == "transpose").promise == "exact"
    assert all(n.kernel is not None and n.microseconds is not None for n in main.nodes)


def test_memory_is_that_of_a_session(samara_path: Path) -> None:
    memory = inspect(samara_path, shapes={"image": (5, 3, 8, 8)}).memory
    session = Session(samara_path, threads=1)
    session.run({"image": np.zeros((5, 3, 8, 8), np.float32)})
    assert memory.arena_bytes == session.arena_bytes
    assert memory.sizes == {}
    assert memory.weights_bytes >= sum(c.size_bytes for c in memory.constants) - memory.golden_bytes
    names = [c.name for c in memory.constants]
    assert len(names) == len(set(names))
    assert inspect(samara_path).memory.sizes == {"batch": 1}


def test_state_is_told(counter_path: Path) -> None:
    report = inspect(counter_path)
    assert report.main.state == {"total": "sum", "total_out": "sum"}
    assert [t.name for t in report.main.inputs] == ["x"]
    assert [t.name for t in report.main.reads] == ["total"]
    assert [t.name for t in report.main.outputs] == ["y"]
    assert report.main.results == ("more", "after")
    assert [(v.name, v.shape) for v in report.variables] == [("sum", (2,))]
    assert "total is variable sum" in report.text()


def test_promises_follow_dtypes_and_bodies_are_reported(tmp_path: Path) -> None:
    program = ProgramBuilder()
    f = program.function("main")
    x = f.input("x", "f32", ["n"])
    i = f.op("cast", x, to="i32", name="i")
    doubled = f.op("add", i, i, name="doubled")
    flags = f.op("lt", x, 0.0, name="flags")
    q = f.op("quantize", x, scales=(0.5,), zero_points=(1,), name="q")
    body = f.child("body")
    body.input("k", "i64", [])
    go = body.input("go", "bool", [])
    acc = body.input("acc", "i32", ["m"])
    (looped,) = f.loop(
        f.const(np.array(3)), None, [doubled], (body, [go, body.op("neg", acc, name="back")])
    )
    f.finish([looped, flags, q], ["looped", "flags", "q"])
    save_program(program.finish(["main"]), tmp_path / "m.samara")
    report = inspect(tmp_path / "m.samara", shapes={"x": (4,)})
    promises = {n.name: n.promise for f in report.functions for n in f.nodes}
    assert promises["i"] == "bounded"
    assert promises["doubled"] == "exact"
    assert promises["flags"] == "bounded"
    assert promises["q"] == "exact"
    assert promises["back"] == "exact"
    back = next(n for f in report.functions if not f.entry for n in f.nodes if n.name == "back")
    assert back.kernel is not None
    (row,) = [t for t in report.main.outputs if t.name == "q"]
    assert (row.scale, row.zero_point) == (0.5, 1)
    assert Quant((0.5,), (1,)).scales == (row.scale,)


def test_growing_is_said(tmp_path: Path) -> None:
    program = ProgramBuilder()
    f = program.function("main")
    start = f.input("count", "i64", [])
    f.finish([f.op("range", f.const(np.array(0)), start, f.const(np.array(1)), name="r")], ["r"])
    save_program(program.finish(["main"]), tmp_path / "m.samara")
    report = inspect(tmp_path / "m.samara")
    assert report.main.growing
    assert "growing" in report.text()


def test_text_and_json(samara_path: Path) -> None:
    report = inspect(samara_path, name="given.onnx")
    brief = report.text()
    assert brief.startswith("given.onnx: ")
    assert "conv 1" in brief
    assert "kernel" not in brief
    full = report.text(kernels=True, memory=True)
    conv = next(n for n in report.main.nodes if n.op == "conv")
    assert conv.kernel is not None
    assert conv.kernel in full
    assert "arena of one session" in full
    again = json.loads(json.dumps(report.to_json()))
    assert again["functions"][0]["nodes"][0]["op"] == report.main.nodes[0].op
    assert again["memory"]["arena_bytes"] == report.memory.arena_bytes


def test_file_that_cannot_run_is_reported_with_the_reason(samara_path: Path) -> None:
    report = inspect(samara_path, shapes={"image": (1, 1, 1, 1)})
    assert "the model takes" in report.not_run
    assert report.memory.arena_bytes is None
    assert all(n.kernel is None for n in report.main.nodes)
    assert "not run here" in report.text(kernels=True)
    assert inspect(samara_path, run=False).not_run == "not asked for"


def test_no_model(tmp_path: Path) -> None:
    path = tmp_path / "m.samara"
    path.write_bytes(b"\0\0\0\0SMRA" + bytes(100))
    with pytest.raises(ModelFormatError):
        inspect(path)


def test_every_operator_has_a_family() -> None:
    families = {family_of(op) for op in all_ops()}
    assert {"pointwise", "linear", "movement", "control"} <= families
    assert "other" not in families


def test_branches_and_loops(steered_path: Path) -> None:
    report = inspect(steered_path, inputs={"rate": 16000}, shapes={"x": (2, 50)})
    nodes = {n.path: n for f in report.functions for n in f.nodes}
    grown, aside = nodes["choose/then/repeat/body/grown"], nodes["choose/else/magnitude"]
    assert (grown.executions, grown.flops) == (3, 100)
    assert grown.kernel
    assert 0 < (grown.share or 0) < (nodes["choose"].share or 0) <= 1
    assert (aside.executions, aside.kernel, aside.share, aside.flops) == (None, None, None, 100)
    text = report.text(kernels=True)
    assert "main/fast/body: choose/then/repeat/body, ran 3 times" in text
    assert "main/slow: choose/else, not reached in this run" in text
    assert "of the run" in text
    other = inspect(steered_path, inputs={"rate": "8000"})
    assert "main/slow: choose/else, ran once" in other.text(kernels=True)
    rows = {n["path"] for f in other.to_json()["functions"] for n in f["nodes"]}
    assert rows == nodes.keys()


def test_wrong_inputs_are_refused(steered_path: Path) -> None:
    with pytest.raises(ShapeError, match="no input 'rat'"):
        inspect(steered_path, inputs={"rat": 1})
    with pytest.raises(ShapeError, match="that int64 cannot represent"):
        inspect(steered_path, inputs={"rate": "0.5"})


def test_the_tokenizer_is_told(samara_path: Path, tmp_path: Path) -> None:
    assert inspect(samara_path, run=False).tokenizer is None
    words = {"type": "WordLevel", "vocab": {"?": 0, "maple": 1}, "unk_token": "?"}
    table = compile_tokenizer({"model": words})
    path = tmp_path / "m.samara"
    program = open_program(samara_path)
    save_program(replace(program, tokenizer=table), path)
    report = inspect(path, run=False)
    assert report.tokenizer == TokenizerRow("WordLevel", 2, len(table))
    assert "tokenizer: WordLevel, 2 ids" in report.text()
    assert "WordLevel, 2 ids" in html_page(report)
    assert report.to_json()["tokenizer"]["size_bytes"] == len(table)
    assert report.memory.weights_bytes < report.size_bytes - len(table)
    save_program(replace(program, tokenizer=bytes(64)), path)
    assert "tokenizer: 64 B, damaged: " in inspect(path, run=False).text()
