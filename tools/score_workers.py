# SPDX-License-Identifier: Apache-2.0
"""Worker processes for suites of cases, so that a crash or a hang of one case does not affect others.

A worker reads one line per case and answers each with a line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a worker did not answer. verdict: "crash" or "hang"."""

    verdict: str
    reason: str


class Worker:
    """A process that runs cases one after another. It is replaced when a case ends it."""

    def __init__(self, timeout: float, command: Sequence[str]) -> None:
        self._timeout = timeout
        self._command = command
        self._process: subprocess.Popen[str] | None = None

    def ask(self, request: str) -> dict[str, Any] | Failure:
        """The answer to a line."""
        process = self._alive()
        assert process.stdin is not None
        process.stdin.write(f"{request}\n")
        process.stdin.flush()
        line: list[str] = []
        reader = threading.Thread(target=_read_line, args=(process.stdout, line), daemon=True)
        reader.start()
        reader.join(self._timeout)
        if reader.is_alive() or not line[0]:
            is_late = reader.is_alive()
            process.kill()
            reader.join()
            code = self.close()
            if is_late:
                return Failure("hang", f"no answer in {self._timeout:.0f} s")
            return Failure("crash", f"exit {code}")
        answer: dict[str, Any] = json.loads(line[0])
        return answer

    def close(self) -> int:
        """End the process; returns its exit status."""
        if self._process is None:
            return 0
        process, self._process = self._process, None
        process.kill()
        code = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        return code

    def _alive(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        return self._process


def _read_line(stream: IO[str] | None, into: list[str]) -> None:
    assert stream is not None
    into.append(stream.readline())


def answers(
    requests: Sequence[str], jobs: int, timeout: float, command: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any] | Failure]]:
    """Each request with its answer, as they come."""
    todo: queue.SimpleQueue[str] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[str, dict[str, Any] | Failure]] = queue.SimpleQueue()
    for request in requests:
        todo.put(request)

    def work() -> None:
        worker = Worker(timeout, command)
        try:
            while True:
                try:
                    request = todo.get_nowait()
                except queue.Empty:
                    return
                done.put((request, worker.ask(request)))
        finally:
            worker.close()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for _ in requests:
        yield done.get()


def table(heads: Sequence[str], rows: Any) -> str:
    """Rows as a Markdown table."""
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(str(c) for c in row)} |" for row in rows]
    return "\n".join(lines) + "\n"
