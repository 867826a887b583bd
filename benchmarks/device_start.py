# SPDX-License-Identifier: Apache-2.0
"""The time until a device is ready in a process: `python -m benchmarks.device_start MODEL…`.

Every row is a separate process, which opens the device, creates a session and runs once. In a model's first
process the device's compiler builds the kernels; later ones read them from disk. The CPU session of the same
model is shown for comparison.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import samara
from samara.exporter.measure.feeds import choose_feeds

T = TypeVar("T")
ROUNDS = 7
PARTS = ("open", "create", "run", "cpu create", "cpu run")


def timed(make: Callable[[], T]) -> tuple[T, float]:
    """The result of `make`, and its milliseconds."""
    begun = time.perf_counter()
    made = make()
    return made, (time.perf_counter() - begun) * 1e3


def one_process(model: str, cache: str) -> dict[str, float]:
    """Milliseconds of each of PARTS, in this process."""
    cpu, cpu_create = timed(lambda: samara.Session(model, backend="cpu"))
    feeds = choose_feeds(cpu).arrays
    _, cpu_run = timed(lambda: cpu.run(feeds))
    device, opened = timed(lambda: samara.Backend("opencl", cache=cache))
    session, create = timed(lambda: samara.Session(model, backend=device))
    _, run = timed(lambda: session.run(feeds))
    return dict(zip(PARTS, (opened, create, run, cpu_create, cpu_run), strict=True))


def _child(model: str, cache: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.device_start", "--one", cache, model]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Print a table: the first process, and medians of later ones with kernels on disk."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", help=".samara files")
    parser.add_argument("--one", metavar="CACHE", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        print(json.dumps(one_process(given.models[0], given.one)))
        return
    print(f"{'model':28}{'compiling':>10}" + "".join(f"{part:>11}" for part in PARTS) + "  ms")
    for model in given.models:
        with tempfile.TemporaryDirectory() as cache:
            first = _child(model, cache)
            rounds = [_child(model, cache) for _ in range(ROUNDS)]
        medians = (statistics.median(each[part] for each in rounds) for part in PARTS)
        cells = "".join(f"{value:11.1f}" for value in medians)
        print(f"{Path(model).stem[:27]:28}{first['create']:10.0f}{cells}", flush=True)


if __name__ == "__main__":
    main()
