# SPDX-License-Identifier: Apache-2.0
"""What the writer hands to tensorboardX, and the events in its files where that is installed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import samara
from samara.pybridge.errors import ArgumentError
from samara.utils.tensorboard import SummaryWriter


class Recorder:
    """Stands for the writer of tensorboardX and keeps the calls."""

    def __init__(self, **settings: Any) -> None:
        self.logdir = settings["logdir"]
        self.calls: list[tuple[str, tuple[Any, ...]]] = [("__init__", (settings,))]

    def __getattr__(self, name: str) -> Any:
        return lambda *args: self.calls.append((name, args))


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("tensorboardX")
    package.__spec__ = __spec__  # of any module that is there
    package.SummaryWriter = Recorder  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tensorboardX", package)


def test_values_become_numbers_and_arrays(recorded: None, tmp_path: Path) -> None:
    loss = samara.ones(1, requires_grad=True).sum() * 2
    with SummaryWriter(tmp_path, purge_step=3) as writer:
        writer.add_scalar("loss", loss, samara.tensor(4))
        writer.add_scalar("lr", np.float32(0.5))
        writer.add_scalars("both", {"a": 1, "b": loss}, 5, 6.0)
        writer.add_histogram("w", loss.reshape(1, 1), 1)
        writer.add_image("x", samara.zeros(3, 2, 2), 1)
        writer.add_text("note", "**text**", 2)
        writer.flush()
        wrongs: tuple[Any, ...] = (samara.ones(2), [], np.ones((1, 3)))
        for wrong in wrongs:
            with pytest.raises(ArgumentError, match="the scalar 'loss' has shape"):
                writer.add_scalar("loss", wrong)
    assert writer.log_dir == writer.get_logdir() == str(tmp_path)
    calls = writer._writer.calls
    assert calls[0][1][0]["purge_step"] == 3
    assert calls[1:4] == [
        ("add_scalar", ("loss", 2.0, 4, None)),
        ("add_scalar", ("lr", 0.5, None, None)),
        ("add_scalars", ("both", {"a": 1.0, "b": 2.0}, 5, 6.0)),
    ]
    assert type(calls[4][1][1]) is type(calls[5][1][1]) is np.ndarray
    assert [name for name, _ in calls[4:]] == [
        *("add_histogram", "add_image", "add_text", "flush", "close"),
    ]


def test_files_hold_the_events(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX", reason="the extra tensorboard writes event files")
    with SummaryWriter(tmp_path / "run") as writer:
        for step in range(3):
            writer.add_scalar("loss/train", samara.tensor(1.0 / (step + 1)), step)
        writer.add_scalars("both", {"a": 1, "b": 2.0}, 0)
        writer.add_histogram("w", samara.randn(100), 0)
        writer.add_image("x", samara.rand(3, 4, 4), 0)
        writer.add_text("note", "hello world", 0)
    (events,) = (tmp_path / "run").glob("events.out.tfevents.*")
    content = events.read_bytes()
    for tag in (b"loss/train", b"hello world", b"PNG"):
        assert tag in content
    assert content.count(b"loss/train") == 3
    assert (tmp_path / "run" / "both" / "a").is_dir()
