# SPDX-License-Identifier: Apache-2.0
"""`samara inspect`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from typer.testing import Result

Samara = Callable[..., Result]


def test_text(samara: Samara, samara_path: Path) -> None:
    result = samara("inspect", samara_path)
    assert result.exit_code == 0, result.output
    assert "image: float32[batch, 3, 8, 8]" in result.stdout
    assert result.stderr == ""
    full = samara("inspect", samara_path, "--kernels", "--memory", "--isa", "scalar").stdout
    assert "scalar" in full
    assert "constant" in full


def test_json(samara: Samara, samara_path: Path) -> None:
    facts = json.loads(samara("inspect", samara_path, "--json", "--shape", "image=2x3x8x8").stdout)
    assert facts["functions"][0]["inputs"][0]["shape"] == ["batch", 3, 8, 8]
    assert facts["memory"]["arena_bytes"] > 0
    assert facts["memory"]["sizes"] == {}


def test_html(samara: Samara, samara_path: Path, tmp_path: Path) -> None:
    page = tmp_path / "m.html"
    result = samara("inspect", samara_path, "--html", page)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{page}: open it in a browser\n"
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert samara("inspect", samara_path, "--html", tmp_path / "no" / "m.html").exit_code == 1


def test_onnx_is_converted_and_keeps_its_name(samara: Samara, onnx_path: Path) -> None:
    result = samara("inspect", onnx_path)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"{onnx_path}: ")
    assert "converted in memory" in result.stderr


def test_symbolic_shape_is_wrong_usage(samara: Samara, samara_path: Path) -> None:
    assert samara("inspect", samara_path, "--shape", "image=nx3x8x8").exit_code == 2


def test_memory_draws_the_arena(samara: Samara, samara_path: Path, tmp_path: Path) -> None:
    result = samara("inspect", samara_path, "--memory", "--threads", "2")
    assert result.exit_code == 0, result.output
    assert "peak at node" in result.stdout
    assert "arena of main" in result.stdout
    assert all(
        len(line) <= 80
        for line in result.stdout.split("arena of main")[1].split("peak")[0].splitlines()
    )
    page = tmp_path / "m.html"
    assert samara("inspect", samara_path, "--memory", "--html", page).exit_code == 0
    assert "Arena of" in page.read_text(encoding="utf-8")
    facts = json.loads(samara("inspect", samara_path, "--memory", "--json").stdout)["memory"]
    (plan,) = facts["plans"]
    assert plan["arena_bytes"] >= plan["peak_bytes"] > 0
    assert {"first", "last", "offset", "size_bytes", "kind", "name"} <= set(plan["pieces"][0])
    assert samara("inspect", samara_path, "--threads", "0").exit_code == 2
