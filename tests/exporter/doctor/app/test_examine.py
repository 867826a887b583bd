# SPDX-License-Identifier: Apache-2.0
"""Whole apps, made, built, and damaged."""

from __future__ import annotations

import plistlib
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.doctor.app.made import (
    ALIGNED,
    BINARY_MANIFEST,
    archive,
    elf,
    macho,
    selection_text,
    written,
    zipped,
)

from samara.exporter.build import build_android
from samara.exporter.doctor.app.examine import examine_app
from samara.exporter.doctor.examine import doctor
from samara.exporter.types import FileError, ModelFormatError, SamaraError

JNI = "lib/arm64-v8a/libsamara_jni.so"
PLIST = plistlib.dumps({"CFBundleExecutable": "App", "MinimumOSVersion": "15.0"})
LISTED: dict[str, Any] = {"LibraryIdentifier": "ios-arm64", "LibraryPath": "libsamara.a"}
LISTED |= {"SupportedArchitectures": ["arm64"], "SupportedPlatform": "ios"}
XCLIST = plistlib.dumps({"AvailableLibraries": [LISTED]})


def android(model: bytes) -> dict[str, bytes]:
    return {
        "AndroidManifest.xml": BINARY_MANIFEST,
        "classes.dex": b"dex\n035\0 Ldev/samara/Model;",
        JNI: elf(payload=selection_text()),
        "assets/m.samara": model,
    }


def apple(model: bytes) -> dict[str, bytes]:
    program = macho(payload=selection_text())
    return {"Info.plist": PLIST, "App": program, "m.samara": model}


def xcframework() -> dict[str, bytes]:
    return {
        "Info.plist": XCLIST,
        "ios-arm64/libsamara.a": archive(macho(kind=1, payload=selection_text())),
    }


def below(folder: str, files: dict[str, bytes]) -> dict[str, bytes]:
    return {f"{folder}/{name}": data for name, data in files.items()}


def test_a_model_and_the_libraries_of_an_app(tmp_path: Path, samara_path: Path) -> None:
    aar = {"AndroidManifest.xml": BINARY_MANIFEST, "jni/x86_64/libother.so": elf()}
    for abi in ("arm64-v8a", "x86_64"):
        aar[f"jni/{abi}/libsamara_jni.so"] = elf(abi, payload=selection_text())
    (tmp_path / "a.aar").write_bytes(zipped(aar))
    report = doctor(samara_path, library=tmp_path / "a.aar")
    assert report.healthy
    assert report.library == "a.aar 0.9.0 for arm64-v8a, x86_64"
    poor = elf("x86_64", payload=selection_text("op relu float32", "parts all"))
    aar["jni/x86_64/libsamara_jni.so"] = poor
    (tmp_path / "poor.aar").write_bytes(zipped(aar))
    assert not doctor(samara_path, library=tmp_path / "poor.aar").healthy
    del aar["jni/arm64-v8a/libsamara_jni.so"], aar["jni/x86_64/libsamara_jni.so"]
    (tmp_path / "none.aar").write_bytes(zipped(aar))
    with pytest.raises(
        ModelFormatError, match=r"no library in .*none\.aar has a manifest of samara"
    ):
        doctor(samara_path, library=tmp_path / "none.aar")


def test_good_apps(tmp_path: Path, samara_path: Path) -> None:
    model = samara_path.read_bytes()
    made = {
        "a.apk": android(model),
        "a.ipa": below("Payload/A.app", apple(model)),
        "a.xcframework.zip": below("a.xcframework", xcframework()),
    }
    for name, files in made.items():
        (tmp_path / name).write_bytes(zipped(files, alignment=ALIGNED))
    folders = {"A.app": apple(model), "a.xcframework": xcframework()}
    for name, files in folders.items():
        written(tmp_path / name, files)
    for name in (*made, *folders):
        report = examine_app(tmp_path / name)
        assert [row for row in report.rows if row.level != "ok"] == [], name
        assert report.healthy
        assert len(report.libraries) == 1
        assert report.path == name
        if "xcframework" not in name:
            (found,) = report.models
            assert found.runs_on == (report.libraries[0].abi,)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted((*made, *folders))


def test_a_model_without_a_library(tmp_path: Path, samara_path: Path) -> None:
    files = android(samara_path.read_bytes())
    del files[JNI], files["classes.dex"]
    (tmp_path / "a.apk").write_bytes(zipped(files, alignment=ALIGNED))
    report = examine_app(tmp_path / "a.apk")
    assert [(row.level, row.check) for row in report.rows if row.level != "ok"] == [
        ("doubtful", "operators")
    ]


def test_what_is_no_app(tmp_path: Path) -> None:
    with pytest.raises(ModelFormatError) as caught:
        examine_app("release.aab")
    assert "bundletool" in str(caught.value.fix)
    with pytest.raises(ModelFormatError):
        examine_app("release.zip")
    (tmp_path / "d.apk").mkdir()
    with pytest.raises(ModelFormatError, match="is a folder"):
        examine_app(tmp_path / "d.apk")
    (tmp_path / "f.app").write_bytes(b"")
    with pytest.raises(ModelFormatError, match="is a file"):
        examine_app(tmp_path / "f.app")
    for name in ("none.apk", "none.app", "none.xcframework"):
        with pytest.raises(FileError):
            examine_app(tmp_path / name)
    (tmp_path / "e.xcframework.zip").write_bytes(zipped({"a/b": b""}))
    with pytest.raises(ModelFormatError, match="0 XCFrameworks"):
        examine_app(tmp_path / "e.xcframework.zip")
    (tmp_path / "e.app").mkdir()
    assert not examine_app(tmp_path / "e.app").healthy


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("a.apk", android(b"no model")),
        ("a.ipa", below("Payload/A.app", apple(b"no model"))),
        ("a.xcframework.zip", below("a.xcframework", xcframework())),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_damaged_apps(tmp_path: Path, name: str, files: dict[str, bytes]) -> None:
    """Of a damaged archive, and of a whole one with a damaged file: a report, or one error."""
    r = random.Random(name)
    good = zipped(files, deflated=[*files][:1], alignment=ALIGNED)
    path = tmp_path / name
    refused = 0
    for number in range(300):
        if number % 2:
            damaged = _damaged(r, good, at_end=number % 4 == 1)
        else:
            victim = r.choice([*files])
            damaged = zipped({**files, victim: _damaged(r, files[victim])}, alignment=ALIGNED)
        path.write_bytes(damaged)
        try:
            report = examine_app(path)
            assert report.text()
            assert report.to_json()["healthy"] == report.healthy
        except SamaraError:
            refused += 1
    assert 10 < refused < 200
    assert [p.name for p in tmp_path.iterdir()] == [name]


def _damaged(r: random.Random, good: bytes, at_end: bool = False) -> bytes:
    data = bytearray(good)
    first = max(0, len(data) - 400) if at_end else 0
    for _ in range(r.randint(1, 6)):
        data[r.randrange(first, len(data))] = r.choice((0, 1, 0x7F, 0xFF, r.randrange(256)))
    return bytes(data[: r.randrange(len(data))] if r.random() < 0.1 else data)


@pytest.mark.slow
def test_a_library_that_was_built(
    tmp_path: Path,
    samara_path: Path,
    steered_path: Path,
    need_tool: Callable[[str, str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The AAR of one model, and an APK with its library: that model runs on it, another does not."""
    for subject, program in (("java", "javac"), ("clang", "clang-19"), ("clang", "ld.lld-19")):
        need_tool(subject, program)
    for variable in ("ANDROID_NDK_HOME", "ANDROID_NDK_ROOT", "ANDROID_NDK"):
        monkeypatch.delenv(variable, raising=False)
    aar = tmp_path / "a.aar"
    build_android([samara_path], out=aar, abis=["arm64-v8a"])
    report = examine_app(aar)
    assert [row for row in report.rows if row.level != "ok"] == []
    assert [(each.abi, each.operators > 0) for each in report.libraries] == [("arm64-v8a", True)]
    with zipfile.ZipFile(aar) as archive:
        built = archive.read("jni/arm64-v8a/libsamara_jni.so")
    files = {**android(samara_path.read_bytes()), JNI: built}
    files["assets/other.samara"] = steered_path.read_bytes()
    (tmp_path / "a.apk").write_bytes(zipped(files, alignment=ALIGNED))
    report = examine_app(tmp_path / "a.apk")
    assert [model.runs_on for model in report.models] == [("arm64-v8a",), ()]
    broken = [row for row in report.rows if row.level == "broken"]
    assert {(row.check, row.where) for row in broken} == {("operators", "assets/other.samara")}
    assert any("the library lacks operator" in row.said for row in broken)
