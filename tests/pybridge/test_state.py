# SPDX-License-Identifier: Apache-2.0
"""The variables of a session as a mapping."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from samara.pybridge import ModelFormatError, SamaraError, Session, ShapeError

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


def test_state_is_kept_in_a_file(files: Files, tmp_path: Path) -> None:
    session = Session(files["counter"])
    session.run({"x": np.array([1, 2], np.float32)})
    path = tmp_path / "state"
    session.state.save(path)
    assert path.read_bytes()[8:].startswith(b'{"__metadata__":{"samara.function":"main"},"total":')
    session.reset()
    session.state.load(path)
    assert session.state["total"].tolist() == [11, 22]
    session.state.save(path)  # again
    assert [p.name for p in tmp_path.iterdir()] == ["state"]
    other = Session(session.model)
    other.state.load(path)
    assert other.state["total"].tolist() == [11, 22]


def test_files_that_are_no_state(files: Files, tmp_path: Path) -> None:
    session = Session(files["counter"])
    path = tmp_path / "state"
    session.state.save(path)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(ModelFormatError, match="state"):
            session.state.load(path)
    for old, new, kind, text in (
        (b"total", b"other", SamaraError, "no variable 'other', which the file holds"),
        (b"[2]", b"[1]", ModelFormatError, "has 8 bytes, its shape needs 4"),
        (b"F32", b"I32", ShapeError, r"is float32 \[2\], the file holds int32 \[2\]"),
        (b'"shape":[2]', b'"shape":[2', ModelFormatError, "expected a whole number"),
    ):
        path.write_bytes(whole.replace(old, new))
        with pytest.raises(kind, match=text):
            session.state.load(path)
    with pytest.raises(ModelFormatError, match="this file is a model"):
        session.state.load(files["counter"])
    with pytest.raises(FileNotFoundError):
        session.state.load(tmp_path / "none")
    assert session.state["total"].tolist() == [10, 20]
