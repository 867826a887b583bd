# SPDX-License-Identifier: Apache-2.0
"""What mpiexec prints when a rank ends: as recorded from MPICH 5.0.2 and Open MPI 5.0.11, and in the form of their
relatives Intel MPI and Open MPI 4.
"""

from __future__ import annotations

import pytest

from samara.exporter.launcher._mpiexec import HYDRA, OPENMPI, OTHER
from samara.exporter.launcher._mpiexec_output import End, Reports, Sorter, parse_end
from samara.exporter.launcher.launched import MARK

RULE = "=" * 83
DASHES = "-" * 74

HYDRA_KILLED = f"""
{RULE}
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 24236 RUNNING AT vm
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
{RULE}
[mpiexec@vm] Exit codes: [vm] 0,9
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions
"""
INTEL_KILLED = f"""
{RULE}
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK 3 PID 4711 RUNNING AT node2
=   KILLED BY SIGNAL: 11 (Segmentation fault)
{RULE}
"""
HYDRA_EXIT = "[mpiexec@vm] Exit codes: [vm] 0,1280\n"
HYDRA_ABORT = (
    "Abort(7) on node 1 (rank 1 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 7)"
    " - process 1\n"
)
OPENMPI_ABORT = f"""{DASHES}
MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD
  Proc: [[53258,1],1]
  Errorcode: 7

NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.
You may or may not see output from other processes, depending on
exactly when Open MPI kills them.
{DASHES}
{DASHES}
prterun has exited due to process rank 1 with PID 0 on node vm calling
"abort". This may have caused other processes in the application to be
terminated by signals sent by prterun (as reported here).
{DASHES}
\0"""
OPENMPI_KILLED = f"""{DASHES}
prterun noticed that process rank 1 with PID 24196 on node vm exited on
signal 9 (Killed).
{DASHES}
"""
OPENMPI_EXIT = f"""{DASHES}
prterun detected that one or more processes exited with non-zero status,
thus causing the job to be terminated. The first process to do so was:

   Process name: [prterun-vm-24204@1,1]
   Exit code:    5
{DASHES}
"""
OPENMPI_4_EXIT = f"""{DASHES}
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
{DASHES}
{DASHES}
mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[34205,1],1]
  Exit code:    5
{DASHES}
"""
OPENMPI_4_KILLED = f"""{DASHES}
mpirun noticed that process rank 1 with PID 12 on node vm exited on signal 11 (Segmentation fault).
{DASHES}
"""
# kind, what it prints -> the end it tells
RECORDED: list[tuple[str, str, End]] = [
    (HYDRA, HYDRA_KILLED, End(pid=24236, host="vm", status=None, signal=9)),
    (HYDRA, INTEL_KILLED, End(3, 4711, "node2", signal=11)),
    (HYDRA, HYDRA_EXIT, End(1, status=5)),
    (HYDRA, HYDRA_ABORT, End(1, status=7)),
    (HYDRA, HYDRA_ABORT + HYDRA_EXIT, End(1, status=7)),
    (OPENMPI, OPENMPI_ABORT, End(1, status=7)),
    (OPENMPI, OPENMPI_KILLED, End(1, 24196, "vm", signal=9)),
    (OPENMPI, OPENMPI_EXIT, End(1, status=5)),
    (OPENMPI, OPENMPI_4_EXIT, End(1, status=5)),
    (OPENMPI, OPENMPI_4_KILLED, End(1, 12, "vm", signal=11)),
]


def _sort(kind: str, data: bytes, pieces: int) -> tuple[str, Reports]:
    """The ranks' lines, and what was kept, if the stream comes in so many pieces."""
    reports = Reports()
    shown: list[bytes] = []
    sorter = Sorter(kind, reports, shown.append)
    size = -(-len(data) // pieces) or 1
    for at in range(0, len(data), size):
        sorter.feed(data[at : at + size])
    sorter.close()
    return b"".join(shown).decode("latin-1"), reports


@pytest.mark.parametrize("pieces", [1, 7, 10_000])
def test_recorded_reports(pieces: int) -> None:
    """Reports are kept whatever stands around them, and the ranks' lines pass, however the bytes come."""
    for kind, text, end in RECORDED:
        for before, after in (("", ""), ("[0] loss 1\n", ""), ("", "\n[1] last\n")):
            shown, reports = _sort(kind, (before + text + after).encode(), pieces)
            assert shown.strip() == (before + after).strip(), text
            assert parse_end(reports.lines) == end, text


def test_lines_of_ranks() -> None:
    for kind in (HYDRA, OPENMPI, OTHER):
        text = f"\n\n{RULE}\ntable\n{DASHES}\n{DASHES}\nend\n\r 50 %\r100 %\r\nno \xff end\n"
        for pieces in (1, len(text)):
            assert _sort(kind, text.encode("latin-1"), pieces) == (text, Reports())
    # A report behind a line without an end.
    shown, reports = _sort(HYDRA, b"loss 1[mpiexec@vm] Exit codes: [vm] 0,0\n", 1)
    assert (shown, reports.lines) == ("loss 1\n", ["[mpiexec@vm] Exit codes: [vm] 0,0"])
    # A stream that ends inside a report.
    shown, reports = _sort(OPENMPI, "\n".join(OPENMPI_EXIT.split("\n")[:3]).encode(), 1)
    assert shown == ""
    assert len(reports.lines) == 2


def test_exit_codes_of_several_hosts() -> None:
    codes = "[mpiexec@vm] Exit codes: [node1] 0,1280\n[node2] 0\n"
    shown, reports = _sort(HYDRA, f"[node2] 0\n{codes}".encode(), 2)
    assert shown == "[node2] 0\n"  # before the codes it is a rank's line
    assert reports.lines == codes.splitlines()


def test_notes() -> None:
    text = f'{MARK}{{"kind": "started", "rank": 1}}\n{MARK}broken\nloss\n'
    shown, reports = _sort(HYDRA, text.encode(), 3)
    assert shown == "broken\nloss\n"
    assert reports.notes == [{"kind": "started", "rank": 1}]


# statuses of all ranks, the first to end -> the end
STATUSES: list[tuple[str, int | None, End | None]] = [
    ("0,0", None, None),
    ("9,9,0", None, End(0, signal=9)),
    ("9,9,0", 1, End(1, signal=9)),
    ("9,139,15", None, End(1, signal=11)),
    ("9,1280,15", 0, End(0, signal=9)),
    ("0,9", 0, End(1, signal=9)),  # rank 0 ended well
    ("0,9", 5, End(1, signal=9)),
]


def test_the_first_to_end() -> None:
    for codes, first, end in STATUSES:
        assert parse_end([f"[mpiexec@vm] Exit codes: [vm] {codes}"], first) == end, codes
    lines = HYDRA_KILLED.replace("0,9", "9,9").splitlines()
    assert parse_end(lines, 1) == End(1, signal=9)
    assert parse_end(HYDRA_KILLED.splitlines(), 0) == End(0, signal=9)  # not yet reaped
    two_hosts = HYDRA_KILLED.replace("[vm] 0,9", "[a] 0,9 [b] 0,0").splitlines()
    assert parse_end(two_hosts, 0) == End(pid=24236, host="vm", signal=9)
    assert parse_end([]) is None
