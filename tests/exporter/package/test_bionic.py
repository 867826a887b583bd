# SPDX-License-Identifier: Apache-2.0
"""clang for Android without the NDK: declarations and stubs that fit each other, and what is refused."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from samara.exporter.package import bionic
from samara.exporter.package.targets import find_target
from samara.pybridge import BackendError

Tool = Callable[[str, str], str]

_DECLARED = re.compile(
    r"^[\w ]+?[ *](\w+)\([^;{]*?\)(?:\s*__asm__\(\"(\w+)\"\))?(?:\s*__attribute__[^;]*)?;", re.M
)


def declared(folder: Path) -> set[str]:
    """The functions that the headers declare, by the names that the linker looks for."""
    found = set()
    for header in sorted(folder.rglob("*.h")):
        text = header.read_text(encoding="utf-8")
        assert "#ifndef SAMARA_BIONIC_" in text
        found |= {match[2] or match[1] for match in _DECLARED.finditer(text)}
    return found


def test_what_is_declared_may_be_called_and_nothing_else(repo: Path) -> None:
    allowed = set(" ".join(bionic.ALLOWED.values()).split())
    # The log is declared where it is called.
    assert declared(repo / "android" / "bionic" / "include") == allowed - {"__android_log_write"}


def test_a_missing_clang_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(BackendError, match="clang with lld of version 16") as caught:
        bionic.find_clang()
    assert "apt install clang-19 lld-19" in str(caught.value.fix)


def test_an_abi_that_needs_the_ndk(repo: Path, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="i686-linux-android24 needs the NDK"):
        bionic.clang_for(find_target("i686-linux-android24"), repo / "android/bionic", tmp_path)


def test_what_is_not_allowed_does_not_link(repo: Path, need_tool: Tool, tmp_path: Path) -> None:
    need_tool("clang", "clang-19")
    need_tool("clang", "ld.lld-19")
    target = find_target("aarch64-linux-android24")
    tools = bionic.clang_for(target, repo / "android" / "bionic", tmp_path)
    source, made = tmp_path / "x.c", tmp_path / "x.o"
    for call, right in (("getpid()", True), ("getppid()", False)):
        source.write_text(f"int getpid(void), getppid(void);\nint f(void) {{ return {call}; }}\n")
        tools.compile(source, made, ("-fPIC",))
        if right:
            tools.link_shared([made], tmp_path / "libx.so", bionic.LIBRARIES)
            continue
        with pytest.raises(BackendError, match="undefined symbol: getppid"):
            tools.link_shared([made], tmp_path / "libx.so", bionic.LIBRARIES)
