# SPDX-License-Identifier: Apache-2.0
"""Commands that tests run: keyword arguments are variables added to the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def ran(
    *command: str | Path, cwd: Path | None = None, timeout: float | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """The command after it ended, with any exit code."""
    environment = {**os.environ, **variables}
    return subprocess.run(
        command, cwd=cwd, env=environment, timeout=timeout, capture_output=True, text=True, check=False
    )  # fmt: skip


def output_of(
    *command: str | Path, cwd: Path | None = None, timeout: float | None = None, **variables: str
) -> str:
    """The command's standard output; it must exit with 0."""
    done = ran(*command, cwd=cwd, timeout=timeout, **variables)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def quietly(
    *command: str | Path, cwd: Path | None = None, timeout: float | None = None, **variables: str
) -> str:
    """output_of(), of a command that writes nothing to its standard error: compilers have no warning."""
    done = ran(*command, cwd=cwd, timeout=timeout, **variables)
    assert (done.returncode, done.stderr) == (0, ""), f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def python(
    *arguments: str | Path, cwd: Path | None = None, timeout: float | None = None, **variables: str
) -> str:
    """output_of(), of this Python with this process's modules."""
    variables = {"PYTHONPATH": os.pathsep.join(sys.path), **variables}
    return output_of(sys.executable, *arguments, cwd=cwd, timeout=timeout, **variables)
