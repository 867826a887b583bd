# SPDX-License-Identifier: Apache-2.0
"""The scaffold of an operator works as written: it imports, passes its suite, compiles."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def new_op(repo: Path) -> ModuleType:
    """tools/new_op.py as a module."""
    path = repo / "tools" / "new_op.py"
    spec = importlib.util.spec_from_file_location("samara_tools_new_op", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_codes_stay_in_their_family(new_op: ModuleType, repo: Path) -> None:
    taken = new_op.codes(repo)
    assert taken[81] == "conv"
    assert new_op.free_code("linear", {80: "matmul", 81: "conv"}) == 82
    free = new_op.free_code("linear", taken)
    assert free not in taken
    assert all(code in taken for code in range(80, free))
    assert new_op.free_code("linear", range(1, 200)) == 200
    assert new_op.free_code("linear", range(1, 251)) == 251
    with pytest.raises(ValueError, match="no free code"):
        new_op.free_code("linear", range(1, 501))


@pytest.mark.parametrize("name", ["Conv", "my-op", "2d", "a__b", "conv"])
def test_bad_names_are_refused(new_op: ModuleType, repo: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"snake_case|exists"):
        new_op.scaffold(repo, name, "unary", new_op.codes(repo))


# An editable installation finds modules by name, wherever sys.path leads: here the copy counts.
_USE = """
import sys
sys.meta_path[:] = [f for f in sys.meta_path if "ScikitBuild" not in type(f).__name__]
sys.path[:0] = sys.argv[1].split(";")
import samara
samara.__path__ = [p + "/samara" for p in sys.argv[1].split(";")]
import numpy as np
from samara.exporter.ops import get_op, vjp
from samara.exporter.testing import case_attrs, case_inputs, infer_case, run_case
op = get_op(sys.argv[2])
for case in op.cases:
    (got,) = run_case(op, case)
    assert infer_case(op, case).types[0].static_shape() == got.shape
    if case_inputs(op, case)[0].shape == got.shape:
        np.testing.assert_array_equal(got, case_inputs(op, case)[0])
case = next(c for c in op.cases if case_inputs(op, c)[0].dtype == np.float32)
given = case_inputs(op, case)
dy = run_case(op, case)[0]
made = vjp(lambda *x: op(*x, **case_attrs(op, case)), given, [dy])
np.testing.assert_array_equal(made[0].sum(), dy.sum())
assert made[0].shape == given[0].shape and made[1:] == (None,) * (len(given) - 1)
assert len(op.cases) > 1
"""


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("unary", "hard_swoosh"),
        ("binary", "sorted"),
        ("norm", "hard_swoosh"),
        ("quantization", "sorted"),
    ],
)
def test_scaffolded_rows_work(
    new_op: ModuleType, repo: Path, tmp_path: Path, family: str, name: str
) -> None:
    shutil.copytree(
        repo / "exporter", tmp_path / "exporter", ignore=shutil.ignore_patterns("__py*")
    )
    plan = new_op.scaffold(repo, name, family, new_op.codes(repo))
    for path, text in plan.changed.items():
        (tmp_path / path).write_text(text, encoding="utf-8")
    roots = f"{tmp_path / 'exporter'};{repo / 'pybridge'}"
    subprocess.run([sys.executable, "-c", _USE, roots, name], check=True)
    ruff = shutil.which("ruff") or str(Path(sys.executable).with_name("ruff"))
    subprocess.run([ruff, "check", "-q", "--config", str(repo / "pyproject.toml"),
                    *(str(tmp_path / p) for p in plan.changed)], check=True)  # fmt: skip


def test_scaffolded_c_compiles(
    new_op: ModuleType, repo: Path, tmp_path: Path, need_tool: Callable[[str, str], str]
) -> None:
    compiler = need_tool("cc", "cc")
    plan = new_op.scaffold(repo, "hard_swoosh", "binary", new_op.codes(repo))
    for path, text in plan.created.items():
        file = tmp_path / Path(path).name
        file.write_text(text, encoding="utf-8")
        includes = [f"-I{repo}/runtime_c/{p}" for p in ("src", "include", "tests")]
        warnings = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]
        subprocess.run([compiler, *warnings, *includes, "-fsyntax-only", str(file)], check=True)
