# SPDX-License-Identifier: Apache-2.0
"""Measuring: who takes turns when, how often, and where the peak comes from."""

from __future__ import annotations

import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from samara.exporter.measure import machine as module
from samara.exporter.measure.machine import (
    interleave,
    peak_gflops,
    program_beside_library,
    read_gbs,
)


def test_engines_take_turns_and_the_first_changes() -> None:
    order: list[str] = []

    def engine(name: str) -> Callable[[], None]:
        def call() -> None:
            order.append(name)
            time.sleep(0.004)  # longer than a round, so that it is called once in each

        return call

    times = interleave([engine("a"), engine("b")], 3, 1)
    assert [len(t) for t in times] == [3, 3]
    assert order == ["a", "b", "a", "b", "b", "a", "a", "b"]


def test_quick_calls_are_repeated_within_a_round() -> None:
    count = 0

    def call() -> None:
        nonlocal count
        count += 1

    interleave([call], 4, 2)
    assert count > 4 * 50


def test_peak_comes_from_a_program_beside_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "library_path", lambda: tmp_path / "libsamara.so")
    assert program_beside_library("fma_peak") is None
    assert peak_gflops() is None
    program = tmp_path / "fma_peak"
    program.write_text(f"#!{sys.executable}\nprint('123.50 GFLOP/s avx9')\n")
    assert program_beside_library("fma_peak") is None  # not executable
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert peak_gflops() == 123.5
    program.write_text(f"#!{sys.executable}\nprint('nothing')\n")
    assert peak_gflops() is None


def test_reads_from_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_READ_BYTES", 4_000_000)
    for threads in (1, 2):
        assert 0.01 < read_gbs(threads, 0.01) < 10_000
