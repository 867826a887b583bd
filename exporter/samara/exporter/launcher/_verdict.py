# SPDX-License-Identifier: Apache-2.0
"""Say which rank ended a launch, how and where, from the ranks' notes and mpiexec's reports."""

from __future__ import annotations

import os
import signal as signals
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from samara.exporter.launcher._mpiexec_output import End

_LONGEST: Final = 400  # characters of an error's message

_FIXES: Final[Mapping[int, str]] = {
    signals.SIGKILL: "if nobody killed it, memory ran out: dmesg names the process; give each rank less work",
    signals.SIGSEGV: "C code crashed: set PYTHONFAULTHANDLER to 1 to see the line of Python",
    signals.SIGBUS: "shared memory ran out or C code crashed: make /dev/shm larger, or set PYTHONFAULTHANDLER to 1",
    signals.SIGABRT: "C code gave up: its message is above",
    signals.SIGILL: "C code has instructions that this CPU lacks: use a build for it",
}
_ROOT: Final = "Open MPI does not run as root unless OMPI_ALLOW_RUN_AS_ROOT and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM are 1"

Note = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a launch failed: its exit status, one sentence, and what to do about it."""

    status: int
    message: str
    fix: str | None = None


def signal_name(number: int) -> str:
    """`signal 9 (SIGKILL)`."""
    try:
        return f"signal {number} ({signals.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


def judge(
    notes: Sequence[Note], end: End | None, returncode: int, seconds: float, output: str = ""
) -> Verdict | None:
    """The verdict on a launch that has ended; None if it ended well.

    notes: of all ranks. end, returncode: mpiexec's report and status. seconds: since the start. output:
    what mpiexec wrote on stderr at the end, for its own errors.
    """
    started = {note["rank"]: note for note in notes if note["kind"] == "started"}
    failures = sorted((n for n in notes if n["kind"] == "failed"), key=lambda n: float(n["time"]))
    own = [note for note in failures if not _follows(note)]
    if own:
        return _of_note(own[0])
    if end is not None and (end.signal or end.status):
        return _of_end(end, started, seconds)
    if failures:
        return _of_note(failures[0])
    return None if returncode == 0 else _of_mpiexec(started, returncode, output)


def _follows(note: Note) -> bool:
    """Whether an error only tells that another rank has failed."""
    return note["type"] == "RankFailedError" or str(note["module"]).startswith("mpi4py")


def _of_note(note: Note) -> Verdict:
    where = f" at {_short(note['file'])}:{note['line']}" if note["file"] else ""
    status = int(note["status"])
    if note["type"] == "SystemExit":
        return Verdict(status, f"rank {note['rank']} ended itself with exit status {status}{where}")
    first = str(note["message"]).strip().partition("\n")[0][:_LONGEST]
    error = f"{note['type']}: {first}" if first else note["type"]
    return Verdict(status, f"rank {note['rank']} raised {error}{where}")


def _of_end(end: End, started: Mapping[int, Note], seconds: float) -> Verdict:
    rank = end.rank
    if rank is None:
        rank = next((r for r, note in started.items() if note["pid"] == end.pid), None)
    note = started.get(rank) if rank is not None else None
    pid = end.pid if end.pid is not None else (note["pid"] if note else None)
    host = note["host"] if note else end.host
    process = f"pid {pid}" if pid is not None else ""
    process += f"{' ' if process else ''}on host {host}" if host else ""
    who = "a rank" if rank is None else f"rank {rank}"
    who += f" ({process})" if process else ""
    if end.signal:
        how = f"was killed by {signal_name(end.signal)} after {seconds:.3g} s"
        return Verdict(128 + end.signal, f"{who} {how}", _FIXES.get(end.signal))
    how = f"ended with exit status {end.status} after {seconds:.3g} s"
    return Verdict(int(end.status or 1), f"{who} {how}")


def _of_mpiexec(started: Mapping[int, Note], returncode: int, output: str) -> Verdict:
    if returncode < 0:
        name = signal_name(-returncode)
        return Verdict(128 - returncode, f"mpiexec was killed by {name}; all ranks have ended")
    fix = None if started else "its messages are above"
    if "attempt to run as root" in output:
        fix = _ROOT
    state = "" if started else " before any rank had started"
    return Verdict(
        returncode & 0xFF or 1, f"mpiexec ended with exit status {returncode}{state}", fix
    )


def _short(file: str) -> str:
    """A path relative to the current folder, if it lies below it."""
    relative = os.path.relpath(file)
    return file if relative.startswith(os.pardir) else relative
