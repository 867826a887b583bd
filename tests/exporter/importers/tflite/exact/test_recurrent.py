# SPDX-License-Identifier: Apache-2.0
"""Integer LSTMs that give TFLite's own integers, call after call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.recurrent_models import check_calls, lstm_case, lstm_feeds


def _checked(steps: int, sizes: tuple[int, int, int], more: dict[str, Any]) -> None:
    rng = np.random.default_rng(steps + len(more))
    time_major = more.get("options", {}).get("time_major")
    shape = (steps, 2, sizes[0]) if time_major else (2, steps, sizes[0])
    feeds = lstm_feeds(rng, "int8", shape)
    program = check_calls(lstm_case(rng, "int8", feeds[0][0], sizes, **more), feeds, exact=True)
    assert any(n.op.name == "loop" for n in program.main.nodes) == (steps > 1)


@pytest.mark.parametrize("steps", [1, 5])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"zero": -7},
        {"coupled": True},
        {"options": {"cell_clip": 3.0}},
        {"options": {"time_major": True}, "zero": 12},
    ],
)
def test_lstm(steps: int, more: dict[str, Any]) -> None:
    _checked(steps, (9, 7, 7), more)
