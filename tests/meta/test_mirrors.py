# SPDX-License-Identifier: Apache-2.0
"""Every source file has a test of the same name, or a reason in the table below."""

from __future__ import annotations

import ast
from fnmatch import fnmatch
from pathlib import Path

import pytest

# Source (a pattern) -> why it has no mirror of its own, and what tests it instead. A row that
# matches no source, or only sources that have their mirror, is stale and fails.
EXCEPTIONS: dict[str, str] = {
    "exporter/samara/exporter/frontend/accelerator.py": "names; tests/exporter/frontend/test_absent.py",
    "exporter/samara/exporter/frontend/backends/*.py": "names; tests/exporter/frontend/test_absent.py",
    "exporter/samara/exporter/frontend/cuda/amp.py": "names; tests/exporter/frontend/test_amp.py",
    "exporter/samara/exporter/frontend/mps.py": "names; tests/exporter/frontend/test_absent.py",
    "exporter/samara/exporter/frontend/nn/modules/module.py": "a name; tests/e2e/test_ported.py",
    "exporter/samara/exporter/frontend/utils/data/*.py": "names; tests/exporter/frontend/data",
    "exporter/samara/exporter/frontend/xpu.py": "names; tests/exporter/frontend/test_absent.py",
    "exporter/samara/exporter/ops/*.py": "tests/ops runs every row of the op table, all families",
    "exporter/samara/exporter/importers/onnx/_packages.py": "tests/exporter/types/test_packages.py does",
    "exporter/samara/exporter/doctor/_runs_on.py": "tests/exporter/doctor/test_examine.py: the doctor says it",
    "pybridge/samara/pybridge/_cdef.py": "generated; tests/meta/test_generated.py keeps it fresh",
    "tools/gen_cdef.py": "tests/meta/test_generated.py runs it; the bridge's tests use its output",
    "runtime_c/src/base/os_hwcap.c": "one system call; tests/base/isa_test.c reads what it answers",
    "runtime_c/src/base/os_windows.c": "empty on POSIX; compiled by every build",
    "runtime_c/src/backends/needs.c": "tests/pybridge/test_needs.py, tests/exporter/test_build.py",
    "runtime_c/src/backends/opencl/backend_flag.c": "runtime_c/tests/backends/backend_flag_test.c",
    "runtime_c/src/ops/*/op_*.c": "tests/ops/test_tiles.py runs every operator, cut in every way",
    "runtime_c/src/session/run_region.c": "by tests/backends/mirror_test.c",
    "runtime_c/src/backends/opencl/cl_backend.c": "runtime_c/tests/backends/driver_*test.c",
    "runtime_c/src/backends/opencl/cl_fuse.c": "runtime_c/tests/session/opencl_steps_test.c",
    "runtime_c/src/backends/opencl/cl_join.c": "runtime_c/tests/session/opencl_steps_test.c",
    "runtime_c/src/backends/opencl/cl_*.c": "runtime_c/tests/backends/driver_*test.c",
    "runtime_c/src/backends/opencl/driver_opencl.c": "runtime_c/tests/backends/driver_*test.c",
    "runtime_c/src/backends/opencl/launch.c": "runtime_c/tests/backends/lower_test.c makes launches",
    "runtime_c/src/backends/opencl/lower*.c": "runtime_c/tests/backends/lower_*test.c: every operator",
    "runtime_c/src/backends/opencl/rows.c": "runtime_c/tests/backends/lower_test.c finds all rows",
    "runtime_c/src/backends/opencl/texts.c": "generated; tests/meta/test_generated.py keeps it fresh",
    "tools/abi.py": "tests/meta/test_abi.py reads planted headers with it",
    "tools/fuzz.py": "starts programs and waits; CI runs it on every fuzz target",
    "tools/unity.py": "tests/meta/test_sources.py plants leaks for it; `make unity` compiles",
}

PYTHON_ROOTS = {
    "exporter/samara/exporter": "tests/exporter",
    "pybridge/samara/pybridge": "tests/pybridge",
    "cli/samara/cli": "tests/cli",
    "tools": "tests/tools",
}


def _only_reexports(path: Path) -> bool:
    """Whether a module defines neither functions nor classes: there is nothing to test."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return not any(isinstance(node, kinds) for node in tree.body)


def expected_mirrors(repo: Path) -> dict[str, list[str]]:
    """Source -> patterns; one of them must match a test file."""
    mirrors: dict[str, list[str]] = {}
    for root, tests in PYTHON_ROOTS.items():
        for path in sorted((repo / root).rglob("*.py")):
            relative = path.relative_to(repo / root)
            stem = path.stem.lstrip("_")
            if path.name == "__init__.py":
                if _only_reexports(path):
                    continue
                stem = path.parent.name
            folder = (Path(tests) / relative.parent).as_posix()
            mirrors[path.relative_to(repo).as_posix()] = [f"{folder}/test_{stem}.py"]
    src = repo / "runtime_c" / "src"
    for path in sorted(src.rglob("*.c")):
        relative = path.relative_to(src)
        tests = f"runtime_c/tests/{relative.parent.as_posix()}"
        patterns = [f"{tests}/{path.stem}_test.c"]
        if relative.parts[0] == "kernels":
            # Kernels are tested by family: all variants of a signature run in one tester.
            patterns += [f"{tests}/*_test.c", f"{tests}_test.c"]
        mirrors[path.relative_to(repo).as_posix()] = patterns
    return mirrors


def mirror_faults(repo: Path, exceptions: dict[str, str]) -> list[str]:
    """Sources without a test or a reason, and rows of the table that explain nothing."""
    tests = [
        path.relative_to(repo).as_posix()
        for folder in ("tests", "runtime_c/tests")
        for path in sorted((repo / folder).rglob("*"))
        if path.suffix in (".py", ".c")
    ]
    faults = []
    used: set[str] = set()
    for source, patterns in expected_mirrors(repo).items():
        if any(fnmatch(test, pattern) for test in tests for pattern in patterns):
            continue
        rows = [row for row in exceptions if fnmatch(source, row)]
        used.update(rows)
        if not rows:
            faults.append(f"{source}: no {patterns[0]}")
    faults += [f"{row}: explains nothing" for row in exceptions if row not in used]
    return faults


def test_every_source_has_its_test(repo: Path) -> None:
    assert mirror_faults(repo, EXCEPTIONS) == []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small house in which every source has its test."""
    for name, text in {
        "exporter/samara/exporter/__init__.py": "from .ops import x as x\n",
        "exporter/samara/exporter/passes/fold.py": "def fold(): ...\n",
        "tests/exporter/passes/test_fold.py": "",
        "pybridge/samara/pybridge/_native.py": "def load(): ...\n",
        "tests/pybridge/test_native.py": "",
        "runtime_c/src/session/arena.c": "",
        "runtime_c/tests/session/arena_test.c": "",
        "runtime_c/src/kernels/f32_gemm/f32_gemm_avx2.c": "",
        "runtime_c/tests/kernels/f32_gemm/f32_gemm_test.c": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_clean_tree(tree: Path) -> None:
    assert mirror_faults(tree, {}) == []


@pytest.mark.parametrize(
    "removed",
    [
        "tests/exporter/passes/test_fold.py",
        "tests/pybridge/test_native.py",
        "runtime_c/tests/session/arena_test.c",
        "runtime_c/tests/kernels/f32_gemm/f32_gemm_test.c",
    ],
)
def test_missing_test_is_seen(tree: Path, removed: str) -> None:
    (tree / removed).unlink()
    faults = mirror_faults(tree, {})
    assert len(faults) == 1
    assert ": no " in faults[0]


def test_reason_excuses_and_goes_stale(tree: Path) -> None:
    table = {"runtime_c/src/session/arena.c": "tested through the plan"}
    assert mirror_faults(tree, table) == ["runtime_c/src/session/arena.c: explains nothing"]
    (tree / "runtime_c/tests/session/arena_test.c").unlink()
    assert mirror_faults(tree, table) == []


def test_code_in_a_package_file_needs_a_test(tree: Path) -> None:
    (tree / "exporter/samara/exporter/__init__.py").write_text("def f(): ...\n")
    assert mirror_faults(tree, {}) == [
        "exporter/samara/exporter/__init__.py: no tests/exporter/test_exporter.py"
    ]
