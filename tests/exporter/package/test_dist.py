# SPDX-License-Identifier: Apache-2.0
"""Folders that appear complete or not at all, and their texts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from samara.exporter.package import dist
from samara.exporter.package.selection import MAGIC
from samara.exporter.package.targets import find_target
from samara.pybridge import SamaraError

_OP = """\
#include <samara/samara.h>
#include "parts/twice.h"
const samara_custom_op twice = {.struct_size = sizeof(samara_custom_op), .name = "a::twice"};
SAMARA_API const samara_custom_op thrice = {.struct_size = sizeof(samara_custom_op)};
"""


def _build(folder: Path, text: str = "a") -> None:
    (folder / dist.MANIFEST).write_text(f"{MAGIC}\n")
    (folder / "content").write_text(text)


def test_folder_appears_whole(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "dist"
    with dist.whole_folder(out) as folder:
        _build(folder)
        assert not out.exists()
    assert (out / "content").read_text() == "a"
    with dist.whole_folder(out) as folder:
        assert (out / "content").read_text() == "a"
        _build(folder, "b")
    assert (out / "content").read_text() == "b"
    assert [p.name for p in out.parent.iterdir()] == ["dist"]


def test_failure_leaves_the_earlier_build(tmp_path: Path) -> None:
    out = tmp_path / "dist"
    with dist.whole_folder(out) as folder:
        _build(folder)

    def fail() -> None:
        with dist.whole_folder(out) as folder:
            _build(folder, "half")
            raise RuntimeError("a compiler failed")

    with pytest.raises(RuntimeError):
        fail()
    assert (out / "content").read_text() == "a"
    assert [p.name for p in tmp_path.iterdir()] == ["dist"]


@pytest.mark.skipif(sys.platform == "win32", reason="open folders cannot be told from leftovers")
def test_what_killed_builds_left_goes_and_what_living_ones_fill_stays(tmp_path: Path) -> None:
    left = tmp_path / ".dist.0123456789abcdef.building"
    (left / "lib").mkdir(parents=True)
    with dist.whole_folder(tmp_path / "dist") as first:
        assert not left.exists()
        _build(first)
        with dist.whole_folder(tmp_path / "dist") as second:
            assert first.exists()
            _build(second, "b")
    assert (tmp_path / "dist" / "content").read_text() == "a"
    assert [p.name for p in tmp_path.iterdir()] == ["dist"]


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_is_no_build_is_not_touched(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "precious"
    if kind == "folder":
        out.mkdir()
        (out / "thesis.txt").write_text("years of work")
    else:
        out.write_text("years of work")
    with (
        pytest.raises(SamaraError, match=r"not a folder|a file of that name"),
        dist.whole_folder(out),
    ):
        pytest.fail("it must refuse before anything is built")
    assert (out / "thesis.txt" if kind == "folder" else out).read_text() == "years of work"


def test_empty_folder_is_taken(tmp_path: Path) -> None:
    with dist.whole_folder(tmp_path) as folder:
        _build(folder)
    assert (tmp_path / "content").exists()


def test_pkg_config_says_libraries_only_where_needed() -> None:
    assert "Libs.private: -lm\n" in dist.pkg_config("0.5.0", ("-lm",))
    bare = dist.pkg_config("0.5.0", ())
    assert "private" not in bare
    assert "prefix=${pcfiledir}/../..\n" in bare


@pytest.mark.parametrize(
    ("asked", "fits"),
    [("0.5.0", True), ("0.5", True), ("0.5.9", False), ("0.4.9", False), ("1.0", False)],
)
def test_cmake_version_is_compatible_within_a_series(
    asked: str, fits: bool, tmp_path: Path, need_tool: object
) -> None:
    assert callable(need_tool)
    cmake = need_tool("cmake", "cmake")
    script = tmp_path / "version.cmake"
    script.write_text(
        f"set(PACKAGE_FIND_VERSION {asked})\n"
        + dist.cmake_version("0.5.2" if asked != "0.5.0" else "0.5.0")
        + 'message("fits ${PACKAGE_VERSION_COMPATIBLE}")\n'
    )
    done = subprocess.run([cmake, "-P", script], capture_output=True, text=True, check=True)
    assert f"fits {'TRUE' if fits else 'FALSE'}" in done.stderr


def test_cmake_project_asks_for_threads_where_it_has_them() -> None:
    assert "Threads::Threads" in dist.cmake_lists("0.5.0", ["src/samara.c"], threads=True)
    assert "Threads" not in dist.cmake_lists("0.5.0", ["src/samara.c"], threads=False)
    devices = dist.cmake_lists("0.5.0", ["src/samara.c"], threads=True, devices=True)
    assert ":m> ${CMAKE_DL_LIBS})" in devices


@pytest.mark.parametrize("name", ["x86_64-windows-gnu", "aarch64-macos", "wasm32-wasi"])
def test_cmake_package_names_the_files_of_its_target(name: str) -> None:
    target = find_target(name)
    text = dist.cmake_config(target, "0.6.0", ())
    assert '"${_samara_root}/lib/libsamara.a"' in text
    assert ("ALIAS samara::static" in text) == (target.shared_name is None)
    assert ("IMPORTED_IMPLIB" in text) == (target.system == "windows")
    if target.shared_name is not None:
        assert f"/lib/{target.shared_name}" in text


def test_custom_operators_are_declared(tmp_path: Path) -> None:
    source = tmp_path / "ops.c"
    source.write_text(_OP)
    text, names = dist.custom_header([source])
    assert names == ["twice", "thrice"]
    assert "extern const samara_custom_op twice, thrice;" in text
    assert re.search(r"^#define SAMARA_CUSTOM_OPS twice, thrice$", text, re.MULTILINE)
    source.write_text("int f(void);\n")
    with pytest.raises(SamaraError, match="defines no custom operator"):
        dist.custom_header([source])


def test_headers_beside_a_source_come_along(tmp_path: Path) -> None:
    given, out = tmp_path / "given", tmp_path / "out"
    (given / "parts").mkdir(parents=True)
    (given / "ops.c").write_text(_OP)
    (given / "parts" / "twice.h").write_text('#include "more.h"\n#include "nowhere.h"\n')
    (given / "parts" / "more.h").write_text("")
    (given / "unused.h").write_text("")
    assert dist.copy_sources([given / "ops.c"], out) == ["ops.c"]
    copied = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
    assert copied == {"ops.c", "parts/twice.h", "parts/more.h"}


def test_sources_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "ops.c").write_text("")
    with pytest.raises(SamaraError, match=r"two files are called ops\.c"):
        dist.copy_sources([tmp_path / "a" / "ops.c", tmp_path / "b" / "ops.c"], tmp_path / "out")


def test_missing_source_is_said(tmp_path: Path) -> None:
    with pytest.raises(SamaraError, match=r"gone\.c: there is no such file"):
        dist.custom_header([tmp_path / "gone.c"])
