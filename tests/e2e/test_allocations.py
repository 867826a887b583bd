# SPDX-License-Identifier: Apache-2.0
"""A run allocates nothing; an allocation that fails in open or create leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.commands import python
from tests.e2e.models import NAMES, QUANTIZED

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def shim(
    tmp_path_factory: pytest.TempPathFactory, repo: Path, missing: Callable[[str, str], None]
) -> Path:
    """The library that counts, to be preloaded."""
    if not sys.platform.startswith("linux"):
        missing("preload", "LD_PRELOAD is a thing of Linux")
    made = tmp_path_factory.mktemp("shim") / "allocations.so"
    command = [os.environ.get("CC", "cc"), "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run(
        [*command, str(repo / "tests/e2e/allocations.c"), "-o", str(made), "-ldl"], check=True
    )
    return made


def _run(shim: Path, repo: Path, *arguments: str | Path) -> None:
    paths = os.pathsep.join(str(repo / d) for d in (".", "exporter", "pybridge"))
    command = ("-m", "tests.e2e.allocations", shim, *arguments)
    python(*command, cwd=repo, LD_PRELOAD=str(shim), PYTHONPATH=paths)


def test_programs_with_control_flow(shim: Path, repo: Path) -> None:
    """Bounded ones allocate nothing; growing ones say that they grow, and are seen to."""
    _run(shim, repo, "programs")


@pytest.mark.parametrize("name", [*NAMES, *QUANTIZED])
def test_runs(
    name: str, exported: Callable[[str], Path], models: Path, shim: Path, repo: Path
) -> None:
    """With one thread and with two, in all the sizes that were recorded."""
    _run(shim, repo, "run", models / name.partition(":")[0], exported(name))


@pytest.mark.parametrize("name", [*NAMES, *QUANTIZED])
def test_failing_allocations(
    name: str, exported: Callable[[str], Path], models: Path, shim: Path, repo: Path
) -> None:
    _run(shim, repo, "fail", models / name.partition(":")[0], exported(name))


@pytest.mark.parametrize("name", ["mnist_cntk", "micro_kws_m_qoperator", "dtln_1"])
def test_the_bytes_are_those_that_the_file_states(
    name: str, exported: Callable[[str], Path], models: Path, shim: Path, repo: Path
) -> None:
    """Counted in front of malloc, with every instruction set of this machine."""
    _run(shim, repo, "memory", models / name, exported(name))
