# SPDX-License-Identifier: Apache-2.0
"""The one-operator suite: a sample of it every day, all of it with the slow tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.importers.tflite.suite.collection import FAMILIES, suite
from tests.exporter.importers.tflite.suite.judge import judged
from tools.tflite_score import stable

from samara.exporter.importers.tflite.registry import supported_operators

# Tested elsewhere: recurrent operators, control flow and variables.
ELSEWHERE = {
    *("LSTM", "RNN", "SVDF", "IF", "WHILE", "CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE"),
    *("ASSIGN_VARIABLE", "UNIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN"),
    *("BIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_RNN"),
}
_EVERY = 23  # a prime, so that the sample meets all element types


def test_every_operator_has_cases() -> None:
    tested = {e.op for e in suite().values()}
    assert set(supported_operators()) - ELSEWHERE <= tested


@pytest.mark.parametrize("family", FAMILIES)
def test_sample(family: str) -> None:
    chosen = [e for e in suite().values() if e.family == family][::_EVERY]
    faults = {}
    for entry in chosen:
        found = judged(entry)
        if found.verdict != "right":
            faults[entry.name] = f"{found.verdict}: {found.reason}"
    assert chosen
    assert faults == {}


@pytest.mark.slow
def test_all(repo: Path, tmp_path: Path) -> None:
    """Every core case is right, and the page is up to date."""
    files = {"--json": tmp_path / "score.json", "--page": tmp_path / "page.md"}
    subprocess.run(
        [
            *(
                sys.executable,
                "-W",
                "ignore",
                str(repo / "tools" / "tflite_score.py"),
                "--jobs",
                "2",
            ),
            *(str(part) for pair in files.items() for part in pair),
        ],
        check=True,
        capture_output=True,
        timeout=900,
    )
    results: list[dict[str, Any]] = json.loads(files["--json"].read_text())
    faults = [f"{r['verdict']} {r['name']}" for r in results if r["verdict"] != "right"]
    assert [r for r in results if r["group"] == "core" and r["verdict"] != "right"] == []
    assert len(faults) < len(results) / 50, faults
    page = (repo / "docs" / "reference" / "tflite-coverage.md").read_text(encoding="utf-8")
    assert stable(page) == stable(files["--page"].read_text()), "run `make tflite-score`"
