# SPDX-License-Identifier: Apache-2.0
"""Options of sessions: wrong ones, and limits."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samara.pybridge import BackendError, LimitError, SamaraError, Session, ShapeError

Files = dict[str, Path]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"function": "f"}, ShapeError, "no function 'f'"),
        ({"backend": "gpu"}, BackendError, "no backend 'gpu'"),
        ({"accuracy": "high"}, ShapeError, "there is no accuracy 'high'"),
        ({"threads": 0}, ShapeError, "at least 1"),
        ({"isa": "mmx"}, ShapeError, "mmx"),
        ({"keep": ["nothing"]}, SamaraError, "nothing"),
        ({"limits": {"max_memory": 1}}, ShapeError, "no limit 'max_memory'"),
        ({"limits": {"max_steps": 0}}, ShapeError, "must be positive"),
        ({"limits": {"deadline_s": -1.0}}, ShapeError, "must be positive"),
    ],
)
def test_wrong_options(
    files: Files, options: dict[str, Any], kind: type[SamaraError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        Session(files["static"], **options)


def test_limits(files: Files) -> None:
    x = np.zeros(64, np.float32)
    steps = Session(files["loop"], limits={"max_steps": 50})
    assert steps.run({"trips": 10, "x": x})["y"][0] == 10
    with pytest.raises(LimitError):
        steps.run({"trips": 1000, "x": x})
    assert steps.run({"trips": 10, "x": x})["y"][0] == 10
    deadline = Session(files["loop"], limits={"deadline_s": 0.01})
    start = time.monotonic()
    with pytest.raises(LimitError):
        deadline.run({"trips": 10**12, "x": x})
    assert time.monotonic() - start < 5
    with pytest.raises(LimitError):
        Session(files["dense"], limits={"max_arena_bytes": 1000}).resize({"x": (100000, 4)})
