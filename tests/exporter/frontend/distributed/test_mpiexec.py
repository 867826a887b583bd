# SPDX-License-Identifier: Apache-2.0
"""Finding mpiexec, its kind, and command lines for each kind."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from samara.exporter.frontend.distributed import _mpiexec as module
from samara.exporter.frontend.distributed._mpiexec import Mpiexec, command
from samara.pybridge.errors import ArgumentError, UnsupportedError


def _program(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "mpiexec"
    path.write_text(f"#!/bin/sh\necho '{text}'\n")
    path.chmod(0o755)
    return path


def test_the_environment_comes_first_then_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv = _program(tmp_path / "venv", "HYDRA build details:")
    other = _program(tmp_path / "other", "mpiexec (Open MPI) 5.0.11")
    monkeypatch.setattr(sys, "executable", str(venv.with_name("python")))
    monkeypatch.setenv("PATH", str(other.parent) + os.pathsep + "/bin")
    assert module.find() == Mpiexec(str(venv), "hydra", "HYDRA build details:")
    venv.unlink()
    assert module.find() == Mpiexec(str(other), "openmpi", "mpiexec (Open MPI) 5.0.11")
    third = _program(tmp_path / "third", "mpiexec version 1.6.11")
    assert module.find(str(third)).kind == "other"
    other.unlink()
    with pytest.raises(UnsupportedError, match="no mpiexec") as caught:
        module.find()
    assert 'pip install "samara-nn[distributed]"' in str(caught.value)
    with pytest.raises(UnsupportedError, match="is not a program"):
        module.find(str(other))


def test_kinds() -> None:
    for text, kind in (
        ("HYDRA build details:\n    Version: 5.0.2", "hydra"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.11", "hydra"),
        ("mpiexec (OpenRTE) 4.1.5", "openmpi"),
        ("mpirun (Open MPI) 5.0.11", "openmpi"),
        ("mpiexec version: PALS 1.2", "other"),
        ("", "other"),
    ):
        assert module.kind_of(text) == kind, text


def test_commands() -> None:
    for kind, options, wanted in (
        ("hydra", {"ranks": 2}, "-print-all-exitcodes -n 2 python x"),
        ("hydra", {}, "-print-all-exitcodes python x"),
        ("hydra", {"hostfile": "h"}, "-print-all-exitcodes -f h python x"),
        ("hydra", {"ranks": 4, "hosts": ["a:2", "b:2"]}, "-print-all-exitcodes -hosts a:2,b:2 -n 4 python x"),
        ("openmpi", {"ranks": 2}, "--bind-to none --oversubscribe -x SAMARA_A -n 2 python x"),
        ("openmpi", {"hostfile": "h"}, "--bind-to none --hostfile h -x SAMARA_A python x"),
        ("openmpi", {"hosts": ["a", "b"]}, "--bind-to none --host a,b -x SAMARA_A python x"),
        ("other", {"ranks": 3}, "-n 3 python x"),
    ):  # fmt: skip
        given: dict[str, Any] = {"ranks": None, "hostfile": None, "hosts": []}
        given |= options
        found = command(
            Mpiexec("mpi", kind, ""),
            ["python", "x"],
            environment={"SAMARA_A": "1", "HOME": "/"},
            **given,
        )
        assert " ".join(found) == f"mpi {wanted}"


def test_a_scheduler_decides_about_cores() -> None:
    environment = {"SLURM_JOB_ID": "7"}
    assert module.in_allocation(environment)
    assert not module.in_allocation({"SLURM_JOB_ID": "", "HOME": "/"})
    found = command(
        Mpiexec("mpi", "openmpi", ""),
        ["x"],
        ranks=2,
        hostfile=None,
        hosts=(),
        environment=environment,
    )
    assert "--oversubscribe" not in found


def test_hosts_of_an_unknown_mpiexec() -> None:
    with pytest.raises(ArgumentError, match="the option for hosts"):
        command(
            Mpiexec("mpi", "other", "?"),
            ["x"],
            ranks=2,
            hostfile="h",
            hosts=(),
            environment={},
        )


def test_check_program(tmp_path: Path) -> None:
    module.check_program(["no.such.file"], True)
    with pytest.raises(ArgumentError, match="there is no script"):
        module.check_program([str(tmp_path / "x.py")], False)
