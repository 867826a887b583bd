# SPDX-License-Identifier: Apache-2.0
"""Real launches of small scripts in two ranks, whatever ends them; nothing stays behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from samara.exporter.frontend.distributed import _launched
from samara.exporter.frontend.distributed import launching as module
from samara.exporter.frontend.distributed.launching import LaunchReport, launch
from samara.pybridge.errors import ArgumentError, UnsupportedError

# Starts MPI, leaves the rank's process id and its shared memory in files, and waits for the other rank.
_HEAD = """
import os, signal, sys, time
from mpi4py import MPI
rank = MPI.COMM_WORLD.Get_rank()
open(f"{sys.argv[1]}/{rank}.pid", "w").write(str(os.getpid()))
with open(f"{sys.argv[1]}/{rank}.shm", "w") as file:
    file.write("\\n".join({line[line.find("/") :].strip() for line in open("/proc/self/maps") if "mpich_shm" in line}))
MPI.COMM_WORLD.Barrier()
"""
_SLEEP = "\ntime.sleep(60)\n"
_WAIT_SECONDS = 10.0

Run = Callable[..., LaunchReport]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Launch a script that starts with _HEAD in two ranks. No process, folder or shared memory stays."""
    (tmp_path / "pids").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    def start(body: str, **options: object) -> LaunchReport:
        (tmp_path / "train.py").write_text(_HEAD + body)
        program = [str(tmp_path / "train.py"), str(tmp_path / "pids")]
        return launch(program, **{"ranks": 2} | options)  # type: ignore[arg-type]

    yield start
    assert _left(tmp_path) == []
    assert list((tmp_path / "temporary").iterdir()) == []
    shared = [path for p in (tmp_path / "pids").glob("*.shm") for path in p.read_text().split()]
    assert shared or not _pids(tmp_path)
    assert _until(lambda: not any(map(os.path.exists, shared))), shared


def _pids(tmp_path: Path) -> list[int]:
    return [int(p.read_text() or 0) for p in sorted((tmp_path / "pids").glob("*.pid"))]


def _left(tmp_path: Path) -> list[int]:
    return [pid for pid in _pids(tmp_path) if _launched.start_time(pid)]


def _until(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + _WAIT_SECONDS
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return holds()


def test_a_good_end(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    body = """
print("sum", MPI.COMM_WORLD.allreduce(rank + 1), os.environ["SAMARA_NUM_THREADS"])
print("note", file=sys.stderr)
"""
    assert run(body, threads=3) == LaunchReport(0)
    shown = capfd.readouterr()
    assert sorted(shown.out.splitlines()) == ["[0] sum 3 3", "[1] sum 3 3"]
    assert sorted(shown.err.splitlines()) == ["[0] note", "[1] note"]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (
            "if rank == 1: raise ValueError('bad')",
            1,
            r"rank 1 raised ValueError: bad at \S*train.py:9",
        ),
        (
            "if rank == 1: os.kill(os.getpid(), 9)",
            137,
            r"rank 1 \(pid \d+ on host \S+\) was killed by signal 9 \(SIGKILL\) after [\d.]+ s",
        ),
        (
            "if rank == 1: sys.exit(3)",
            3,
            r"rank 1 ended itself with exit status 3 at \S*train.py:9",
        ),
        (
            "if rank == 0: os._exit(4)",
            4,
            r"rank 0 \(pid \d+ on host \S+\) ended with exit status 4 after [\d.]+ s",
        ),
        (
            "if rank == 1: MPI.COMM_WORLD.Abort(5)",
            5,
            r"rank 1 \(pid \d+ on host \S+\) ended with exit status 5 after [\d.]+ s",
        ),
    ],
)
def test_the_rank_that_failed_is_named(
    run: Run, body: str, status: int, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    report = run(body + _SLEEP, prefix=False)
    assert report.status == status
    assert re.fullmatch(message, report.message or ""), report.message
    assert report.text().startswith(report.message or "?")
    shown = capfd.readouterr()
    assert "BAD TERMINATION" not in shown.out + shown.err
    assert "mpiexec@" not in shown.out + shown.err
    assert ("ValueError: bad\n" in shown.err) is ("ValueError" in body)


def test_a_failure_before_mpi_ends_the_ranks_too(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import os, time\nif os.environ['PMI_RANK'] == '1': raise OSError('no data')\ntime.sleep(60)"
    )
    start = time.monotonic()
    report = launch([str(tmp_path / "train.py")], ranks=2)
    assert (report.status, (report.message or "")[:32]) == (1, "rank 1 raised OSError: no data a")
    assert time.monotonic() - start < _WAIT_SECONDS


def test_restarts(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    body = """
restart = int(os.environ["SAMARA_RESTART"])
print("start", restart)
if restart < 2 and rank == restart: raise ValueError(restart)
"""
    assert run(body, restarts=3, say=said.append) == LaunchReport(0, restarts=2)
    assert [re.sub(r" at [^;]+", "", line) for line in said] == [
        "rank 0 raised ValueError: 0; restart 1 of 3",
        "rank 1 raised ValueError: 1; restart 2 of 3",
    ]
    assert capfd.readouterr().out.count("start 2") == 2
    usage = run("sys.exit(2)", restarts=3, say=said.append)
    assert (usage.status, usage.restarts) == (2, 0)
    assert len(said) == 2


def test_the_timeout_ends_all(run: Run) -> None:
    report = run(_SLEEP, timeout=0.8, restarts=2)
    assert (report.status, report.restarts) == (1, 0)
    assert report.message == "the ranks did not end within 0.8 s; all were stopped"


def _launcher(tmp_path: Path) -> subprocess.Popen[str]:
    """The command in a process of its own, when both ranks run."""
    (tmp_path / "train.py").write_text(_HEAD + "print('ready')" + _SLEEP)
    words = ["launch", "-n", "2", "train.py", str(tmp_path / "pids")]
    roots = [
        str(Path(module.__file__).parents[n] / r) for n, r in ((4, ""), (5, "cli"), (5, "pybridge"))
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "samara.cli.main", *words],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(roots)} | {"TMPDIR": tempfile.gettempdir()},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert process.stdout is not None
    for _ in range(2):
        assert "ready" in process.stdout.readline()
    return process


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
)
def test_signals_end_the_ranks(
    run: Run, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    process = _launcher(tmp_path)
    process.send_signal(number)
    _, said = process.communicate(timeout=_WAIT_SECONDS)
    assert process.returncode == status
    name = f"signal {int(number)} ({number.name})"
    assert said == f"samara: stopped by {name}; all ranks have ended\n"
    assert _left(tmp_path) == []


def test_no_rank_outlives_a_killed_launcher(run: Run, tmp_path: Path) -> None:
    process = _launcher(tmp_path)
    process.kill()
    assert _until(lambda: not _left(tmp_path))
    process.communicate()
    # The ranks may be killed before they remove their shared memory; a later launch does it.
    for path in (tmp_path / "pids" / "0.shm").read_text().split():
        if os.path.exists(path):
            os.utime(path, (0, 0))
    module._remove_segments(set(), 60.0)
    for entry in (tmp_path / "temporary").iterdir():
        shutil.rmtree(entry)


def test_a_killed_mpiexec_ends_the_ranks(run: Run, tmp_path: Path) -> None:
    body = """
if rank == 0:
    stat = open(f"/proc/{os.getppid()}/stat").read().rpartition(")")[2].split()
    os.kill(int(stat[1]), 9)  # the parent of the proxy that started this rank
"""
    report = run(body + _SLEEP)
    assert report.status == 137
    assert report.message == "mpiexec was killed by signal 9 (SIGKILL); all ranks have ended"


def test_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "train.py"
    with pytest.raises(ArgumentError, match="there is no script"):
        launch([str(script)], ranks=2)
    script.write_text("")
    for name in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ArgumentError, match="the number of ranks is missing"):
        launch([str(script)])
    with pytest.raises(UnsupportedError, match="is not a program"):
        launch([str(script)], ranks=2, mpiexec=str(tmp_path / "mpiexec"))
