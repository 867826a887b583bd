# SPDX-License-Identifier: Apache-2.0
"""Importing samara to run a model, or asking the command for help, loads nothing heavy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("onnx", "onnxruntime", "rich", "scipy", "sklearn", "tensorboardX", "torch")


def _loaded(repo: Path, statement: str) -> list[str]:
    """Names of all modules that a fresh interpreter has after `statement`."""
    roots = [str(repo / room) for room in ("pybridge", "exporter", "cli")]
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(roots)}
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 0, run.stderr
    loaded: list[str] = json.loads(run.stdout.splitlines()[-1])
    return loaded


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import samara", (*HEAVY, "numpy", "cffi", "flatbuffers", "samara.exporter")),
        ("import samara; samara.Session", (*HEAVY, "flatbuffers", "samara.exporter")),
        ("import samara.cli.main", (*HEAVY, "numpy", "samara.exporter", "samara.pybridge")),
        ("import samara.exporter", HEAVY),
        (
            "import samara.cli.main, samara.exporter.launcher.launching",
            (*HEAVY, "numpy", "samara.pybridge", "samara.exporter.frontend"),
        ),
    ],
)
def test_nothing_heavy(repo: Path, statement: str, unwanted: tuple[str, ...]) -> None:
    loaded = _loaded(repo, statement)
    assert [name for name in unwanted if name in loaded] == []


def test_heavy_import_is_seen(repo: Path) -> None:
    assert "numpy" in _loaded(repo, "import numpy")
