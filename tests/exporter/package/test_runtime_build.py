# SPDX-License-Identifier: Apache-2.0
"""A build as an app developer uses it: files, packages, linked programs."""

from __future__ import annotations

import json
import os
import plistlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from samara.exporter.package import runtime_build as package_build
from samara.exporter.package.amalgamate import Amalgam
from samara.exporter.package.elf import Elf
from samara.exporter.package.runtime_build import build_dist, default_features, for_target
from samara.exporter.package.selection import Selection
from samara.exporter.package.targets import TARGETS, find_target, host_target
from samara.exporter.package.toolchain import Toolchain, find_toolchain
from samara.pybridge import BackendError, UnsupportedError
from samara.pybridge.image_planes import FORMATS

Tool = Callable[[str, str], str]

_APP = """\
#include <samara/samara.h>
#include <stdio.h>
int main(int argc, char **argv) {
  samara_model *model = NULL;
  samara_error error;
  if (argc < 2 || samara_model_open_path(argv[1], NULL, &model, &error) != SAMARA_OK) return 1;
  printf("%s %zu\\n", samara_version(), samara_model_input_count(model, NULL));
  samara_model_close(model);
  return 0;
}
"""


@pytest.fixture
def app(tmp_path: Path) -> Path:
    source = tmp_path / "app.c"
    source.write_text(_APP)
    return source


@pytest.fixture
def small(small_dist: Path) -> Path:
    return small_dist.parent / "small.samara"


def _run(*command: str | Path, cwd: Path | None = None, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def _libraries(dist: Path) -> list[str]:
    """The link flags that the build lists beside its static library."""
    text = (dist / "lib/pkgconfig/samara.pc").read_text()
    lines = [line for line in text.splitlines() if line.startswith("Libs.private:")]
    return lines[0].split()[1:] if lines else []


# ---- contents of the folder ----


def test_layout(small_dist: Path) -> None:
    shared = find_target("host").shared_name
    for name in (
        *(
            "lib/libsamara.a",
            f"lib/{shared}",
            "include/samara/samara.h",
            "include/samara/samara.hpp",
        ),
        *("src/samara.c", "lib/pkgconfig/samara.pc", "lib/cmake/samara/samaraConfig.cmake"),
        "CMakeLists.txt",
        *("ops.txt", "size.txt", "size.json", "bin/samara-run", "bin/samara-bench"),
    ):
        assert (small_dist / name).is_file(), name
    assert str(small_dist) not in (small_dist / "lib/pkgconfig/samara.pc").read_text()
    assert str(small_dist) not in (small_dist / "lib/cmake/samara/samaraConfig.cmake").read_text()


def test_library_carries_the_list_beside_it(small_dist: Path) -> None:
    listed = Selection.parse((small_dist / "ops.txt").read_text())
    assert {"conv", "matmul"} <= listed.ops.keys()
    assert "lstm" not in listed.ops
    for library in ("libsamara.a", find_target("host").shared_name):
        assert Selection.of_library(small_dist / "lib" / str(library)) == listed


def test_bill_is_that_of_the_library(small_dist: Path) -> None:
    bill = json.loads((small_dist / "size.json").read_text())
    library = small_dist / "lib" / str(find_target("host").shared_name)
    assert bill["file_bytes"] == library.stat().st_size
    if not find_target("host").is_elf:
        pytest.skip("NOT RUN: no ELF files here, the bill has totals only")
    loaded = {s.name: s.size for s in Elf(library.read_bytes()).sections}
    assert bill["sections"][".text"] == loaded[".text"]
    assert sum(r["code"] + r["data"] for r in bill["rows"]) == bill["counted_bytes"]
    assert not any(row["room"] == "compiler" and row["code"] > 2000 for row in bill["rows"])


def test_nothing_is_exported_but_the_interface(small_dist: Path, need_tool: Tool) -> None:
    nm = need_tool("nm", "nm")
    names = _run(nm, "--defined-only", "-g", small_dist / "lib" / "libsamara.a").split()[2::3]
    # The first word is the archive member's name.
    assert all(n.startswith(("samara_", "_samara_")) for n in names if len(n) > 1), names


# ---- linking ----


def test_one_plain_line_links_it(small_dist: Path, small: Path, app: Path, need_tool: Tool) -> None:
    cc = need_tool("cc", "cc")
    program = app.with_suffix(".out")
    library, include = small_dist / "lib/libsamara.a", small_dist / "include"
    _run(cc, app, library, f"-I{include}", *_libraries(small_dist), "-o", program)
    assert _run(program, small).split()[1] == "1"


# Padding bytes and fields that the build does not use may hold anything.
_OPTIONS = """
#include <samara/samara.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define BEHIND(options, field, end) \\
  memset((char *)&(options) + offsetof(samara_session_options, field) + 1, 0x55, \\
         (end) - offsetof(samara_session_options, field) - 1)

int main(int argc, char **argv) {
  samara_model *model;
  samara_session *session;
  samara_error error;
  samara_session_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  BEHIND(options, backend_wait, offsetof(samara_session_options, backend_check_every));
  BEHIND(options, backend_float16, sizeof options);
  if (argc != 2 || samara_model_open_path(argv[1], NULL, &model, &error)) return 1;
  const samara_status status = samara_session_create(model, &options, &session, &error);
  if (status != SAMARA_OK) return puts(error.text), 2;
  samara_session_destroy(session);
  options.backend_count = 1;
  if (!samara_session_create(model, &options, &session, &error)) return 3;
  puts(error.text);
  samara_model_close(model);
  return 0;
}
"""


def test_options_are_those_of_the_header(
    small_dist: Path, small: Path, tmp_path: Path, need_tool: Tool
) -> None:
    cc = need_tool("cc", "cc")
    source, program = tmp_path / "options.c", tmp_path / "options"
    source.write_text(_OPTIONS)
    library, include = small_dist / "lib/libsamara.a", small_dist / "include"
    _run(cc, source, library, f"-I{include}", *_libraries(small_dist), "-o", program)
    assert "this build leaves out backends" in _run(program, small)


def test_pkg_config(small_dist: Path, small: Path, app: Path, need_tool: Tool) -> None:
    tool = need_tool("pkg-config", "pkg-config")
    moved = app.parent / "moved"
    shutil.copytree(small_dist, moved)
    path = str(moved / "lib/pkgconfig")
    flags = _run(tool, "--cflags", "--libs", "samara", PKG_CONFIG_PATH=path).split()
    program = app.with_suffix(".out")
    _run("cc", app, *flags, f"-Wl,-rpath,{moved}/lib", "-o", program)
    assert _run(program, small).split()[1] == "1"


@pytest.mark.parametrize(
    "way", ["find_package", pytest.param("add_subdirectory", marks=pytest.mark.slow)]
)
def test_cmake(way: str, small_dist: Path, small: Path, app: Path, need_tool: Tool) -> None:
    cmake, ninja = need_tool("cmake", "cmake"), need_tool("ninja", "ninja")
    moved = app.parent / "moved"
    shutil.copytree(small_dist, moved)
    uses = (
        "find_package(samara 0.17 REQUIRED)" if way == "find_package" else "add_subdirectory(moved)"
    )
    (app.parent / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(app C)\n"
        f"{uses}\n"
        "add_executable(app app.c)\ntarget_link_libraries(app samara::samara)\n"
        "add_executable(app_static app.c)\ntarget_link_libraries(app_static samara::static)\n"
    )
    build = app.parent / "build"
    # Compilers take less time for -Og than for no optimisation, which keeps unused kernels.
    _run(
        *(cmake, "-S", app.parent, "-B", build, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"),
        *("-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-Og", f"-DCMAKE_PREFIX_PATH={moved}"),
    )
    _run(cmake, "--build", build)
    for program in ("app", "app_static"):
        assert _run(build / program, small).split()[1] == "1"


# ---- options ----


def test_features_are_those_of_target_user_and_models() -> None:
    needed = Selection(ops={"relu": frozenset({"float32"})}, features=("state",))
    host = find_target("host")
    whole = for_target(needed, host)
    assert set(whole.features or ()) == {"files", "threads", "state"}
    assert for_target(needed, host, wanted=()).features == ("state",)
    wasm = for_target(needed, TARGETS["wasm32-wasi"])
    assert {"files", "threads"}.isdisjoint(wasm.features or ())
    assert default_features(TARGETS["wasm32-wasi"]) != default_features(host)
    pictures = Selection(features=("images",))
    assert len(for_target(pictures, host, wanted=()).features or ()) == 1 + len(FORMATS)
    one = for_target(pictures, host, wanted=("image_nv21",))
    assert one.features == ("images", "image_nv21")
    assert one.parts == frozenset({"verify", "image", "image_from_nv21"})
    with pytest.raises(UnsupportedError, match="no feature 'teleport'") as caught:
        for_target(needed, host, wanted=["teleport"])
    assert "files" in str(caught.value.fix)


def test_list_made_for_the_target_keeps_its_instruction_sets() -> None:
    listed = Selection(target="x86_64-linux-gnu", isa=("avx512",), floor="avx2")
    again = for_target(listed, TARGETS["x86_64-linux-gnu"])
    assert (again.floor, again.isa) == ("avx2", ("avx512",))
    other = for_target(listed, TARGETS["aarch64-linux-gnu"])
    assert (other.floor, other.isa) == ("neon", ("neon-dot", "neon-i8mm"))
    asked = for_target(listed, TARGETS["x86_64-linux-gnu"], isa=["scalar"])
    assert (asked.floor, asked.isa) == ("scalar", ())


class _FakeTools(Toolchain):
    """Writes dummy files instead of compiling, to test the rest of a build."""

    def compile(self, source: Path, out: Path, flags: object) -> None:
        out.write_bytes(b"object")

    def archive(self, objects: object, out: Path) -> None:
        out.write_bytes(b"archive")

    def link_shared(
        self,
        objects: object,
        out: Path,
        libraries: object,
        *,
        strip: bool = False,
        what: str | None = None,
    ) -> None:
        out.write_bytes(b"shared")


@pytest.fixture
def relu(monkeypatch: pytest.MonkeyPatch) -> Selection:
    """A selection with sources that nobody compiles."""
    text = Amalgam("// ---- a.c ----\n", "/* a header */\n")
    monkeypatch.setattr(package_build, "amalgamate", lambda *_lists, **_options: text)
    return Selection(ops={"relu": frozenset({"float32"})}, parts=None)


def _xcframework(relu: Selection, out: Path) -> tuple[Path, dict[str, str], str]:
    """(folder of its slice, the slice's entry in Info.plist, report of the build)"""
    target = TARGETS["arm64-apple-ios15.0-simulator"]
    tools = _FakeTools(target, ("cc",), ("ar",))
    report = build_dist(for_target(relu, target), out, tools=tools, programs=False)
    plist = plistlib.loads((out / "samara.xcframework/Info.plist").read_bytes())
    (library,) = plist["AvailableLibraries"]
    assert report.bill.rows == ()
    return out / "samara.xcframework" / library["LibraryIdentifier"], library, report.text()


def test_apple_targets_get_an_xcframework(relu: Selection, tmp_path: Path) -> None:
    place, library, said = _xcframework(relu, tmp_path / "dist")
    assert library["SupportedPlatformVariant"] == "simulator"
    assert (place / library["LibraryPath"]).is_file()
    assert (place / library["HeadersPath"] / "samara" / "samara.h").is_file()
    # Those of several frameworks in one app would collide.
    assert not (place / library["HeadersPath"] / "module.modulemap").exists()
    assert "not read" in said


def test_clang_finds_the_module_of_an_xcframework(
    relu: Selection, tmp_path: Path, need_tool: Tool
) -> None:
    clang = need_tool("clang", "clang-19")
    place, library, _ = _xcframework(relu, tmp_path / "dist")
    headers = place / library["HeadersPath"]
    (headers / "samara" / "samara.h").write_text("int answer(void);\n")
    main = tmp_path / "main.m"
    main.write_text("@import samara;\nint main(void) { return answer(); }\n")
    cache = f"-fmodules-cache-path={tmp_path}"
    subprocess.run([clang, "-fmodules", cache, "-fsyntax-only", main, "-I", headers], check=True)


@pytest.mark.skipif(host_target().system != "linux", reason="NOT RUN: no ELF files here")
@pytest.mark.parametrize("page", [4096, 16384])
def test_android_libraries_fit_large_pages(page: int, relu: Selection, tmp_path: Path) -> None:
    target = TARGETS["aarch64-linux-android24"]
    host = find_toolchain(find_target("host"))

    class Tools(_FakeTools):
        """Links a library of one function with the given page size."""

        def link_shared(
            self,
            objects: object,
            out: Path,
            libraries: object,
            *,
            strip: bool = False,
            what: str | None = None,
        ) -> None:
            source = tmp_path / "f.c"
            source.write_text("int f(void) { return 1; }\n")
            host.compile(source, tmp_path / "f.o", ("-fPIC",))
            host.link_shared([tmp_path / "f.o"], out, (f"-Wl,-z,max-page-size={page}",))

        def preprocess(self, source: Path, flags: object) -> str:
            return ""

    tools = Tools(target, ("cc",), ("ar",))
    selection = for_target(relu, target)
    if page == 16384:
        report = build_dist(selection, tmp_path / "dist", tools=tools, programs=False)
        assert report.bill.counted > 0
    else:
        with pytest.raises(BackendError, match="pages of 4096 bytes"):
            build_dist(selection, tmp_path / "dist", tools=tools, programs=False)
        assert not (tmp_path / "dist").exists()
