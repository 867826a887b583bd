# SPDX-License-Identifier: Apache-2.0
"""The score runs cases in workers, and the check of the page leaves out what depends on the processor."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.importers.tflite.suite.collection import suite
from tools import tflite_score as tool
from tools.score_workers import Failure

NAME = "RELU float32 shape=7"


def test_results() -> None:
    steps = {"elements": 7, "differ": 1, "most": 2}
    right = tool.result_of(NAME, {"verdict": "right", "reference": steps, "is_delegated": True})
    fields = (right.op, right.kind, right.group, right.element, right.verdict)
    assert fields == ("RELU", "float32", "core", "float32", "right")
    assert (right.reference, right.default, right.is_delegated) == ((7, 1, 2), None, True)
    crash = tool.result_of(NAME, Failure("crash", "exit -6"))
    assert (crash.verdict, crash.reason) == ("crash", "exit -6")


def test_an_error_that_nobody_raised_on_purpose(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_entry: Any, **_: Any) -> Any:
        raise KeyError("lost")

    monkeypatch.setattr(tool, "judged", broken)
    found = tool.judged_safely(suite()[NAME])
    assert found == {"verdict": "crash", "reason": "KeyError: 'lost'"}


def test_what_is_compared() -> None:
    text = "counts\n## Integers\n| 1 |\nSome of LiteRT's arithmetic is\nrest"
    assert tool.stable(text) == tool.stable(text.replace("| 1 |", "| 2 |"))
    assert tool.stable(text) != tool.stable(text.replace("rest", "other"))


@pytest.mark.slow
def test_whole_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, page = tmp_path / "score.json", tmp_path / "page.md"
    arguments = ["--only", "^RELU float32 shape=7$", "--jobs", "1"]
    more = ["--json", str(out), "--page", str(page)]
    monkeypatch.setattr(sys, "argv", ["tflite_score", *arguments, *more])
    assert tool.main() == 0
    assert [r["verdict"] for r in json.loads(out.read_text())] == ["right"]
    monkeypatch.setattr(sys, "argv", ["tflite_score", *arguments, "--page", str(page), "--check"])
    assert tool.main() == 0
    page.write_text(page.read_text().replace("RELU", "ELU"))
    assert tool.main() == 1
