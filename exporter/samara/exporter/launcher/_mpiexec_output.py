# SPDX-License-Identifier: Apache-2.0
"""Sort the lines that mpiexec prints: output of ranks, notes of ranks, and mpiexec's own reports of an end."""

from __future__ import annotations

import json
import re
import signal as signals
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from samara.exporter.launcher._mpiexec import HYDRA, OPENMPI
from samara.exporter.launcher.launched import MARK

_TERMINATED: Final = re.compile(rb"\r\n|\n|\r")
_LONGEST_REPORT: Final = 200  # lines


@dataclass(frozen=True, slots=True)
class _Block:
    """A report of several lines: patterns of its first, second and last line."""

    opening: re.Pattern[str]
    second: re.Pattern[str]
    closing: re.Pattern[str]


_RULE_OF_OPENMPI: Final = re.compile(r"-{60,}$")
_BLOCKS: Final = {
    HYDRA: _Block(
        re.compile(r"(={60,})?$"),  # an empty line stands before it
        re.compile(r"=\s+BAD TERMINATION"),
        re.compile(r"={60,}$"),
    ),
    OPENMPI: _Block(
        _RULE_OF_OPENMPI,
        re.compile(
            r"(prterun|mpirun|mpiexec|prun|orterun)\b.*(exited|detected that one or more processes|noticed)"
            r"|MPI_ABORT was invoked|Primary job  ?terminated normally"
        ),
        _RULE_OF_OPENMPI,
    ),
}
# Reports of one line.
_SINGLE: Final = {
    HYDRA: re.compile(
        r"\[(mpiexec|proxy:)[^\]]*\] |Abort\(-?\d+\) on node \d+|\[cli_\d+\]: aborting job"
        r"|^YOUR APPLICATION TERMINATED WITH|^This typically refers to a problem with your application\.$"
        r"|^Please see the FAQ page for debugging suggestions$"
    ),
    OPENMPI: re.compile(r"\[[\w.-]+:\d+\] (PMIX|PRTE|ORTE)[ _]ERROR|Abort is in progress; hit ctrl-c again"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class End:
    """The end of one rank as mpiexec reports it. What it does not say is None."""

    rank: int | None = None
    pid: int | None = None
    host: str | None = None
    signal: int | None = None
    status: int | None = None


@dataclass(slots=True)
class Reports:
    """What both streams of mpiexec have shown beside the ranks' output."""

    lines: list[str] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)


class Sorter:
    """Takes the bytes of one stream, passes the ranks' lines to `out`, and keeps the reports.

    A line that may begin a report waits for the next one.
    """

    def __init__(self, kind: str, reports: Reports, out: Callable[[bytes], object]) -> None:
        self._block = _BLOCKS.get(kind)
        self._single = _SINGLE.get(kind)
        self._reports = reports
        self._out = out
        self._rest = b""
        self._held: list[bytes] = []  # lines that may begin a report
        self._report: list[str] | None = None  # the report that has begun
        self._in_codes = (
            False  # whether the last line was of hydra's exit codes, a line for each host
        )

    def feed(self, data: bytes) -> None:
        """Take what the stream has given."""
        self._rest += data
        at = 0
        for found in _TERMINATED.finditer(self._rest):
            if found[0] == b"\r" and found.end() == len(self._rest):
                break  # a \n may follow
            self._line(self._rest[at : found.end()])
            at = found.end()
        self._rest = self._rest[at:]

    def close(self) -> None:
        """The stream has ended: pass on what waits."""
        if self._rest:
            self._line(self._rest)
        self._rest = b""
        if self._report is not None:
            self._reports.lines += self._report
            self._report = None
        self._release()

    def _line(self, line: bytes) -> None:
        if self._reports.lines and not (line := line.removeprefix(b"\0")):
            return  # Open MPI ends its report of an abort with a zero byte
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if self._report is not None:
            self._continue(text)
        elif MARK in text:
            self._note(text)
        elif self._in_codes and _HYDRA_HOST_CODES.match(text):
            self._reports.lines.append(text)
        elif self._single is not None and (found := self._single.search(text)):
            self._in_codes = "Exit codes: [" in text
            if found.start():  # behind a rank's line without an end
                self._pass_on(f"{text[: found.start()]}\n".encode(), text[: found.start()])
            self._reports.lines.append(text[found.start() :])
        elif self._block is not None and self._held and self._block.second.match(text):
            self._held = []
            self._report = [text]
        else:
            self._pass_on(line, text)

    def _continue(self, text: str) -> None:
        assert self._block is not None
        assert self._report is not None
        self._report.append(text)
        if self._block.closing.match(text) or len(self._report) > _LONGEST_REPORT:
            self._reports.lines += self._report
            self._report = None

    def _pass_on(self, line: bytes, text: str) -> None:
        opens = self._block is not None and self._block.opening.match(text)
        if not opens or any(held.strip() for held in self._held):
            self._release()
        if opens:
            self._held.append(line)
        else:
            self._out(line)

    def _release(self) -> None:
        for line in self._held:
            self._out(line)
        self._held = []

    def _note(self, text: str) -> None:
        before, _, note = text.partition(MARK)
        try:
            self._reports.notes.append(json.loads(note))
        except ValueError:
            self._out(f"{before}{note}\n".encode())


_NAMED_SIGNAL: Final = re.compile(
    r"\(signal (\d+)\)|exited on\s+signal (\d+)|KILLED BY SIGNAL: (\d+)"
)
_HYDRA_PROCESS: Final = re.compile(r"=\s+(?:RANK (\d+) )?PID (\d+) RUNNING AT (\S+)")
_HYDRA_CODE: Final = re.compile(r"=\s+(?:EXIT CODE|EXIT STATUS): (\d+)")
_HYDRA_HOST_CODES: Final = re.compile(r"\[[^\]]+\] \d+(,\d+)*$")
_HYDRA_CODES: Final = re.compile(r"Exit codes: \[[^\]]*\] ([\d,]+)$", re.M)
_OPENMPI_PROCESS: Final = re.compile(
    r"process rank (\d+) with PID (\d+) on node (\S+)(?: exited on\s*signal (\d+))?"
)
_OPENMPI_NAME: Final = re.compile(r"Process name:\s*\[.*?[,@]\s*\d+\]?,\s*(\d+)\]")
_OPENMPI_CODE: Final = re.compile(r"Exit code:\s*(\d+)")
_ABORT_OF_OPENMPI: Final = re.compile(r"MPI_ABORT was invoked on rank (\d+)")
_ABORT_CODE: Final = re.compile(r"[Ee]rror ?code:? (-?\d+)")
_ABORT_OF_MPICH: Final = re.compile(r"Abort\((-?\d+)\) on node \d+ \(rank (\d+) in comm")


def parse_end(lines: list[str], first: int | None = None) -> End | None:
    """Which rank ended first and how, from mpiexec's reports; None if they do not say.

    first: the rank that is known to have ended first. MPICH may report one that its mpiexec has killed.

    >>> from samara.exporter.launcher._mpiexec_output import parse_end
    >>> parse_end(["=   PID 7 RUNNING AT a", "=   KILLED BY SIGNAL: 9 (Killed)"])
    End(rank=None, pid=7, host='a', signal=9, status=None)
    """
    text = "\n".join(lines)
    if found := _ABORT_OF_MPICH.search(text):
        return End(rank=int(found[2]), status=int(found[1]) & 0xFF)
    if found := _ABORT_OF_OPENMPI.search(text):
        code = _ABORT_CODE.search(text)
        return End(rank=int(found[1]), status=int(code[1]) & 0xFF if code else None)
    if found := _OPENMPI_PROCESS.search(text):
        signal = _NAMED_SIGNAL.search(text)
        number = next((int(g) for g in signal.groups() if g), None) if signal else None
        pid = int(found[2]) or None
        return End(rank=int(found[1]), pid=pid, host=found[3], signal=number)
    if found := _OPENMPI_NAME.search(text):
        code = _OPENMPI_CODE.search(text)
        return End(rank=int(found[1]), status=int(code[1]) if code else None)
    return _parse_hydra(text, first)


def _parse_hydra(text: str, first: int | None) -> End | None:
    found = _HYDRA_CODES.search(text)
    statuses = [int(status) for status in found[1].split(",")] if found else []
    process = _HYDRA_PROCESS.search(text)
    if first is not None and first < len(statuses) and statuses[first]:
        return _end_of(first, statuses[first])
    if process is None:
        return _of_statuses(statuses)
    rank = None if process[1] is None else int(process[1])
    code, named = _HYDRA_CODE.search(text), _NAMED_SIGNAL.search(text)
    signal = next((int(g) for g in named.groups() if g), None) if named else None
    status = int(code[1]) if code and signal is None else None
    if first is not None and first < len(statuses) and signal == signals.SIGKILL:
        return End(first, signal=signal)  # hydra reaped one that it killed, and not yet the first
    return End(rank, int(process[2]), process[3], signal, status)


def _of_statuses(statuses: list[int]) -> End | None:
    """From the statuses of all ranks on the only host. 9 and 15 are hydra's own kills."""
    failed = [(rank, status) for rank, status in enumerate(statuses) if status]
    if not failed:
        return None
    return _end_of(*next(((r, s) for r, s in failed if s & 0x7F not in (9, 15)), failed[0]))


def _end_of(rank: int, status: int) -> End:
    """The end of a rank with a status as wait() gives it."""
    signal = status & 0x7F
    return End(rank, signal=signal or None, status=None if signal else status >> 8)
