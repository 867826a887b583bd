# SPDX-License-Identifier: Apache-2.0
"""mpiexec: where it is found, which kind it is, and its command lines."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from samara.exporter.launcher import _mpiexec
from samara.exporter.launcher._mpiexec import HYDRA, OPENMPI, OTHER, Mpiexec
from samara.pybridge.errors import ArgumentError, UnsupportedError

VERSIONS = {  # the first line of `mpiexec --version`
    "HYDRA build details:": HYDRA,
    "Intel(R) MPI Library for Linux* OS, Version 2021.11 Build 20231005": HYDRA,
    "mpiexec (Open MPI) 5.0.11": OPENMPI,
    "mpiexec (OpenRTE) 4.1.5": OPENMPI,
    "prterun (PRRTE) 3.0.4": OPENMPI,
    "Microsoft MPI Startup Program [Version 10.1.12498.18]": OTHER,
    "": OTHER,
}


def test_kinds() -> None:
    assert {text: _mpiexec.kind_of(text) for text in VERSIONS} == VERSIONS


def _program(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{text}'\n")
    path.chmod(0o755)
    return path


def test_where_it_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "own" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "other"))
    with pytest.raises(UnsupportedError, match="no mpiexec beside this Python or on PATH") as error:
        _mpiexec.find()
    assert 'pip install "samara-nn[distributed]"' in str(error.value)
    other = _program(tmp_path / "other" / "mpiexec", "mpiexec (Open MPI) 5.0.11")
    assert _mpiexec.find() == Mpiexec(str(other), OPENMPI, "mpiexec (Open MPI) 5.0.11")
    own = _program(tmp_path / "own" / "mpiexec", "\nHYDRA build details:\n    Version: 5.0.2")
    assert _mpiexec.find() == Mpiexec(str(own), HYDRA, "HYDRA build details:")
    assert _mpiexec.find(str(other)).kind == OPENMPI
    (tmp_path / "broken").write_text("#!/nowhere\n")
    (tmp_path / "broken").chmod(0o755)
    with pytest.raises(UnsupportedError, match="--version does not run"):
        _mpiexec.find(str(tmp_path / "broken"))


ALONE = {"HOME": "/", "SAMARA_RESTART": "0", "OMP_NUM_THREADS": "1"}
SLURM = {"SLURM_JOB_ID": "7"}
X = "-x SAMARA_RESTART -x OMP_NUM_THREADS"
# kind, ranks, hostfile, hosts, environment -> the words between mpiexec and the program
COMMANDS: list[tuple[str, int | None, str | None, list[str], dict[str, str], str]] = [
    (HYDRA, 2, None, [], ALONE, "-print-all-exitcodes -n 2"),
    (HYDRA, 8, "h", [], ALONE, "-print-all-exitcodes -f h -n 8"),
    (HYDRA, None, None, ["a:4", "b"], ALONE, "-print-all-exitcodes -hosts a:4,b"),
    (OPENMPI, 2, None, [], ALONE, f"--bind-to none --oversubscribe {X} -n 2"),
    (OPENMPI, 2, None, [], SLURM, "--bind-to none -n 2"),
    (OPENMPI, None, "h", [], ALONE, f"--bind-to none --hostfile h {X}"),
    (OPENMPI, 8, None, ["a:4", "b"], SLURM, "--bind-to none --host a:4,b -n 8"),
    (OTHER, 2, None, [], ALONE, "-n 2"),
]


def test_command_lines() -> None:
    for kind, ranks, hostfile, hosts, environment, words in COMMANDS:
        program = Mpiexec("/bin/mpiexec", kind, "1")
        line = _mpiexec.command(
            program,
            ["python", "a.py"],
            ranks=ranks,
            hostfile=hostfile,
            hosts=hosts,
            environment=environment,
        )
        assert " ".join(line) == f"/bin/mpiexec {words} python a.py"
    with pytest.raises(ArgumentError, match=r"option for hosts of /m is unknown \(MS 1\)"):
        _mpiexec.command(
            Mpiexec("/m", OTHER, "MS 1"), ["a"], ranks=1, hostfile=None, hosts=["a"], environment={}
        )


def test_allocations_and_programs(tmp_path: Path) -> None:
    assert _mpiexec.in_allocation(SLURM)
    assert _mpiexec.in_allocation({"PBS_JOBID": "1.a"})
    assert not _mpiexec.in_allocation({"SLURM_JOB_ID": "", "HOME": "/"})
    _mpiexec.check_program(["package.train"], True)
    for absent in (tmp_path, tmp_path / "absent.py"):
        with pytest.raises(ArgumentError, match="there is no script"):
            _mpiexec.check_program([str(absent)], False)
