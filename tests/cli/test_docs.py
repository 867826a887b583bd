# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/reference/cli.md, docs/guides/backends.md, docs/guides/quantization.md and the README
run and print what the pages say.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

from samara.exporter.demo import digits_net
from samara.exporter.demo.demo import NAMES, load_digits
from samara.exporter.quantize.recipe import Recipe
from samara.exporter.testing import small_onnx

Samara = Callable[..., Result]


@pytest.fixture
def place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device_library: Callable[[str], Path]
) -> Path:
    """A folder with what the commands read: the demo's files (of a net that has learned nothing), a model, a
    library that brings a device.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    net = digits_net.net().eval()
    (tmp_path / "demo" / "digits.onnx").write_bytes(digits_net.onnx_model(net))
    (tmp_path / "demo" / "labels.txt").write_text("\n".join(NAMES))
    np.savez(tmp_path / "demo" / "one.npz", image=np.ones((1, 1, 8, 8), np.float32))
    images = np.random.default_rng(0).random((40, 1, 8, 8), np.float32)
    np.savez(tmp_path / "demo" / "calibration.npz", image=images)
    (tmp_path / "model.onnx").write_bytes(small_onnx())
    (tmp_path / "libnpu.so").symlink_to(device_library("npu"))
    np.save(tmp_path / "input.npy", np.ones((1, 3, 8, 8), np.float32))
    return tmp_path


def _words(text: str) -> str:
    return " ".join(text.split())


def _hold(samara: Samara, block: str) -> None:
    """Run the command that begins a block, and look for the lines below it in what it prints."""
    command, *printed = block.splitlines()
    result = samara(*shlex.split(command.removeprefix("$ samara ")))
    # Two files that answer differently are what `compare` is for.
    differs = command.startswith("$ samara compare demo/digits.onnx digits8.samara")
    assert result.exit_code in ((0, 1) if differs else (0,)), f"{command}\n{result.output}"
    # Numbers differ between machines; the lines around them do not.
    for line in printed:
        if not re.search(r"\d", line):
            assert _words(line) in _words(result.stdout), command


@pytest.mark.slow
def test_cli_page(samara: Samara, repo: Path, place: Path) -> None:
    page = (repo / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\n(\$ samara .*\n(?:(?!```).*\n)*)```", page, re.M)
    assert len(blocks) >= 9
    for block in blocks:
        if not block.startswith("$ samara demo\n"):  # tests/exporter/demo/test_demo.py runs it
            _hold(samara, block)


def test_backends_page(samara: Samara, repo: Path, place: Path) -> None:
    page = (repo / "docs" / "guides" / "backends.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\n(\$ samara .*\n(?:(?!```).*\n)*)```", page, re.M)
    assert blocks
    for block in blocks:
        _hold(samara, block)


@pytest.mark.slow
def test_quantizing_page(samara: Samara, repo: Path, place: Path) -> None:
    """Programs and commands in the order of the page; recipes are read."""
    net = digits_net.fit(*load_digits(True), 0, lambda *_: None)
    (place / "demo" / "digits.onnx").write_bytes(digits_net.onnx_model(net))
    page = (repo / "docs" / "guides" / "quantization.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n((?:(?!```).*\n)*)```", page, re.M)
    assert sum(kind == "python" for kind, _ in blocks) >= 5
    assert sum(text.startswith("$ samara ") for _, text in blocks) >= 4
    names: dict[str, Any] = {"__name__": "quantizing"}
    for kind, text in blocks:
        if kind == "python":
            exec(compile(text, "docs/guides/quantization.md", "exec"), names)
        elif kind == "toml":
            Recipe.from_toml(text)
        elif text.startswith("$ samara "):
            _hold(samara, text)
    assert (place / "best.samara").exists()
    assert (place / "net8.samara").exists()


def test_readme(
    samara: Samara, repo: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (repo / "README.md").read_text(encoding="utf-8")
    images = np.random.default_rng(1).random((8, 3, 8, 8), np.float32)
    np.savez(place / "calib.npz", image=images)
    blocks = re.findall(r"```sh\n(.*?)```", text, re.S)
    commands = re.findall(r"^samara (.*)$", "\n".join(blocks), re.M)
    assert [c.split()[0] for c in commands] == ["doctor", "bench", "quantize"]
    for command in commands:
        result = samara(*shlex.split(command, comments=True))
        assert result.exit_code == 0, f"samara {command}\n{result.output}"
    assert (place / "small.samara").exists()
    (program,) = re.findall(r"```python\n(.*?)```", text, re.S)
    assert sum(bool(line.strip()) for line in program.splitlines()) == 10
    capsys.readouterr()
    exec(compile(program, "README.md", "exec"), {})
    found, wanted = re.findall(r"\[([\d\s]+)\]", capsys.readouterr().out)
    right = np.array(found.split()) == np.array(wanted.split())
    assert right.mean() > 0.7
