# SPDX-License-Identifier: Apache-2.0
"""AARs without Gradle: their entries, their libraries' layout, refusals."""

from __future__ import annotations

import io
import re
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.exporter.package import fake_ndk
from tools import aar_size

import samara
from samara.exporter.build import build_android
from samara.exporter.export import export
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ops import all_ops
from samara.exporter.package.aar import AarReport
from samara.exporter.package.aar_texts import METADATA
from samara.exporter.package.aar_tools import ABIS
from samara.exporter.package.elf import Elf
from samara.exporter.package.features import BACKENDS, FEATURES
from samara.exporter.package.java import find_jdk
from samara.exporter.testing import small_onnx
from samara.pybridge import BackendError, UnsupportedError

Tool = Callable[[str, str], str]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("aar") / "small.samara"
    export(import_onnx(small_onnx()), path, check=False)
    return path


@pytest.fixture(autouse=True)
def _no_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    _forget(monkeypatch)


def _forget(patch: pytest.MonkeyPatch) -> None:
    """Hide SDKs and NDKs of the machine."""
    for name in ("NDK_HOME", "NDK_ROOT", "NDK", "HOME", "SDK_ROOT"):
        patch.delenv(f"ANDROID_{name}", raising=False)


def _need(need_tool: Tool) -> None:
    need_tool("java", "javac")
    need_tool("clang", "clang-19")
    need_tool("clang", "ld.lld-19")


def test_wrong_names(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"does not end in \.aar"):
        build_android(["none.samara"], out=tmp_path / "a.zip")
    with pytest.raises(UnsupportedError, match="no optimisation"):
        build_android(["none.samara"], out=tmp_path / "a.aar", opt="3")
    with pytest.raises(UnsupportedError, match="no ABI"):
        build_android(["none.samara"], out=tmp_path / "a.aar", abis=["mips"])
    assert list(tmp_path.iterdir()) == []


def test_what_is_missing_is_said_before_models_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name, path=None: None)
    with pytest.raises(BackendError, match="no Java compiler"):
        build_android(["none.samara"], out=tmp_path / "a.aar")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def mobilenet(
    need_tool: Tool, tmp_path_factory: pytest.TempPathFactory
) -> tuple[AarReport, list[str]]:
    """An AAR for MobileNetV2 in int8, and the progress messages."""
    _need(need_tool)
    folder = tmp_path_factory.mktemp("mobilenet")
    said: list[str] = []
    path = aar_size.mobilenet(folder)
    with pytest.MonkeyPatch.context() as patch:
        _forget(patch)
        return build_android([path], out=folder / "a.aar", progress=said.append), said


@pytest.mark.slow
def test_aar(mobilenet: tuple[AarReport, list[str]]) -> None:
    report, said = mobilenet
    folder = report.out.parent
    assert sorted(path.name for path in folder.iterdir()) == ["a.aar", "mobilenet_v2_int8.samara"]
    assert "arm64-v8a: linking libsamara_jni.so" in said
    assert f"{report.out}: samara" in report.text()
    assert "classes against samara's own declarations" in report.text()
    with zipfile.ZipFile(report.out) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    _check_texts(entries, set())
    libraries = {name: data for name, data in entries.items() if name.endswith(".so")}
    assert list(libraries) == [f"jni/{abi}/libsamara_jni.so" for abi in ABIS]
    for name, data in libraries.items():
        _check_library(name, data)
        assert report.files[name] == len(data)


@pytest.mark.slow
def test_sizes_are_those_of_the_page(mobilenet: tuple[AarReport, list[str]]) -> None:
    """At most 200 KB per ABI, and within 2 % of the figures in docs/guides/android.md."""
    weights = aar_size.weights_of(mobilenet[0].out)
    assert aar_size.over({aar_size.MOBILENET: weights}) == []
    page = aar_size.read(aar_size.PAGE.read_text(encoding="utf-8"))[aar_size.MOBILENET]
    assert list(weights) == list(page) == list(ABIS)
    for abi, weight in weights.items():
        assert weight.plain == pytest.approx(page[abi].plain, rel=0.02), abi
        assert weight.deflated == pytest.approx(page[abi].deflated, rel=0.02), abi


@pytest.mark.slow
def test_another_build_gives_the_same_bytes(
    mobilenet: tuple[AarReport, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes do not depend on folders or time zone, even in another year; tested for one ABI."""
    first = mobilenet[0].out
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    monkeypatch.chdir(tmp_path)
    second = Path("b.aar")
    model = first.with_name("mobilenet_v2_int8.samara")
    build_android([model], out=second, abis=["arm64-v8a"], maven="m2")
    with zipfile.ZipFile(first) as one, zipfile.ZipFile(second) as other:
        left = [name for name in one.namelist() if "/arm64-v8a/" in name or "jni/" not in name]
        assert other.namelist() == left
        for name in left:
            assert other.read(name) == one.read(name), name
            a, b = (archive.getinfo(name) for archive in (one, other))
            for field in ("date_time", "external_attr", "extra", "compress_size", "create_system"):
                assert getattr(a, field) == getattr(b, field), (name, field)
    (repository,) = Path("m2").rglob("*.aar")
    assert repository.read_bytes() == second.read_bytes()
    version = samara.__version__
    assert repository == Path(f"m2/dev/samara/samara/{version}/samara-{version}.aar")


@pytest.mark.slow
def test_by_the_ndk(
    model: Path, repo: Path, need_tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the command lines: the NDK is a fake folder (fake_ndk.py), because no test machine has one."""
    _need(need_tool)
    clang = need_tool("clang", "clang-19")
    abis = ["arm64-v8a", "armeabi-v7a"]
    ndk = fake_ndk.make(tmp_path / "ndk", repo, clang, [ABIS[abi] for abi in abis])
    report = build_android([model], out=tmp_path / "a.aar", abis=abis, ndk=ndk)
    assert list(report.compilers) == abis
    calls = (ndk / fake_ndk.CALLS).read_text(encoding="utf-8").splitlines()
    assert all(call.startswith("--target=a") for call in calls)
    # The NDK's headers and libraries, not samara's or the JDK's.
    assert not any("bionic" in call or str(find_jdk().include) in call for call in calls)
    linked = [call for call in calls if " -shared " in call]
    assert len(linked) == len(abis)
    assert all("-Wl,-z,max-page-size=16384" in call and "-Wl,-z,defs" in call for call in linked)
    with zipfile.ZipFile(tmp_path / "a.aar") as archive:
        for abi in abis:
            name = f"jni/{abi}/libsamara_jni.so"
            _check_library(name, archive.read(name))


@pytest.mark.slow
def test_opencl_names_libraries_of_vendors(model: Path, need_tool: Tool, tmp_path: Path) -> None:
    _check_opencl(model, need_tool, tmp_path, ["armeabi-v7a"])


@pytest.mark.extended
def test_opencl_for_all(model: Path, need_tool: Tool, tmp_path: Path) -> None:
    _check_opencl(model, need_tool, tmp_path, list(ABIS))


def _check_opencl(model: Path, need_tool: Tool, folder: Path, abis: list[str]) -> None:
    _need(need_tool)
    report = build_android([model], out=folder / "a.aar", abis=abis, backend="opencl")
    assert "opencl" in (report.selection.features or ())
    with zipfile.ZipFile(report.out) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    _check_texts(entries, {"libOpenCL.so", "libGLES_mali.so", "libPVROCL.so"})
    for abi in abis:
        _check_library(f"jni/{abi}/libsamara_jni.so", entries[f"jni/{abi}/libsamara_jni.so"])
        assert b"clCreateContext" in entries[f"jni/{abi}/libsamara_jni.so"]


@pytest.mark.extended
@pytest.mark.parametrize("backend", [None, "opencl"])
def test_full(backend: str | None, need_tool: Tool, tmp_path: Path) -> None:
    """All operators and features, without a model."""
    _need(need_tool)
    abis = list(ABIS) if backend is None else ["x86"]
    report = build_android(out=tmp_path / "full.aar", full=True, backend=backend, abis=abis)
    assert set(report.selection.ops) == {op.name for op in all_ops()}
    devices = {"backends", "backend_auto", *BACKENDS}
    absent = devices if backend is None else set()
    assert set(report.selection.features or ()) == set(FEATURES) - {"core"} - absent
    for abi in abis:
        name = f"jni/{abi}/libsamara_jni.so"
        with zipfile.ZipFile(report.out) as archive:
            _check_library(name, archive.read(name))
        assert report.files[name] > 500_000


def _check_texts(entries: dict[str, bytes], vendors: set[str]) -> None:
    manifest = ElementTree.fromstring(entries["AndroidManifest.xml"])
    android = "{http://schemas.android.com/apk/res/android}"
    named = manifest.findall("application/uses-native-library")
    assert {vendor.attrib[f"{android}name"] for vendor in named} == vendors
    assert {"R.txt", "proguard.txt", METADATA} <= set(entries)
    # The jar holds the classes that the rules keep.
    with zipfile.ZipFile(io.BytesIO(entries["classes.jar"])) as jar:
        names = set(jar.namelist())
    for kept in re.findall(rb"-keep class ([\w.]+)", entries["proguard.txt"]):
        assert f"{kept.decode().replace('.', '/')}.class" in names
    assert all(name.startswith("dev/samara/") for name in names)


def _check_library(name: str, data: bytes) -> None:
    elf = Elf(data, name)
    assert elf.page_alignment() == 16384
    assert not any(segment.kind == 7 for segment in elf.segments)  # PT_TLS: emulated, there
    assert _needed(elf, data) <= {b"libc.so", b"libm.so", b"libdl.so", b"liblog.so"}


def _needed(elf: Elf, data: bytes) -> set[bytes]:
    """The libraries that the loader must load."""
    (table,) = (section for section in elf.sections if section.name == ".dynamic")
    strings = elf.sections[table.link].offset
    pairs = struct.iter_unpack(
        "<qq" if data[4] == 2 else "<ii", data[table.offset : table.offset + table.size]
    )
    at = [strings + value for tag, value in pairs if tag == 1]  # DT_NEEDED
    found = {data[i : data.index(b"\0", i)] for i in at}
    assert b"libc.so" in found
    return found
