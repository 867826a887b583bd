# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/guides/training.md run unchanged, one after the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest


def test_training_page(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = repo / "docs" / "guides" / "training.md"
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    assert len(blocks) >= 5
    names: dict[str, Any] = {"__name__": "training"}
    for i, block in enumerate(blocks):
        exec(compile(block, f"{page.name}, program {i + 1}", "exec"), names)
    assert (tmp_path / "weights.safetensors").exists()


def test_links_of_the_pages_lead_somewhere(repo: Path) -> None:
    for name in ("README.md", "docs/guides/training.md", "examples/README.md"):
        page = repo / name
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{name} links to {target}"
