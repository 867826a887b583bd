# SPDX-License-Identifier: Apache-2.0
"""Check XCFrameworks: whether the contents match Info.plist."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from samara.exporter.doctor.app.apple import (
    Part,
    install_rows,
    is_of_system,
    is_relative,
    parts_of,
    read_plist,
    slice_rows,
)
from samara.exporter.doctor.app.entries import Entry, Files
from samara.exporter.doctor.app.report import Level, Row
from samara.exporter.types import ModelFormatError

_PLATFORMS = ("ios", "macos", "tvos", "watchos", "xros")
_FIX = "make it again: samara build, xcodebuild -create-xcframework"


class XCFramework:
    """An XCFramework that is read, below `root` of the files."""

    def __init__(self, files: Files, root: str) -> None:
        self.rows: list[Row] = []
        self.parts: list[Part] = []
        self.entries = {
            name.removeprefix(root): entry
            for name, entry in files.entries.items()
            if name.startswith(root)
        }
        seen: dict[tuple[str, str], str] = {}
        listed = self._listed()
        for library in listed:
            self.rows += self._library(library, seen)
        self.rows += self._unlisted({_text(each, "LibraryIdentifier") for each in listed})
        if self.parts and not any(part.runtime for part in self.parts):
            said = "no library here says that it holds samara"
            fix = "build it with this samara, and strip symbols alone"
            self.rows.append(Row("doubtful", "contents", "", said, fix))

    @property
    def facts(self) -> dict[str, str]:
        """The slices."""
        return {"slices": str(len({part.entry.name for part in self.parts}))}

    def _listed(self) -> list[dict[str, Any]]:
        entry = self.entries.get("Info.plist")
        if entry is None:
            self._broken("", "there is no Info.plist: this is not an XCFramework")
            return []
        try:
            listed = read_plist(entry).get("AvailableLibraries")
        except ModelFormatError as error:
            self._broken(entry.shown, error.message)
            return []
        if not isinstance(listed, list) or not listed:
            self._broken(entry.shown, "it lists no AvailableLibraries")
            return []
        good = [each for each in listed if isinstance(each, dict)]
        if len(good) < len(listed):
            self._broken(entry.shown, "an entry of AvailableLibraries is not a dictionary")
        return good

    def _broken(self, where: str, said: str) -> None:
        self.rows.append(Row("broken", "Info.plist", where, said, _FIX))

    def _library(self, listed: dict[str, Any], seen: dict[tuple[str, str], str]) -> Iterator[Row]:
        identifier = _text(listed, "LibraryIdentifier")
        shown = identifier or "a library without LibraryIdentifier"
        wanted = _text(listed, "SupportedPlatform"), _text(listed, "SupportedPlatformVariant")
        if wanted in seen:
            said = f"it is for the same platform as {seen[wanted]}: Xcode refuses this"
            yield Row(
                "broken", "Info.plist", shown, said, "join the architectures with lipo -create"
            )
        seen.setdefault(wanted, shown)
        entry = self._binary(listed, identifier)
        if entry is None:
            said = f"the library {_text(listed, 'LibraryPath')} that is listed is not there"
            yield Row("broken", "library", shown, said, _FIX)
            return
        parts, faults = parts_of(entry)
        yield from faults
        self.parts += parts
        if not parts and not faults:
            yield Row("broken", "library", entry.shown, "it is not a Mach-O file", _FIX)
        yield from _architectures(listed, parts, entry.shown)
        for part in parts:
            yield from slice_rows(part)
            yield from install_rows(part)
            yield from _needed(part)
            yield from _platform(part, "-".join(filter(None, wanted)))
        yield from self._headers(listed, identifier, shown)

    def _binary(self, listed: dict[str, Any], identifier: str) -> Entry | None:
        """The file of a library; for a framework the file inside with the framework's name."""
        path = self._inside(identifier, _text(listed, "BinaryPath") or _text(listed, "LibraryPath"))
        if path is None:
            return None
        name, ending = posixpath.splitext(posixpath.basename(path))
        if ending == ".framework":
            tails = (name, f"Versions/A/{name}")
            found = (self.entries.get(f"{path}/{tail}") for tail in tails)
            return next((entry for entry in found if entry is not None), None)
        return self.entries.get(path)

    def _inside(self, identifier: str, path: str) -> str | None:
        """The path below the XCFramework; None if it leads out of it."""
        if not identifier or not path or "/" in identifier or identifier == "..":
            return None
        joined = posixpath.normpath(f"{identifier}/{path}")
        return joined if joined.startswith(f"{identifier}/") else None

    def _headers(self, listed: dict[str, Any], identifier: str, shown: str) -> Iterator[Row]:
        named = _text(listed, "HeadersPath")
        if not named:
            return
        folder = self._inside(identifier, named)
        inside = [n for n in self.entries if folder is not None and n.startswith(f"{folder}/")]
        if not inside:
            said = f"the headers {named} that are listed are not there"
            yield Row("broken", "headers", shown, said, _FIX)
        elif not any(posixpath.basename(n) == "module.modulemap" for n in inside):
            said = "there is no module.modulemap: Swift cannot import it"
            yield Row("doubtful", "headers", shown, said, "add a module map to the headers")
        else:
            count = sum(name.endswith(".h") for name in inside)
            yield Row("ok", "headers", shown, f"{count} headers and a module map")

    def _unlisted(self, listed: set[str]) -> Iterator[Row]:
        folders = {name.split("/")[0] for name in self.entries if "/" in name}
        for folder in sorted(folders - listed - {"_CodeSignature"}):
            if folder.startswith(_PLATFORMS):
                said = "Info.plist does not list it: Xcode does not see it"
                yield Row("doubtful", "Info.plist", folder, said, _FIX)


def _architectures(listed: dict[str, Any], parts: list[Part], where: str) -> Iterator[Row]:
    said_to_be = listed.get("SupportedArchitectures")
    names = {n for n in said_to_be if isinstance(n, str)} if isinstance(said_to_be, list) else set()
    has = {part.slice.cpu for part in parts}
    if parts and names != has:
        said = f"it has {_joined(has)}, Info.plist says {_joined(names)}"
        yield Row("broken", "machine", where, said, _FIX)
    elif parts:
        yield Row("ok", "machine", where, f"{_joined(has)}, as Info.plist says")


def _needed(part: Part) -> Iterator[Row]:
    """Whether the needed libraries belong to the system, or the app must supply them."""
    for name, is_weak in part.slice.needed:
        if not is_of_system(name):
            said = f"it needs {name}, which is not a library of the system"
            level: Level = "doubtful" if is_weak or is_relative(name) else "broken"
            yield Row(level, "needed", part.where, said, "link it statically, or give it as well")


def _platform(part: Part, wanted: str) -> Iterator[Row]:
    """Whether a slice is for the platform that the list names."""
    one = part.slice
    if not one.platform:
        said = "its objects do not name their system"
        fix = "compile them with a target such as arm64-apple-ios15.0"
        yield Row("doubtful", "platform", part.where, said, fix)
    elif one.platform != wanted:
        said = f"it is for {one.platform}, Info.plist says {wanted or 'nothing'}"
        yield Row("broken", "platform", part.where, said, _FIX)
    else:
        yield Row(
            "ok", "platform", part.where, f"{part.machine}, from {one.platform} {one.least} on"
        )


def _joined(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def _text(listed: dict[str, Any], key: str) -> str:
    value = listed.get(key)
    return value if isinstance(value, str) else ""
