# SPDX-License-Identifier: Apache-2.0
"""The worker processes of a loader. Tasks are dealt out in turn, results come back in order."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from samara.exporter.frontend.data import _channel
from samara.exporter.frontend.data._worker import Job, work
from samara.pybridge.errors import LimitError, SamaraError

_GRACE_SECONDS: Final = 1.0  # for a worker to end by itself


class SupersededError(SamaraError):
    """An iteration cannot continue, because a newer one uses the workers."""


class _WorkerTraceback(Exception):
    """The cause of an exception that came from a worker: the traceback there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


class WorkerPool:
    """Processes that wait for tasks of one epoch at a time.

    Each has its own socket, so that a dead worker is noticed at once, and batches that it sent before still
    arrive.
    """

    def __init__(self, job: Job, context: Any, timeout: float) -> None:
        self._timeout = timeout
        self._workers: list[tuple[Any, Any]] = []  # process, connection
        self._pending: deque[tuple[int, int]] = deque()  # number of a task, worker
        self._first = True
        self._run = object()  # identifies the iteration that may continue
        message = _channel.Message(("job", job))
        try:
            for worker in range(job.num_workers):
                ours, theirs = context.Pipe(duplex=True)
                process = context.Process(
                    target=work,
                    args=(theirs, os.getpid(), worker),
                    name=f"samara-loader-{worker}",
                    daemon=True,
                )
                process.start()
                theirs.close()
                self._workers.append((process, ours))
                message.send(ours, process.pid)
        except BaseException:
            self.close()
            raise
        finally:
            message.close()

    def run(self, base_seed: int, tasks: Iterator[tuple[int, Any]], ahead: int) -> Iterator[Any]:
        """The batches of numbered tasks, in order; each worker has up to `ahead` tasks."""
        self._run = run = object()
        while self._pending:  # tasks of an abandoned epoch
            self._receive(self._pending.popleft()[1])
        for worker in range(len(self._workers)):
            self._send(worker, ("epoch", base_seed, self._first))
        self._first = False
        ready = deque(range(len(self._workers)))  # workers in turn, without those at their end
        for _ in range(ahead * len(self._workers)):
            self._assign(ready, tasks)
        while self._pending:
            if self._run is not run:
                raise SupersededError("the workers of this loader serve a later iteration by now")
            _number, worker = self._pending.popleft()
            reply = self._receive(worker)
            if reply[0] == "end":
                if worker in ready:
                    ready.remove(worker)
                self._assign(ready, tasks)
                continue
            if reply[0] == "error":
                raise self._failure(worker, reply)
            self._assign(ready, tasks)
            yield reply[1]

    def _assign(self, ready: deque[int], tasks: Iterator[tuple[int, Any]]) -> None:
        if not ready:
            return
        task = next(tasks, None)
        if task is None:
            return
        worker = ready[0]
        ready.rotate(-1)
        self._send(worker, ("task", *task))
        self._pending.append((task[0], worker))

    def _send(self, worker: int, message: Any) -> None:
        """Send to a worker. If it has ended, the error comes when its next batch is due, after the batches that it
        still made."""
        process, connection = self._workers[worker]
        with contextlib.suppress(OSError):
            _channel.send(connection, message, process.pid)

    def _receive(self, worker: int) -> Any:
        _process, connection = self._workers[worker]
        try:
            if not connection.poll(self._timeout or None):
                raise LimitError(
                    f"worker {worker} of the loader gave no batch for {self._timeout:g} s",
                    fix="raise timeout, or find out what the dataset waits for",
                )
            return _channel.receive(connection)
        except (EOFError, OSError):
            raise self._death(worker) from None

    def _death(self, worker: int) -> SamaraError:
        process, _connection = self._workers[worker]
        process.join(_GRACE_SECONDS)
        code = process.exitcode
        if code is not None and code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
            fix = "if nobody killed it: the system does so when memory runs out"
        else:
            how = f"ended with exit code {code}"
            fix = "its messages are on standard error; num_workers=0 shows where it fails"
        return SamaraError(f"worker {worker} of the loader (pid {process.pid}) {how}", fix=fix)

    def _failure(self, worker: int, reply: Any) -> Exception:
        _kind, error, text, pid = reply
        if error is None:
            return SamaraError(f"worker {worker} of the loader (pid {pid}) failed:\n{text}")
        error.__cause__ = _WorkerTraceback(text)
        found: Exception = error
        return found

    def close(self) -> None:
        """End the workers. Their unfinished batches are lost."""
        for process, connection in self._workers:
            with contextlib.suppress(OSError):
                _channel.send(connection, None, process.pid)
            connection.close()
        for process, _connection in self._workers:
            process.join(_GRACE_SECONDS)
            if process.is_alive():
                process.kill()
                process.join()
            process.close()
        self._workers = []
        self._pending.clear()
