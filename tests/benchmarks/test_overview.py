# SPDX-License-Identifier: Apache-2.0
"""The README's charts and tables are those of the figures that were kept."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import library_sizes, overview
from benchmarks.engines import NAMES
from benchmarks.results import Report, report_from


@pytest.fixture(scope="module")
def report(repo: Path) -> Report:
    return report_from(json.loads((repo / "benchmarks" / "page.json").read_text(encoding="utf-8")))


def test_what_the_readme_shows_is_what_was_measured(
    report: Report, repo: Path, tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    shutil.copyfile(repo / "README.md", tmp_path / "README.md")
    overview.write(report, tmp_path)
    for path in ("README.md", *(f"docs/images/{name}.svg" for name in ("latency", "load", "size"))):
        assert (tmp_path / path).read_text() == (repo / path).read_text(), f"{path} is stale"


def test_losses_are_the_models_on_which_a_peer_is_faster(report: Report) -> None:
    rows = [r for r in report.rows if (r.model, r.form, r.threads) == ("resnet18", "int8", 1)]
    assert overview.losses(replace(report, rows=rows)).count("\n") == 1  # the table's head alone
    slow = [replace(r, median=10**9) if r.engine == "samara" else r for r in rows]
    lost = overview.losses(replace(report, rows=slow)).splitlines()[2:]
    assert [line.split(" | ")[0] for line in lost] == ["| ResNet-18"]


def test_charts_show_every_engine(report: Report) -> None:
    shown = overview.charts(report, dict.fromkeys(NAMES, 1_000_000))
    for svg in shown.values():
        assert all(title in svg for title in ("samara", "ONNX Runtime", "LiteRT", "ExecuTorch"))
    # The base of the ratios is samara itself.
    assert "<title>samara: 1 x</title>" in shown["latency.svg"]


def test_every_engine_has_a_size(repo: Path) -> None:
    kept = json.loads(library_sizes.RESULT.read_text(encoding="utf-8"))
    assert list(kept) == list(NAMES)
