# SPDX-License-Identifier: Apache-2.0
"""Small models that reports are about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from samara.exporter.export import export
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir import Program, ProgramBuilder, Variable, save_program
from samara.exporter.testing import small_onnx, steered_program
from samara.exporter.types import DType, TensorType


@pytest.fixture(scope="session")
def onnx_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small convolutional net with an open batch axis."""
    path = tmp_path_factory.mktemp("reports") / "small.onnx"
    path.write_bytes(small_onnx())
    return path


@pytest.fixture(scope="session")
def samara_path(onnx_path: Path) -> Path:
    """The same, exported with labels and a golden input."""
    path = onnx_path.with_suffix(".samara")
    image = np.linspace(-1, 1, 192, dtype=np.float32).reshape(1, 3, 8, 8)
    export(
        import_onnx(onnx_path),
        path,
        check=False,
        labels=["ash", "beech", "maple", "oak"],
        golden={"image": image},
    )
    return path


def counter_program() -> Program:
    """total += x; returns the new total, which is a variable, plus one."""
    program = ProgramBuilder()
    f = program.function("main")
    after = f.op("add", f.input("total", "f32", [2]), f.input("x", "f32", [2]), name="after")
    done = f.finish([f.op("add", after, 1.0, name="more"), after], ["y", "total_out"])
    program.functions["main"] = replace(done, reads={"total": "sum"}, writes={1: "sum"})
    variable = Variable("sum", TensorType.of(DType.F32, (2,)), np.zeros(2, np.float32))
    return program.finish(["main"], [variable])


@pytest.fixture(scope="session")
def counter_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a variable."""
    path = tmp_path_factory.mktemp("reports") / "counter.samara"
    save_program(counter_program(), path)
    return path


@pytest.fixture(scope="session")
def steered_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose input `rate` decides which branch runs; one branch has a loop."""
    path = tmp_path_factory.mktemp("reports") / "steered.samara"
    save_program(steered_program(), path)
    return path
