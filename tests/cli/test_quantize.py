# SPDX-License-Identifier: Apache-2.0
"""`samara quantize`."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from samara.exporter.ir import open_program
from samara.pybridge import Session

Samara = Callable[..., Result]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Calibration images with labels beside them."""
    rng = np.random.default_rng(3)
    path = tmp_path / "data.npz"
    images = rng.normal(size=(24, 3, 8, 8)).astype(np.float32)
    np.savez(path, image=images, label=rng.integers(0, 4, 24))
    np.savez(tmp_path / "calib.npz", image=rng.normal(size=(24, 3, 8, 8)).astype(np.float32))
    return path


def test_writes_a_file_a_report_and_a_recipe(
    samara: Samara, onnx_path: Path, data: Path, tmp_path: Path
) -> None:
    out, recipe = tmp_path / "m8.samara", tmp_path / "r.toml"
    result = samara(
        "quantize", onnx_path, "--data", data.with_name("calib.npz"), "-o", out,
        "--report", tmp_path / "r.html", "--report", tmp_path / "r.json", "--save-recipe", recipe,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "quantized with scheme int8, 24 calibration samples" in result.stdout
    assert f"next: samara compare {onnx_path} {out}" in result.stderr
    program = open_program(out)
    assert any(n.op.name == "qconv" for n in program.main.nodes)
    assert Session(out).run({"image": np.zeros((2, 3, 8, 8), np.float32)})["score"].shape == (2, 4)
    assert (tmp_path / "r.html").read_text().startswith("<!DOCTYPE html>")
    names = [x["name"] for x in json.loads((tmp_path / "r.json").read_text())["layers"]]
    explicit = recipe.read_text().replace('\n# "', '\n"')
    assert list(tomllib.loads(explicit)["layers"]) == names

    again = tmp_path / "again.samara"
    options = ("--data", data.with_name("calib.npz"), "--recipe", recipe)
    result = samara("quantize", onnx_path, *options, "-o", again)
    assert result.exit_code == 0, result.output
    assert again.read_bytes() == out.read_bytes()


def test_accuracy_and_limits(samara: Samara, onnx_path: Path, data: Path, tmp_path: Path) -> None:
    result = samara(
        "quantize", onnx_path, "--data", data.with_name("calib.npz"), "--eval", data, "--labels", "label",
        "--metric", "top1", "--max-drop", "50pt", "-o", tmp_path / "m8.samara", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["metric_after"] >= facts["metric_before"] - 0.5
    assert len(facts["evaluations"]) >= 1


def test_a_scheme_without_data(
    samara: Samara, onnx_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = samara("quantize", onnx_path, "--scheme", "fp16")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "small.fp16.samara").is_file()


def test_bad_data_is_named(samara: Samara, onnx_path: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "zeros.npz", image=np.zeros((20, 3, 8, 8), np.float32))
    result = samara(
        "quantize", onnx_path, "--data", tmp_path / "zeros.npz", "--range", "image=0..1",
        "-o", tmp_path / "m8.samara",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "calibration data: input 'image' is constant" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["--scheme", "int7"], 1, "int7"),
        (["--scheme", "fp16", "--max-drop", "0.5"], 1, "absolute or relative"),
        (["--scheme", "fp16", "--report", "r.pdf"], 1, ".pdf"),
        (["--scheme", "fp16", "--range", "image=1"], 2, "LOW..HIGH"),
        (["--data", "nowhere.npz"], 1, "nowhere.npz"),
        ([], 1, "calibration data"),
    ],
)
def test_what_is_wrong_is_said(
    samara: Samara, onnx_path: Path, tmp_path: Path, arguments: list[str], status: int, text: str
) -> None:
    out = tmp_path / "m8.samara"
    result = samara("quantize", onnx_path, "-o", out, *arguments)
    assert result.exit_code == status, result.output
    assert text in result.stderr
    assert "Traceback" not in result.output


def test_float_against_int8_layer_by_layer(
    samara: Samara, onnx_path: Path, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "m8.samara"
    calib = data.with_name("calib.npz")
    assert samara("quantize", onnx_path, "--data", calib, "-o", out).exit_code == 0
    result = samara("compare", onnx_path, out, "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["rounded"]
    rows = {r["op"]: r for r in facts["rows"]}
    assert 10 < float(rows["conv"]["sqnr_db"]) < 60
    assert "dB in output" in samara("compare", out, onnx_path).stdout
