# SPDX-License-Identifier: Apache-2.0
"""The real models as files, each exported once for all test processes."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.models import recorded

import samara


@pytest.fixture(scope="session")
def exported(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`exported("mnist_cntk")`: the file of that model; `exported("mnist_cntk:int8")`: quantized."""
    base = tmp_path_factory.getbasetemp()
    # Processes of pytest-xdist have folders side by side.
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "exported"
    folder.mkdir(exist_ok=True)

    def make(name: str) -> Path:
        path = folder / f"{name.replace(':', '-')}.samara"
        name, _, scheme = name.partition(":")
        with open(path.with_suffix(".lock"), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                program = samara.import_onnx(models / name / "model.onnx")
                if scheme:
                    cases = recorded(models / name)[:4]
                    program = samara.quantize(program, [c.inputs for c in cases], scheme)
                samara.export(program, path, check=False)
        return path

    return make
