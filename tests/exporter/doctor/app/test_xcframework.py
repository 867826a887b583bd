# SPDX-License-Identifier: Apache-2.0
"""XCFrameworks: what Info.plist lists, beside what is there."""

from __future__ import annotations

import plistlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.doctor.app.made import archive, fat, faults, macho, selection_text, written

from samara.exporter.doctor.app.entries import opened_files
from samara.exporter.doctor.app.xcframework import XCFramework

OBJECT = macho(kind=1, needed=(), payload=selection_text())
DEVICE = archive(OBJECT)
SIMULATOR = fat(
    archive(macho(kind=1, platform=7, needed=(), payload=selection_text())),
    archive(macho("x86_64", kind=1, platform=7, needed=(), payload=selection_text())),
)
LISTED: dict[str, Any] = {
    "LibraryIdentifier": "ios-arm64",
    "LibraryPath": "libsamara.a",
    "HeadersPath": "Headers",
    "SupportedArchitectures": ["arm64"],
    "SupportedPlatform": "ios",
}
OTHER: dict[str, Any] = {
    "LibraryIdentifier": "ios-arm64_x86_64-simulator",
    "LibraryPath": "libsamara.a",
    "SupportedArchitectures": ["arm64", "x86_64"],
    "SupportedPlatform": "ios",
    "SupportedPlatformVariant": "simulator",
}
FILES = {
    "ios-arm64/libsamara.a": DEVICE,
    "ios-arm64/Headers/samara/samara.h": b"",
    "ios-arm64/Headers/samara/module.modulemap": b"",
    "ios-arm64_x86_64-simulator/libsamara.a": SIMULATOR,
}


def made(folder: Path, files: Mapping[str, bytes] = FILES, *listed: object) -> XCFramework:
    root = folder / "x.xcframework"
    info = plistlib.dumps({"AvailableLibraries": list(listed or (LISTED, OTHER))})
    written(root, {"Info.plist": info, **files})
    with opened_files(root) as found:
        return XCFramework(found, "")


def test_good(tmp_path: Path) -> None:
    found = made(tmp_path)
    assert faults(found) == []
    assert found.facts == {"slices": "2"}
    assert [part.machine for part in found.parts] == [
        "ios-arm64",
        "ios-arm64-simulator",
        "ios-x86_64-simulator",
    ]
    assert all(part.runtime is not None for part in found.parts)


@pytest.mark.parametrize(
    ("name", "needed", "expected"),
    [
        ("@rpath/F.framework/F", "/usr/lib/libSystem.B.dylib", []),
        ("@rpath/F.framework/F", "@rpath/G.framework/G", [("doubtful", "needed")]),
        ("@rpath/F.framework/F", "/opt/lib/libx.dylib", [("broken", "needed")]),
        ("/Users/me/F", "/usr/lib/libSystem.B.dylib", [("broken", "install name")]),
    ],
)
def test_a_framework(
    tmp_path: Path, name: str, needed: str, expected: list[tuple[str, str]]
) -> None:
    listed = {**LISTED, "LibraryPath": "F.framework", "HeadersPath": ""}
    library = macho(kind=6, install_name=name, needed=(needed,), payload=selection_text())
    assert faults(made(tmp_path, {"ios-arm64/F.framework/F": library}, listed)) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"LibraryPath": "libother.a"}, ("broken", "library")),
        ({"LibraryPath": "../ios-arm64_x86_64-simulator/libsamara.a"}, ("broken", "library")),
        ({"LibraryPath": "/etc/passwd"}, ("broken", "library")),
        ({"LibraryPath": 7}, ("broken", "library")),
        ({"HeadersPath": "Include"}, ("broken", "headers")),
        ({"SupportedArchitectures": ["arm64", "x86_64"]}, ("broken", "machine")),
        ({"SupportedArchitectures": "arm64"}, ("broken", "machine")),
        ({"SupportedPlatform": "macos"}, ("broken", "platform")),
    ],
)
def test_a_list_that_is_wrong(
    tmp_path: Path, change: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert faults(made(tmp_path, FILES, {**LISTED, **change}, OTHER)) == [expected]


def test_what_no_list_names(tmp_path: Path) -> None:
    assert faults(made(tmp_path, FILES, LISTED)) == [("doubtful", "Info.plist")]


def test_twice_the_same_platform(tmp_path: Path) -> None:
    files = {**FILES, "ios-arm64e/libsamara.a": DEVICE}
    again = {**LISTED, "LibraryIdentifier": "ios-arm64e", "HeadersPath": ""}
    assert faults(made(tmp_path, files, LISTED, OTHER, again)) == [("broken", "Info.plist")]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"ios-arm64/libsamara.a": b"text"}, ("broken", "library")),
        ({"ios-arm64/libsamara.a": DEVICE[:200]}, ("broken", "library")),
        ({"ios-arm64/libsamara.a": archive(macho(kind=1, platform=7))}, ("broken", "platform")),
    ],
)
def test_libraries_that_are_wrong(
    tmp_path: Path, change: dict[str, bytes], expected: tuple[str, str]
) -> None:
    assert faults(made(tmp_path, {**FILES, **change})) == [expected]


def test_no_list(tmp_path: Path) -> None:
    for info in (b"x", plistlib.dumps({}), plistlib.dumps({"AvailableLibraries": []})):
        found = made(tmp_path, {**FILES, "Info.plist": info})
        assert ("broken", "Info.plist") in faults(found)
    assert ("broken", "Info.plist") in faults(made(tmp_path, FILES, LISTED, OTHER, "text"))


def test_nothing_says_what_it_holds(tmp_path: Path) -> None:
    files = {"ios-arm64/libsamara.a": archive(macho(kind=1))}
    listed = {**LISTED, "HeadersPath": ""}
    assert faults(made(tmp_path, files, listed)) == [("doubtful", "contents")]
