# SPDX-License-Identifier: Apache-2.0
"""`samara run`."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from typer.testing import Result

Samara = Callable[..., Result]


def test_random_inputs_are_said(samara: Samara, samara_path: Path) -> None:
    result = samara("run", samara_path, "--seed", "7")
    assert result.exit_code == 0, result.output
    assert "score" in result.stdout
    assert "random data (--seed 7)" in result.stderr
    assert result.stdout != samara("run", samara_path, "--seed", "8").stdout


def test_files_top_and_profile(samara: Samara, samara_path: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "image.npy", np.ones((1, 3, 8, 8), np.float32))
    out, trace = tmp_path / "out.npz", tmp_path / "trace.json"
    result = samara(
        "run", samara_path, "--input", f"image={tmp_path / 'image.npy'}", "--output", out, "--top", "3",
        "--threads", "1", "--isa", "scalar", "--profile", trace,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "random" not in result.stderr
    with np.load(out) as stored:
        best = int(np.argmax(stored["score"]))
    assert ["ash", "beech", "maple", "oak"][best] in result.stdout
    assert "scalar" in json.loads(trace.read_text())["traceEvents"][1]["args"]["kernel"]


def test_npz_json_and_onnx(samara: Samara, onnx_path: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", image=np.ones((3, 3, 8, 8), np.float32))
    result = samara("run", onnx_path, "-i", tmp_path / "in.npz", "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["outputs"]["score"]["shape"] == [3, 4]
    assert facts["random_inputs"] is False
    assert "converted in memory" in result.stderr


def test_accuracy(samara: Samara, samara_path: Path) -> None:
    for word in ("strict", "bfloat16", "float16"):
        result = samara("run", samara_path, "--accuracy", word)
        assert result.exit_code == 0, result.output


def test_failures(samara: Samara, samara_path: Path, tmp_path: Path) -> None:
    assert samara("run", samara_path, "--function", "f").exit_code == 1
    assert samara("run", samara_path, "--isa", "mmx").exit_code == 1
    assert samara("run", samara_path, "--accuracy", "high").exit_code == 1
    assert samara("run", samara_path, "--input", tmp_path / "none.npy").exit_code == 1
    assert samara("run", samara_path, "--shape", "image").exit_code == 2
    np.save(tmp_path / "wide.npy", np.ones((1, 3, 8, 9), np.float32))
    result = samara("run", samara_path, "--input", tmp_path / "wide.npy")
    assert result.exit_code == 1
    assert "has shape [1, 3, 8, 9], the model takes [batch, 3, 8, 8]" in result.stderr


def test_on_a_device(
    samara: Samara, samara_path: Path, device_library: Callable[[str], Path]
) -> None:
    mirror, npu = device_library("mirror"), device_library("npu")
    command = ("run", samara_path, "--backend", npu, "--backend", mirror, "--wait")
    result = samara(*command)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == (
        "5 of 5 nodes on mirror:0, in 1 region, 5 launches a run"
    )
    facts = json.loads(samara(*command, "--json").stdout)
    assert facts["use"]["device"] == "mirror:0"
    assert facts["use"]["failure"] == ""
    assert json.loads(samara("run", samara_path, "--json").stdout)["use"] is None


def test_a_device_that_fails_is_said(
    samara: Samara,
    samara_path: Path,
    device_library: Callable[[str], Path],
    mirror_hooks: ctypes.CDLL,
) -> None:
    mirror_hooks.mirror_fail(b"submit", 1)
    result = samara("run", samara_path, "--backend", device_library("mirror"))
    assert result.exit_code == 0, result.output
    assert "the CPU took over: mirror:0: running: mirror: call" in result.stdout
