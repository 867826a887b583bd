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


def test_verify(samara: Samara, samara_path: Path, onnx_path: Path, tmp_path: Path) -> None:
    size = f"{samara_path.stat().st_size:,}"
    result = samara("inspect", "--verify", samara_path)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"{samara_path}: all {size} bytes match their ")
    assert "checksums: every byte matches" in samara("inspect", samara_path).stdout

    data = bytearray(samara_path.read_bytes())
    data[-1] ^= 0x80
    broken = tmp_path / "broken.samara"
    broken.write_bytes(data)
    result = samara("inspect", "--verify", broken)
    assert result.exit_code == 1
    assert f"{broken}: damaged in 1 of " in result.stdout
    assert "segment 'weights', MiB 0 (bytes " in result.stdout
    assert "copy the file again" in result.stdout
    facts = json.loads(samara("inspect", "--verify", "--json", broken).stdout)
    (damage,) = facts["damages"]
    assert (facts["verified"], damage["segment"], damage["mib"]) == (False, "weights", 0)
    assert damage["tensors"]
    plain = samara("inspect", broken)
    assert plain.exit_code == 1
    assert "segment 'weights', MiB 0" in plain.stderr

    assert samara("inspect", "--verify", onnx_path).exit_code == 1
    assert samara("inspect", "--verify", tmp_path / "absent.samara").exit_code == 1
    assert samara("inspect", "--verify", "--memory", samara_path).exit_code == 2


def test_verify_an_older_file(samara: Samara, repo: Path) -> None:
    old = repo / "tests" / "golden" / "0.5.0.samara"
    result = samara("inspect", "--verify", old)
    assert result.exit_code == 0, result.output
    assert "its data has no checksums" in result.stdout
    facts = json.loads(samara("inspect", "--verify", "--json", old).stdout)
    assert (facts["sums"], facts["verified"], facts["damages"]) == (False, False, [])
    assert "checksums: none of the data" in samara("inspect", old).stdout


def test_placement(
    samara: Samara, samara_path: Path, device_library: Callable[[str], Path], tmp_path: Path
) -> None:
    mirror = device_library("mirror")
    result = samara("inspect", samara_path, "--placement", "--backend", mirror)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"{samara_path} on {mirror}: 5 of 5 nodes on mirror:0")
    assert "multiply-adds" in result.stdout
    facts = json.loads(
        samara("inspect", samara_path, "--placement", "--backend", "cpu", "--json").stdout
    )
    assert {node["device"] for node in facts["nodes"]} == {"cpu"}
    (total,) = facts["totals"]
    assert (total["device"], total["nodes"]) == ("cpu", 5)
    # conv: 6 channels of 27 taps on 8x8; dense: 6 by 4.
    assert total["multiply_adds"] == 8 * 8 * 6 * 27 + 6 * 4
    assert samara("inspect", samara_path, "--placement", "--memory").exit_code == 2
    assert samara("inspect", samara_path, "--backend", "cpu").exit_code == 2
    page = tmp_path / "m.html"
    assert samara("inspect", samara_path, "--placement", "--html", page).exit_code == 2
