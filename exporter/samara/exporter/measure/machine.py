# SPDX-License-Identifier: Apache-2.0
"""Measure callables in turns, and the arithmetic peak of this machine with programs of the build."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from samara.exporter.package.processes import run_text
from samara.pybridge import library_path

# A round repeats an engine's run until it takes this long, so that the clock's resolution is negligible.
_ROUND_SECONDS = 2e-3
_MAX_REPEATS = 1000
_PEAK_SECONDS = 0.2
# Size of the inner caches: larger tensors come from memory.
_CACHED_BYTES = 1 << 20
# Read to measure the memory: more than any cache holds.
_READ_BYTES = 256_000_000

Progress = Callable[[int, int], None]


def peak_gflops(isa: str | None = None) -> float | None:
    """GFLOP/s of fused multiply-adds (two operations each) of one thread, by the program `fma_peak` beside the
    library; None without it.
    """
    program = program_beside_library("fma_peak")
    if program is None:
        return None
    command = [str(program), str(_PEAK_SECONDS), *([isa] if isa else [])]
    try:
        done = run_text(command, timeout=60)
        done.check_returncode()
        return float(done.stdout.split()[0])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


@dataclass(frozen=True, slots=True)
class Roof:
    """The measured limits of one thread here: 1e9 operations per second in floats and in bytes (two per
    multiply-add); 1e9 bytes per second read and written in cache and in memory.
    """

    gflops: float
    int8_gops: float
    cache_gbs: float
    memory_gbs: float

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Roof:
        """From the output of samara-bench --roof; KeyError if it lacks a number."""
        return cls(
            *(facts[k] for k in ("peak_gflops", "peak_int8_gops", "cache_gbs", "memory_gbs"))
        )

    def microseconds(self, flops: int, size: int, is_int8: bool = False) -> float:
        """The minimum time for so many operations and bytes: the longer of computing and moving."""
        computing = flops / (self.int8_gops if is_int8 else self.gflops)
        moving = size / (self.cache_gbs if size <= _CACHED_BYTES else self.memory_gbs)
        return max(computing, moving) / 1e3


def measure_roof(isa: str | None = None) -> Roof | None:
    """Measured by the program `samara-bench` beside the library; None without it."""
    program = program_beside_library("samara-bench")
    if program is None:
        return None
    command = [str(program), "--roof", *(["--isa", isa] if isa else [])]
    try:
        done = run_text(command, timeout=60)
        done.check_returncode()
        return Roof.of(json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        return None


def read_gbs(threads: int = 1, seconds: float = _PEAK_SECONDS) -> float:
    """1e9 bytes per second that so many threads read together from memory: the best of rounds over 256 MB, with
    NumPy's vectors, which release the interpreter's lock.
    """
    parts = np.array_split(np.ones(_READ_BYTES // 4, np.uint32), threads)
    best = 0.0
    with ThreadPoolExecutor(threads) as pool:
        end = time.perf_counter() + seconds
        rounds = 0
        while rounds < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            list(pool.map(np.max, parts))
            best = max(best, _READ_BYTES / (time.perf_counter() - start) / 1e9)
            rounds += 1
    return best


def program_beside_library(name: str) -> Path | None:
    """The path of a program that the build put beside the library; None if there is none."""
    path = library_path().resolve().parent / name
    return path if os.access(path, os.X_OK) and path.is_file() else None


def interleave(
    calls: Sequence[Callable[[], object]],
    runs: int,
    warmup: int = 3,
    progress: Progress = lambda _done, _total: None,
) -> list[list[float]]:
    """Seconds per call of every round of every callable. They take turns, and the first one changes with the
    round.
    """
    repeats = []
    for call in calls:
        for _ in range(max(1, warmup)):
            start = time.perf_counter()
            call()
            took = time.perf_counter() - start
        repeats.append(max(1, min(_MAX_REPEATS, int(_ROUND_SECONDS / max(took, 1e-9)))))
    seconds: list[list[float]] = [[] for _ in calls]
    for r in range(runs):
        for k in range(len(calls)):
            i = (r + k) % len(calls)
            call, count = calls[i], repeats[i]
            start = time.perf_counter()
            for _ in range(count):
                call()
            seconds[i].append((time.perf_counter() - start) / count)
        progress(r + 1, runs)
    return seconds
