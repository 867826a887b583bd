# SPDX-License-Identifier: Apache-2.0
"""Java's compiler: found, missing, its errors; and jars."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from samara.exporter.package.java import find_jdk, find_platform, jar, zipped
from samara.pybridge import BackendError

Tool = Callable[[str, str], str]


def test_a_missing_jdk_names_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(BackendError, match="JAVA_HOME") as caught:
        find_jdk()
    assert "openjdk-17-jdk-headless" in str(caught.value.fix)
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setattr(shutil, "which", lambda _name, path=None: None)
    with pytest.raises(BackendError, match="javac is not installed"):
        find_jdk()


def test_a_jdk_without_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    javac = tmp_path / "bin" / "javac"
    javac.parent.mkdir()
    javac.touch(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(BackendError, match=r"no include/jni\.h"):
        find_jdk()
    (tmp_path / "include" / "linux").mkdir(parents=True)
    (tmp_path / "include" / "jni.h").touch()
    include = tmp_path / "include"
    assert find_jdk().include_flags == (f"-I{include}", f"-I{include / 'linux'}")


def test_the_newest_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ANDROID_HOME", "ANDROID_SDK_ROOT"):
        monkeypatch.delenv(variable, raising=False)
    assert find_platform() is None
    monkeypatch.setenv("ANDROID_SDK_ROOT", str(tmp_path))
    assert find_platform() is None
    # Compared as numbers; 25 lacks classes, and a preview has no number.
    for name in ("android-9", "android-25", "android-Baklava", "old", "android-99-ext3"):
        (tmp_path / "platforms" / name).mkdir(parents=True)
        if name != "android-99-ext3":  # without android.jar
            (tmp_path / "platforms" / name / "android.jar").touch()
    assert find_platform() is None
    for name in ("android-26", "android-35", "android-36.1", "android-36-ext18", "android-36"):
        (tmp_path / "platforms" / name).mkdir()
        (tmp_path / "platforms" / name / "android.jar").touch()
    assert find_platform() == tmp_path / "platforms" / "android-36.1" / "android.jar"
    other = tmp_path / "other" / "platforms" / "android-30"
    other.mkdir(parents=True)
    (other / "android.jar").touch()
    monkeypatch.setenv("ANDROID_HOME", str(tmp_path / "other"))
    assert find_platform() == other / "android.jar"


def test_compiling(tmp_path: Path, need_tool: Tool) -> None:
    need_tool("java", "javac")
    source = tmp_path / "a" / "b" / "C.java"
    source.parent.mkdir(parents=True)
    source.write_text("package b;\nclass C {}\n", encoding="utf-8")
    find_jdk().compile(tmp_path / "a", tmp_path / "out")
    with zipfile.ZipFile(io.BytesIO(jar(tmp_path / "out"))) as made:
        assert made.namelist() == ["b/C.class"]
    source.write_text("package b;\nclass C { var x; }\n", encoding="utf-8")
    with pytest.raises(BackendError, match=r"C\.java:2"):
        find_jdk().compile(tmp_path / "a", tmp_path / "out")


def test_the_same_entries_give_the_same_bytes() -> None:
    entries = {"b": b"two", "a/c": b"one"}
    assert zipped(entries) == zipped(dict(entries))
    with zipfile.ZipFile(io.BytesIO(zipped(entries))) as made:
        assert made.namelist() == ["b", "a/c"]
        assert made.read("a/c") == b"one"
