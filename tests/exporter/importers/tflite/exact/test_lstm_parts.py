# SPDX-License-Identifier: Apache-2.0
"""Integer LSTMs with peepholes, projection and layer normalization that give TFLite's own integers."""

from __future__ import annotations

from typing import Any

import pytest
from tests.exporter.importers.tflite.exact.test_recurrent import _checked


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize(
    "more",
    [
        {"peephole": True},
        {"peephole": True, "coupled": True, "zero": 4},
        {"project": True, "bias": True},
        {"project": True, "zero": -6, "options": {"proj_clip": 0.5}},
        {"norm": True},
        {"norm": True, "peephole": True, "project": True, "bias": True, "coupled": True},
    ],
)
def test_lstm(steps: int, more: dict[str, Any]) -> None:
    _checked(steps, (9, 8, 8) if not more.get("project") else (9, 8, 5), more)
