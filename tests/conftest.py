# SPDX-License-Identifier: Apache-2.0
"""What every test can ask for: a seeded generator, the folder of real models, required tools."""

from __future__ import annotations

import ctypes
import fcntl
import os
import random
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.sanitizers import Unavailable, built

ROOT = Path(__file__).resolve().parent.parent


def _missing(subject: str, reason: str) -> None:
    """Skip with the reason, or fail where SAMARA_REQUIRE says that the machine has `subject`."""
    required = os.environ.get("SAMARA_REQUIRE", "").replace(",", " ").split()
    if subject in required or "all" in required:
        pytest.fail(f"{subject} is required by SAMARA_REQUIRE: {reason}", pytrace=False)
    pytest.skip(f"NOT RUN: {subject} ({reason})")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what asks for a build with sanitizers; start long tests first, so that none ends the run alone."""
    for item in items:
        if "sanitized" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.sanitized)
    items.sort(key=lambda item: "tests/tools" not in item.nodeid)


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """A number that depends on the test's name and parameters only."""
    return zlib.crc32(request.node.nodeid.encode())


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    """numpy's generator, seeded with the test's name."""
    return np.random.default_rng(seed)


@pytest.fixture(autouse=True)
def _global_seeds(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)


@pytest.fixture(scope="session")
def repo() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def newest_golden(repo: Path) -> Path:
    """The golden file of the last release."""
    files = (repo / "tests" / "golden").glob("*.samara")
    return max(files, key=lambda path: [int(part) for part in path.stem.split(".")])


@pytest.fixture(scope="session")
def models() -> Path:
    """The folder of recorded real models: SAMARA_MODELS, or a skip that says so."""
    value = os.environ.get("SAMARA_MODELS", "")
    if not value:
        _missing("models", "SAMARA_MODELS is not set")
    folder = Path(value).resolve()
    if not any(folder.glob("*/model.onnx")):
        pytest.fail(f"SAMARA_MODELS={value} holds no */model.onnx", pytrace=False)
    return folder


@pytest.fixture(scope="session")
def missing() -> Callable[[str, str], None]:
    """`missing("flatc", "not installed")`: skip, or fail where SAMARA_REQUIRE names it."""
    return _missing


@pytest.fixture(scope="session")
def need_tool() -> Callable[[str, str], str]:
    """`need_tool("flatc", "flatc")`: the path of a program, or a skip under the first name."""

    def find(subject: str, program: str) -> str:
        path = shutil.which(program)
        if path is None:
            _missing(subject, f"{program} is not installed")
            raise AssertionError  # _missing never returns
        return path

    return find


@pytest.fixture(scope="session")
def device_library() -> Callable[[str], Path]:
    """`device_library("mirror")`: the library that brings this device for tests, beside the runtime's."""
    from samara.pybridge import library_path

    def find(name: str) -> Path:
        path = Path(library_path()).resolve().parent / f"libsamara_{name}.so"
        if not path.exists():
            pytest.fail(f"{path} is not built: run `make build`", pytrace=False)
        return path

    return find


@pytest.fixture
def mirror_hooks(device_library: Callable[[str], Path]) -> Iterator[ctypes.CDLL]:
    """The functions of runtime_c/tests/backends/mirror.h, which make the mirror fail; all is well after."""
    library = ctypes.CDLL(str(device_library("mirror")))
    library.mirror_reset()
    yield library
    library.mirror_reset()


@pytest.fixture(scope="session")
def sanitized() -> Callable[[str, str, str], Path]:
    """`sanitized("asan-ubsan", "address", "run_fuzz")`: a program of that build, or a skip."""

    def find(preset: str, sanitizer: str, target: str) -> Path:
        try:
            return built(preset, sanitizer, target)
        except Unavailable as error:
            _missing(sanitizer, str(error))
            raise AssertionError from error  # _missing never returns

    return find


@pytest.fixture(scope="session")
def small_dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `samara build` makes for a small convolutional net, once for all processes.

    The net itself is beside it: small.samara.
    """
    from samara.exporter.build import build
    from samara.exporter.export import export
    from samara.exporter.importers.onnx import import_onnx
    from samara.exporter.testing import small_onnx

    base = tmp_path_factory.getbasetemp()
    # Processes of pytest-xdist have folders side by side.
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "small_dist"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "dist").exists():
            model = folder / "small.samara"
            export(import_onnx(small_onnx()), model, check=False)
            build([model], out=folder / "dist", features=("files", "threads", "profile"))
    return folder / "dist"


@pytest.fixture(scope="session")
def custom_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The custom operators of examples/custom_op as a shared library."""
    library = tmp_path_factory.mktemp("custom_op") / "libswish_beta.so"
    source = ROOT / "examples" / "custom_op" / "swish_beta.c"
    command: list[str | Path] = [
        "cc",
        "-O2",
        "-std=c11",
        "-fPIC",
        "-shared",
        "-I",
        ROOT / "runtime_c" / "include",
    ]
    subprocess.run([*command, source, "-o", library, "-lm"], check=True)
    return library
