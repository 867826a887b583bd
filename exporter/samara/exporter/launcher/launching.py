# SPDX-License-Identifier: Apache-2.0
"""`samara launch`: start a program as the ranks of MPI, watch them, and say why they ended."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from samara.exporter.launcher import _mpiexec, launched
from samara.exporter.launcher._ends import Ends
from samara.exporter.launcher._mpiexec_output import Reports, Sorter, parse_end
from samara.exporter.launcher._verdict import Verdict, judge, signal_name

_POLL_SECONDS: Final = 0.05
# How long the other ranks may take after one has failed, the ranks after Ctrl-C, and mpiexec after SIGTERM.
_GRACE_SECONDS: Final = 1.0
_INTERRUPT_SECONDS: Final = 3.0
_END_SECONDS: Final = 2.0
_LEFT_SECONDS: Final = 0.5  # for ranks that run when mpiexec has ended
_OLD_SECONDS: Final = 60.0  # of shared memory; ranks that start map theirs at once
_USAGE: Final = 2  # exit status of wrong usage: a restart would fail again
_PR_SET_PDEATHSIG: Final = 1

_FOLDERS: Final = "samara-launch-"  # names of the folders for notes
_OWNER: Final = "launcher"  # the file in such a folder that names its launcher

Say = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class LaunchReport:
    """How a launch ended. `status` is the exit status: 0, that of the first rank that failed, or 128 + signal.

    `message` and `fix` say why it failed; both are None if all ranks ended well.
    """

    status: int
    message: str | None = None
    fix: str | None = None
    restarts: int = 0

    def text(self) -> str:
        """The message and the fix, as errors of samara are printed."""
        return f"{self.message}\n  fix: {self.fix}" if self.fix else self.message or ""


def launch(
    program: Sequence[str],
    *,
    ranks: int | None = None,
    module: bool = False,
    hostfile: str | None = None,
    hosts: Sequence[str] = (),
    threads: int | None = None,
    timeout: float | None = None,
    restarts: int = 0,
    mpiexec: str | None = None,
    prefix: bool = True,
    say: Say = lambda _text: None,
) -> LaunchReport:
    """Run a script (or a module) with its arguments as every rank, and wait for the end.

    ranks: None inside a scheduler's allocation or with hosts, where mpiexec decides. threads: of each rank;
    None shares the cores of a host between its ranks. timeout: seconds after which all ranks are ended.
    restarts: how often to start again after a failure, with SAMARA_RESTART in the environment. prefix:
    put "[rank] " before the lines of the ranks. say: gets a line before each restart.

    No process stays when it returns or raises; Ctrl-C and SIGTERM give a report of status 130 and 143.
    UnsupportedError without mpiexec; ArgumentError for a script that is not there or without `ranks`.

    >>> from samara.exporter.launcher.launching import launch
    >>> launch(["absent.py"], ranks=2)
    Traceback (most recent call last):
    samara.pybridge.errors.ArgumentError: ...
    """
    _mpiexec.check_program(program, module)
    environment = dict(os.environ)
    if ranks is None and not (hostfile or hosts or _mpiexec.in_allocation(environment)):
        from samara.pybridge.errors import ArgumentError

        raise ArgumentError("the number of ranks is missing", fix="give it, as in -n 2")
    found = _mpiexec.find(mpiexec)
    environment.update(_settings(threads, prefix))
    runner = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_rank.py")
    rank = [sys.executable, runner, *(["-m"] if module else []), *program]
    restart = 0
    while True:
        environment["SAMARA_RESTART"] = str(restart)
        attempt = _Attempt(found.kind, environment, timeout)
        verdict = attempt.run(
            lambda passed: _mpiexec.command(
                found, rank, ranks=ranks, hostfile=hostfile, hosts=hosts, environment=passed
            )
        )
        if verdict is None:
            return LaunchReport(0, restarts=restart)
        if attempt.is_final or verdict.status == _USAGE or restart == restarts:
            return LaunchReport(verdict.status, verdict.message, verdict.fix, restart)
        restart += 1
        say(f"{verdict.message}; restart {restart} of {restarts}")


def _settings(threads: int | None, prefix: bool) -> dict[str, str]:
    found = {launched.LAUNCHER: launched.identity()}
    if prefix:
        found[launched.PREFIX] = "1"
    if threads is not None:
        found["SAMARA_NUM_THREADS"] = str(threads)
    return found


class _Attempt:
    """One start of all ranks."""

    def __init__(self, kind: str, environment: dict[str, str], timeout: float | None) -> None:
        self.is_final = False  # stopped by a signal or the timeout: not to be started again
        self._environment = environment
        self._timeout = timeout
        self._reports = Reports()
        self._ends = Ends()
        self._names: set[str] = set()  # files in the folder when it was last read
        self._streams = [_Stream(kind, self._reports, s) for s in (sys.stdout, sys.stderr)]
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped: Verdict | None = None
        self._start = time.monotonic()

    def run(self, command: Callable[[dict[str, str]], Sequence[str]]) -> Verdict | None:
        """Start the command for the environment it gets, and wait until nothing of it runs."""
        _remove_segments(set(), _OLD_SECONDS)  # of launchers that were killed
        _remove_folders()
        segments = set(launched.segments())
        folder = tempfile.mkdtemp(prefix=_FOLDERS)
        try:
            (Path(folder) / _OWNER).write_text(launched.identity(), encoding="utf-8")
            environment = self._environment | {launched.FOLDER: folder}
            try:
                self._open(command(environment), environment)
                self._wait(Path(folder))
            except KeyboardInterrupt as stop:
                self._interrupt(getattr(stop, "number", signal.SIGINT))
            finally:
                self._end(Path(folder))
            notes = self._notes(Path(folder))
            order = self._ends.order()
        finally:
            self._ends.close()
            shutil.rmtree(folder, ignore_errors=True)
        verdict = self._stopped or self._judge(notes, order)
        if verdict is not None:
            _remove_segments(segments)
        if any(stream.is_broken for stream in self._streams):
            raise BrokenPipeError
        return verdict

    def _open(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL if _stdin_is_terminal() else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C comes to this process, which passes it on
            preexec_fn=_end_with_launcher(),
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        for stream, source in zip(
            self._streams, (self._process.stdout, self._process.stderr), strict=True
        ):
            stream.follow(source)

    def _wait(self, folder: Path) -> None:
        """Wait for mpiexec, at most a moment after the note of a failure, and at most the timeout."""
        assert self._process is not None
        failed_at = None
        while not _wait_for(self._process, _POLL_SECONDS):
            self._watch_ranks(folder)
            now = time.monotonic()
            if failed_at is None and self._has_failed(folder):
                failed_at = now
            if failed_at is not None and now - failed_at > _GRACE_SECONDS:
                return
            if any(stream.is_broken for stream in self._streams):
                return
            if self._timeout is not None and now - self._start > self._timeout:
                message = f"the ranks did not end within {self._timeout:g} s; all were stopped"
                self._stopped = Verdict(1, message, "raise --timeout, or leave it out")
                self.is_final = True
                return

    def _watch_ranks(self, folder: Path) -> None:
        names = set(os.listdir(folder))
        if names == self._names:
            return
        self._names = names
        self._ends.watch_pipes(folder)
        for note in self._notes(folder):
            if note["kind"] == "started" and note["place"] == launched.place():
                self._ends.watch_process(int(note["rank"]), int(note["pid"]))

    def _has_failed(self, folder: Path) -> bool:
        notes = any(note["kind"] == "failed" for note in self._reports.notes)
        return notes or any(name.endswith(".failed.json") for name in os.listdir(folder))

    def _interrupt(self, number: int) -> None:
        """Let the ranks end themselves after Ctrl-C; a second one ends them at once."""
        self.is_final = True
        self._stopped = Verdict(
            128 + number, f"stopped by {signal_name(number)}; all ranks have ended"
        )
        if self._process is None:
            return
        with contextlib.suppress(KeyboardInterrupt):
            self._process.send_signal(signal.SIGINT if number == signal.SIGINT else signal.SIGTERM)
            _wait_for(self._process, _INTERRUPT_SECONDS)

    def _end(self, folder: Path) -> None:
        """End mpiexec and the ranks on this host that still run, then read the rest of the output."""
        process = self._process
        if process is None:
            return
        try:
            if process.poll() is None:
                process.terminate()
                _wait_for(process, _END_SECONDS)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            self._kill_ranks(folder)
            process.wait()
            for stream in self._streams:
                stream.finish()

    def _kill_ranks(self, folder: Path) -> None:
        here = launched.place()
        for note in self._notes(folder):
            if note["kind"] == "started" and note["place"] == here:
                _kill(int(note["pid"]), str(note["start"]))

    def _notes(self, folder: Path) -> list[dict[str, Any]]:
        notes = list(self._reports.notes)
        for path in sorted(folder.glob("*.json")):
            with contextlib.suppress(OSError, ValueError):
                notes.append(json.loads(path.read_text(encoding="utf-8")))
        return notes

    def _judge(self, notes: Sequence[dict[str, Any]], order: Sequence[int]) -> Verdict | None:
        assert self._process is not None
        lines = self._reports.lines
        finished = {note["rank"] for note in notes if note["kind"] == "finished"}
        first = next((rank for rank in order if rank not in finished), None)
        seconds = time.monotonic() - self._start
        tail = self._streams[1].tail
        verdict = judge(notes, parse_end(lines, first), self._process.returncode, seconds, tail)
        if verdict is not None and verdict.message.startswith("mpiexec ended"):
            for line in lines:  # mpiexec's own words are the only explanation
                self._streams[1].show(f"{line}\n".encode())
        return verdict


class _Stream:
    """Reads one stream of mpiexec in a thread and shows the ranks' lines on ours."""

    def __init__(self, kind: str, reports: Reports, shown: Any) -> None:
        self.is_broken = False  # nobody reads our stream any more
        self.tail = ""  # the last of what was shown
        self._shown = getattr(shown, "buffer", shown)
        self._sorter = Sorter(kind, reports, self.show)
        self._thread: threading.Thread | None = None

    def follow(self, source: IO[bytes]) -> None:
        """Start to read."""
        self._thread = threading.Thread(target=self._read, args=(source,), daemon=True)
        self._thread.start()

    def show(self, line: bytes) -> None:
        """Write a line to our stream."""
        self.tail = (self.tail + line.decode("utf-8", "replace"))[-4096:]
        try:
            self._shown.write(line)
            self._shown.flush()
        except (BrokenPipeError, ValueError):
            self.is_broken = True

    def finish(self) -> None:
        """Wait for the end of the stream; not for a process that a rank has left behind."""
        if self._thread is not None:
            self._thread.join(_END_SECONDS)

    def _read(self, source: IO[bytes]) -> None:
        with source:
            while data := os.read(source.fileno(), 1 << 16):
                self._sorter.feed(data)
        self._sorter.close()


def _wait_for(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether the process ends within that time."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill(pid: int, start: str) -> None:
    """Wait for the end of a rank; kill it after half a second."""
    for number in (0, signal.SIGKILL):
        deadline = time.monotonic() + _LEFT_SECONDS
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)  # 0 sends nothing
        while launched.is_running(pid, start) and time.monotonic() < deadline:
            time.sleep(0.01)
        if not launched.is_running(pid, start):
            return


def _remove_segments(before: set[str], age: float = 0.0) -> None:
    """Remove shared memory that killed ranks have left: files of ours that no process uses.

    before: paths to keep. age: keep younger files, in seconds.
    """
    made = [path for path in launched.segments() if path not in before]
    if not made:
        return
    used: set[str] = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            used |= launched.mapped_segments(int(name))
    for path in made:
        with contextlib.suppress(OSError):
            facts = os.stat(path)
            is_old = time.time() - facts.st_mtime >= age
            if path not in used and is_old and facts.st_uid == os.getuid():
                os.unlink(path)


def _remove_folders() -> None:
    """Remove the folders of launchers that were killed on this host."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDERS}*"):
        with contextlib.suppress(OSError, ValueError):
            owner = (folder / _OWNER).read_text(encoding="utf-8")
            if folder.stat().st_uid == os.getuid() and launched.has_ended(owner):
                shutil.rmtree(folder)


def _stdin_is_terminal() -> bool:
    try:
        return sys.stdin.isatty()
    except (AttributeError, ValueError):
        return True


def _end_with_launcher() -> Callable[[], None] | None:
    """What makes the kernel end mpiexec when this process is killed; None where it cannot (not Linux)."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl  # looked up here: the child must do little before exec
    return lambda: prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
