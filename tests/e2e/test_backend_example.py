# SPDX-License-Identifier: Apache-2.0
"""examples/backend_npu, built as a vendor builds it: two headers, no samara."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.commands import output_of


@pytest.fixture
def alone(repo: Path, tmp_path: Path) -> Path:
    """A folder with the example and the headers that it needs."""
    headers = tmp_path / "include" / "samara"
    headers.mkdir(parents=True)
    for name in ("samara.h", "samara_backend.h"):
        shutil.copy(repo / "runtime_c" / "include" / "samara" / name, headers)
    ignored = shutil.ignore_patterns("build")
    shutil.copytree(repo / "examples" / "backend_npu", tmp_path / "npu", ignore=ignored)
    return tmp_path / "npu"


def test_it_builds_and_tests_itself(alone: Path, need_tool: Callable[[str, str], str]) -> None:
    make = need_tool("make", "make")
    command = [make, "test", "SAMARA_INCLUDE=../include", "CFLAGS=-O1 -Werror"]
    assert "all is well" in output_of(*command, cwd=alone)
    library = ctypes.CDLL(str(alone / "build" / "libsamara_npu.so"))
    library.samara_backend_entry.restype = ctypes.c_void_p
    assert library.samara_backend_entry() is not None
