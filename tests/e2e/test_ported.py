# SPDX-License-Identifier: Apache-2.0
"""Programs for PyTorch run with samara after a change of their imports, and of nothing else."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from tests.e2e.ported import PROGRAMS, ported

import samara


@pytest.mark.parametrize("name", PROGRAMS)
def test_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = ported(PROGRAMS[name])
    assert "import torch" not in program.replace("as torch", "")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [f"{name}.py"])
    threads = samara.get_num_threads()
    try:
        exec(compile(program, f"{name}.py", "exec"), {"__name__": "__main__"})
    finally:
        samara.set_num_threads(threads)


def test_the_page(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program of docs/guides/pytorch.md, part "Porting"."""
    page = (repo / "docs" / "guides" / "pytorch.md").read_text(encoding="utf-8")
    (program,) = re.findall(
        r"^```python\n(.*?)^```", page.partition("## Porting a PyTorch program")[2], re.M | re.S
    )
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "page.py", "exec"), {"__name__": "page"})
