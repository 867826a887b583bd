# SPDX-License-Identifier: Apache-2.0
"""`make bench-ops` and the benchmark of import and export on little work."""

from __future__ import annotations

import importlib
import json
import re
import sys
import types
from dataclasses import replace
from pathlib import Path

import pytest


def _module(repo: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> types.ModuleType:
    monkeypatch.syspath_prepend(str(repo / "benchmarks"))
    for known in ("operators", "operator_rows", "operator_rows_data", "operator_models", name):
        monkeypatch.delitem(sys.modules, known, raising=False)
    return importlib.import_module(name)


@pytest.fixture
def operators(repo: Path, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """benchmarks/operators.py."""
    return _module(repo, monkeypatch, "operators")


def test_rows_are_measured_and_compared(
    operators: types.ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, page = tmp_path / "rows.json", tmp_path / "page.md"
    only = "^(add by a row|argmax last axis|nonzero half of them|if a sum)$"
    arguments = ["--only", only, "--runs", "1", "--json", str(out), "--page", str(page)]
    monkeypatch.setattr(sys, "argv", ["operators.py", *arguments])
    assert operators.main() == 0
    found = {m["op"]: m for m in json.loads(out.read_text())}
    assert set(found) == {"add", "argmax", "nonzero", "if"}
    assert all(m["problem"] == "" and m["ratio"] > 0 for m in found.values())
    text = capsys.readouterr().out
    assert all(name in text for name in ("add by a row", "ArgMax", "onnxruntime us"))
    assert re.search(r"\| argmax \| last axis \| ArgMax \||: .*argmax last axis", page.read_text())
    assert "* `custom`:" in page.read_text()


def test_an_operator_without_rows_says_why(
    operators: types.ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["operators.py", "--only", "^cumprod$", "--runs", "1"])
    assert operators.main() == 0
    assert "cumprod has no row: onnxruntime has no CumProd" in capsys.readouterr().out


def test_a_wrong_answer_is_a_problem(
    operators: types.ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {r.name: r for r in operators.rows()}
    row = rows["softmax rows of 16"]
    assert operators.measure(row, 1, tmp_path).problem == ""
    monkeypatch.setattr(operators, "_TOLERANCE", (1e-12, 0.0, 0.0))
    assert "times the tolerance" in operators.measure(row, 1, tmp_path).problem


def test_a_row_that_runs_something_else_is_a_problem(
    operators: types.ModuleType, tmp_path: Path
) -> None:
    stray = replace(next(r for r in operators.rows() if r.name == "add"), op="matmul")
    assert "the program runs add" in operators.measure(stray, 1, tmp_path).problem


def test_models_are_the_same_every_time(operators: types.ModuleType) -> None:
    row = next(r for r in operators.rows() if r.name == "conv 3x3")
    first, second = row.build(), row.build()
    assert first[0].SerializeToString() == second[0].SerializeToString()
    assert all((first[1][k] == second[1][k]).all() for k in first[1])


def test_import_and_export_by_stage(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    speed = _module(repo, monkeypatch, "import_speed")
    out = tmp_path / "stages.json"
    arguments = ["--nodes", "60", "--runs", "1", "--json", str(out)]
    monkeypatch.setattr(sys, "argv", ["import_speed.py", *arguments])
    assert speed.main() == 0
    found = json.loads(out.read_text())
    assert set(found) == set(speed.MODELS)
    for model in found.values():
        assert 45 <= model["nodes"] <= 60
        taken = model["seconds"]
        parts = sum(t for stage, t in taken.items() if not stage.startswith("total"))
        assert {"parse", "convert", "pass layout", "verify", "check", "write"} <= set(taken)
        assert taken["total checked"] == pytest.approx(parts)
        assert taken["total"] == pytest.approx(parts - taken["check"])
    assert "pass fuse_attention" in capsys.readouterr().out


def test_a_profile_is_printed(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    speed = _module(repo, monkeypatch, "import_speed")
    monkeypatch.setattr(
        sys, "argv", ["import_speed.py", "--profile", "--nodes", "20", "convolutional"]
    )
    assert speed.main() == 0
    assert "tottime" in capsys.readouterr().out
