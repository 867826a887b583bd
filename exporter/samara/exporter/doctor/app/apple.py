# SPDX-License-Identifier: Apache-2.0
"""Check apps for Apple's systems: programs and libraries of a bundle, by the rules of the loader."""

from __future__ import annotations

import plistlib
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from xml.parsers.expat import ExpatError

from samara.exporter.doctor.app.entries import Entry, Files
from samara.exporter.doctor.app.macho import MH_DYLIB, MH_EXECUTE, Slice, is_macho, slices
from samara.exporter.doctor.app.report import Library, Row
from samara.exporter.package.selection import Selection
from samara.exporter.types import ModelFormatError

_PAGE: Final = 16384
_HEAD: Final = 8
_OF_SYSTEM: Final = ("/usr/lib/", "/System/Library/", "/System/iOSSupport/")
_RELATIVE: Final = ("@rpath/", "@executable_path/", "@loader_path/")
# From iOS 12.2 on Swift's libraries belong to the system; for older systems they are named by @rpath.
_SWIFT: Final = "@rpath/libswift"
_MOST_PLIST: Final = 1 << 24

Plist = dict[str, Any]


@dataclass(slots=True)
class Part:
    """One slice of a file. runtime: the contents of its samara, None if it has none."""

    entry: Entry
    slice: Slice
    runtime: Selection | None

    @property
    def where(self) -> str:
        return self.entry.shown

    @property
    def machine(self) -> str:
        """The platform as `ios-arm64`, `ios-arm64-simulator`."""
        system, _, variant = self.slice.platform.partition("-")
        return "-".join(filter(None, (system or "unknown", self.slice.cpu, variant)))


def read_plist(entry: Entry) -> Plist:
    """A property list, XML or binary. ModelFormatError if it cannot be read, or is not a dictionary."""
    if entry.size_bytes > _MOST_PLIST:
        raise ModelFormatError(f"{entry.shown} is too large for a property list")
    data = entry.read()
    try:
        if b"<!ENTITY" in data:
            raise ValueError("a property list has no entities")
        found = plistlib.loads(data)
    except (
        *(plistlib.InvalidFileException, ExpatError, ValueError, LookupError, OverflowError),
        *(TypeError, AttributeError, RecursionError, MemoryError, OSError),
    ):
        raise ModelFormatError(f"{entry.shown} is not a readable property list") from None
    if not isinstance(found, dict):
        raise ModelFormatError(f"{entry.shown} is not a dictionary")
    return found


def parts_of(entry: Entry) -> tuple[list[Part], list[Row]]:
    """The slices of a file (none if it is not a program), and what is wrong with it."""
    try:
        if not is_macho(entry.head(_HEAD)):
            return [], []
        found = slices(entry.read())
        parts = [
            Part(entry, one, Selection.of_binary(one.data, "the list of contents")) for one in found
        ]
    except ModelFormatError as error:
        return [], [
            Row("broken", "library", entry.shown, error.message, error.fix or "build it again")
        ]
    return parts, []


def libraries_of(parts: list[Part]) -> list[Library]:
    """The rows of the table of libraries."""
    return [
        Library(
            part.where,
            part.machine,
            part.slice.size_bytes,
            part.runtime.version if part.runtime else "",
            len(part.runtime.ops) if part.runtime else 0,
        )
        for part in parts
    ]


def runtimes_of(parts: list[Part]) -> dict[str, Selection]:
    """The contents of the runtime by machine, or by file and machine if a machine has several."""
    own = [part for part in parts if part.runtime is not None]
    machines = [part.machine for part in own]
    return {
        part.machine
        if machines.count(part.machine) == 1
        else f"{part.where} {part.machine}": part.runtime
        for part in own
        if part.runtime is not None
    }


class AppleApp:
    """A bundle `NAME.app` that is read, below `root` of the files."""

    def __init__(self, files: Files, root: str) -> None:
        self.rows: list[Row] = []
        self.parts: list[Part] = []
        self.entries = {
            name.removeprefix(root): entry
            for name, entry in files.entries.items()
            if name.startswith(root)
        }
        self.info = self._info()
        for entry in self.entries.values():
            parts, faults = parts_of(entry)
            self.parts += parts
            self.rows += faults
        self.main = self._main()
        for part in self.parts:
            self.rows += self._part(part)
        if not any(part.runtime for part in self.parts) and not any(
            p.slice.is_encrypted for p in self.parts
        ):
            said = "no program or library here says that it holds samara"
            fix = "link samara into the app; one built before samara 0.10.0 may not say it"
            self.rows.append(Row("doubtful", "contents", "", said, fix))

    @property
    def facts(self) -> dict[str, str]:
        """Facts about the app from Info.plist."""
        keys = {
            "CFBundleIdentifier": "bundle",
            "CFBundleShortVersionString": "version",
            "MinimumOSVersion": "least system",
            "LSMinimumSystemVersion": "least system",
        }
        return {
            keys[key]: (value)
            for key, value in self.info.items()
            if key in keys and isinstance(value, str) and value
        }

    def _info(self) -> Plist:
        for name in ("Info.plist", "Contents/Info.plist"):
            if name in self.entries:
                try:
                    return read_plist(self.entries[name])
                except ModelFormatError as error:
                    self.rows.append(Row("broken", "Info.plist", name, error.message))
                    return {}
        self.rows.append(
            Row(
                "broken",
                "Info.plist",
                "",
                "Info.plist is missing: this is not the bundle of an app",
            )
        )
        return {}

    def _main(self) -> list[Part]:
        """The slices of the app's program."""
        name = self.info.get("CFBundleExecutable")
        if not isinstance(name, str) or not name:
            if self.info:
                said = "it names no CFBundleExecutable"
                self.rows.append(Row("broken", "Info.plist", "", said))
            return []
        found = [p for p in self.parts if p.entry is self._program(name)]
        if not found:
            said = f"Info.plist names the program {name}, which is missing or not a program"
            self.rows.append(Row("broken", "program", "", said, "build the app's target"))
        return found

    def _program(self, name: str) -> Entry | None:
        return self.entries.get(name) or self.entries.get(f"Contents/MacOS/{name}")

    def _part(self, part: Part) -> Iterator[Row]:
        yield from slice_rows(part)
        yield from self._system(part)
        yield from self._needed(part)
        yield from install_rows(part)

    def _system(self, part: Part) -> Iterator[Row]:
        """Whether the part is for the app's system, and does not need a newer version of it."""
        one = part.slice
        platforms = {p.slice.platform for p in self.main}
        if part.slice.platform and platforms and one.platform not in platforms:
            said = f"it is for {one.platform}, the app for {', '.join(sorted(platforms))}"
            fix = "link the slice of an xcframework that is for this platform"
            yield Row("broken", "platform", part.where, said, fix)
            return
        least = _version(self.info.get("MinimumOSVersion", self.info.get("LSMinimumSystemVersion")))
        if least is not None and one.minimum > least:
            said = (
                f"it needs {one.platform} {one.least}, but Info.plist allows {least[0]}.{least[1]}"
            )
            fix = (
                f"raise the deployment target to {one.least}, or build it for {least[0]}.{least[1]}"
            )
            yield Row("broken", "least system", part.where, said, fix)
        elif one.platform:
            said = f"{part.machine}, from {one.platform} {one.least} on"
            yield Row("ok", "platform", part.where, said)

    def _needed(self, part: Part) -> Iterator[Row]:
        """Whether the libraries of a part belong to the system, or are in the bundle."""
        bad = False
        for name, is_weak in part.slice.needed:
            if is_of_system(name) or self._is_inside(name):
                continue
            bad = True
            where = (
                "not in the app" if is_relative(name) else "at a path of the machine that built it"
            )
            said = f"it needs {name}, which is {where}"
            fix = "embed it (Frameworks, Embed & Sign), or link it statically"
            yield Row("doubtful" if is_weak else "broken", "needed", part.where, said, fix)
        if not bad and part.slice.needed:
            yield Row("ok", "needed", part.where, f"{len(part.slice.needed)} libraries, all found")

    def _is_inside(self, name: str) -> bool:
        """Whether a library with a relative path is anywhere in the bundle."""
        start = next((s for s in _RELATIVE if name.startswith(s)), None)
        if start is None:
            return False
        tail = posixpath.normpath(name.removeprefix(start))
        while tail.startswith("../"):
            tail = tail[3:]
        # On macOS a framework is also found through links, which are not among the entries.
        short = posixpath.basename(tail)
        return any(
            entry == tail or entry.endswith((f"/{tail}", f"/{short}")) for entry in self.entries
        )


def slice_rows(part: Part) -> Iterator[Row]:
    """Check one slice: its page size, and whether it can be read."""
    one = part.slice
    if one.is_encrypted:
        said = "it is encrypted by the app store: what it holds cannot be read"
        yield Row("doubtful", "contents", part.where, said, "examine the build that was uploaded")
    if one.cpu.startswith("arm64") and one.pages and one.kind in (MH_EXECUTE, MH_DYLIB):
        if one.pages < _PAGE:
            said = f"laid out for pages of {one.pages} bytes; the system has {_PAGE}"
            yield Row("broken", "pages", part.where, said, "link it with Apple's linker, or lld")
        else:
            yield Row("ok", "pages", part.where, f"laid out for pages of {_PAGE} bytes")


def install_rows(part: Part) -> Iterator[Row]:
    """Whether programs look for a library at a path that an app can have."""
    one = part.slice
    if one.kind == MH_DYLIB and not one.install_name.startswith((*_RELATIVE, *_OF_SYSTEM)):
        said = f"its install name is {one.install_name or 'empty'}: programs look for it there"
        fix = "link it with -install_name @rpath/NAME"
        yield Row("broken", "install name", part.where, said, fix)


def is_of_system(name: str) -> bool:
    """Whether a needed library belongs to the system."""
    return name.startswith((*_OF_SYSTEM, _SWIFT))


def is_relative(name: str) -> bool:
    """Whether a needed library is looked for inside the app."""
    return name.startswith(_RELATIVE)


def _version(value: object) -> tuple[int, int] | None:
    if not isinstance(value, str):
        return None
    parts = value.split(".")
    if not all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts):
        return None
    return int(parts[0]), int(parts[1]) if len(parts) > 1 else 0


def root_of(names: Mapping[str, Entry], kind: str) -> str:
    """The bundle's folder: below Payload/ in an IPA. ModelFormatError if there is none."""
    if kind != "ipa":
        return ""
    roots = {
        "/".join(parts[:2]) + "/"
        for name in names
        if len(parts := name.split("/")) > 2 and parts[0] == "Payload" and parts[1].endswith(".app")
    }
    if len(roots) != 1:
        raise ModelFormatError(
            f"there are {len(roots)} apps in Payload/, expected one",
            fix="export the archive again",
        )
    return roots.pop()
