# SPDX-License-Identifier: Apache-2.0
"""Memory of browsers: it stays where it is while tabs and models are opened and closed hundreds of times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

InBrowser = Callable[..., dict[str, Any]]

# MiB of growth for each model or tab. A model that stays takes 2 MiB and more.
_MOST_MIB = 0.5


def _growth(samples: Sequence[tuple[float, float]]) -> float:
    """MiB for each, where caches and pools are full: from the middle third of the samples to the last one. Medians,
    because a browser gives memory back when it likes.
    """
    third = len(samples) // 3
    parts = (samples[third : 2 * third], samples[-third:])
    (before, low), (after, high) = (np.median(np.array(part, np.float64), axis=0) for part in parts)
    return float((high - low) / (after - before))


def _check_models(found: dict[str, Any], *, counted: bool) -> None:
    samples = [each for each in found["resident"] if each[0] != "kept"]
    assert len(samples) == 10
    if counted:
        assert found["memories"] == 0, "memories of closed models are still there"
        assert found["kept"] == 20, "open models are counted"
        assert found["heap"]["usedSize"] < 8 << 20
        assert found["heap"]["backingStorageSize"] < 1 << 20


# Firefox does not count memories, and sixty models are too few for a slope.
@pytest.mark.parametrize("in_browser", ["chromium"], indirect=True)
def test_models(web: Path, in_browser: InBrowser) -> None:
    found = in_browser(web, "models", "60")
    _check_models(found, counted="memories" in found)


@pytest.mark.extended
def test_500_models(web: Path, in_browser: InBrowser) -> None:
    found = in_browser(web, "models", "500")
    _check_models(found, counted="memories" in found)
    samples = [each for each in found["resident"] if each[0] != "kept"]
    assert _growth(samples) < _MOST_MIB


@pytest.mark.extended
def test_500_tabs(web: Path, in_browser: InBrowser) -> None:
    """Half of the tabs are closed with an open model."""
    found = in_browser(web, "tabs")
    assert found["resident"][-1][0] == 500
    assert _growth(found["resident"]) < _MOST_MIB
