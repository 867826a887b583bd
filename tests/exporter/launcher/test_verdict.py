# SPDX-License-Identifier: Apache-2.0
"""What is said about a launch that has failed."""

from __future__ import annotations

import os
from typing import Any

from samara.exporter.launcher._mpiexec_output import End
from samara.exporter.launcher._verdict import Verdict, judge, signal_name


def _started(rank: int) -> dict[str, Any]:
    return {"kind": "started", "rank": rank, "pid": 100 + rank, "host": "node"}


def _failed(rank: int, kind: str, at: float, **facts: Any) -> dict[str, Any]:
    common = {"module": "builtins", "message": "", "file": "", "line": 0, "status": 1}
    return {"kind": "failed", "rank": rank, "type": kind, "time": at, **common, **facts}


RANKS = [_started(0), _started(1)]
KILLED = End(pid=101, host="node", signal=9)
FIX = "if nobody killed it, memory ran out: dmesg names the process; give each rank less work"
SEGV = "C code crashed: set PYTHONFAULTHANDLER to 1 to see the line of Python"
# notes, mpiexec's report, its status, its output -> the verdict
CASES: list[tuple[list[dict[str, Any]], End | None, int, str, Verdict | None]] = [
    (RANKS, None, 0, "", None),
    (RANKS, End(), 0, "", None),
    (
        RANKS,
        KILLED,
        9,
        "",
        Verdict(
            137, "rank 1 (pid 101 on host node) was killed by signal 9 (SIGKILL) after 1.23 s", FIX
        ),
    ),
    (
        RANKS,
        End(0, signal=11),
        9,
        "",
        Verdict(
            139,
            "rank 0 (pid 100 on host node) was killed by signal 11 (SIGSEGV) after 1.23 s",
            SEGV,
        ),
    ),
    (
        [],
        End(4, 7, "b", signal=64),
        9,
        "",
        Verdict(192, "rank 4 (pid 7 on host b) was killed by signal 64 (SIGRTMAX) after 1.23 s"),
    ),
    (
        [],
        End(pid=7, host="b", status=5),
        5,
        "",
        Verdict(5, "a rank (pid 7 on host b) ended with exit status 5 after 1.23 s"),
    ),
    (
        RANKS,
        End(1, status=5),
        5,
        "",
        Verdict(5, "rank 1 (pid 101 on host node) ended with exit status 5 after 1.23 s"),
    ),
    # A rank's own error counts before mpiexec's report, the first before the second.
    (
        [
            _failed(1, "KeyError", 2.0),
            _failed(
                0, "ValueError", 1.0, message="bad\nmore", file=os.path.abspath("a.py"), line=3
            ),
        ],
        KILLED,
        1,
        "",
        Verdict(1, "rank 0 raised ValueError: bad at a.py:3"),
    ),
    (
        [_failed(1, "KeyError", 2.0, file="/x/b.py", line=4)],
        None,
        1,
        "",
        Verdict(1, "rank 1 raised KeyError at /x/b.py:4"),
    ),
    (
        [_failed(1, "SystemExit", 2.0, status=3)],
        None,
        3,
        "",
        Verdict(3, "rank 1 ended itself with exit status 3"),
    ),
    # An error that tells of another rank's failure counts last.
    (
        [*RANKS, _failed(0, "RankFailedError", 1.0)],
        KILLED,
        9,
        "",
        Verdict(
            137, "rank 1 (pid 101 on host node) was killed by signal 9 (SIGKILL) after 1.23 s", FIX
        ),
    ),
    (
        [_failed(0, "Exception", 1.0, module="mpi4py.MPI"), _failed(1, "OSError", 2.0)],
        None,
        1,
        "",
        Verdict(1, "rank 1 raised OSError"),
    ),
    (
        [_failed(0, "RankFailedError", 1.0)],
        None,
        1,
        "",
        Verdict(1, "rank 0 raised RankFailedError"),
    ),
    # mpiexec's own failures.
    (
        RANKS,
        None,
        -9,
        "",
        Verdict(137, "mpiexec was killed by signal 9 (SIGKILL); all ranks have ended"),
    ),
    (RANKS, None, 255, "", Verdict(255, "mpiexec ended with exit status 255")),
    (
        [],
        None,
        256,
        "",
        Verdict(
            1,
            "mpiexec ended with exit status 256 before any rank had started",
            "its messages are above",
        ),
    ),
    (
        [],
        None,
        1,
        "prterun has detected an attempt to run as root.",
        Verdict(
            1,
            "mpiexec ended with exit status 1 before any rank had started",
            "Open MPI does not run as root unless OMPI_ALLOW_RUN_AS_ROOT and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM are 1",
        ),
    ),
]


def test_verdicts() -> None:
    for notes, end, returncode, output, verdict in CASES:
        assert judge(notes, end, returncode, 1.234, output) == verdict


def test_long_messages_are_cut() -> None:
    found = judge([_failed(1, "ValueError", 1.0, message="x" * 5000)], None, 1, 1.0)
    assert found == Verdict(1, f"rank 1 raised ValueError: {'x' * 400}")


def test_signals() -> None:
    assert signal_name(15) == "signal 15 (SIGTERM)"
    assert signal_name(99) == "signal 99"
