# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/guides/distributed.md: one file for 1, 2 and 3 ranks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import samara
from samara import distributed


def _blocks(repo: Path) -> list[str]:
    page = repo / "docs" / "guides" / "distributed.md"
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)


@pytest.mark.slow
def test_the_training_program(repo: Path, tmp_path: Path) -> None:
    train, checkpoint, *_ = _blocks(repo)
    files = []
    for ranks in (1, 2, 3):
        # The part about checkpoints belongs at the end of the program.
        (tmp_path / "train.py").write_text(train + checkpoint if ranks == 2 else train)
        command = [sys.executable, "-m", "samara.cli.main", "launch", "-n", str(ranks), "train.py"]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
        files.append((tmp_path / "digits.safetensors").read_bytes())
    assert files[0] == files[1] == files[2]
    assert (tmp_path / "run.safetensors").exists()


def test_the_other_programs(repo: Path) -> None:
    names: dict[str, Any] = {"samara": samara, "distributed": distributed}
    for block in _blocks(repo)[2:]:
        exec(compile(block, "distributed.md", "exec"), names)
