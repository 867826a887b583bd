# SPDX-License-Identifier: Apache-2.0
"""A small model, and the command run in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from samara.exporter.export import export
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir import save_program
from samara.exporter.testing import small_onnx, steered_program


@pytest.fixture(scope="session")
def onnx_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small convolutional net with an open batch axis."""
    path = tmp_path_factory.mktemp("cli") / "small.onnx"
    path.write_bytes(small_onnx())
    return path


@pytest.fixture(scope="session")
def samara_path(onnx_path: Path) -> Path:
    """The same, exported with labels."""
    path = onnx_path.with_suffix(".samara")
    labels = ["ash", "beech", "maple", "oak"]
    export(import_onnx(onnx_path), path, check=False, labels=labels)
    return path


@pytest.fixture(scope="session")
def steered_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose input `rate` decides which branch runs; one branch has a loop."""
    path = tmp_path_factory.mktemp("cli") / "steered.samara"
    save_program(steered_program(), path)
    return path


@pytest.fixture
def samara() -> Callable[..., Result]:
    """`samara("run", path, "--json")`: the command's result, with output, stderr and exit_code."""
    from samara.cli.main import app

    runner = CliRunner()

    def call(*arguments: object) -> Result:
        return runner.invoke(app, [str(a) for a in arguments])

    return call
