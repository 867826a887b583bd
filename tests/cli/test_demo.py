# SPDX-License-Identifier: Apache-2.0
"""`samara demo`; what it does is tested in tests/exporter/demo/test_demo.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from samara.exporter.demo.demo import DemoReport, Variant

Samara = Callable[..., Result]


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the library's demo is asked for, and what it answers."""
    asked: dict[str, Any] = {"accuracy": 0.98}

    def fake(folder: Path, *, seed: int, progress: Callable[[str, int, int], None]) -> DemoReport:
        asked.update(folder=folder, seed=seed)
        progress("training", 1, 2)
        return DemoReport(
            folder=str(folder),
            train_images=10,
            test_images=5,
            fit_seconds=1.0,
            trained_loss=0.05,
            trained_accuracy=0.98,
            python_accuracy=asked["accuracy"],
            c_accuracy=0.98,
            largest_difference=1e-6,
            model_bytes=1000,
            onnx_bytes=900,
            nodes_before=14,
            nodes_after=7,
            arena_bytes=2000,
            microseconds=5.0,
            variants=(Variant("int8", 0.98, 500, 4.0),),
        )

    monkeypatch.setattr("samara.exporter.demo.demo.demo", fake)
    return asked


def test_text_and_json(samara: Samara, reports: dict[str, Any], tmp_path: Path) -> None:
    result = samara("demo", "--folder", tmp_path, "--seed", "3")
    assert result.exit_code == 0, result.output
    assert "98.00 %" in result.stdout
    assert (reports["folder"], reports["seed"]) == (tmp_path, 3)
    assert json.loads(samara("demo", "--json").stdout)["ok"] is True
    assert reports["folder"] == Path("demo")


def test_disagreement_is_exit_1(samara: Samara, reports: dict[str, Any]) -> None:
    reports["accuracy"] = 0.5
    assert samara("demo").exit_code == 1
