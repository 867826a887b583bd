# SPDX-License-Identifier: Apache-2.0
"""Devices that are made to fail: by functions of their library, by the environment, or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from samara.exporter.conformance.answers import Question
from samara.exporter.conformance.faults import LOST, MEMORY, check_faults
from samara.exporter.conformance.operators import examine
from samara.exporter.ops import get_op
from samara.pybridge import Backend


def test_by_functions(
    open_mirror: Callable[[], Backend],
    proven: list[Question],
    device_library: Callable[[str], Path],
) -> None:
    lost, memory = check_faults(str(device_library("mirror")), "mirror", open_mirror, proven)
    assert (lost.name, lost.state) == (LOST, "passed")
    assert (memory.name, memory.state) == (MEMORY, "passed")
    assert "went over to the CPU" in memory.detail


def test_by_the_environment(device_library: Callable[[str], Path]) -> None:
    path = device_library("npu")
    npu = Backend(path, cache=False)
    proven = examine(get_op("qadd"), npu, quick=True).proven
    before = dict(os.environ)
    lost, memory = check_faults(str(path), "npu", lambda: Backend(path, cache=False), proven)
    assert (lost.name, lost.state) == (LOST, "passed")
    assert (memory.state, memory.detail) == ("NOT RUN", "the backend exports no npu_fail")
    assert dict(os.environ) == before


def test_without_a_hook(open_mirror: Callable[[], Backend], proven: list[Question]) -> None:
    lost, memory = check_faults("opencl", "mirror", open_mirror, proven)
    assert lost.state == memory.state == "NOT RUN"
    assert "neither mirror_fail nor MIRROR_FAIL_AT" in lost.detail


def test_a_wrong_answer_is_found(
    open_mirror: Callable[[], Backend],
    proven: list[Question],
    device_library: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Question, "difference", lambda _self, _got: "wrong")
    lost, _ = check_faults(str(device_library("mirror")), "mirror", open_mirror, proven)
    assert lost.state == "failed"
    assert "call 1 of compile failed: " in lost.detail


def test_nothing_to_run(open_mirror: Callable[[], Backend]) -> None:
    assert {p.state for p in check_faults("libx.so", "x", open_mirror, [])} == {"NOT RUN"}
