# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/guides/onnx.md run unchanged."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any


def test_examples(repo: Path) -> None:
    page = repo / "docs" / "guides" / "onnx.md"
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S))
    assert len(blocks) >= 7
    names: dict[str, Any] = {}
    for block in blocks:
        line = page.read_text("utf-8")[: block.start()].count("\n") + 1
        exec(compile("\n" * line + block[1], str(page), "exec"), names)
