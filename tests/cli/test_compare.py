# SPDX-License-Identifier: Apache-2.0
"""`samara compare`."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from typer.testing import Result

from samara.exporter.ir import ProgramBuilder, save_program

Samara = Callable[..., Result]


def test_against_the_reference(samara: Samara, samara_path: Path) -> None:
    result = samara("compare", samara_path)
    assert result.exit_code == 0, result.output
    assert "agree" in result.stdout
    assert "reference interpreter" in result.stdout


def test_two_configurations_with_inputs(samara: Samara, onnx_path: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "image.npy", np.ones((2, 3, 8, 8), np.float32))
    sides = (f"{onnx_path}@isa=scalar", f"{onnx_path}@threads=2")
    result = samara("compare", *sides, "--input", tmp_path / "image.npy", "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["agree"] is True
    assert (facts["a"], facts["b"]) == sides
    assert facts["rows"][0]["shape"][0] == 2


def test_accuracy_of_a_side(samara: Samara, samara_path: Path) -> None:
    sides = (f"{samara_path}@isa=scalar,accuracy=strict", f"{samara_path}@isa=scalar,threads=2")
    result = samara("compare", *sides, "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["b"] == sides[1]
    refused = samara("compare", samara_path, f"{samara_path}@accuracy=high")
    assert refused.exit_code == 1
    assert "there is no accuracy 'high'" in refused.stderr


def test_difference_is_exit_1(samara: Samara, tmp_path: Path) -> None:
    for name, factor in (("a", 2.0), ("b", 3.0)):
        program = ProgramBuilder()
        f = program.function("main")
        f.finish([f.op("mul", f.input("x", "f32", [4]), factor, name="y")], ["y"])
        save_program(program.finish(["main"]), tmp_path / f"{name}.samara")
    result = samara("compare", tmp_path / "a.samara", tmp_path / "b.samara", "--worst", "1")
    assert result.exit_code == 1
    assert "DIFFER; first beyond the tolerance: y (mul" in result.stdout


def test_random_inputs_are_named_where_a_quantized_file_differs(
    samara: Samara, samara_path: Path, tmp_path: Path
) -> None:
    small = tmp_path / "small.samara"
    samara("quantize", samara_path, "--scheme", "int8-weights", "-o", small)
    result = samara("compare", samara_path, small, "--min-sqnr", "200")
    assert result.exit_code == 1, result.output
    assert "the inputs were random" in result.stderr
    np.save(tmp_path / "image.npy", np.ones((2, 3, 8, 8), np.float32))
    given = ("--input", tmp_path / "image.npy", "--min-sqnr", "200")
    assert "random" not in samara("compare", samara_path, small, *given).stderr


def test_wrong_options_of_a_side(samara: Samara, samara_path: Path) -> None:
    result = samara("compare", f"{samara_path}@speed=high")
    assert result.exit_code == 1
    assert "options after @" in result.stderr


def test_layers_of_a_device(
    samara: Samara, samara_path: Path, device_library: Callable[[str], Path]
) -> None:
    side = f"{samara_path}@backend={device_library('mirror')},accuracy=strict"
    result = samara("compare", side, f"{samara_path}@accuracy=strict", "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert len(facts["rows"]) == 5
    assert all(row["max_difference"] == 0.0 for row in facts["rows"])
    device, cpu = facts["uses"]
    assert (device["device"], device["nodes"], cpu) == ("mirror:0", 5, None)
    assert "5 of 5 nodes on mirror:0" in samara("compare", side).stdout


def test_a_device_that_fails_is_not_compared(
    samara: Samara,
    samara_path: Path,
    device_library: Callable[[str], Path],
    mirror_hooks: ctypes.CDLL,
) -> None:
    mirror_hooks.mirror_fail(b"submit", 1)
    side = f"{samara_path}@backend={device_library('mirror')}"
    result = samara("compare", side, samara_path)
    assert result.exit_code == 1
    assert "there is nothing to compare, the CPU took over: mirror:0" in result.stderr
    assert "samara backend test" in result.stderr
    missing = samara("compare", f"{samara_path}@backend=gpu")
    assert missing.exit_code == 1
    assert "there is no backend 'gpu' here" in missing.stderr
