# SPDX-License-Identifier: Apache-2.0
"""The live pages of the site, with the models that can be made here."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import web_package
from tools import docs_live

pytestmark = [pytest.mark.emulated, pytest.mark.extended]


@pytest.mark.parametrize("in_browser", ["chromium"], indirect=True)
def test_pages(
    repo: Path,
    tmp_path: Path,
    missing: Callable[[str, str], None],
    in_browser: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    web_package.require(missing)
    if importlib.util.find_spec("sklearn") is None:
        missing("sklearn", "live pages: scikit-learn is not installed")
    monkeypatch.delenv("SAMARA_MODELS", raising=False)
    site = tmp_path / "live"
    shutil.copytree(repo / "docs/_live/live", site)
    said = docs_live.build(site)
    assert said == [f"NOT RUN: faces in live pages (SAMARA_MODELS has no {docs_live._FACES})"]
    found = in_browser(site, "live", str(repo / "tests/e2e/tasks/words.wav"))
    assert found["ready"].startswith("ready: threads")
    assert found["digit"].startswith("1 "), found["digit"]
    heard = [line.split()[0] for line in found["words"].splitlines()]
    assert heard == ["stop", "yes", "no"]
    assert found["faces"].startswith("faces.samara is not part of this site")
    assert "digits.samara: " in found["latency"]
