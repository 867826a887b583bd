# SPDX-License-Identifier: Apache-2.0
"""Custom operators as users have them: the example from Python and from C, and the page about them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.commands import output_of, python, ran

from samara.pybridge._native import library_path


@pytest.fixture
def place(custom_library: Path, tmp_path: Path) -> Path:
    """A folder with the library of examples/custom_op."""
    shutil.copy(custom_library, tmp_path / "libswish_beta.so")
    return tmp_path


def _python(place: Path, *arguments: str | Path) -> str:
    return python(*arguments, cwd=place, timeout=120, PYTHONWARNINGS="error")


def test_the_example(repo: Path, place: Path) -> None:
    folder = repo / "examples" / "custom_op"
    said = _python(place, folder / "custom_op.py", "--library", "libswish_beta.so")
    assert "7 of 16 elements, kernel and reference agree" in said
    assert "traced: [0.46" in said

    native = library_path().resolve()
    command: list[str | Path] = ["cc", "-O2", "-std=c11", "-I", repo / "runtime_c" / "include"]
    sources = [folder / "run_model.c", folder / "swish_beta.c", native]
    linked = (f"-Wl,-rpath,{native.parent}", "-lm", "-o", place / "run_model")
    output_of(*command, *sources, *linked)
    x = np.linspace(-2, 2, 16, dtype=np.float32)
    (place / "x.raw").write_bytes(x.tobytes())
    run: list[str | Path] = [place / "run_model", "model.samara", "x.raw"]
    y = x / (1 + np.exp(-1.5 * x))
    got = np.array(output_of(*run, cwd=place).split(), np.float32)
    np.testing.assert_allclose(got, y[y > 0.25], rtol=1e-6)

    without = ran(*run, "--without", cwd=place)
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
