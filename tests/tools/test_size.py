# SPDX-License-Identifier: Apache-2.0
"""The size tool counts what is loaded and reads its budget."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def size(repo: Path) -> ModuleType:
    """tools/size.py as a module."""
    spec = importlib.util.spec_from_file_location("samara_tools_size", repo / "tools" / "size.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_more_data_weighs_more_and_debug_information_nothing(
    tmp_path: Path, size: ModuleType, need_tool: Callable[[str, str], str]
) -> None:
    compiler = need_tool("cc", "cc")

    def weigh(table_bytes: int, flag: str) -> int:
        source = tmp_path / "data.c"
        source.write_text(f"const char table[{table_bytes}] = {{1}};\n")
        library = tmp_path / "libdata.so"
        command = [compiler, "-shared", "-fPIC", flag, "-o", str(library), str(source)]
        subprocess.run(command, check=True)
        loaded: int = size.loaded_bytes(library.read_bytes())
        return loaded

    assert weigh(200_000, "-g0") - weigh(100_000, "-g0") == pytest.approx(100_000, abs=4096)
    assert weigh(100_000, "-g3") == weigh(100_000, "-g0")


def test_budget_rows(size: ModuleType) -> None:
    text = "# comment\n\nminsize/libsamara.so 1000  # why\nrelease/libsamara.so 2000\n"
    assert size.read_budget(text) == {"minsize/libsamara.so": 1000, "release/libsamara.so": 2000}


def test_share_of_training(size: ModuleType) -> None:
    sizes = {
        "minsize/libsamara.so": 900,
        "minsize/libsamara_inference.so": 700,
        "release/libsamara.so": 1000,
    }
    assert size.training_bytes(sizes) == {"minsize": 200}


def test_not_an_elf_file(size: ModuleType) -> None:
    with pytest.raises(ValueError, match="not a 64-bit"):
        size.loaded_bytes(b"MZ" + bytes(100))
