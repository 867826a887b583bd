# SPDX-License-Identifier: Apache-2.0
"""Compilers: found, missing, and their errors."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from samara.exporter.package.targets import TARGETS, find_target, host_target
from samara.exporter.package.toolchain import Toolchain, find_toolchain
from samara.pybridge import BackendError


@pytest.fixture
def host() -> Toolchain:
    return find_toolchain(find_target("host"))


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("aarch64-linux-gnu", "apt install gcc-aarch64-linux-gnu"),
        ("arm-linux-gnueabihf", "apt install gcc-arm-linux-gnueabihf"),
        ("riscv64-linux-gnu", "apt install gcc-riscv64-linux-gnu"),
        ("wasm32-wasi", "pip install ziglang"),
        ("x86_64-windows-gnu", "pip install ziglang"),
        ("aarch64-linux-android24", "--ndk FOLDER or ANDROID_NDK_HOME"),
        ("arm64-apple-ios15.0", "Xcode"),
        ("host", "apt install gcc"),
    ],
)
def test_missing_compiler_names_its_package(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _program: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    for variable in ("CC", "ANDROID_NDK_HOME", "ANDROID_NDK_ROOT", "ANDROID_NDK"):
        monkeypatch.delenv(variable, raising=False)
    target = find_target(name)
    if target.name == host_target().name and name != "host":
        pytest.skip("NOT RUN: this machine's own target is never missing its package alone")
    with pytest.raises(BackendError, match=r"^no (C )?compiler") as caught:
        find_toolchain(target)
    assert package in str(caught.value.fix)
    assert "\n" not in caught.value.message


def test_ndk_is_searched_for_clang(tmp_path: Path) -> None:
    target = find_target("aarch64-linux-android24")
    with pytest.raises(BackendError, match="is not an Android NDK"):
        find_toolchain(target, ndk=tmp_path)
    tools = tmp_path / "toolchains/llvm/prebuilt/linux-x86_64/bin"
    tools.mkdir(parents=True)
    (tools / "clang").touch()
    found = find_toolchain(target, ndk=tmp_path)
    assert found.cc == (str(tools / "clang"), "--target=aarch64-linux-android24")
    assert found.ar == (str(tools / "llvm-ar"),)
    assert "-Wl,-z,max-page-size=16384" in target.shared_flags


def test_given_compiler_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "cc -pipe")
    assert find_toolchain(find_target("host")).cc == ("cc", "-pipe")
    assert find_toolchain(TARGETS["wasm32-wasi"], cc="cc -O1").cc == ("cc", "-O1")
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(BackendError, match="no-such-compiler was not found"):
        find_toolchain(find_target("host"))


def test_failure_is_what_the_compiler_said(host: Toolchain, tmp_path: Path) -> None:
    source = tmp_path / "wrong.c"
    source.write_text("int f(void) { return undeclared_name; }\n")
    with pytest.raises(BackendError, match=r"compiling wrong\.c") as caught:
        host.compile(source, tmp_path / "wrong.o", ())
    assert "undeclared_name" in caught.value.message
    assert "wrong.c" in str(caught.value.fix)


def test_libraries_are_those_that_are_needed(host: Toolchain, tmp_path: Path) -> None:
    def needed(text: str) -> tuple[str, ...]:
        source, out = tmp_path / "a.c", tmp_path / "a.o"
        source.write_text(text)
        host.compile(source, out, host.compile_flags("s"))
        return host.libraries_needed([out], tmp_path)

    assert needed("int f(int x) { return x + 1; }\n") == ()
    if host_target().system == "linux":
        assert needed("double exp(double);\ndouble f(double x) { return exp(x); }\n") == ("-lm",)
        with pytest.raises(BackendError, match="nowhere"):
            needed("int nowhere(void);\nint f(void) { return nowhere(); }\n")


def test_archive_has_the_same_bytes_again(host: Toolchain, tmp_path: Path) -> None:
    source, out = tmp_path / "a.c", tmp_path / "a.o"
    source.write_text("int f(int x) { return x + 1; }\n")
    host.compile(source, out, ())
    host.archive([out], tmp_path / "one.a")
    host.archive([out], tmp_path / "two.a")
    assert (tmp_path / "one.a").read_bytes() == (tmp_path / "two.a").read_bytes()


def test_a_compiler_asked_for_its_version_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """zig writes an a.o into its working folder, even if only asked for its version."""
    here = tmp_path / "here"
    here.mkdir()
    compiler = here / "cc"
    compiler.write_text("#!/bin/sh\n: >a.o\necho some compiler 1.2\n")
    compiler.chmod(0o755)
    monkeypatch.chdir(here)
    toolchain = Toolchain(host_target(), ("./cc",), ("ar",))
    assert toolchain.version == "some compiler 1.2"
    assert list(here.iterdir()) == [compiler]
