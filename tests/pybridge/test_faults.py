# SPDX-License-Identifier: Apache-2.0
"""Functions of a device that fail when they are told to."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from samara.pybridge import Session
from samara.pybridge.faults import FUNCTIONS, Faults


@pytest.fixture
def faults(device_library: Callable[[str], Path], mirror_hooks: ctypes.CDLL) -> Faults:
    return Faults(device_library("mirror"))


def _x() -> dict[str, np.ndarray]:
    return {"x": np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)}


def _answer(session: Session) -> bytes:
    return b"".join(y.tobytes() for y in session.run(_x()).values())


def test_without_faults_the_device_computes(files: dict[str, Path], faults: Faults) -> None:
    device = faults.open()
    assert device.name == "mirror:0"
    session = Session(files["dense"], backend=device)
    assert _answer(session) == _answer(Session(files["dense"], accuracy="strict"))
    assert session.backend_report().device_runs == 1
    assert session.backend_report().failure == ""


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("at", [1, -1])
def test_every_function_can_fail(
    files: dict[str, Path], faults: Faults, mirror_hooks: ctypes.CDLL, function: str, at: int
) -> None:
    want = _answer(Session(files["dense"], accuracy="strict"))
    mirror_hooks.mirror_tickets(True)  # so that wait is called
    faults.fail(function, at)
    session = Session(files["dense"], backend=faults.open())
    for _ in range(3):
        assert _answer(session) == want
    assert f"{function} was told to fail" in session.backend_report().failure
    faults.reset()
    again = Session(files["dense"], backend=faults.open())
    assert _answer(again) == want
    assert again.backend_report().failure == ""


def test_a_lost_device_stays_lost(files: dict[str, Path], faults: Faults) -> None:
    want = _answer(Session(files["dense"], accuracy="strict"))
    first, second = (Session(files["dense"], backend=faults.open()) for _ in range(2))
    assert _answer(first) == want
    faults.lose(2)
    assert [_answer(first) for _ in range(3)] == [want] * 3
    assert "was told to fail" in first.backend_report().failure
    assert _answer(second) == want
    assert "was told to fail" in second.backend_report().failure
    faults.reset()
    assert Session(files["dense"], backend=faults.open()).backend_report().active


def test_sessions_outlive_what_made_their_device(
    files: dict[str, Path], device_library: Callable[[str], Path]
) -> None:
    session = Session(files["dense"], backend=Faults(device_library("mirror")).open())
    gc.collect()
    assert _answer(session) == _answer(Session(files["dense"], accuracy="strict"))
    assert session.backend_report().device_runs == 1
