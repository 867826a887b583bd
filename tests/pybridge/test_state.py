# SPDX-License-Identifier: Apache-2.0
"""The variables of a session as a mapping."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from samara.pybridge import SamaraError, Session, ShapeError

Files = dict[str, Path]


def test_state_is_read_written_and_reset(files: Files) -> None:
    session = Session(files["counter"])
    x = np.array([1, 2], np.float32)
    assert list(session.state) == ["total"]
    assert len(session.state) == 1
    assert session.state["total"].tolist() == [10, 20]
    assert session.run({"x": x})["y"].tolist() == [22, 44]
    assert session.run({"x": x})["y"].tolist() == [24, 48]
    assert session.state["total"].tolist() == [12, 24]
    session.state["total"] = np.zeros(2, np.float32)
    assert session.run({"x": x})["y"].tolist() == [2, 4]
    session.reset()
    assert session.state["total"].tolist() == [10, 20]
    other = Session(session.model)
    other.run({"x": x})
    assert session.state["total"].tolist() == [10, 20]


def test_wrong_state(files: Files) -> None:
    state = Session(files["counter"]).state
    with pytest.raises(KeyError, match="none"):
        state["none"]
    with pytest.raises(ShapeError, match=r"is float32 \[2\], got float32 \[3\]"):
        state["total"] = np.zeros(3, np.float32)
    with pytest.raises(ShapeError, match="got float64"):
        state["total"] = np.zeros(2)
    with pytest.raises(SamaraError, match="cannot be deleted"):
        del state["total"]
