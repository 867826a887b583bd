# SPDX-License-Identifier: Apache-2.0
"""Devices that are made to fail, from outside."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest

from samara.exporter.conformance.answers import Question
from samara.exporter.conformance.faults import LOST, MEMORY, check_faults
from samara.exporter.conformance.operators import examine
from samara.exporter.ops import get_op
from samara.pybridge import Backend
from samara.pybridge.faults import Faults


@pytest.fixture
def faults(device_library: Callable[[str], Path], mirror_hooks: ctypes.CDLL) -> Faults:
    return Faults(device_library("mirror"))


def test_a_device_that_fails(faults: Faults, proven: list[Question]) -> None:
    lost, memory = check_faults(faults, proven)
    assert (lost.name, lost.state) == (LOST, "passed")
    assert (memory.name, memory.state) == (MEMORY, "passed")
    assert "went over to the CPU" in memory.detail


def test_a_device_that_is_loaded_for_one_dtype(device_library: Callable[[str], Path]) -> None:
    path = device_library("npu")
    proven = examine(get_op("qadd"), Backend(path, cache=False), quick=True).proven
    assert {p.state for p in check_faults(Faults(path), proven)} == {"passed"}


@pytest.mark.opencl
def test_opencl(mirror_hooks: ctypes.CDLL) -> None:
    device = Backend("opencl", cache=False)
    proven = [
        q for name in ("add", "qconv") for q in examine(get_op(name), device, quick=True).proven
    ]
    assert {p.state for p in check_faults(Faults("opencl"), proven)} == {"passed"}


def test_a_wrong_answer_is_found(
    faults: Faults, proven: list[Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Question, "difference", lambda _self, _got: "wrong")
    lost, _ = check_faults(faults, proven)
    assert lost.state == "failed"
    assert "call 1 of compile failed: " in lost.detail


def test_a_device_whose_functions_are_not_called(
    faults: Faults, proven: list[Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Faults, "fail", lambda _self, _function, _at: None)
    _, memory = check_faults(faults, proven)
    assert (memory.state, memory.detail) == (
        "NOT RUN",
        "no session called a function that was made to fail",
    )


def test_nothing_to_run(faults: Faults) -> None:
    assert {p.state for p in check_faults(faults, [])} == {"NOT RUN"}
