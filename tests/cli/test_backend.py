# SPDX-License-Identifier: Apache-2.0
"""`samara backend test`, and `--backend` where it is wrong."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

Samara = Callable[..., Result]
Library = Callable[[str], Path]


def test_a_device_that_passes(samara: Samara, device_library: Library) -> None:
    result = samara(
        "backend", "test", device_library("npu"), "--quick", "--op", "qconv", "--op", "relu"
    )
    assert result.exit_code == 0, result.output
    assert "Imaginary NPU" in result.stdout
    assert "is not supported: relu" in result.stdout
    assert "passed: 1 of 2 operators" in result.stdout
    assert result.stdout.endswith("refused; NOT RUN: default accuracy\n")


def test_json(samara: Samara, device_library: Library) -> None:
    command = ("backend", "test", device_library("npu"), "--quick", "--op", "qadd,qconv", "--json")
    facts = json.loads(samara(*command).stdout)
    assert facts["all_passed"] is True
    assert {row["op"] for row in facts["rows"]} == {"qadd", "qconv"}
    assert facts["totals"]["failed"] == 0
    states = {part["name"]: part["state"] for part in facts["parts"]}
    assert states["lost device"] == "passed"
    assert states["out of memory"] == "passed"
    assert facts == json.loads(samara(*command).stdout)


def test_a_device_that_lies_is_exit_1(
    samara: Samara, device_library: Library, mirror_hooks: ctypes.CDLL
) -> None:
    mirror_hooks.mirror_lie(1)
    result = samara("backend", "test", device_library("mirror"), "--quick", "--op", "add")
    assert result.exit_code == 1
    assert "static: mirror:0: checking" in result.stdout
    assert "FAILED: 1 of 1 operators" in result.stdout


def test_a_device_that_has_nothing_is_exit_1(samara: Samara, device_library: Library) -> None:
    result = samara("backend", "test", device_library("npu"), "--op", "relu")
    assert result.exit_code == 1
    assert "the device supports none of 1 operators" in result.stdout


def test_what_is_not_there(samara: Samara, device_library: Library, tmp_path: Path) -> None:
    result = samara("backend", "test", tmp_path / "libnone.so")
    assert result.exit_code == 1
    assert "libnone.so cannot be loaded" in result.stderr
    assert "fix: there is no such file" in result.stderr
    result = samara("backend", "test", device_library("npu"), "--op", "qcon")
    assert result.exit_code == 1
    assert "did you mean 'qconv'?" in result.stderr
    assert samara("backend", "test").exit_code == 2
    assert samara("backend", "tset").exit_code == 2


@pytest.mark.parametrize("command", ["run", "bench", "tune"])
def test_wrong_backends(samara: Samara, samara_path: Path, command: str) -> None:
    result = samara(command, samara_path, "--backend", "gpu")
    assert result.exit_code == 1
    assert "there is no backend 'gpu' here" in result.stderr
    assert "available: cpu, opencl, auto, or the path of a shared library" in result.stderr
    assert samara(command, samara_path, "--backend").exit_code == 2
