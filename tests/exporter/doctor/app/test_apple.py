# SPDX-License-Identifier: Apache-2.0
"""Bundles of apps: programs, libraries, and what Info.plist says."""

from __future__ import annotations

import plistlib
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.doctor.app.made import fat, faults, macho, selection_text, written, zipped

from samara.exporter.doctor.app.apple import (
    AppleApp,
    libraries_of,
    parts_of,
    read_plist,
    root_of,
    runtimes_of,
    slice_rows,
)
from samara.exporter.doctor.app.entries import Entry, opened_files
from samara.exporter.types import ModelFormatError

INFO = {
    "CFBundleExecutable": "App",
    "CFBundleIdentifier": "dev.example",
    "CFBundleShortVersionString": "1.2",
    "MinimumOSVersion": "15.0",
}
PROGRAM = macho(payload=selection_text())
LIBRARY = macho(kind=6, install_name="@rpath/F.framework/F")
FRAMEWORK = "Frameworks/F.framework/F"


def entry(data: bytes, name: str = "App") -> Entry:
    return Entry(name, len(data), None, lambda: data)


def app(
    folder: Path, files: Mapping[str, bytes] | None = None, info: Mapping[str, Any] = INFO
) -> AppleApp:
    root = folder / "A.app"
    written(root, {"App": PROGRAM, "Info.plist": plistlib.dumps(info), **(files or {})})
    with opened_files(root) as found:
        return AppleApp(found, "")


def test_good_app(tmp_path: Path) -> None:
    program = macho(
        payload=selection_text(), needed=("/usr/lib/libSystem.B.dylib", "@rpath/F.framework/F")
    )
    made = app(tmp_path, {"App": program, FRAMEWORK: LIBRARY, "Assets.car": b"\0" * 100})
    assert faults(made) == []
    assert made.facts == {"bundle": "dev.example", "version": "1.2", "least system": "15.0"}
    assert [(each.name, each.abi) for each in libraries_of(made.parts)] == [
        ("App", "ios-arm64"),
        (FRAMEWORK, "ios-arm64"),
    ]
    assert [row.where for row in made.rows if row.check == "pages"] == ["App", FRAMEWORK]
    assert list(runtimes_of(made.parts)) == ["ios-arm64"]


def test_a_bundle_of_macos(tmp_path: Path) -> None:
    root = tmp_path / "A.app"
    info = {**INFO, "LSMinimumSystemVersion": "12.0"}
    del info["MinimumOSVersion"]
    both = fat(
        macho(platform=1, least=(12, 0), payload=selection_text()),
        macho("x86_64", platform=1, least=(12, 0), payload=selection_text()),
    )
    written(root / "Contents", {"Info.plist": plistlib.dumps(info), "MacOS/App": both})
    with opened_files(root) as files:
        made = AppleApp(files, "")
    assert faults(made) == []
    assert list(runtimes_of(made.parts)) == ["macos-arm64", "macos-x86_64"]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (macho(least=(16, 0), payload=selection_text()), ("broken", "least system")),
        (macho(page=4096, payload=selection_text()), ("broken", "pages")),
        (macho(needed=("@rpath/G.framework/G",), payload=selection_text()), ("broken", "needed")),
        (macho(needed=("/opt/lib/x.dylib",), payload=selection_text()), ("broken", "needed")),
        (macho(weak=("/opt/lib/x.dylib",), payload=selection_text()), ("doubtful", "needed")),
        (macho(crypt=1), ("doubtful", "contents")),
        (macho(), ("doubtful", "contents")),
        (macho(payload=selection_text())[:100], ("broken", "library")),
    ],
)
def test_what_is_wrong_with_a_program(
    tmp_path: Path, program: bytes, expected: tuple[str, str]
) -> None:
    found = faults(app(tmp_path, {"App": program}))
    assert expected in found
    # A program that cannot be read is missing as well.
    assert len(found) == (3 if expected == ("broken", "library") else 1)


def test_swift_of_the_system(tmp_path: Path) -> None:
    program = macho(needed=("@rpath/libswiftCore.dylib",), payload=selection_text())
    assert faults(app(tmp_path, {"App": program})) == []


def test_libraries_of_another_system(tmp_path: Path) -> None:
    other = macho(kind=6, platform=7, install_name="@rpath/F.framework/F")
    assert faults(app(tmp_path, {FRAMEWORK: other})) == [("broken", "platform")]


def test_install_names(tmp_path: Path) -> None:
    wrong = macho(kind=6, install_name="/Users/me/build/F")
    assert faults(app(tmp_path, {FRAMEWORK: wrong})) == [("broken", "install name")]
    assert faults(app(tmp_path, {FRAMEWORK: macho(kind=6)})) == [("broken", "install name")]


def test_info(tmp_path: Path) -> None:
    assert faults(app(tmp_path / "1", info={**INFO, "CFBundleExecutable": "Other"})) == [
        ("broken", "program")
    ]
    assert faults(app(tmp_path / "2", info={"MinimumOSVersion": 15})) == [("broken", "Info.plist")]
    assert faults(app(tmp_path / "3", {"Info.plist": b"<plist"})) == [("broken", "Info.plist")]
    odd = {**INFO, "MinimumOSVersion": "fifteen"}
    assert faults(app(tmp_path / "4", info=odd)) == []


def test_property_lists() -> None:
    for form in (plistlib.FMT_XML, plistlib.FMT_BINARY):
        assert read_plist(entry(plistlib.dumps(INFO, fmt=form))) == INFO
    for data in (b"", b"x", b"bplist00" + b"\xff" * 40, plistlib.dumps(["a"])):
        with pytest.raises(ModelFormatError):
            read_plist(entry(data))
    bomb = b'<?xml version="1.0"?><!DOCTYPE p [<!ENTITY a "b">]><plist><string>&a;</string></plist>'
    with pytest.raises(ModelFormatError):
        read_plist(entry(bomb))


def test_parts() -> None:
    assert parts_of(entry(b"text")) == ([], [])
    parts, rows = parts_of(entry(PROGRAM))
    assert rows == []
    assert [part.machine for part in parts] == ["ios-arm64"]
    assert [row.level for row in slice_rows(parts[0])] == ["ok"]
    parts, rows = parts_of(entry(PROGRAM[:100]))
    assert parts == []
    assert [row.level for row in rows] == ["broken"]


def test_where_an_archive_has_its_app(tmp_path: Path) -> None:
    def root(*names: str) -> str:
        (tmp_path / "a.ipa").write_bytes(zipped(dict.fromkeys(names, b"x")))
        with opened_files(tmp_path / "a.ipa") as files:
            return root_of(files.entries, "ipa")

    assert root("Payload/A.app/App", "Payload/A.app/Info.plist", "iTunesMetadata.plist") == (
        "Payload/A.app/"
    )
    for names in (("App",), ("Payload/A.app/x", "Payload/B.app/x"), ("Payload/A.app",)):
        with pytest.raises(ModelFormatError, match=r"apps in Payload"):
            root(*names)
    assert root_of({}, "app") == ""


SYSTEM = """--- !tapi-tbd
tbd-version: 4
targets: [ arm64-ios ]
install-name: /usr/lib/libSystem.B.dylib
exports:
  - targets: [ arm64-ios ]
    symbols: [ _puts, dyld_stub_binder ]
...
"""


def test_an_app_that_lld_linked(tmp_path: Path, need_tool: Callable[[str, str], str]) -> None:
    """A program and a framework, from the text of C sources on."""
    clang, lld = need_tool("clang", "clang-19"), need_tool("clang", "ld64.lld-19")
    text = selection_text().rstrip(b"\0").decode().replace("\n", "\\n")
    sources = {
        "F": f'const char *manifest(void) {{ return "{text}"; }}',
        "App": "int puts(const char *); const char *manifest(void);"
        " int main(void) { return puts(manifest()); }",
    }
    (tmp_path / "system.tbd").write_text(SYSTEM)
    root = tmp_path / "A.app"
    (root / "Frameworks/F.framework").mkdir(parents=True)
    (root / "Info.plist").write_bytes(plistlib.dumps(INFO))
    framework = root / FRAMEWORK
    kinds = {"F": ("-dylib", "-install_name", "@rpath/F.framework/F"), "App": (str(framework),)}
    for name, source in sources.items():
        (tmp_path / f"{name}.c").write_text(source + "\n")
        made = [str(tmp_path / f"{name}.o"), str(tmp_path / "system.tbd")]
        command = [clang, "--target=arm64-apple-ios15.0", "-c", str(tmp_path / f"{name}.c")]
        subprocess.run([*command, "-o", made[0]], check=True)
        out = framework if name == "F" else root / name
        link = [lld, "-arch", "arm64", "-platform_version", "ios", "15.0", "17.0", *kinds[name]]
        subprocess.run([*link, *made, "-o", str(out)], check=True)
    with opened_files(root) as files:
        found = AppleApp(files, "")
    assert faults(found) == []
    by_name = {part.where: part for part in found.parts}
    assert set(by_name) == {"App", FRAMEWORK}
    program, library = by_name["App"], by_name[FRAMEWORK]
    assert (program.runtime is None, library.runtime is None) == (True, False)
    assert ("@rpath/F.framework/F", False) in program.slice.needed
    assert library.slice.install_name == "@rpath/F.framework/F"
    assert program.slice.least == library.slice.least == "15.0"
    framework.unlink()
    with opened_files(root) as files:
        assert ("broken", "needed") in faults(AppleApp(files, ""))
