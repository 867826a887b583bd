# SPDX-License-Identifier: Apache-2.0
"""Tools of an AAR: unknown names, all missing tools in one error, an NDK, a platform."""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.exporter.package import fake_ndk

from samara.exporter.package import bionic
from samara.exporter.package.aar_tools import ABIS, android_sources, find_tools, isa_of
from samara.exporter.package.java import find_jdk
from samara.exporter.package.targets import TARGETS, find_target
from samara.pybridge import BackendError, UnsupportedError

Tool = Callable[[str, str], str]


@pytest.fixture(autouse=True)
def _no_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NDK_HOME", "NDK_ROOT", "NDK", "HOME", "SDK_ROOT"):
        monkeypatch.delenv(f"ANDROID_{name}", raising=False)


def test_abis_are_targets() -> None:
    assert set(ABIS.values()) == {name for name, t in TARGETS.items() if t.system == "android"}


def test_sources_are_there(repo: Path) -> None:
    assert android_sources() == repo / "android"


def test_wrong_names() -> None:
    with pytest.raises(UnsupportedError, match="no ABI 'mips'") as caught:
        find_tools(abis=["mips"])
    assert "arm64-v8a" in str(caught.value.fix)
    with pytest.raises(UnsupportedError, match="no ABI is named"):
        find_tools(abis=[])
    with pytest.raises(UnsupportedError, match="armeabi-v7a has an instruction set 'avx2'"):
        find_tools(abis=["arm64-v8a", "armeabi-v7a"], isa=["avx2"])


def test_instruction_sets_are_for_those_that_have_them() -> None:
    arm, x86 = (find_target(ABIS[abi]) for abi in ("arm64-v8a", "x86"))
    assert isa_of(arm, ["avx2", "neon"]) == ["neon"]
    assert isa_of(x86, ["avx2", "neon"]) is None
    assert isa_of(arm, None) is None


def test_all_that_is_missing_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _name, path=None: None)
    monkeypatch.setattr(bionic, "is_installed", lambda _package: False)
    with pytest.raises(BackendError, match=r"no Java compiler.*no compiler for Android") as caught:
        find_tools()
    for part in ("openjdk-17-jdk-headless", "ANDROID_NDK_HOME", "clang-19 lld-19", "ziglang"):
        assert part in str(caught.value.fix)


def test_a_missing_compiler_is_the_whole_error(
    monkeypatch: pytest.MonkeyPatch, need_tool: Tool, tmp_path: Path
) -> None:
    need_tool("java", "javac")
    with pytest.raises(BackendError, match="is not an Android NDK") as caught:
        find_tools(ndk=tmp_path)
    assert "Java" not in str(caught.value)


def test_the_ndk_goes_first(
    repo: Path, need_tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder with an NDK's layout, whose clang is this machine's with other search paths."""
    need_tool("java", "javac")
    clang = need_tool("clang", "clang-19")
    need_tool("clang", "ld.lld-19")
    assert find_tools(abis=["x86"]).own
    ndk = fake_ndk.make(tmp_path / "ndk", repo, clang, [])
    monkeypatch.setenv("ANDROID_NDK_HOME", str(ndk))
    tools = find_tools(abis=["x86"])
    chain = tools.for_target(tools.targets["x86"], tmp_path)
    assert not tools.own
    assert chain.cc[0].startswith(str(ndk))
    assert chain.cc[1:] == ("--target=i686-linux-android24",)


def _platform(home: Path, name: str, classes: Path) -> Path:
    jar = home / "platforms" / name / "android.jar"
    jar.parent.mkdir(parents=True)
    with zipfile.ZipFile(jar, "w") as archive:
        for file in sorted((classes / "android").rglob("*.class")):
            archive.write(file, file.relative_to(classes))
    return jar


@pytest.mark.slow
def test_classes_are_compiled_against_the_newest_platform(
    need_tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_tool("java", "javac")
    need_tool("clang", "clang-19")
    need_tool("clang", "ld.lld-19")
    own = find_tools(abis=["x86"])
    assert own.platform is None
    (tmp_path / "own").mkdir()
    plain = own.classes(tmp_path / "own")
    with zipfile.ZipFile(io.BytesIO(plain)) as jar:
        assert "dev/samara/Session.class" in jar.namelist()
        assert not any(name.startswith("android") for name in jar.namelist())

    find_jdk().compile(android_sources() / "stubs", tmp_path / "stubs")
    home = tmp_path / "sdk"
    for name in ("android-9", "android-33"):
        _platform(home, name, tmp_path / "stubs")
    newest = _platform(home, "android-34-ext10", tmp_path / "stubs")
    monkeypatch.setenv("ANDROID_HOME", str(home))
    tools = find_tools(abis=["x86"])
    assert tools.platform == newest
    (tmp_path / "with").mkdir()
    assert tools.classes(tmp_path / "with") == plain
    # samara's own declarations do not replace missing ones.
    (tmp_path / "none").mkdir()
    _platform(home, "android-35", tmp_path / "none")
    (tmp_path / "without").mkdir()
    with pytest.raises(BackendError, match=r"android\.content"):
        find_tools(abis=["x86"]).classes(tmp_path / "without")


def test_where_the_sources_are_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("importlib.resources.files", lambda _name: tmp_path / "a" / "b")
    with pytest.raises(BackendError, match="sources for Android") as caught:
        android_sources()
    assert os.fspath(tmp_path) in str(caught.value)
