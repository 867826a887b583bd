# SPDX-License-Identifier: Apache-2.0
"""The C examples, as a user builds them: run on real files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.models import excess, recorded

import samara


@pytest.fixture(scope="module")
def built(repo: Path) -> Path:
    """The folder with the programs of the development build."""
    folder = repo / "build" / "dev"
    if not (folder / "minimal").exists():
        pytest.fail("the examples are not built: run `make build`", pytrace=False)
    return folder


def test_minimal_says_that_a_free_size_needs_resize(built: Path, repo: Path) -> None:
    golden = sorted((repo / "tests" / "golden").glob("*.samara"))[-1]
    done = subprocess.run([built / "minimal", golden], capture_output=True, text=True, check=False)
    assert done.returncode != 0  # its image has a free batch size
    assert "resize" in done.stderr


def test_minimal_on_a_real_model(built: Path, models: Path, tmp_path: Path) -> None:
    file = tmp_path / "m.samara"
    samara.export(samara.import_onnx(models / "mnist_cntk" / "model.onnx"), file, check=False)
    done = subprocess.run([built / "minimal", file], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("output: 40 bytes")
    assert "ms  conv " in done.stdout


def test_three_sizes_in_one_c_session(built: Path, models: Path, tmp_path: Path) -> None:
    file = tmp_path / "yunet.samara"
    samara.export(samara.import_onnx(models / "yunet_s_dynamic" / "model.onnx"), file, check=False)
    cases = recorded(models / "yunet_s_dynamic")
    steps: list[str | Path] = []
    for k, case in enumerate(cases):
        x = case.inputs["input"]
        (tmp_path / f"in{k}.raw").write_bytes(x.tobytes())
        steps += ["x".join(map(str, x.shape)), tmp_path / f"in{k}.raw"]
    subprocess.run([built / "resize", file, *steps], check=True, capture_output=True, cwd=tmp_path)
    names = [s.name for s in samara.Model(file).function(None).outputs]
    for k, case in enumerate(cases):
        for i, name in enumerate(names):
            want = case.outputs[name]
            got = np.frombuffer((tmp_path / f"out{k}_{i}.raw").read_bytes(), want.dtype)
            assert excess("yunet_s_dynamic", got.reshape(want.shape), want) <= 1.0, (
                case.title,
                name,
            )
