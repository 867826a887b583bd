# SPDX-License-Identifier: Apache-2.0
"""An AAR without Gradle: the classes of android/samara, and its native library for every ABI with what
given models need.
"""

from __future__ import annotations

import importlib.resources
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from samara.exporter.package import bionic, features
from samara.exporter.package.amalgamate import amalgamate
from samara.exporter.package.elf import Elf
from samara.exporter.package.java import find_jdk, jar, zipped
from samara.exporter.package.lists import lists
from samara.exporter.package.runtime_build import ANDROID_PAGE_BYTES, for_target
from samara.exporter.package.selection import Selection
from samara.exporter.package.targets import Target, find_target
from samara.exporter.package.toolchain import Toolchain, find_toolchain, names_ndk
from samara.pybridge import BackendError, UnsupportedError
from samara.pybridge import sources as runtime_sources
from samara.pybridge.atomic import put, replacing
from samara.pybridge.scratch import scratch_folder

# Android's names of its ABIs, in the order in which devices are many.
ABIS: Final = {
    "arm64-v8a": "aarch64-linux-android24",
    "armeabi-v7a": "armv7a-linux-androideabi24",
    "x86_64": "x86_64-linux-android24",
    "x86": "i686-linux-android24",
}
# What the Java classes offer of every model.
_FEATURES: Final = ("files", "callbacks", "threads", "metadata")
_LIBRARY: Final = "libsamara_jni.so"
_MIN_SDK: Final = 24
_SHOWN: Final = "{ global: JNI_OnLoad; JNI_OnUnload; local: *; };\n"


@dataclass(frozen=True, slots=True)
class AarReport:
    """What was built: the AAR, its native libraries with their bytes, the compilers, and what the user
    should know."""

    out: Path
    selection: Selection
    compilers: dict[str, str]
    files: dict[str, int]
    notes: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """The report as plain dicts, lists, strings and numbers."""
        return {
            "out": str(self.out),
            "target": "android",
            "compilers": self.compilers,
            "features": list(self.selection.features or ()),
            "operators": sorted(self.selection.ops),
            "files": self.files,
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """The report for a terminal."""
        s = self.selection
        lines = [f"{self.out}: samara {s.version} for Android {_MIN_SDK} and later"]
        lines += [f"  {abi}: {compiler}" for abi, compiler in self.compilers.items()]
        lines.append(f"  {len(s.ops)} operators, features: {', '.join(s.features or ())}")
        lines += [f"  {size:>11,}  {name}" for name, size in self.files.items()]
        lines.append(f"  Gradle: implementation files('libs/{self.out.name}')")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def android_sources() -> Path:
    """The folder android/ of a checkout, or its copy in an installed package. BackendError without."""
    here = Path(str(importlib.resources.files("samara.pybridge"))).resolve()
    for folder in (here / "android", here.parents[2] / "android"):
        if (folder / "samara").is_dir():
            return folder
    raise BackendError(
        f"the sources for Android are not in {here / 'android'}", fix="reinstall samara"
    )


def build_aar(
    selection: Selection,
    out: Path,
    *,
    abis: Sequence[str] | None = None,
    isa: Sequence[str] | None = None,
    wanted: Sequence[str] | None = None,
    opt: str = "s",
    ndk: str | os.PathLike[str] | None = None,
    say: Callable[[str], None] = lambda _text: None,
) -> AarReport:
    """Write the AAR `out` for the models of a selection, whole or not at all.

    abis: names of ABIS; default: all.
    wanted: features beside what models and classes need. UnsupportedError for an unknown ABI,
    BackendError for a compiler that is missing or fails.
    """
    jdk, root, has_ndk = find_jdk(), android_sources(), names_ndk(ndk)
    chosen = list(ABIS) if abis is None else list(abis)
    for abi in chosen:
        if abi not in ABIS:
            raise UnsupportedError(f"Android has no ABI {abi!r}", fix=f"it has {', '.join(ABIS)}")
    entries: dict[str, bytes] = _texts(root)
    compilers: dict[str, str] = {}
    done = selection
    with scratch_folder() as scratch:
        say("compiling the classes")
        jdk.compile(root / "stubs", scratch / "stubs")
        jdk.compile(
            root / "samara" / "src" / "main" / "java", scratch / "classes", [scratch / "stubs"]
        )
        entries["classes.jar"] = jar(scratch / "classes")
        for abi in chosen:
            target = find_target(ABIS[abi])
            folder = scratch / abi
            tools = _tools(target, root, folder, ndk, has_ndk)
            tools = replace(tools, say=_said_of(abi, say))
            done = _with_features(selection, target, isa, wanted)
            flags = (*tools.compile_flags(opt), *_hermetic(folder), *jdk.include_flags)
            made = _library(done, root, folder, tools=tools, flags=flags, opt=opt, own=not has_ndk)
            entries[f"jni/{abi}/{_LIBRARY}"] = made
            compilers[abi] = tools.version
    with replacing(out) as file:
        file.write(zipped(entries))
    files = {name: len(data) for name, data in entries.items() if name.endswith((".so", ".jar"))}
    return AarReport(out, done, compilers, files)


def _said_of(abi: str, say: Callable[[str], None]) -> Callable[[str], None]:
    return lambda text: say(f"{abi}: {text}")


def _texts(root: Path) -> dict[str, bytes]:
    """The entries that are copied."""
    manifest = (root / "samara" / "src" / "main" / "AndroidManifest.xml").read_text(
        encoding="utf-8"
    )
    # Gradle puts these in when it builds the module.
    manifest = re.sub(r"(<manifest\b[^>]*)>", rf'\1 package="dev.samara">\n  {_USES_SDK}', manifest)
    rules = (root / "samara" / "proguard.txt").read_bytes()
    return {"AndroidManifest.xml": manifest.encode(), "R.txt": b"", "proguard.txt": rules}


_USES_SDK: Final = f'<uses-sdk android:minSdkVersion="{_MIN_SDK}" />'


def _tools(
    target: Target, root: Path, folder: Path, ndk: str | os.PathLike[str] | None, has_ndk: bool
) -> Toolchain:
    if has_ndk:
        return find_toolchain(target, ndk=ndk)
    return bionic.clang_for(target, root / "bionic", folder)


def _hermetic(folder: Path) -> tuple[str, ...]:
    """Flags of every source: its headers, and sections that the linker can leave out."""
    return (f"-I{folder / 'include'}", "-ffunction-sections", "-fdata-sections")


def _with_features(
    selection: Selection, target: Target, isa: Sequence[str] | None, wanted: Sequence[str] | None
) -> Selection:
    """The selection for a target, with what the classes call."""
    own = selection.features or ()
    state = ("checkpoints",) if "state" in own else ()
    return for_target(selection, target, isa=isa, wanted=(*_FEATURES, *state, *(wanted or ())))


def _library(
    selection: Selection,
    root: Path,
    folder: Path,
    *,
    tools: Toolchain,
    flags: Sequence[str],
    opt: str,
    own: bool,
) -> bytes:
    """libsamara_jni.so with a runtime that holds the selection. own: the stubs say what may be called."""
    runtime = runtime_sources()
    if opt != "s":
        selection = replace(selection, portable=frozenset())
    text = amalgamate(
        lists(selection, runtime),
        exports=features.functions(selection.features or ()),
        sources=runtime,
        packs_texts=opt == "s",
    )
    put(folder / "include" / "samara" / "samara.h", text.header)
    for name, header in text.others.items():
        put(folder / "include" / "samara" / name, header)
    put(folder / "samara.c", text.source)
    put(folder / "shown", _SHOWN)
    objects = []
    jni = sorted((root / "samara" / "src" / "main" / "jni").glob("*.c"))
    arithmetic = [root / "bionic" / bionic.ARITHMETIC] if own else []
    for source in (folder / "samara.c", *jni, *arithmetic):
        objects.append(folder / f"{source.stem}.o")
        tools.compile(source, objects[-1], flags)
    made = folder / _LIBRARY
    libraries = (
        "-Wl,--gc-sections",
        f"-Wl,--version-script={folder / 'shown'}",
        *("-Wl,--as-needed", *(bionic.LIBRARIES if own else ("-lm", "-ldl", "-llog"))),
    )
    tools.link_shared(objects, made, libraries, strip=True)
    data = made.read_bytes()
    found = Elf(data, made.name).page_alignment()
    if found < ANDROID_PAGE_BYTES:
        raise BackendError(
            f"{made.name} is laid out for pages of {found} bytes, devices have {ANDROID_PAGE_BYTES}",
            fix="the linker must honour -z max-page-size: use lld",
        )
    return data
