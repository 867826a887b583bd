# SPDX-License-Identifier: Apache-2.0
"""Check one native library of an Android app: machine, page size, storage, and the loader's rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from samara.exporter.doctor.app import android_lists as lists
from samara.exporter.doctor.app.android_xml import Manifest
from samara.exporter.doctor.app.elf_dynamic import ET_DYN, Dynamic
from samara.exporter.doctor.app.entries import Entry
from samara.exporter.doctor.app.report import Row
from samara.exporter.package.selection import Selection

_PAGE: Final = 16384
_SMALL_PAGE: Final = 4096
_OWN_NAME: Final = re.compile(r"libsamara\w*\.so")
_RELINK: Final = (
    "link it with -Wl,-z,max-page-size=16384 (the NDK's default from r28 on), or take a newer one"
)
ALIGN: Final = (
    "zipalign -P 16 -f 4 IN.apk OUT.apk before signing; Android's Gradle plugin does from 8.5.1 on"
)


@dataclass(slots=True)
class Found:
    """A native library that was read. runtime: the contents of its samara, None if it has none."""

    entry: Entry
    abi: str
    file: str
    facts: Dynamic
    runtime: Selection | None

    @property
    def where(self) -> str:
        return self.entry.shown

    @property
    def is_samara(self) -> bool:
        return self.runtime is not None or _OWN_NAME.fullmatch(self.file) is not None


def machine_rows(one: Found) -> Iterator[Row]:
    """Whether the library matches the ABI of its folder."""
    if one.abi not in lists.ABIS:
        known = ", ".join(lists.ABIS)
        yield Row("doubtful", "machine", one.where, f"Android has no ABI {one.abi}: it has {known}")
        return
    machine, bits = lists.ABIS[one.abi]
    facts = one.facts
    if (facts.machine, facts.bits) != (machine, bits):
        said = f"it is for {facts.machine} of {facts.bits} bits, {one.abi} is {machine} of {bits}"
        yield Row("broken", "machine", one.where, said, "build it for this ABI")
    elif facts.kind != ET_DYN:
        yield Row(
            "broken", "machine", one.where, "it is not a shared library", "link it with -shared"
        )
    else:
        yield Row("ok", "machine", one.where, f"{machine}, {bits} bits")


def pages_rows(one: Found) -> Iterator[Row]:
    """Whether devices with pages of 16 KiB, all of them 64-bit, can map it."""
    facts = one.facts
    least = _PAGE if facts.bits == 64 else _SMALL_PAGE
    if not facts.loads:
        yield Row("broken", "pages", one.where, "it has no segment to load", "build it again")
        return
    alignment = min(load.alignment for load in facts.loads)
    for load in facts.loads:
        if load.alignment < least or load.alignment & (load.alignment - 1):
            said = f"laid out for pages of {alignment} bytes; devices have {least}"
            yield Row("broken", "pages", one.where, said, _RELINK)
            return
        if (load.address - load.offset) % load.alignment:
            said = f"a segment at {load.address:#x} is not placed as its alignment demands"
            yield Row("broken", "pages", one.where, said, _RELINK)
            return
    yield Row("ok", "pages", one.where, f"laid out for pages of {alignment} bytes")


def loads_rows(one: Found, manifest: Manifest) -> Iterator[Row]:
    """What the loader of some Android version refuses."""
    facts = one.facts
    least = manifest.min_sdk
    if facts.has_text_relocations:
        said = "it has relocations in its code, which Android refuses"
        yield Row("broken", "loader", one.where, said, "compile all of it with -fPIC")
    if facts.executable_stack:
        said = "it asks for a stack that can be executed"
        yield Row("doubtful", "loader", one.where, said, "link it with -Wl,-z,noexecstack")
    if least is None:
        return
    needs = [
        (facts.least_api, "packed relocations (RELR)"),
        (29 * facts.has_tls, "thread-local data"),
    ]
    for api, what in needs:
        if least < api:
            said = f"{what} need API level {api}, the app's minSdkVersion is {least}"
            yield Row("broken", "loader", one.where, said, f"build it for API level {least}")
    if one.is_samara and least < lists.LEAST_API:
        said = f"it needs API level {lists.LEAST_API}, the app's minSdkVersion is {least}"
        fix = f"minSdk {lists.LEAST_API} in the app's build.gradle"
        yield Row("broken", "loader", one.where, said, fix)


def place_in_archive_rows(one: Found, manifest: Manifest) -> Iterator[Row]:
    """Whether the loader can map the library inside the APK."""
    entry = one.entry
    mapped = manifest.extracts is False
    if not entry.is_stored:
        said = "compressed, and android:extractNativeLibs is false: the app cannot be installed"
        if mapped:
            fix = "store libraries: packaging { jniLibs { useLegacyPackaging = false } }"
            yield Row("broken", "in the archive", one.where, said, fix)
        else:
            said = "compressed: it becomes a file when the app is installed"
            yield Row("ok", "in the archive", one.where, said)
        return
    page = _PAGE if one.facts.bits == 64 else _SMALL_PAGE
    if entry.offset is not None and entry.offset % page == 0:
        yield Row("ok", "in the archive", one.where, f"stored at a multiple of {page}")
        return
    said = f"stored at byte {entry.offset}, which is not a multiple of {page}"
    if mapped:
        yield Row("broken", "in the archive", one.where, f"{said}: it cannot be mapped", ALIGN)
    else:
        said += ": it becomes a file when the app is installed"
        yield Row("doubtful", "in the archive", one.where, said, ALIGN)
