# SPDX-License-Identifier: Apache-2.0
"""`samara tune`, and the commands that take what it stores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from typer.testing import Result

Samara = Callable[..., Result]


def test_measures_stores_and_runs(samara: Samara, samara_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "choices.txt"
    result = samara("tune", samara_path, "--runs", "1", "--out", out)
    assert result.exit_code == 0, result.output
    assert "measured best" in result.stdout
    assert out.read_text().startswith("samara-tuned 1\n")
    done = samara("run", samara_path, "--tuned", out)
    assert done.exit_code == 0, done.output


def test_json(samara: Samara, samara_path: Path, tmp_path: Path) -> None:
    result = samara("tune", samara_path, "--runs", "1", "--out", tmp_path / "c", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["nodes"]


def test_a_missing_file_of_choices(samara: Samara, samara_path: Path, tmp_path: Path) -> None:
    result = samara("run", samara_path, "--tuned", tmp_path / "none")
    assert result.exit_code == 1
    assert "samara tune" in result.stderr


def test_nodes_on_a_device_are_left_alone(
    samara: Samara, samara_path: Path, tmp_path: Path, device_library: Callable[[str], Path]
) -> None:
    command = ("tune", samara_path, "--runs", "1", "--out", tmp_path / "c", "--json")
    assert json.loads(samara(*command).stdout)["use"] is None
    result = samara(*command, "--backend", device_library("mirror"))
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["nodes"] == []
    assert facts["use"]["nodes"] == 5
