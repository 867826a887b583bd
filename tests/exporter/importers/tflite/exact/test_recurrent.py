# SPDX-License-Identifier: Apache-2.0
"""Integer LSTMs that give TFLite's own integers, call after call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.recurrent_models import check_calls, lstm_case, lstm_feeds


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
    rng = np.random.default_rng(steps + len(more))
    shape = (steps, 2, 9) if more.get("options", {}).get("time_major") else (2, steps, 9)
    feeds = lstm_feeds(rng, "int8", shape)
    program = check_calls(lstm_case(rng, "int8", feeds[0][0], (9, 7, 7), **more), feeds, exact=True)
    assert any(n.op.name == "loop" for n in program.main.nodes) == (steps > 1)
