# SPDX-License-Identifier: Apache-2.0
"""Engines in separate processes, alive at the same time, taking turns.

Waiting processes are stopped, so that none of their threads spins while another engine is measured.
"""

from __future__ import annotations

import json
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.environments import Missing, home_of, own_name, variables

_SAMPLE_NS = 1_000_000  # a sample repeats a run until it takes this long
_ROUND_NS = 25_000_000  # a round takes samples until this time is over
_MAX_SAMPLES = 12


class Worker:
    """The process of one engine with one model."""

    def __init__(self, python: Path, engine: str, words: Sequence[str], log: Path) -> None:
        self.engine = engine
        home = home_of(engine)
        self._log = log.open("w")
        self._process = subprocess.Popen(
            [str(python), "-m", "benchmarks.measure", own_name(engine), *words],
            cwd=home,
            env=variables(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, command: str, seconds: float = 300) -> Any:
        """The answer to a command. Missing with the engine's error, or how its process ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(command + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdout, selectors.EVENT_READ)
            if not ready.select(seconds):
                raise Missing(f"no answer to '{command}' in {seconds:g} s")
        line = self._process.stdout.readline()
        if not line:
            raise self._ended()
        reply = json.loads(line)
        if "error" in reply:
            raise Missing(str(reply["error"]))
        return reply["value"]

    def _ended(self) -> Missing:
        code = self._process.wait()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        return Missing(f"its process ended with {how}")

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()


@dataclass(slots=True)
class Times:
    """Nanoseconds per run of every sample, by the wall clock and by the process's CPU clock."""

    wall: list[int] = field(default_factory=list)
    cpu: list[int] = field(default_factory=list)


def interleave(
    workers: Sequence[Worker], rounds: int, seconds: float = 0
) -> dict[str, Times | str]:
    """Times of every worker over at least so many rounds and seconds, or why it stopped. The first worker changes
    with the round. The workers have had their first run.

    The seconds matter for small models. On a virtual machine the benefit of a second thread changes several times
    per second, as its processors move among those of the host, and a few short rounds would see only one
    such state.
    """
    until = time.monotonic() + seconds
    found: dict[str, Times | str] = {w.engine: Times() for w in workers}
    plans: dict[str, tuple[int, int]] = {}
    for w in workers:
        w.pause()
    r = 0
    while r < rounds or time.monotonic() < until:
        for k in range(len(workers)):
            w = workers[(r + k) % len(workers)]
            times = found[w.engine]
            if isinstance(times, str):
                continue
            w.resume()
            try:
                if w.engine not in plans:
                    plans[w.engine] = plan(w.ask("run 3 1"))
                samples, repeats = plans[w.engine]
                for wall, cpu in w.ask(f"run {samples} {repeats}"):
                    times.wall.append(wall)
                    times.cpu.append(cpu)
            except Missing as missing:
                found[w.engine] = str(missing)
                continue
            w.pause()
        r += 1
    return found


def plan(tried: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Samples per round and runs per sample for an engine whose runs took (wall, cpu) this long."""
    took = max(1, min(wall for wall, _ in tried))
    repeats = max(1, _SAMPLE_NS // took)
    return max(1, min(_MAX_SAMPLES, _ROUND_NS // (took * repeats))), repeats


class MemoryPeak:
    """The peak memory of a process while the block runs, sampled from outside every millisecond for private written
    memory; the kernel itself counts the peak of resident memory.
    """

    def __init__(self, pid: int) -> None:
        self._pid, self.private = pid, 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> MemoryPeak:
        Path(f"/proc/{self._pid}/clear_refs").write_text("5", encoding="ascii")
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        path = f"/proc/{self._pid}/smaps_rollup"
        while not self._done.is_set():
            try:
                text = Path(path).read_text(encoding="ascii")
            except OSError:
                return
            for line in text.splitlines():
                if line.startswith("Private_Dirty:"):
                    self.private = max(self.private, int(line.split()[1]) * 1024)
            time.sleep(0.001)

    def total(self) -> int:
        """The peak of resident bytes since the block began."""
        for line in Path(f"/proc/{self._pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        return 0
