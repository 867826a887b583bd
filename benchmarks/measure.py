# SPDX-License-Identifier: Apache-2.0
"""The process of one engine: opens a model, runs it on command, and answers with times.

run.py starts it in the engine's environment as `measure.py ENGINE MODEL INPUT OUTPUT THREADS`. Commands are
lines on standard input; answers are lines of JSON on the original standard output. Prints of engines go
to standard error.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.engines import Session, engine


def memory() -> dict[str, int]:
    """Bytes of this process now: resident, and private written ones."""
    found = {}
    for line in Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]:
        key, value = line.split()[:2]
        found[key.rstrip(":")] = int(value) * 1024
    return {"total": found["Rss"], "private": found["Private_Dirty"]}


def times(run: Callable[[], object], samples: int, repeats: int) -> list[tuple[int, int]]:
    """Nanoseconds per run by the wall clock and by this process's CPU clock, after one run that warms caches and
    threads.
    """
    run()
    found = []
    for _ in range(samples):
        cpu, start = time.process_time_ns(), time.perf_counter_ns()
        for _ in range(repeats):
            run()
        wall, own = time.perf_counter_ns() - start, time.process_time_ns() - cpu
        found.append((wall // repeats, own // repeats))
    return found


def end_with_parent() -> None:
    """End this process with its parent, also while it is stopped."""
    pr_set_pdeathsig, sigkill = 1, 9
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, sigkill)


class Worker:
    """The commands: version, load, first, run SAMPLES REPEATS, memory."""

    def __init__(self, name: str, model: str, entry: str, answer: str, threads: str) -> None:
        self.engine = engine(name)
        self.model, self.answer, self.threads = Path(model), answer, int(threads)
        self.input = np.load(entry)
        self.session: Session | None = None

    def version(self) -> Any:
        """The engine's version. Importing it here leaves only the loading of the model to `load`."""
        return self.engine.version()

    def load(self) -> Any:
        start = time.perf_counter_ns()
        self.session = self.engine.Session(self.model, self.threads)
        return time.perf_counter_ns() - start

    def first(self) -> Any:
        assert self.session is not None
        self.session.feed(self.input)
        start = time.perf_counter_ns()
        self.session.run()
        took = time.perf_counter_ns() - start
        np.save(self.answer, np.asarray(self.session.output(), np.float32))
        return took

    def run(self, samples: str, repeats: str) -> Any:
        assert self.session is not None
        return times(self.session.run, int(samples), int(repeats))

    def memory(self) -> Any:
        return memory()


def main() -> None:
    """Answer commands until standard input ends."""
    end_with_parent()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    worker = Worker(*sys.argv[1:])
    for line in sys.stdin:
        command, *arguments = line.split()
        try:
            reply = {"value": getattr(worker, command)(*arguments)}
        except Exception as error:  # noqa: BLE001  (an engine may raise anything)
            traceback.print_exc()
            reply = {"error": " ".join(str(error).split())[:300] or type(error).__name__}
        answers.write(json.dumps(reply) + "\n")


if __name__ == "__main__":
    main()
