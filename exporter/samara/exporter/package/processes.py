# SPDX-License-Identifier: Apache-2.0
"""Running other programs, such that none of them outlives a command that is stopped.

A compiler starts processes of its own, which a signal to this one does not reach. So each program gets a
process group, and whatever ends the wait (Ctrl-C, SIGTERM, a timeout) ends the group.
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

# What a group is given to end by itself before it is killed, and how often a wait is reported.
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
    """Run a program to its end and keep what it prints.

    folder: where it runs, the current folder if None.
    waiting: told the seconds so far, about every ten. TimeoutExpired after `timeout` seconds, OSError
    where the program cannot be started; the process and those that it started have ended then.
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
    """As run_program, with what is printed as text."""
    done = run_program(command, timeout=timeout, waiting=waiting, folder=folder)
    out, err = (data.decode("utf-8", "replace") for data in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and its group: politely, for compilers remove their temporary files, then for
    sure.
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
