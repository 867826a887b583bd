# SPDX-License-Identifier: Apache-2.0
"""The real models as files, each exported once for all test processes."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.e2e import web_package
from tests.e2e.commands import output_of, python
from tests.e2e.models import recorded

import samara
from samara.pybridge import library_path


def _shared(tmp_path_factory: pytest.TempPathFactory, name: str) -> Path:
    """A folder of all test processes: those of pytest-xdist have folders side by side."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def exported(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """`exported("mnist_cntk")`: the file of that model; `exported("mnist_cntk:int8")`: quantized."""
    folder = _shared(tmp_path_factory, "exported")

    def make(name: str) -> Path:
        models = request.getfixturevalue("models")
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


@pytest.fixture(scope="session")
def web(
    exported: Callable[[str], Path],
    missing: Callable[[str, str], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The package of tests/e2e/web_package.py, made once for all test processes."""
    web_package.require(missing)
    folder = _shared(tmp_path_factory, "web")
    models = os.environ.get("SAMARA_MODELS")
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            web_package.make(folder / "out", exported, Path(models) if models else None)
            (folder / "whole").touch()
    return folder / "out"


@pytest.fixture(
    params=[
        pytest.param("chromium", marks=pytest.mark.emulated),
        pytest.param("firefox", marks=pytest.mark.extended),
    ]
)
def in_browser(
    request: pytest.FixtureRequest,
    repo: Path,
    need_tool: Callable[[str, str], str],
    missing: Callable[[str, str], None],
    tmp_path: Path,
) -> Callable[..., dict[str, Any]]:
    """`in_browser(folder, plan, argument)`: the answers of that plan of tests/e2e/web/plans.mjs."""
    name: str = request.param
    need_tool("node", "node")
    subject, program, driver = {
        "chromium": ("browser", "chromium", "playwright-core"),
        "firefox": ("firefox", "firefox-esr", "puppeteer-core"),
    }[name]
    path = need_tool(subject, program)
    modules = repo / "build" / "web" / "node_modules"
    if not (modules / driver).is_dir():
        missing(subject, f"the package in {name}: build/web has no {driver} from npm")
    # An ES module finds packages beside itself only.
    shutil.copytree(web_package.PAGES, tmp_path / "plans")
    (tmp_path / "plans" / "node_modules").symlink_to(modules)

    def run(folder: Path, plan: str, *arguments: str) -> dict[str, Any]:
        said = output_of(
            "node", tmp_path / "plans" / "browser.mjs", name, path, folder, plan, *arguments
        )
        found: dict[str, Any] = json.loads(said)
        assert "error" not in found
        return found

    return run


@pytest.fixture(scope="session")
def built() -> Path:
    """The folder with the programs of the build whose library is tested."""
    folder = Path(library_path()).resolve().parent
    if not (folder / "finetune").exists():
        pytest.fail("the examples are not built: run `make build`", pytrace=False)
    return folder


@pytest.fixture(scope="session")
def example(repo: Path) -> Callable[[str], ModuleType]:
    """`example("finetune")`: examples/finetune.py as a module."""

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, repo / "examples" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session")
def run_example(repo: Path) -> Callable[..., str]:
    """`run_example(folder, "resume.py", "--steps", "9")`: what it prints there; it must exit with 0."""

    def run(folder: Path, name: str, *options: str | Path) -> str:
        script = repo / "examples" / name
        return python(script, *options, cwd=folder, timeout=120, PYTHONWARNINGS="error")

    return run


@pytest.fixture
def as_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, need_tool: Callable[[str, str], str]
) -> Callable[[], tuple[set[str], set[str]]]:
    """CPUs are GPUs in this test. Gives the options of builds and the kernels that ran."""
    library, log = tmp_path / "libgpu.so", tmp_path / "log.txt"
    source = Path(__file__).parent / "gpu_opencl.c"
    command = [need_tool("cc", "cc"), "-shared", "-fPIC", "-o", str(library), str(source)]
    linked = ["-Wl,--no-as-needed", "-l:libOpenCL.so.1", "-ldl"]
    subprocess.run([*command, *linked], check=True)
    monkeypatch.setenv("SAMARA_OPENCL", str(library))
    monkeypatch.setenv("GPU_LOG", str(log))

    def read() -> tuple[set[str], set[str]]:
        lines = set(log.read_text(encoding="utf-8").splitlines())
        options = {line for line in lines if line.startswith("-")}
        return options, lines - options

    return read
