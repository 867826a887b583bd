# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/guides/tflite.md run unchanged, beside a model of that name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.importers.tflite.models import small_tflite


def test_examples(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.tflite").write_bytes(small_tflite())
    page = repo / "docs" / "guides" / "tflite.md"
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S))
    assert len(blocks) >= 2
    names: dict[str, Any] = {}
    for block in blocks:
        line = page.read_text("utf-8")[: block.start()].count("\n") + 1
        exec(compile("\n" * line + block[1], str(page), "exec"), names)
