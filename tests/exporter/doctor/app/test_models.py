# SPDX-License-Identifier: Apache-2.0
"""Models beside libraries: what opens, what is lacking, what is newer."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.exporter.doctor.app.made import faults

import samara
from samara.exporter.doctor.app import models
from samara.exporter.doctor.app.entries import Entry
from samara.exporter.doctor.app.models import examine_models, model_entries
from samara.exporter.ir import ProgramBuilder, save_program
from samara.exporter.measure.survey import needs_of
from samara.exporter.package.selection import Selection
from samara.exporter.testing import small_onnx

WHOLE = Selection.parse("samara-manifest 1\nops all\nparts all\n")


def entry(data: bytes, name: str = "assets/m.samara") -> Entry:
    return Entry(name, len(data), None, lambda: data)


def test_entries() -> None:
    found = {
        name: entry(b"", name) for name in ("a.samara", "b/C.SAMARA", "samara", "a.samara.txt")
    }
    assert [each.name for each in model_entries(found)] == ["a.samara", "b/C.SAMARA"]


def test_a_model_that_runs(samara_path: Path) -> None:
    data = samara_path.read_bytes()
    least = needs_of(samara_path).selection
    least = replace(least, version="0.9.0", features=("files",))
    (model,), rows = examine_models([entry(data)], {"arm64-v8a": WHOLE, "x86_64": least})
    assert faults(rows) == []
    assert (model.name, model.size_bytes) == ("assets/m.samara", len(data))
    assert model.runs_on == ("arm64-v8a", "x86_64")
    assert set(model.operators) == set(least.ops)
    assert model.min_runtime.count(".") == 2


def test_what_one_library_lacks(samara_path: Path) -> None:
    least = replace(needs_of(samara_path).selection, version="0.9.0")
    without = replace(least, ops={k: v for k, v in least.ops.items() if k != "conv"})
    other = replace(least, ops={**least.ops, "conv": frozenset({"float16"})})
    fewer = replace(least, parts=(least.parts or frozenset()) - {"f32_gemm"})
    runtimes = {"a": without, "b": other, "c": fewer, "d": least}
    (model,), rows = examine_models([entry(samara_path.read_bytes())], runtimes)
    assert model.runs_on == ("d",)
    said = [row.said for row in rows if row.level == "broken"]
    assert len(said) == 3
    assert said[0].startswith("a: the library lacks operator conv")
    assert said[1] == "b: the library lacks conv of float32"
    assert said[2] == "c: the library lacks f32_gemm"
    assert all("samara build" in row.fix for row in rows if row.level == "broken")


def test_a_library_that_lacks_much(samara_path: Path) -> None:
    none = Selection(version="0.9.0")
    _, (_, row) = examine_models([entry(samara_path.read_bytes())], {"x86": none})
    assert row.said.startswith("x86: the library lacks operator ")
    assert row.said.count("operator ") == 5
    assert row.said.endswith(" more")


def test_versions(samara_path: Path) -> None:
    old = replace(WHOLE, version="0.0.9")
    (model,), rows = examine_models([entry(samara_path.read_bytes())], {"x86": old})
    assert model.runs_on == ()
    assert faults(rows) == [("broken", "version")]
    assert any("0.0.9" in row.said for row in rows)


def test_features_of_records(tmp_path: Path) -> None:
    path = tmp_path / "m.samara"
    record = {"image": "rgb float32 nchw resize=8x8 mean=127.5 std=127.5"}
    samara.export(samara.import_onnx(small_onnx()), path, check=False, preprocess=record)
    runtimes = {
        "x86": replace(WHOLE, features=("files",)),
        "arm": replace(WHOLE, features=("images",)),
    }
    (model,), rows = examine_models([entry(path.read_bytes())], runtimes)
    assert faults(rows) == [("doubtful", "features")]
    assert model.runs_on == ("x86", "arm")


def test_without_libraries(samara_path: Path) -> None:
    (model,), rows = examine_models([entry(samara_path.read_bytes())], {})
    assert model.runs_on == ()
    assert [row.level for row in rows] == ["ok"]


def test_a_model_that_runs_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it needs depends on data that a loop of 2^27 trips computes: half a minute."""
    b = ProgramBuilder().function("main")
    x = b.input("x", "f32", [4])
    body = b.child("body")
    body.input("i", "i64", [])
    go, acc = body.input("go", "bool", []), body.input("acc", "f32", [4])
    more = body.op("mul", acc, 0.5)
    (last,) = b.loop(b.const(np.array(1 << 27)), None, [x], (body, [go, more]))
    b.finish([b.op("neg", b.op("nonzero", last))], ["y"])
    save_program(b.program.finish(["main"]), tmp_path / "m.samara")
    data = (tmp_path / "m.samara").read_bytes()
    monkeypatch.setattr(models, "_LIMITS", {"deadline_s": 0.2})
    started = time.monotonic()
    _, rows = examine_models([entry(data)], {"x86": WHOLE})
    assert time.monotonic() - started < 5
    assert faults(rows) == []


@pytest.mark.parametrize("cut", [0, 4, 100, -1])
def test_damaged(samara_path: Path, cut: int) -> None:
    data = samara_path.read_bytes()
    data = data[:cut] if cut >= 0 else data[:-200] + bytes([data[-200] ^ 255]) + data[-199:]
    (model,), rows = examine_models([entry(data)], {"x86": WHOLE})
    assert faults(rows) == [("broken", "model")]
    assert (model.min_runtime, model.runs_on) == ("", ())
    assert "/" not in rows[0].said  # no name of a temporary file
    assert rows[0].fix
