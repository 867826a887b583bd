# SPDX-License-Identifier: Apache-2.0
"""The one-operator suite: a sample of it every day, all of it with the extended tests."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from tests.exporter.importers.tflite.suite.collection import FAMILIES, suite
from tests.exporter.importers.tflite.suite.judge import judged
from tools.tflite_page import Result, unexplained
from tools.tflite_score import result_of, stable

import samara
from samara import import_tflite
from samara.exporter.importers.tflite.registry import supported_operators

# Tested elsewhere: recurrent operators, control flow and variables.
ELSEWHERE = {
    *("LSTM", "RNN", "SVDF", "IF", "WHILE", "CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE"),
    *("ASSIGN_VARIABLE", "UNIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN"),
    *("BIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_RNN"),
}
_EVERY = 29  # a prime, so that the sample meets all element types


def test_every_operator_has_cases() -> None:
    tested = {e.op for e in suite().values()}
    assert set(supported_operators()) - ELSEWHERE <= tested


@pytest.mark.parametrize("family", FAMILIES)
def test_sample(family: str) -> None:
    """Results are right, what an exact import accepts is exact, and there is a reason for every other integer."""
    chosen = [e for e in suite().values() if e.family == family][::_EVERY]
    results = [result_of(e.name, asdict(judged(e, exact=True))) for e in chosen]
    assert results
    assert {r.name: f"{r.verdict}: {r.reason}" for r in results if r.verdict != "right"} == {}
    assert [r.refusal for r in results if r.refusal and "exact" not in r.refusal] == []
    assert unexplained(results) == []


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("ABS float32 shape=7", "SQUARE float32 shape=7"),
        ("RELU int8 shape=7", "RELU6 int8 shape=7"),
        ("EXP int16 shape=7", "TANH int16 shape=7"),
        ("ARG_MAX float32 shape=9 axis=0 to=INT32 no-ties", "ARG_MIN float32 shape=9 axis=0 to=INT32 no-ties"),
    ],
)  # fmt: skip
def test_wrong_results_are_seen(name: str, other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program of another operator does not pass."""
    wrong = import_tflite(suite()[other].case().model())
    monkeypatch.setattr(samara, "import_tflite", lambda _model, **_: wrong)
    assert judged(suite()[name]).verdict == "wrong"


def test_what_litert_refuses_is_no_case() -> None:
    entry = suite()["ABS float32 shape=7"]
    broken = replace(entry, make=lambda rng: replace(entry.make(rng), version=99))
    assert judged(broken).verdict == "invalid"


@pytest.mark.extended
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
    results = [Result(**row) for row in json.loads(files["--json"].read_text())]
    faults = [f"{r.verdict} {r.name}" for r in results if r.verdict != "right"]
    assert [r for r in results if r.group == "core" and r.verdict != "right"] == []
    assert len(faults) < len(results) / 50, faults
    assert unexplained(results) == []
    page = (repo / "docs" / "reference" / "tflite-coverage.md").read_text(encoding="utf-8")
    assert stable(page) == stable(files["--page"].read_text()), "run `make tflite-score`"
