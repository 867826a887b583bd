# SPDX-License-Identifier: Apache-2.0
"""APKs and AARs: their native libraries and models, by the rules of Android's installer and loader."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from samara.exporter.doctor.app import android_lists as lists
from samara.exporter.doctor.app.android_library import (
    ALIGN,
    Found,
    loads_rows,
    machine_rows,
    pages_rows,
    place_in_archive_rows,
)
from samara.exporter.doctor.app.android_xml import Manifest, read_manifest
from samara.exporter.doctor.app.elf_dynamic import read_dynamic
from samara.exporter.doctor.app.entries import Entry, Files
from samara.exporter.doctor.app.models import model_entries
from samara.exporter.doctor.app.report import Level, Library, Row
from samara.exporter.package.selection import Selection
from samara.exporter.types import ModelFormatError

_PLACE: Final = {
    "apk": re.compile(r"lib/([^/]+)/([^/]+\.so)"),
    "aar": re.compile(r"jni/([^/]+)/([^/]+\.so)"),
}
_MODEL_ALIGNMENT: Final = 4
_CLASSES: Final = b"Ldev/samara/"


class AndroidApp:
    """An APK or AAR that is read: `rows`, `libraries` and `runtimes` collect the findings."""

    def __init__(self, kind: str, files: Files) -> None:
        self.kind, self.files = kind, files
        self.rows: list[Row] = []
        self.found: list[Found] = []
        self.manifest = self._manifest()
        for entry in files.entries.values():
            self._library(entry)
        self._by_abi()
        self._classes()
        for entry in model_entries(files.entries):
            self.rows += self._model_place(entry)

    @property
    def facts(self) -> dict[str, str]:
        """Facts about the app from its manifest."""
        m = self.manifest
        least = "" if m.min_sdk is None else str(m.min_sdk)
        named = {"package": m.package, "version": m.version, "minSdkVersion": least}
        return {name: value for name, value in named.items() if value}

    @property
    def libraries(self) -> list[Library]:
        return [
            Library(
                each.where,
                each.abi,
                each.entry.size_bytes,
                each.runtime.version if each.runtime else "",
                len(each.runtime.ops) if each.runtime else 0,
            )
            for each in self.found
        ]

    @property
    def runtimes(self) -> dict[str, Selection]:
        """The contents of the runtime by ABI, or by library if an ABI has several."""
        own = [each for each in self.found if each.runtime is not None]
        abis = [each.abi for each in own]
        return {
            each.abi if abis.count(each.abi) == 1 else each.where: each.runtime
            for each in own
            if each.runtime is not None
        }

    # ---- the parts ----

    def _manifest(self) -> Manifest:
        entry = self.files.entries.get("AndroidManifest.xml")
        if entry is None:
            said = f"there is no AndroidManifest.xml: this is not an {self.kind.upper()}"
            self.rows.append(Row("broken", "manifest", "", said))
            return Manifest()
        try:
            return read_manifest(entry.read())
        except ModelFormatError as error:
            self.rows.append(Row("doubtful", "manifest", entry.shown, error.message))
            return Manifest()

    def _library(self, entry: Entry) -> None:
        place = _PLACE[self.kind].fullmatch(entry.name)
        if place is None and not entry.name.endswith(".so"):
            return
        try:
            data = entry.read()
            facts = read_dynamic(data)
            runtime = Selection.of_binary(data, "the library's list of contents")
        except ModelFormatError as error:
            self.rows.append(
                Row("broken", "library", entry.shown, error.message, error.fix or "build it again")
            )
            return
        if place is None:
            said = f"a library outside of {'lib' if self.kind == 'apk' else 'jni'}/ABI/: Android does not load it"
            self.rows.append(Row("doubtful", "library", entry.shown, said))
            return
        one = Found(entry, place[1], place[2], facts, runtime)
        self.found.append(one)
        self.rows += machine_rows(one)
        self.rows += pages_rows(one)
        self.rows += loads_rows(one, self.manifest)
        if self.kind == "apk":
            self.rows += place_in_archive_rows(one, self.manifest)

    def _by_abi(self) -> None:
        for abi, members in _grouped(self.found).items():
            for one in members:
                self.rows += _needs(one, members, self.manifest, self.kind == "aar")
                if one.is_samara:
                    self.rows += _own(one, members)
            if self._has_classes() and not any(one.is_samara for one in members):
                said = (
                    "other libraries have this ABI and samara's does not: devices that choose it"
                    " cannot load samara"
                )
                fix = f"build samara for {abi} too (--abi), or leave the ABI out (ndk.abiFilters)"
                self.rows.append(Row("broken", "ABIs", abi, said, fix))
        self.rows += _abis(self.found)
        self.rows += _same(self.runtimes)

    def _has_classes(self) -> bool:
        """Whether the app is meant to contain samara: it has samara's classes, or a library of it."""
        return any(one.is_samara for one in self.found) or self._dex_names_samara() is True

    def _dex_names_samara(self) -> bool | None:
        """Whether the app's code names samara's classes; None if there is no readable code."""
        if self.kind == "aar":
            return None
        seen = None
        for name, entry in self.files.entries.items():
            if re.fullmatch(r"classes\d*\.dex", name):
                try:
                    if _CLASSES in entry.read():
                        return True
                    seen = False
                except ModelFormatError:
                    return None
        return seen

    def _classes(self) -> None:
        named = self._dex_names_samara()
        own = any(one.is_samara for one in self.found)
        if named and not self.found:
            said = "the app's code has samara's classes, and no native library is inside"
            fix = "package the AAR with its jni folder; check packaging excludes and ABI filters"
            self.rows.append(Row("broken", "classes", "", said, fix))
        elif own and named is False:
            said = "samara's library is inside, and no code names its classes dev.samara"
            fix = "keep the rules of the AAR's proguard.txt"
            self.rows.append(Row("doubtful", "classes", "", said, fix))

    def _model_place(self, entry: Entry) -> Iterator[Row]:
        """Whether a model can be mapped into memory without a copy."""
        if self.kind != "apk":
            return
        if not entry.is_stored:
            said = "compressed: it is unpacked into memory instead of being mapped"
            fix = 'androidResources { noCompress += "samara" } in the app\'s build.gradle'
            yield Row("doubtful", "model", entry.shown, said, fix)
        elif entry.offset is None or entry.offset % _MODEL_ALIGNMENT:
            said = f"stored at byte {entry.offset}, not a multiple of {_MODEL_ALIGNMENT}: it is copied, not mapped"
            yield Row("doubtful", "model", entry.shown, said, ALIGN)
        else:
            yield Row("ok", "model", entry.shown, "stored and aligned: it is mapped")


def _grouped(found: Sequence[Found]) -> dict[str, list[Found]]:
    groups: dict[str, list[Found]] = {}
    for one in found:
        groups.setdefault(one.abi, []).append(one)
    return groups


# ---- libraries beside each other ----


def _needs(one: Found, members: Sequence[Found], manifest: Manifest, in_aar: bool) -> Iterator[Row]:
    """Whether the libraries that one needs belong to the system, or lie beside it."""
    beside = {each.file for each in members} | {each.facts.soname for each in members}
    bad = False
    for name in one.facts.needed:
        least = lists.SYSTEM.get(name)
        if name in beside or name in manifest.vendor:
            continue
        if least is None:
            bad = True
            said = f"it needs {name}, which is neither in the app nor offered to apps by Android"
            level: Level = "doubtful" if in_aar else "broken"
            yield Row(
                level,
                "needed",
                one.where,
                said,
                f"package {name} for {one.abi}, or link it statically",
            )
        elif manifest.min_sdk is not None and manifest.min_sdk < least:
            bad = True
            said = f"it needs {name}, which exists from API level {least} on; minSdkVersion is {manifest.min_sdk}"
            yield Row(
                "broken", "needed", one.where, said, f"minSdk {least}, or open it with dlopen"
            )
    if not bad:
        yield Row("ok", "needed", one.where, f"needs {', '.join(one.facts.needed) or 'nothing'}")


def _own(one: Found, members: Sequence[Found]) -> Iterator[Row]:
    """For a library with samara: the system symbols that it uses, and its manifest."""
    others = frozenset[str]().union(*(m.facts.defined for m in members if m is not one))
    strange = sorted(
        name
        for name in set(one.facts.undefined) - lists.SYMBOLS - others
        if not name.startswith(lists.SYMBOLS_OF_ARM)
    )
    if strange:
        names = ", ".join(strange[:5]) + (
            f" and {len(strange) - 5} more" if len(strange) > 5 else ""
        )
        said = f"symbols that are not among those known of API level {lists.LEAST_API}: {names}"
        yield Row(
            "doubtful",
            "symbols",
            one.where,
            said,
            "run it on the oldest Android that the app is for",
        )
    else:
        said = f"{len(one.facts.undefined)} symbols, all of API level {lists.LEAST_API}"
        yield Row("ok", "symbols", one.where, said)
    if one.file == lists.JNI and "JNI_OnLoad" not in one.facts.defined:
        said = "it exports no JNI_OnLoad: the classes do not find their native methods"
        yield Row(
            "broken",
            "symbols",
            one.where,
            said,
            "link it with the version script of android/samara",
        )
    if one.runtime is None:
        said = "it does not say what it holds: built before samara 0.10.0, or changed since"
        yield Row(
            "doubtful",
            "contents",
            one.where,
            said,
            "build it with this samara, and strip symbols alone",
        )


def _abis(found: Sequence[Found]) -> Iterator[Row]:
    """Which ABIs the app has, and whether the set makes sense."""
    abis = list(dict.fromkeys(one.abi for one in found))
    if not abis:
        return
    absent = [abi for abi in lists.COMMON if abi not in abis]
    said = ", ".join(abis) + (f"; without {', '.join(absent)}" if absent else "")
    yield Row("ok", "ABIs", "", said)
    for narrow, wide in (("armeabi-v7a", "arm64-v8a"), ("x86", "x86_64")):
        if narrow in abis and wide not in abis:
            said = f"{narrow} is here without {wide}: app stores refuse such apps, and new devices run no 32-bit code"
            yield Row("doubtful", "ABIs", narrow, said, f"add {wide}")


def _same(runtimes: Mapping[str, Selection]) -> Iterator[Row]:
    """Whether all ABIs have the same runtime: a build's cache may contain an old one."""
    versions = {name: runtime.version for name, runtime in runtimes.items()}
    if len(set(versions.values())) > 1:
        said = ", ".join(f"{name} {version}" for name, version in versions.items())
        fix = "clean the app's build; take all ABIs from one AAR"
        yield Row("broken", "version", "", f"the ABIs have different versions: {said}", fix)
    elif len({frozenset(runtime.ops.items()) for runtime in runtimes.values()}) > 1:
        said = "the ABIs have different operators"
        yield Row("doubtful", "version", "", said, "build all ABIs at once")
