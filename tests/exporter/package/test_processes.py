# SPDX-License-Identifier: Apache-2.0
"""Programs and their children end, however the wait for them ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from samara.exporter.package import processes
from samara.exporter.package.processes import run_program, run_text


def gone(pid: int) -> bool:
    """Whether a process ends within a few seconds."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        # A grandchild may still be a zombie.
        if sys.platform == "linux":
            stat = Path(f"/proc/{pid}/stat")
            if not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        time.sleep(0.05)
    return False


def parent(folder: Path) -> list[str]:
    """A program that starts another one, writes its process id to `pid` and waits for it."""
    return [
        "sh",
        "-c",
        f"sleep 60 & echo $! > {folder / 'new'}; mv {folder / 'new'} {folder / 'pid'}; wait",
    ]


def test_what_is_printed_is_kept() -> None:
    done = run_program(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (done.returncode, done.stdout, done.stderr) == (3, b"out\n", b"err\n")
    assert run_text(["printf", r"caf\303\251 \377"]).stdout == "café �"
    with pytest.raises(FileNotFoundError):
        run_program(["/no/such/program"])


def test_a_timeout_ends_all_of_it(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run_program(parent(tmp_path), timeout=0.5)
    assert gone(int((tmp_path / "pid").read_text()))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT interrupts Python, although shells ignore it in background programs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_all_of_it(tmp_path: Path, interruptible: None) -> None:
    def interrupt() -> None:
        while not (tmp_path / "pid").exists():
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        run_program(parent(tmp_path))
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_program_that_ignores_it_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_GRACE_SECONDS", 0.1)
    command = [
        "sh",
        "-c",
        f"trap '' TERM; echo $$ > {tmp_path / 'pid'}; while :; do sleep 0.1; done",
    ]
    with pytest.raises(subprocess.TimeoutExpired):
        run_program(command, timeout=0.3)
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_wait_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "WAITING_SECONDS", 0.05)
    seen: list[float] = []
    assert (
        run_text(["sh", "-c", "echo a; sleep 0.3; echo b"], waiting=seen.append).stdout == "a\nb\n"
    )
    assert len(seen) >= 2
    assert seen == sorted(seen)
