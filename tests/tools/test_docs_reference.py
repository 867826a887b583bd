# SPDX-License-Identifier: Apache-2.0
"""The generated pages of the reference hold every public name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools import docs_reference


def test_the_reference_of_c_has_every_public_function(repo: Path) -> None:
    page = docs_reference.c_page()
    for header in (repo / "runtime_c" / "include" / "samara").glob("*.h"):
        text = header.read_text(encoding="utf-8")
        declared = set(re.findall(r"^SAMARA_API\b[^;(]*?\b(samara_\w+)\(", text, re.MULTILINE))
        assert declared
        missing = {name for name in declared if f"{name}(" not in page}
        assert not missing, header.name


@pytest.mark.parametrize("page", ["java", "swift"])
def test_the_reference_of_apps_has_the_main_types(repo: Path, page: str) -> None:
    folder = {
        "java": repo / "android" / "samara" / "src" / "main" / "java",
        "swift": repo / "ios" / "Sources" / "Samara",
    }[page]
    text = docs_reference.source_page(page, page, folder, "")
    for name in ("Model", "Session", "Tensor", "Image", "Audio", "Classification"):
        assert f"## `{name}`" in text


def test_every_command_is_listed() -> None:
    page = docs_reference.cli_page()
    for command in ("doctor", "export", "quantize", "run", "bench", "backend test"):
        assert re.search(rf"^#+ samara {command}$", page, re.MULTILINE)
    assert "`--max-drop 0.5pt\\|0.5%`" in page


def test_the_pages_of_python_hold_every_name() -> None:
    pages = "\n".join(docs_reference.python_pages().values())
    for name in ("Session", "export", "quantize", "Tensor", "relu", "save", "SamaraError"):
        assert f":: samara.{name}\n" in pages
    assert "autoclass:: samara.nn.Conv2d" in pages
