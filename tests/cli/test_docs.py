# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/cli.md and of the README run, and print what the pages say they print."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

from samara.exporter.reports import _digits
from samara.exporter.reports.demo import NAMES
from samara.exporter.testing import small_onnx

Samara = Callable[..., Result]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the commands read: the demo's files (of a net that has learned nothing), a model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    net = _digits.net().eval()
    (tmp_path / "demo" / "digits.onnx").write_bytes(_digits.onnx_model(net))
    (tmp_path / "demo" / "labels.txt").write_text("\n".join(NAMES))
    np.savez(tmp_path / "demo" / "one.npz", image=np.ones((1, 1, 8, 8), np.float32))
    (tmp_path / "model.onnx").write_bytes(small_onnx())
    np.save(tmp_path / "input.npy", np.ones((1, 3, 8, 8), np.float32))
    return tmp_path


def _words(text: str) -> str:
    return " ".join(text.split())


def test_cli_page(samara: Samara, repo: Path, place: Path) -> None:
    page = (repo / "docs" / "cli.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ samara (.*)\n((?:(?!```).*\n)*)```", page, re.M)
    assert len(commands) >= 8
    for command, printed in commands:
        if command == "demo":
            continue  # tests/exporter/reports/test_demo.py runs it
        result = samara(*shlex.split(command))
        assert result.exit_code == 0, f"samara {command}\n{result.output}"
        # Numbers differ between machines; the lines around them do not.
        for line in printed.splitlines():
            if not re.search(r"\d", line):
                assert _words(line) in _words(result.stdout), f"samara {command}"


def test_readme(samara: Samara, repo: Path, place: Path) -> None:
    text = (repo / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.S)
    commands = re.findall(r"^samara (.*)$", "\n".join(blocks), re.M)
    assert len(commands) >= 3
    for command in commands:
        result = samara(*shlex.split(command))
        assert result.exit_code == 0, f"samara {command}\n{result.output}"
    names: dict[str, Any] = {"array": np.ones((1, 3, 8, 8), np.float32)}
    for snippet in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(compile(snippet, "README.md", "exec"), names)
    assert names["outputs"]["score"].shape == (1, 4)
    assert float(names["loss"]) < 1.5
    assert (place / "digits.samara").exists()
