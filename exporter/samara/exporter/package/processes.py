# SPDX-License-Identifier: Apache-2.0
"""Run other programs so that none of them outlives a stopped command.

A compiler starts further processes, which a signal to this one does not reach. So each program gets a process
group, and whatever ends the wait (Ctrl-C, SIGTERM, a timeout) ends the group.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Final

# The time that a group has to end before it is killed, and the interval of reports while waiting.
_GRACE_SECONDS: Final = 2.0
WAITING_SECONDS: Final = 10.0

Waiting = Callable[[float], None]


def run_program(
    command: Sequence[str],
    *,
    stdin: int | IO[Any] = subprocess.DEVNULL,
    timeout: float | None = None,
    waiting: Waiting | None = None,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end and capture its output.

    folder: the working directory; None: the current one. waiting: called about every ten seconds with the
    seconds so far. TimeoutExpired after `timeout` seconds, OSError if the program cannot be started; the
    process and its children have ended then.
    """
    start = time.monotonic()
    with subprocess.Popen(
        command,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=os.name == "posix",
        cwd=folder,
    ) as process:
        try:
            while True:
                passed = time.monotonic() - start
                left = None if timeout is None else timeout - passed
                if left is not None and left <= 0:
                    raise subprocess.TimeoutExpired(list(command), timeout or 0)
                try:
                    out, err = process.communicate(
                        timeout=WAITING_SECONDS if left is None else min(left, WAITING_SECONDS)
                    )
                    break
                except subprocess.TimeoutExpired:
                    if waiting is not None:
                        waiting(time.monotonic() - start)
        except BaseException:
            _end(process)
            raise
    return subprocess.CompletedProcess(list(command), process.returncode, out, err)


def run_text(
    command: Sequence[str],
    *,
    timeout: float | None = None,
    waiting: Waiting | None = None,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """As run_program, with the output as text."""
    done = run_program(command, timeout=timeout, waiting=waiting, folder=folder)
    out, err = (data.decode("utf-8", "replace") for data in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and its group: first politely, because compilers remove their temporary files, then by
    force.
    """
    if os.name != "posix":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_SECONDS)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
