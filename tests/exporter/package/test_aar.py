# SPDX-License-Identifier: Apache-2.0
"""AARs without Gradle: their entries, their libraries' layout, and what is refused."""

from __future__ import annotations

import io
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from samara.exporter.build import build_android
from samara.exporter.export import export
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.package.aar import ABIS, android_sources, build_aar
from samara.exporter.package.elf import Elf
from samara.exporter.package.selection import Selection
from samara.exporter.package.targets import TARGETS
from samara.exporter.testing import small_onnx
from samara.pybridge import BackendError, UnsupportedError

Tool = Callable[[str, str], str]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("aar") / "small.samara"
    export(import_onnx(small_onnx()), path, check=False)
    return path


def test_abis_are_targets() -> None:
    assert set(ABIS.values()) == {name for name, t in TARGETS.items() if t.system == "android"}


def test_sources_are_there(repo: Path) -> None:
    assert android_sources() == repo / "android"


def test_wrong_names(tmp_path: Path, need_tool: Tool) -> None:
    need_tool("java", "javac")
    with pytest.raises(UnsupportedError, match="no ABI 'mips'") as caught:
        build_aar(Selection(), tmp_path / "a.aar", abis=["mips"])
    assert "arm64-v8a" in str(caught.value.fix)
    with pytest.raises(UnsupportedError, match=r"is no \.aar"):
        build_android(["none.samara"], out=tmp_path / "a.zip")
    with pytest.raises(UnsupportedError, match="no optimisation"):
        build_android(["none.samara"], out=tmp_path / "a.aar", opt="3")
    assert list(tmp_path.iterdir()) == []


def test_missing_tools(
    model: Path, tmp_path: Path, need_tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_tool("java", "javac")
    which = shutil.which
    monkeypatch.setattr(
        shutil,
        "which",
        lambda name, path=None: None if "clang" in name else which(name, path=path),
    )
    for variable in ("ANDROID_NDK_HOME", "ANDROID_NDK_ROOT", "ANDROID_NDK"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(BackendError, match="clang with lld") as caught:
        build_android([model], out=tmp_path / "a.aar")
    assert "ANDROID_NDK_HOME" in str(caught.value.fix)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_aar(model: Path, tmp_path: Path, need_tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("javac", "clang-19", "ld.lld-19"):
        need_tool("java" if name == "javac" else "clang", name)
    for variable in ("ANDROID_NDK_HOME", "ANDROID_NDK_ROOT", "ANDROID_NDK"):
        monkeypatch.delenv(variable, raising=False)
    said: list[str] = []
    report = build_android([model], out=tmp_path / "a.aar", progress=said.append)
    assert [path.name for path in tmp_path.iterdir()] == ["a.aar"]
    assert "arm64-v8a: linking libsamara_jni.so" in said
    assert f"{tmp_path / 'a.aar'}: samara" in report.text()
    with zipfile.ZipFile(tmp_path / "a.aar") as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    _check_texts(entries)
    libraries = {name: data for name, data in entries.items() if name.endswith(".so")}
    assert list(libraries) == [f"jni/{abi}/libsamara_jni.so" for abi in ABIS]
    for name, data in libraries.items():
        _check_library(name, data)
        assert report.files[name] == len(data) < 200_000
    build_android([model], out=tmp_path / "b.aar")
    assert (tmp_path / "a.aar").read_bytes() == (tmp_path / "b.aar").read_bytes()


def _check_texts(entries: dict[str, bytes]) -> None:
    manifest = ElementTree.fromstring(entries["AndroidManifest.xml"])
    android = "{http://schemas.android.com/apk/res/android}"
    assert manifest.attrib["package"] == "dev.samara"
    sdk = manifest.find("uses-sdk")
    assert sdk is not None
    assert sdk.attrib[f"{android}minSdkVersion"] == "24"
    vendors = manifest.findall("application/uses-native-library")
    assert "libOpenCL.so" in {vendor.attrib[f"{android}name"] for vendor in vendors}
    assert {vendor.attrib[f"{android}required"] for vendor in vendors} == {"false"}
    assert entries["R.txt"] == b""
    # What the rules keep is in the jar.
    with zipfile.ZipFile(io.BytesIO(entries["classes.jar"])) as jar:
        names = set(jar.namelist())
    for kept in re.findall(rb"-keep class ([\w.]+)", entries["proguard.txt"]):
        assert f"{kept.decode().replace('.', '/')}.class" in names
    assert all(name.startswith("dev/samara/") for name in names)


def _check_library(name: str, data: bytes) -> None:
    elf = Elf(data, name)
    assert elf.page_alignment() == 16384
    assert not any(segment.kind == 7 for segment in elf.segments)  # PT_TLS: emulated, there
    needed = re.findall(rb"lib(?:c|m|dl|log|\w+)\.so", data)
    own = {b"libsamara_jni.so", b"libjnigraphics.so", b"libandroid.so", b"libnativewindow.so"}
    assert set(needed) - own <= {b"libc.so", b"libm.so", b"libdl.so", b"liblog.so"}
