# SPDX-License-Identifier: Apache-2.0
"""The tutorial's blocks run in their order: Python, commands with what they print, and the C program."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

_BLOCK = re.compile(r"^```(?P<kind>\w*)\n(?P<text>(?:(?!```).*\n)*)```$", re.MULTILINE)
_NUMBER = re.compile(r"\d")


def _hold(samara: Callable[..., Result], block: str) -> None:
    """Run the command that begins a block; the lines below it are printed, but for their numbers."""
    command, *printed = block.splitlines()
    result = samara(*shlex.split(command.removeprefix("$ samara ")))
    assert result.exit_code == 0, f"{command}\n{result.output}"
    shown = " ".join(result.stdout.split())
    for line in printed:
        if not _NUMBER.search(line):
            assert " ".join(line.split()) in shown, f"{command}\n{line}\n{result.stdout}"


def test_every_block_in_order(
    samara: Callable[..., Result],
    repo: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    need_tool: Callable[[str, str], str],
) -> None:
    cc = need_tool("cc", "cc")
    monkeypatch.chdir(tmp_path)
    page = (repo / "docs" / "tutorial" / "index.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "tutorial"}
    ran = []
    for block in _BLOCK.finditer(page):
        kind, text = block["kind"], block["text"]
        if kind == "python":
            exec(compile(text, "docs/tutorial/index.md", "exec"), names)
        elif text.startswith("$ samara "):
            _hold(samara, text)
            kind = "samara"
        elif kind == "c":
            (tmp_path / "app" / "main.c").write_text(text, encoding="utf-8")
        elif kind == "sh" and text.startswith("cc "):
            line = text.replace("cc ", f"{cc} ", 1)
            printed = subprocess.run(
                line, shell=True, check=True, capture_output=True, text=True
            ).stdout
            assert int(printed) in range(10)
        else:
            continue  # installing, and what needs an Android project: tests/e2e/test_java.py compiles that
        ran.append(kind)
    assert ran.count("python") == 4
    assert ran.count("samara") == 6
    assert ran[-2:] == ["c", "sh"]
    assert float(names["right"]) > 0.97
    assert (names["scores"].argmax(1) == names["test_labels"].numpy()).mean() > 0.97
