# SPDX-License-Identifier: Apache-2.0
"""Files at offsets 0, 4, … 60, in memory and in a file, under UndefinedBehaviorSanitizer."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.commands import python
from tests.e2e.models import NAMES

# A library of its own is built first, and every case runs sixteen times.
pytestmark = pytest.mark.extended

Sanitized = Callable[[str, str, str], Path]
LIBRARY = "libsamara.dylib" if sys.platform == "darwin" else "libsamara.so"


def _run(library: Path, repo: Path, *arguments: str | Path) -> None:
    paths = os.pathsep.join(str(repo / d) for d in (".", "exporter", "pybridge"))
    command = ("-m", "tests.e2e.alignment", *arguments)
    python(*command, cwd=repo, SAMARA_LIBRARY=str(library), PYTHONPATH=paths)


def test_cases(sanitized: Sanitized, repo: Path) -> None:
    _run(sanitized("ubsan", "undefined", LIBRARY), repo, "cases")


@pytest.mark.parametrize("name", NAMES)
def test_models(
    name: str, exported: Callable[[str], Path], models: Path, sanitized: Sanitized, repo: Path
) -> None:
    library = sanitized("ubsan", "undefined", LIBRARY)
    _run(library, repo, models / name, exported(name))
