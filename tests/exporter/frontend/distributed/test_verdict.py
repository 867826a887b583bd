# SPDX-License-Identifier: Apache-2.0
"""Which rank ended a launch: a table of notes and reports, and the sentence for each."""

from __future__ import annotations

from typing import Any

import pytest

from samara.exporter.frontend.distributed._mpiexec_output import End
from samara.exporter.frontend.distributed._verdict import Verdict, judge, signal_name

_STARTED = [
    {"kind": "started", "rank": rank, "pid": 100 + rank, "host": "a", "time": 1.0}
    for rank in range(2)
]


def _failed(rank: int, time: float, **facts: Any) -> dict[str, Any]:
    given = {"type": "ValueError", "module": "builtins", "message": "bad\nmore", "status": 1}
    place = {"file": "train.py", "line": 31}
    return {"kind": "failed", "rank": rank, "time": time, **given, **place} | facts


_FOLLOWS = _failed(0, 2.0, type="RankFailedError", module="samara")
_OF_MPI = _failed(0, 2.0, type="Exception", module="mpi4py.MPI")
_RAISED = "rank 1 raised ValueError: bad at train.py:31"


@pytest.mark.parametrize(
    ("notes", "end", "returncode", "status", "message"),
    [
        ([_failed(1, 3.0)], None, 1, 1, _RAISED),
        ([_failed(0, 4.0, message="late"), _failed(1, 3.0)], End(0, status=1), 1, 1, _RAISED),
        ([_FOLLOWS, _failed(1, 3.0)], End(pid=100, signal=9), 9, 1, _RAISED),
        # A note that only follows another rank's end yields to the report of that end.
        (
            [_FOLLOWS],
            End(pid=101, signal=9),
            9,
            137,
            "rank 1 (pid 101 on host a) was killed by signal 9 (SIGKILL) after 12 s",
        ),
        (
            [_OF_MPI],
            End(rank=1, signal=11),
            9,
            139,
            "rank 1 (pid 101 on host a) was killed by signal 11 (SIGSEGV) after 12 s",
        ),
        ([_FOLLOWS], None, 1, 1, "rank 0 raised RankFailedError: bad at train.py:31"),
        (
            [_failed(0, 1.0, type="SystemExit", status=3, message="")],
            None,
            3,
            3,
            "rank 0 ended itself with exit status 3 at train.py:31",
        ),
        ([_failed(0, 1.0, message="", file="")], None, 1, 1, "rank 0 raised ValueError"),
        (
            [],
            End(rank=1, status=3),
            3,
            3,
            "rank 1 (pid 101 on host a) ended with exit status 3 after 12 s",
        ),
        (
            [],
            End(pid=7, host="b", signal=15),
            15,
            143,
            "a rank (pid 7 on host b) was killed by signal 15 (SIGTERM) after 12 s",
        ),
        ([], None, -9, 137, "mpiexec was killed by signal 9 (SIGKILL); all ranks have ended"),
        ([], None, 7, 7, "mpiexec ended with exit status 7"),
        ([], None, 256, 1, "mpiexec ended with exit status 256"),
        ([_failed(1, 3.0)], None, 0, 1, _RAISED),  # whatever mpiexec returns
    ],
)
def test_verdicts(
    notes: list[Any], end: End | None, returncode: int, status: int, message: str
) -> None:
    verdict = judge(_STARTED + notes, end, returncode, 12.0)
    assert verdict is not None
    assert (verdict.status, verdict.message) == (status, message)


def test_a_good_end_has_none() -> None:
    assert judge(_STARTED, None, 0, 1.0) is None
    assert judge(_STARTED, End(), 0, 1.0) is None


def test_before_a_rank_has_started() -> None:
    assert judge([], None, 1, 1.0) == Verdict(
        1, "mpiexec ended with exit status 1 before any rank had started", "its messages are above"
    )
    refused = judge([], None, 1, 1.0, "prterun has detected an attempt to run as root.")
    assert refused is not None
    assert "OMPI_ALLOW_RUN_AS_ROOT" in (refused.fix or "")


def test_signals_have_names_and_hints() -> None:
    assert signal_name(15) == "signal 15 (SIGTERM)"
    assert signal_name(99) == "signal 99"
    for number, word in ((9, "memory"), (11, "PYTHONFAULTHANDLER"), (6, "gave up")):
        verdict = judge([], End(rank=0, signal=number), number, 1.0)
        assert verdict is not None
        assert word in (verdict.fix or "")
