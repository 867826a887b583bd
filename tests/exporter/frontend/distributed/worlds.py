# SPDX-License-Identifier: Apache-2.0
"""What several tests need: steps without an engine, and programs under mpiexec."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from samara.exporter.frontend.distributed._engine import Steps

MPIEXEC = Path(sys.executable).with_name("mpiexec")


def run_steps(steps: Sequence[Steps]) -> None:
    """Run the steps of several ranks in this thread."""
    waiting = [(one, next(one, None)) for one in steps]
    for _ in range(1000):
        left = []
        for one, found in waiting:
            request = found
            while request is not None and request.test():
                request = next(one, None)
            if request is not None:
                left.append((one, request))
        waiting = left
        if not waiting:
            return
    raise AssertionError("the steps do not end")


def start_mpi(program: str, ranks: int, folder: Path) -> subprocess.Popen[str]:
    """Start a program as several processes by plain mpiexec. The test is skipped without MPI."""
    if not MPIEXEC.exists() or importlib.util.find_spec("mpi4py") is None:
        pytest.skip("NOT RUN: mpiexec or mpi4py is not installed (samara-nn[distributed])")
    path = folder / "program.py"
    path.write_text(program, encoding="utf-8")
    roots = [str(Path(p).resolve()) for p in sys.path if p]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(roots), "SAMARA_NUM_THREADS": "1"}
    command = [str(MPIEXEC), "-n", str(ranks), sys.executable, "-X", "faulthandler", str(path)]
    return subprocess.Popen(
        command, cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def run_mpi(program: str, ranks: int, folder: Path, limit: float = 60) -> tuple[int, str]:
    """The exit status and the output of a program under mpiexec."""
    process = start_mpi(program, ranks, folder)
    try:
        output, _ = process.communicate(timeout=limit)
    finally:
        process.kill()
    return process.returncode, output
