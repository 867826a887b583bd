# SPDX-License-Identifier: Apache-2.0
"""The readers in Python answer mutants, and what is no answer is found."""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tools import fuzz_readers
from tools.fuzz_readers import READERS, Outcome, Reader, mutant, save, search

from samara.exporter.types import ModelFormatError

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="NOT RUN: there is no /proc"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


@pytest.mark.parametrize(
    ("name", "count"), [("onnx", 100), ("tflite", 500), ("pt", 300), ("safetensors", 2000)]
)
def test_readers_answer_mutants(name: str, count: int, seed: int) -> None:
    outcome = search(READERS[name](), seed, count, 60)
    assert outcome.findings == []
    assert outcome.executions == count
    assert 0 < outcome.accepted < count


def test_inputs_follow_from_seed_and_index() -> None:
    reader = READERS["safetensors"]()
    assert [reader.input(1, k) for k in range(9)] == [reader.input(1, k) for k in range(9)]
    assert len({reader.input(s, k) for s in range(9) for k in range(9)}) > 60


def test_mutants() -> None:
    data, rng = bytes(range(64)), random.Random(0)
    made = [mutant(data, rng, [b"other" * 9]) for _ in range(500)]
    assert sum(m == data for m in made) < 50
    assert min(map(len, made)) < 32
    assert max(map(len, made)) > 96
    assert any(b"other" in m for m in made)
    for small in (b"", b"x", b"xyz"):
        for _ in range(200):
            mutant(small, rng)


def _waits(_: bytes) -> object:
    while True:
        time.sleep(1)


def _works(_: bytes) -> object:
    while True:
        pass


def _refuses(_: bytes) -> object:
    raise ModelFormatError("no model")


def _on_third(then: Callable[[bytes], object]) -> Reader:
    """A reader whose third input gets that answer."""
    numbers = iter(range(100))
    return Reader("x", lambda _: bytes([next(numbers)]), lambda d: then(d) if d[0] == 2 else None)


@pytest.mark.parametrize(
    ("then", "what"),
    [
        (_refuses, ""),
        (lambda d: d[1], r"IndexError at tests/tools/test_fuzz_readers.py:\d+"),
        (lambda _: bytearray(5 << 30), r"MemoryError at tests/tools/test_fuzz_readers.py:\d+"),
        (lambda _: os.kill(os.getpid(), signal.SIGKILL), "killed by SIGKILL"),
        (lambda _: os._exit(3), "ended with status 3"),
        (_works, "more than 0.2 s of processor time"),
        (_waits, "no answer in 0.3 s"),
    ],
)
def test_what_is_found(
    then: Any, what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(fuzz_readers, "CPU_SECONDS", 0.2)
    monkeypatch.setattr(fuzz_readers, "WALL_SECONDS", 0.3 if then is _waits else 30.0)
    outcome = search(_on_third(then), 1, 5, 60)
    assert outcome.executions == 5
    assert [f.index for f in outcome.findings] == ([2] if what else [])
    assert all(re.fullmatch(what, f.what) for f in outcome.findings), outcome
    paths = save(READERS["safetensors"](), 1, outcome, tmp_path)
    assert len(paths) == len(outcome.findings)
    assert all(path.with_name(f"{path.name}.txt").exists() for path in paths)


def test_equal_places_are_one_finding_and_time_ends() -> None:
    reader = Reader("x", lambda _: b"", lambda d: d[0])
    assert len(search(reader, 1, 50, 60).findings) == 1
    slow = Reader("x", lambda _: b"", lambda _: time.sleep(0.01))
    outcome: Outcome = search(slow, 1, 10**9, 0.3)
    assert 1 < outcome.executions < 100
