# SPDX-License-Identifier: Apache-2.0
"""Custom operators as users have them: the example from Python and from C, and the page about them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from samara.pybridge._native import library_path


@pytest.fixture
def place(custom_library: Path, tmp_path: Path) -> Path:
    """A folder with the library of examples/custom_op."""
    shutil.copy(custom_library, tmp_path / "libswish_beta.so")
    return tmp_path


def _python(place: Path, *arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=place,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_example(repo: Path, place: Path) -> None:
    folder = repo / "examples" / "custom_op"
    printed = _python(place, folder / "custom_op.py", "--library", "libswish_beta.so")
    assert "7 of 16 elements, kernel and reference agree" in printed
    assert "traced: [0.46" in printed

    native = library_path().resolve()
    command: list[str | Path] = ["cc", "-O2", "-std=c11", "-I", repo / "runtime_c" / "include"]
    sources = [folder / "run_model.c", folder / "swish_beta.c", native]
    linked = subprocess.run(
        [*command, *sources, f"-Wl,-rpath,{native.parent}", "-lm", "-o", place / "run_model"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert linked.returncode == 0, linked.stderr
    x = np.linspace(-2, 2, 16, dtype=np.float32)
    (place / "x.raw").write_bytes(x.tobytes())
    run: list[str | Path] = [place / "run_model", "model.samara", "x.raw"]
    done = subprocess.run(run, cwd=place, capture_output=True, text=True, check=True)
    y = x / (1 + np.exp(-1.5 * x))
    got = np.array(done.stdout.split(), np.float32)
    np.testing.assert_allclose(got, y[y > 0.25], rtol=1e-6)

    without = subprocess.run(
        [*run, "--without"], cwd=place, capture_output=True, text=True, check=False
    )
    assert without.returncode == 1
    assert "needs the custom operator 'mydomain::swish_beta'" in without.stderr


def test_the_command_line(repo: Path, place: Path, custom_library: Path) -> None:
    (place / "operators.py").write_text(
        "import samara\n"
        "samara.register_op('mydomain::swish_beta', library='libswish_beta.so',\n"
        "    reference=lambda x, *, beta=1.0: x)\n"
    )
    (place / "make.py").write_text(
        "import onnx.parser\n"
        'text = \'<ir_version: 8, opset_import: ["" : 21, "mydomain" : 1]> \'\\\n'
        "    'g (float[4] x) => (float[4] y) { y = mydomain.swish_beta(x) }'\n"
        "onnx.save(onnx.parser.parse_model(text), 'm.onnx')\n"
    )
    _python(place, "make.py")
    command = ("-m", "samara.cli.main", "--operators", "operators.py")
    _python(place, *command, "export", "m.onnx", "-o", "m.samara")
    assert "y" in _python(place, *command, "run", "m.samara", "--seed", "1")
    assert "custom" in _python(place, *command, "inspect", "m.samara", "--kernels")


def test_the_page(repo: Path, place: Path) -> None:
    page = (repo / "docs" / "guides" / "custom-operators.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    assert len(blocks) >= 5
    (place / "page.py").write_text("\n".join(blocks), encoding="utf-8")
    _python(place, "page.py")
    source = (repo / "examples" / "custom_op" / "run_model.c").read_text(encoding="utf-8")
    (snippet,) = re.findall(r"^```c\n(.*?)^```", page, re.M | re.S)
    assert snippet.splitlines()[0].strip() in source
