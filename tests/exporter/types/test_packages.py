# SPDX-License-Identifier: Apache-2.0
"""Without an optional package, every use of it raises an error that names it."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import samara
from samara.exporter.types import BackendError, UnsupportedError, is_installed, missing, require

# Import names of packages that `pip install samara-nn` does not install.
OPTIONAL = {
    *("google", "ml_dtypes", "onnx", "onnxruntime", "onnxscript", "PIL", "safetensors", "scipy"),
    *("sklearn", "tensorboardX", "torch", "ziglang"),
}

ONNX = ("UnsupportedError", "reading ONNX models needs onnx and ml_dtypes, which are not installed")
ONNX_FIX = "pip install onnx ml_dtypes"
# Python -> the error's type, its message and its fix.
STATEMENTS = {
    "samara.import_onnx('m.onnx')": (*ONNX, ONNX_FIX),
    "import samara.onnx_backend": (*ONNX, ONNX_FIX),
    "from samara.exporter.importers.onnx import diagnose": (*ONNX, ONNX_FIX),
    "samara.from_torch(None, ())": (
        "UnsupportedError",
        "from_torch needs torch, onnxscript and onnx, which are not installed",
        "pip install torch onnxscript onnx",
    ),
    "samara.utils.tensorboard.SummaryWriter('runs')": (
        "UnsupportedError",
        "SummaryWriter needs tensorboardX, which is not installed",
        "pip install tensorboardX",
    ),
    "samara.data.digits()": (
        "BackendError",
        "the data set of digits needs scikit-learn, which is not installed",
        "pip install scikit-learn",
    ),
    "from samara.exporter.frontend.data.folder import load_image; load_image('a.png')": (
        "UnsupportedError",
        "a.png: reading .png needs pillow, which is not installed",
        "pip install pillow",
    ),
    "from samara.exporter.measure.peers import open_peer; open_peer('onnxruntime', 'm.onnx', 1)": (
        "BackendError",
        "this comparison needs onnxruntime, which is not installed",
        "pip install onnxruntime",
    ),
    "from samara.exporter.types import DType; DType.BF16.numpy": (
        "UnsupportedError",
        "a NumPy array of bfloat16 needs ml_dtypes, which is not installed",
        "pip install ml_dtypes",
    ),
}
# Command -> the lines on stderr.
COMMANDS = {
    **dict.fromkeys(
        ("export m.onnx", "doctor m.onnx", "run m.onnx", "quantize m.onnx", "inspect m.onnx"),
        f"samara: {ONNX[1]}\n  fix: {ONNX_FIX}\n",
    ),
    "demo": (
        "samara: the demo needs scikit-learn, onnx and ml_dtypes, which are not installed\n"
        "  fix: pip install scikit-learn onnx ml_dtypes\n"
    ),
    "build m.samara --target wasm32-wasi": (
        "samara: no compiler for wasm32-wasi: the Python package ziglang is not installed\n"
        "  fix: pip install ziglang\n"
    ),
}
_RUN = """
import contextlib, io, json, sys
for name in {optional}:
    sys.modules[name] = None  # as import and find_spec see what is not installed
import samara
{body}
print(json.dumps(found))
"""
_STATEMENTS = """
found = {}
for statement in json.loads(sys.argv[1]):
    try:
        exec(statement, {"samara": samara})
    except samara.SamaraError as error:
        found[statement] = [type(error).__name__, error.message, error.fix]
"""
_COMMANDS = """
from samara.cli.main import main
found = {}
for line in json.loads(sys.argv[1]):
    sys.argv = ["samara", *line.split()]
    with contextlib.redirect_stderr(io.StringIO()) as text:
        try:
            main()
        except SystemExit as end:
            found[line] = [end.code, text.getvalue()]
"""
_NAMES = """
import inspect
found = {}
for name in samara._NAMES:
    value = getattr(samara, name)
    if inspect.isroutine(value):
        found[name] = [str(inspect.signature(value)), value.__doc__]
found["members"] = len(inspect.getmembers(samara))
"""
_WORKS = """
from samara import nn
from samara.exporter.inspect.operators import operators
model = nn.Sequential(nn.Linear(2, 1))
for p in model.parameters():
    p.data = samara.ones(*p.shape)
model(samara.ones(1, 2)).sum().backward()
samara.export(samara.script(model, samara.ones(1, 2), output_names=["y"]), "m.samara")
outputs = samara.Session("m.samara").run({"input": samara.ones(1, 2).numpy()})
found = {"outputs": outputs["y"].item(), "text": operators("^add$").text()}
"""


def _bare(repo: Path, folder: Path, body: str, cases: list[str]) -> dict[str, Any]:
    """The results of the cases in an interpreter with the base dependencies only."""
    roots = os.pathsep.join(str(repo / room) for room in ("pybridge", "exporter", "cli"))
    code = _RUN.format(optional=sorted(OPTIONAL), body=body)
    run = subprocess.run(
        [sys.executable, "-c", code, json.dumps(cases)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": roots},
    )
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def test_python_names_the_packages(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"")
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    found = _bare(repo, tmp_path, _STATEMENTS, list(STATEMENTS))
    assert found == {name: list(error) for name, error in STATEMENTS.items()}


def test_commands_name_the_packages(repo: Path, newest_golden: Path, tmp_path: Path) -> None:
    (tmp_path / "m.samara").write_bytes(newest_golden.read_bytes())
    (tmp_path / "m.onnx").write_bytes(b"")
    found = _bare(repo, tmp_path, _COMMANDS, list(COMMANDS))
    assert found == {line: [1, text] for line, text in COMMANDS.items()}


def test_the_rest_works(repo: Path, tmp_path: Path) -> None:
    found = _bare(repo, tmp_path, _WORKS, [])
    assert found["outputs"] == 3.0
    assert "1 operators of the IR" in found["text"]
    assert f"ONNX's operators are left out: {ONNX[1]}" in found["text"]


def test_every_public_name_can_be_looked_at(repo: Path, tmp_path: Path) -> None:
    found = _bare(repo, tmp_path, _NAMES, [])
    signature, doc = found["import_onnx"]
    assert signature.startswith("(src:")
    assert doc.startswith("Import an ONNX model")
    assert found["members"] >= len(samara._NAMES)


def test_the_message_names_what_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    require("nothing", "numpy")
    assert is_installed("numpy")
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert not is_installed("scikit-learn")
    with pytest.raises(BackendError) as caught:
        require("this", "numpy", "scikit-learn", kind=BackendError)
    assert caught.value.message == "this needs scikit-learn, which is not installed"
    assert caught.value.fix == "pip install numpy scikit-learn"
    assert isinstance(missing("this", "numpy"), UnsupportedError)


# ---- in the sources ----


def _modules(node: ast.AST) -> set[str]:
    """The packages in an import statement."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return {node.module.partition(".")[0]}
    return set()


def _says_what_is_missing(statement: ast.stmt) -> bool:
    """Whether a statement raises if packages are missing, or calls a module that does."""
    calls = {
        n.func.id
        for n in ast.walk(statement)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    opened = isinstance(statement, ast.ImportFrom) and f"{statement.module}.".startswith(
        "samara.exporter.importers.onnx."
    )
    return opened or bool(calls & {"require", "missing", "_torch"})


def unguarded(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, package) of every unguarded import of an optional package."""

    def visit(body: list[ast.stmt], guarded: bool) -> Iterator[tuple[int, str]]:
        for statement in body:
            if not guarded:
                yield from ((statement.lineno, name) for name in _modules(statement) & OPTIONAL)
            if isinstance(statement, ast.Try):
                caught = {
                    n.id for h in statement.handlers for n in ast.walk(h) if isinstance(n, ast.Name)
                }
                yield from visit(statement.body, guarded or "ImportError" in caught)
                for handler in statement.handlers:
                    yield from visit(handler.body, guarded)
            elif not (
                isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.dump(statement.test)
            ):
                for field in ("body", "orelse", "finalbody"):
                    inner = getattr(statement, field, [])
                    yield from visit(inner, guarded) if isinstance(inner, list) else ()
            guarded = guarded or _says_what_is_missing(statement)

    return visit(tree.body, False)


# Modules that only run after a check, in the package's `__init__` or in their callers.
BEHIND_A_DOOR = ("exporter/samara/exporter/importers/onnx/",)
CALLED_LATER = {
    "exporter/samara/exporter/importers/torch.py": "from_torch asks _torch first",
    "exporter/samara/exporter/demo/digits_net.py": "demo requires onnx before it trains",
    "exporter/samara/exporter/testing.py": "helps the tests, which need onnx",
}


def test_every_import_of_an_optional_package_is_guarded(repo: Path) -> None:
    found = []
    for room in ("exporter", "pybridge", "cli"):
        for path in sorted((repo / room).rglob("*.py")):
            name = path.relative_to(repo).as_posix()
            if name.startswith(BEHIND_A_DOOR) or name in CALLED_LATER:
                continue
            text = path.read_text(encoding="utf-8")
            if not OPTIONAL & set(re.findall(r"\b(?:import|from) (\w+)", text)):
                continue
            tree = ast.parse(text, name)
            found += [f"{name}:{line}: {package}" for line, package in unguarded(tree)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("import onnx", True),
        ("def f():\n    from sklearn import datasets", True),
        ("if x:\n    import torch.utils", True),
        ("try:\n    import PIL\nexcept ValueError:\n    pass", True),
        ("try:\n    import PIL\nexcept ImportError:\n    raise missing('a', 'pillow')", False),
        ("def f():\n    require('this', 'onnx')\n    import onnx", False),
        ("if TYPE_CHECKING:\n    import onnx", False),
        ("import numpy", False),
    ],
)
def test_unguarded_imports_are_seen(text: str, seen: bool) -> None:
    assert bool(list(unguarded(ast.parse(text)))) == seen
