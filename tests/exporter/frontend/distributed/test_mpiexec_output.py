# SPDX-License-Identifier: Apache-2.0
"""Lines of mpiexec: what is shown, what is a report, and what a report says. The texts are real ones."""

from __future__ import annotations

import pytest

from samara.exporter.frontend.distributed._launched import MARK
from samara.exporter.frontend.distributed._mpiexec_output import End, Reports, Sorter, parse_end

_RULE = "=" * 83
_DASHES = "-" * 74
HYDRA_KILLED = f"""
{_RULE}
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 18120 RUNNING AT vm
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
{_RULE}
[mpiexec@vm] Exit codes: [vm] 9,9
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions
"""
HYDRA_RANK = HYDRA_KILLED.replace("=   PID", "=   RANK 1 PID").replace("9", "139").replace(
    "Killed (signal 139)", "Segmentation fault (signal 11)"
)  # fmt: skip
INTEL = f"""
{_RULE}
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK 3 PID 77 RUNNING AT node1
=   KILLED BY SIGNAL: 6 (Aborted)
{_RULE}
Intel(R) MPI Library troubleshooting guide:
"""
OPENMPI_KILLED = f"""{_DASHES}
prterun noticed that process rank 1 with PID 18348 on node vm exited on
signal 9 (Killed).
{_DASHES}
"""
OPENMPI4_KILLED = f"""{_DASHES}
mpirun noticed that process rank 2 with PID 0 on node vm exited on signal 11 (Segmentation fault).
{_DASHES}
"""
OPENMPI_STATUS = f"""{_DASHES}
prterun detected that one or more processes exited with non-zero status,
thus causing the job to be terminated. The first process to do so was:

   Process name: [prterun-vm-18362@1,1]
   Exit code:    3
{_DASHES}
"""
OPENMPI4_STATUS = OPENMPI_STATUS.replace("prterun-vm-18362@1,1", "[51273,1],1")
OPENMPI_ABORT = f"""{_DASHES}
MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD
  Proc: [[21547,1],1]
  Errorcode: 5

NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.
{_DASHES}
{_DASHES}
prterun has exited due to process rank 1 with PID 0 on node vm calling
"abort". This may have caused other processes in the application to be
terminated by signals sent by prterun (as reported here).
{_DASHES}
\0"""
MPICH_ABORT = "Abort(5) on node 1 (rank 1 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 5) - process 1\n"


def _sorted(kind: str, text: str, step: int = 7) -> tuple[str, Reports]:
    """What is shown of a text that arrives in small portions, and the reports."""
    reports, shown = Reports(), bytearray()
    sorter = Sorter(kind, reports, shown.extend)
    data = text.encode()
    for at in range(0, len(data), step):
        sorter.feed(data[at : at + step])
    sorter.close()
    return shown.decode(), reports


@pytest.mark.parametrize(
    ("kind", "text", "end"),
    [
        ("hydra", HYDRA_KILLED, End(None, 18120, "vm", 9)),
        ("hydra", HYDRA_RANK, End(1, 18120, "vm", 11)),
        ("hydra", INTEL, End(3, 77, "node1", 6)),
        ("hydra", HYDRA_KILLED.replace("Killed (signal 9)", "?"), End(None, 18120, "vm", None, 9)),
        ("hydra", MPICH_ABORT, End(1, status=5)),
        ("hydra", "[mpiexec@vm] Exit codes: [vm] 0,768\n", End(1, status=3)),
        ("hydra", "[mpiexec@vm] Exit codes: [vm] 9,11\n", End(1, signal=11)),
        ("hydra", "[mpiexec@vm] Exit codes: [vm] 9,0\n", End(0, signal=9)),
        ("hydra", "[mpiexec@vm] Exit codes: [vm] 0,0\n", None),
        ("openmpi", OPENMPI_KILLED, End(1, 18348, "vm", 9)),
        ("openmpi", OPENMPI4_KILLED, End(2, None, "vm", 11)),
        ("openmpi", OPENMPI_STATUS, End(1, status=3)),
        ("openmpi", OPENMPI4_STATUS, End(1, status=3)),
        ("openmpi", OPENMPI_ABORT, End(1, status=5)),
    ],
)
def test_reports_are_taken_out_and_read(kind: str, text: str, end: End | None) -> None:
    before, after = "[0] a\n[1] b\n", "[0] c\n"
    shown, reports = _sorted(kind, before + text + after)
    assert shown.replace("\n\n", "\n") == before + after
    assert parse_end(reports.lines) == end


def test_output_of_ranks_passes_unchanged() -> None:
    table = f"{_RULE}\nname\n{_RULE}\n\n\n{_DASHES}\nx | y\n{_DASHES}\n\rstep 1\rstep 2\r\nrest"
    for kind in ("hydra", "openmpi", "other"):
        for step in (1, 5, 1000):
            shown, reports = _sorted(kind, table, step)
            assert shown == table
            assert reports == Reports()
    assert _sorted("other", HYDRA_KILLED)[0] == HYDRA_KILLED
    # Another message of Open MPI, between the same rules, is an error that the user must see.
    slots = f"{_DASHES}\nThere are not enough slots available in the system\n{_DASHES}\n"
    assert _sorted("openmpi", slots)[0] == slots


def test_a_line_is_shown_as_soon_as_it_ends() -> None:
    shown: list[bytes] = []
    sorter = Sorter("hydra", Reports(), shown.append)
    sorter.feed(b"[0] a\n[1] b")
    assert shown == [b"[0] a\n"]


def test_notes_come_with_the_output() -> None:
    shown, reports = _sorted("other", f'a\n{MARK}{{"kind": "failed"}}\n{MARK}not json\nb\n')
    assert reports.notes == [{"kind": "failed"}]
    assert shown == "a\nnot json\nb\n"


def test_a_report_that_is_cut_off_is_kept() -> None:
    shown, reports = _sorted("hydra", HYDRA_KILLED.partition("=   EXIT")[0])
    assert shown == ""
    assert parse_end(reports.lines) == End(None, 18120, "vm")
