# SPDX-License-Identifier: Apache-2.0
"""The name that programs ask the loader for: of an installed library, and of a selective one."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.commands import output_of

from samara.exporter.package.targets import series
from samara.pybridge import __version__

Tool = Callable[[str, str], str]

_PROGRAM = """
#include <samara/samara.h>
#include <stdio.h>
int main(void) { return puts(samara_version()) < 0; }
"""
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ELF names")


@pytest.fixture(scope="module")
def installed(
    repo: Path, need_tool: Tool, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """Where `cmake --install` puts the build of the checkout: the prefix, and its lib folder."""
    prefix = tmp_path_factory.mktemp("installed")
    cmake, built = need_tool("cmake", "cmake"), repo / "build" / "dev"
    subprocess.run([cmake, "--install", built, "--prefix", prefix], check=True, capture_output=True)
    return prefix, next(prefix.rglob("libsamara.so")).parent


def _dynamic(file: Path, tag: str, need_tool: Tool) -> list[str]:
    """The names that a file has under SONAME or NEEDED."""
    listing = output_of(need_tool("readelf", "readelf"), "-d", file)
    return re.findall(rf"\({tag}\).*\[(.*)\]", listing)


def _asks_for(include: Path, lib: Path, folder: Path, need_tool: Tool) -> list[str]:
    """What a program needs that was linked with -lsamara; it runs, too."""
    (folder / "program.c").write_text(_PROGRAM, encoding="utf-8")
    linked = ("-L", lib, "-lsamara", "-o", folder / "program")
    subprocess.run(
        [need_tool("cc", "cc"), folder / "program.c", f"-I{include}", *linked], check=True
    )
    done = subprocess.run(
        [folder / "program"], env={"LD_LIBRARY_PATH": str(lib)}, capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == __version__
    return _dynamic(folder / "program", "NEEDED", need_tool)


def test_installed(installed: tuple[Path, Path], need_tool: Tool, tmp_path: Path) -> None:
    prefix, lib = installed
    name = f"libsamara.so.{series(__version__)}"
    assert sorted(path.name for path in lib.glob("libsamara.so*")) == [
        "libsamara.so",
        name,
        f"libsamara.so.{__version__}",
    ]
    assert (lib / name).readlink() == Path(f"libsamara.so.{__version__}")
    assert _dynamic(lib / "libsamara.so", "SONAME", need_tool) == [name]
    assert name in _asks_for(prefix / "include", lib, tmp_path, need_tool)


def test_selective(small_dist: Path, need_tool: Tool, tmp_path: Path) -> None:
    lib = small_dist / "lib"
    name = f"libsamara.so.{series(__version__)}"
    assert (lib / "libsamara.so").readlink() == Path(name)
    assert _dynamic(lib / name, "SONAME", need_tool) == [name]
    assert name in _asks_for(small_dist / "include", lib, tmp_path, need_tool)
    config = (lib / "cmake" / "samara" / "samaraConfig.cmake").read_text(encoding="utf-8")
    assert f"IMPORTED_SONAME {name}" in config
    assert f"lib/{name}" in config


def test_a_series_is_a_minor_version_before_one() -> None:
    assert series("0.6.0") == series("0.6.3") == "0.6"
    assert series("1.4.2") == "1"
