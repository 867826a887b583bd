# SPDX-License-Identifier: Apache-2.0
"""The datasets that tests of loaders share."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def samples(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of datasets, importable in worker processes too."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module("loader_samples")
