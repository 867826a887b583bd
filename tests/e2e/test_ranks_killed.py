# SPDX-License-Identifier: Apache-2.0
"""A training of several ranks, each time ended by another of them, has the parameters of an uninterrupted one."""

from __future__ import annotations

import importlib.util
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e import ranked_training
from tests.e2e.ranked_training import PHASES

import samara
from samara.exporter.launcher import _mpiexec, launched
from samara.exporter.launcher.launching import LaunchReport, launch
from samara.pybridge.errors import UnsupportedError

COUNTS = (1, 2, 3, 4)


@pytest.fixture
def mpi(missing: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """mpiexec and mpi4py, or a skip. Open MPI is allowed to run as root."""
    if importlib.util.find_spec("mpi4py") is None:
        missing("mpi", "mpi4py is not installed")
    try:
        _mpiexec.find()
    except UnsupportedError:
        missing("mpi", "there is no mpiexec")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")


def _launch(folder: Path, ranks: int, steps: int, end: str = "") -> LaunchReport:
    """Train with so many ranks, and look that none of them is left."""
    (folder / "pids").mkdir(parents=True, exist_ok=True)
    program = [str(ranked_training.__file__), str(folder), str(steps), *([end] if end else [])]
    report = launch(program, ranks=ranks, threads=1, timeout=120)
    pids = list((folder / "pids").iterdir())
    assert len(pids) == ranks
    for path in pids:
        assert not launched.start_time(int(path.name)), f"{end}: a rank is left"
        path.unlink()
    return report


def _check_message(report: LaunchReport, rank: int, step: int, phase: str, how: str) -> None:
    wanted = rf"rank {rank} \(pid \d+ on host \S+\) was killed by signal 9 \(SIGKILL\) after \S+ s"
    if how == "raise":
        file = r"\S*ranked_training\.py:\d+"
        wanted = rf"rank {rank} raised RuntimeError: step {step}, {phase} at {file}"
    assert re.fullmatch(wanted, str(report.message)), report
    assert report.status == (1 if how == "raise" else 137)


def _check(tmp_path: Path, steps: int, ends: int, seed: int) -> None:
    alone, ended = tmp_path / "alone", tmp_path / "ended"
    assert _launch(alone, 2, steps) == LaunchReport(0)
    r = random.Random(seed)
    for _ in range(ends):
        run = ended / "run"
        done = int(samara.load(run)["step"]) if run.exists() else 0
        ranks, how, phase = r.choice(COUNTS), r.choice(("kill", "raise")), r.choice(PHASES)
        if done == steps:  # nothing is left to be ended: begin again
            run.unlink()
            done = 0
        rank, step = r.randrange(ranks), min(done + r.randrange(4), steps - 1)
        report = _launch(ended, ranks, steps, f"{rank}:{step}:{phase}:{how}")
        _check_message(report, rank, step, phase, how)
    assert _launch(ended, r.choice(COUNTS), steps) == LaunchReport(0)
    want, found = samara.load(alone / "final"), samara.load(ended / "final")
    assert want.keys() == found.keys()
    assert all(samara.equal(want[name], found[name]) for name in want)


@pytest.mark.extended
@pytest.mark.parametrize("seed", range(5))
def test_ranks_that_end_at_random(mpi: None, tmp_path: Path, seed: int) -> None:
    _check(tmp_path, steps=14, ends=10, seed=seed)
