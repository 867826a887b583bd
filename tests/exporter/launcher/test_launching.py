# SPDX-License-Identifier: Apache-2.0
"""Launches of small programs: how they end, what is said, and that nothing stays."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from samara.exporter.launcher import _mpiexec, launched, launching
from samara.exporter.launcher.launching import LaunchReport, launch
from samara.pybridge.errors import ArgumentError, UnsupportedError

FAILS = """
import os, signal, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Barrier()
if world.rank == 1:
    {how}
world.recv(source=1 - world.rank)
"""
# Nothing imported takes time here: a launcher that signals end.
LAUNCHER = """
import sys, types
for name, folder in {packages!r}:
    package = types.ModuleType(name)
    package.__path__ = [folder]
    sys.modules[name] = package
from samara.exporter.launcher.launching import launch
report = launch([sys.argv[1]], ranks=2)
print(report.text())
sys.exit(report.status)
"""


@pytest.fixture(scope="module")
def mpi(missing: Callable[[str, str], None]) -> Iterator[None]:
    """mpiexec and mpi4py, or a skip. Open MPI is allowed to run as root."""
    if importlib.util.find_spec("mpi4py") is None:
        missing("mpi", "mpi4py is not installed")
    try:
        _mpiexec.find()
    except UnsupportedError:
        missing("mpi", "there is no mpiexec")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
        patch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        yield


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    """`script(text)`: the path of a program."""

    def write(text: str) -> str:
        path = tmp_path / "program.py"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


Script = Callable[[str], str]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for temporary files, here and in child processes."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_ranks_that_end_well(mpi: None, script: Script, capfd: pytest.CaptureFixture[str]) -> None:
    path = script(
        "import os, sys\nfrom mpi4py import MPI\n"
        "print(MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, os.environ['SAMARA_NUM_THREADS'], *sys.argv[1:])\n"
        "sys.stderr.write('no end')\n"
    )
    assert launch([path, "a", "-b"], ranks=2, threads=3) == LaunchReport(0)
    shown = capfd.readouterr()
    assert sorted(shown.out.splitlines()) == ["[0] 0 2 3 a -b", "[1] 1 2 3 a -b"]
    assert sorted(shown.err.splitlines()) == ["[0] no end", "[1] no end"]


FAILURES = [
    ("raise ValueError('bad batch')", 1, r"rank 1 raised ValueError: bad batch at \S+program.py:7"),
    ("sys.exit(3)", 3, r"rank 1 ended itself with exit status 3 at \S+program.py:7"),
    ("os._exit(5)", 5, r"rank 1 \(pid \d+ on host \S+\) ended with exit status 5 after [\d.]+ s"),
    (
        "os.kill(os.getpid(), signal.SIGKILL)",
        137,
        r"rank 1 \(pid \d+ on host \S+\) was killed by signal 9 \(SIGKILL\) after [\d.]+ s",
    ),
]


@pytest.mark.parametrize(
    ("how", "status", "message"), FAILURES, ids=["raise", "exit", "_exit", "kill"]
)
def test_a_rank_that_fails(
    mpi: None,
    script: Script,
    capfd: pytest.CaptureFixture[str],
    how: str,
    status: int,
    message: str,
) -> None:
    report = launch([script(FAILS.format(how=how))], ranks=3 if status == 137 else 2)
    shown = capfd.readouterr()
    assert (report.status, report.restarts) == (status, 0)
    assert re.fullmatch(message, str(report.message)), report
    assert ("memory ran out" in report.text()) == (status == 137)
    assert ("ValueError: bad batch" in shown.err) == (status == 1)  # the traceback
    # Nothing that mpiexec says about it.
    assert all(line.startswith("[1] ") for line in (shown.out + shown.err).splitlines())


def test_restarts(mpi: None, script: Script, capfd: pytest.CaptureFixture[str]) -> None:
    path = script(
        "import os, sys\nat = int(os.environ['SAMARA_RESTART'])\n"
        "if at < int(sys.argv[1]):\n    sys.exit(int(sys.argv[2]))\nprint(at)\n"
    )
    said: list[str] = []
    report = launch([path, "1", "4"], ranks=1, restarts=2, say=said.append)
    assert report == LaunchReport(0, restarts=1)
    assert capfd.readouterr().out == "[0] 1\n"
    (line,) = said
    assert re.fullmatch(r"rank 0 ended itself with exit status 4 at \S+:4; restart 1 of 2", line)
    assert launch([path, "1", "2"], ranks=1, restarts=2).restarts == 0  # wrong usage
    assert launch([path, "9", "4"], ranks=1, restarts=1).restarts == 1


def test_the_timeout(mpi: None, script: Script, temporary: Path) -> None:
    path = script("import time\ntime.sleep(60)\n")
    report = launch([path], ranks=2, timeout=0.3, restarts=3)
    assert report.status == 1
    assert report.restarts == 0
    assert str(report.message).startswith("the ranks did not end within 0.3 s; all were stopped")
    assert list(temporary.iterdir()) == []


def _start(script: Script) -> tuple[subprocess.Popen[str], list[int]]:
    """A launcher in a process of its own, and the ranks' processes."""
    name = "samara.exporter.frontend"
    folder = Path(launching.__file__).parent
    packages = [(name, str(folder.parent)), (f"{name}.distributed", str(folder))]
    path = script(
        "import os, time\nfrom mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n"
        "print(os.getpid(), flush=True)\ntime.sleep(60)\n"
    )
    launcher = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER.format(packages=packages), path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
        # Tests in the background of a shell have it ignored, which programs inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert launcher.stdout is not None
    return launcher, [int(launcher.stdout.readline().split()[1]) for _ in range(2)]


def _wait_until_gone(ranks: list[int]) -> None:
    deadline = time.monotonic() + 10
    while any(launched.start_time(rank) for rank in ranks):
        assert time.monotonic() < deadline, "a rank is left"
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_launcher_that_is_ended(
    mpi: None, script: Script, temporary: Path, number: signal.Signals
) -> None:
    launcher, ranks = _start(script)
    with launcher:
        launcher.send_signal(number)
        shown, _ = launcher.communicate(timeout=20)
    _wait_until_gone(ranks)
    if number == signal.SIGINT:
        assert launcher.returncode == 130
        assert shown == "stopped by signal 2 (SIGINT); all ranks have ended\n"
    else:
        assert len(list(temporary.iterdir())) == 1
        launching._remove_folders()  # as the next launch does
    assert list(temporary.iterdir()) == []


def test_wrong_arguments(script: Script, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if _mpiexec.in_allocation({name: "1"}):
            monkeypatch.delenv(name)
    with pytest.raises(ArgumentError, match=r"there is no script absent\.py"):
        launch(["absent.py"], ranks=2)
    with pytest.raises(ArgumentError, match="number of ranks is missing"):
        launch([script("")])
    with pytest.raises(UnsupportedError, match="nowhere is not a program"):
        launch([script("")], ranks=2, mpiexec=str(tmp_path / "nowhere"))


def test_a_broken_mpiexec(script: Script, tmp_path: Path, capfd: Any) -> None:
    """Its own words are shown, because nothing else explains the end."""
    broken = tmp_path / "mpiexec"
    broken.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo HYDRA && exit\n'
        "echo '[mpiexec@a] unable to reach b' >&2\nexit 9\n"
    )
    broken.chmod(0o755)
    report = launch([script("")], ranks=2, mpiexec=str(broken))
    assert report.status == 9
    assert report.message == "mpiexec ended with exit status 9 before any rank had started"
    assert capfd.readouterr().err == "[mpiexec@a] unable to reach b\n"
