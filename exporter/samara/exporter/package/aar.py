# SPDX-License-Identifier: Apache-2.0
"""Build an AAR without Gradle: the classes of android/samara, and for every ABI its native library with what
given models need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from samara.exporter.package import bionic, features
from samara.exporter.package.aar_texts import ARTIFACT, GROUP, MIN_SDK, maven_files, texts
from samara.exporter.package.aar_tools import ABIS as ABIS
from samara.exporter.package.aar_tools import AarTools, isa_of
from samara.exporter.package.aar_tools import android_sources as android_sources
from samara.exporter.package.amalgamate import amalgamate
from samara.exporter.package.elf import Elf
from samara.exporter.package.java import zipped
from samara.exporter.package.lists import lists
from samara.exporter.package.runtime_build import ANDROID_PAGE_BYTES, for_target
from samara.exporter.package.selection import Selection
from samara.exporter.package.targets import Target
from samara.pybridge import BackendError
from samara.pybridge import sources as runtime_sources
from samara.pybridge.atomic import make_folder, put, replacing, write_bytes
from samara.pybridge.scratch import scratch_folder

# Features that the Java classes offer for every model.
_FEATURES: Final = ("files", "callbacks", "threads", "metadata")
LIBRARY: Final = "libsamara_jni.so"
_SHOWN: Final = "{ global: JNI_OnLoad; JNI_OnUnload; local: *; };\n"


@dataclass(frozen=True, slots=True)
class AarReport:
    """The result: the AAR, its native libraries with their bytes, the compilers, and remarks for the user.

    classes: what the Java classes were compiled against. maven: the folder of the repository that also
    has the AAR.
    """

    out: Path
    selection: Selection
    compilers: dict[str, str]
    files: dict[str, int]
    classes: str = ""
    maven: Path | None = None
    notes: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """The report as plain dicts, lists, strings and numbers."""
        return {
            "out": str(self.out),
            "target": "android",
            "compilers": self.compilers,
            "classes": self.classes,
            "maven": None if self.maven is None else str(self.maven),
            "features": list(self.selection.features or ()),
            "operators": sorted(self.selection.ops),
            "files": self.files,
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """The report for a terminal."""
        s = self.selection
        lines = [f"{self.out}: samara {s.version} for Android, from API level {MIN_SDK} on"]
        lines.append(f"  classes against {self.classes}")
        lines += [f"  {abi}: {compiler}" for abi, compiler in self.compilers.items()]
        lines.append(f"  {len(s.ops)} operators, features: {', '.join(s.features or ())}")
        lines += [f"  {size:>11,}  {name}" for name, size in self.files.items()]
        name = (
            f"'{GROUP}:{ARTIFACT}:{s.version}'" if self.maven else f"files('libs/{self.out.name}')"
        )
        lines.append(f"  Gradle: implementation {name}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def build_aar(
    selection: Selection,
    out: Path,
    *,
    tools: AarTools,
    isa: Sequence[str] | None = None,
    wanted: Sequence[str] | None = None,
    opt: str = "s",
    maven: Path | None = None,
    say: Callable[[str], None] = lambda _text: None,
) -> AarReport:
    """Write the AAR `out` for the models of a selection, as a whole or not at all.

    isa: each ABI takes those that it has, or its default if it has none of them. wanted: features in
    addition to those of models and classes. maven: a folder that becomes a Maven repository with the
    AAR. UnsupportedError for an unknown feature, BackendError if a compiler fails.
    """
    libraries: dict[str, bytes] = {}
    compilers: dict[str, str] = {}
    done = selection
    with scratch_folder() as scratch:
        say("compiling the classes")
        classes = tools.classes(scratch)
        for abi, target in tools.targets.items():
            done = _with_features(selection, target, isa_of(target, isa), wanted)
            made = _Library(done, tools, scratch / abi, opt, _said_of(abi, say))
            libraries[f"jni/{abi}/{LIBRARY}"] = made.build()
            compilers[abi] = made.chain.version
    written = texts(tools.root / "samara", has_opencl="opencl" in (done.features or ()))
    entries = {**written, "classes.jar": classes, **libraries}
    packed = zipped(entries)
    with replacing(out) as file:
        file.write(packed)
    if maven is not None:
        for name, data in maven_files(done.version, packed).items():
            make_folder((maven / name).parent)
            write_bytes(maven / name, data)
    sizes = {name: len(data) for name, data in entries.items() if name.endswith((".so", ".jar"))}
    against = "samara's own declarations" if tools.platform is None else str(tools.platform)
    return AarReport(out, done, compilers, sizes, against, maven)


def _said_of(abi: str, say: Callable[[str], None]) -> Callable[[str], None]:
    return lambda text: say(f"{abi}: {text}")


def _with_features(
    selection: Selection, target: Target, isa: Sequence[str] | None, wanted: Sequence[str] | None
) -> Selection:
    """The selection for a target, with the features that the classes call."""
    own = selection.features or ()
    state = ("checkpoints",) if "state" in own else ()
    return for_target(selection, target, isa=isa, wanted=(*_FEATURES, *state, *(wanted or ())))


class _Library:
    """libsamara_jni.so of one ABI, with a runtime that contains a selection."""

    def __init__(
        self,
        selection: Selection,
        tools: AarTools,
        folder: Path,
        opt: str,
        say: Callable[[str], None],
    ) -> None:
        self.tools, self.folder, self.opt = tools, folder, opt
        self.selection = selection if opt == "s" else replace(selection, portable=frozenset())
        target = tools.targets[folder.name]
        self.chain = replace(tools.for_target(target, folder), say=say)

    def build(self) -> bytes:
        """The file, with segments aligned for all devices."""
        self._write_runtime()
        made = self.folder / LIBRARY
        libraries = bionic.LIBRARIES if self.tools.own else ("-lm", "-ldl", "-llog")
        shown = f"-Wl,--version-script={self.folder / 'shown'}"
        flags = ("-Wl,--gc-sections", shown, "-Wl,--as-needed", *libraries)
        self.chain.link_shared(self._objects(), made, flags, strip=True)
        data = made.read_bytes()
        found = Elf(data, made.name).page_alignment()
        if found < ANDROID_PAGE_BYTES:
            raise BackendError(
                f"{made.name} is laid out for pages of {found} bytes, devices have"
                f" {ANDROID_PAGE_BYTES}",
                fix="the linker must honour -z max-page-size: use lld",
            )
        return data

    def _write_runtime(self) -> None:
        runtime = runtime_sources()
        text = amalgamate(
            lists(self.selection, runtime),
            exports=features.functions(self.selection.features or ()),
            sources=runtime,
            packs_texts=self.opt == "s",
        )
        headers = {"samara.h": text.header, **text.others}
        for name, header in headers.items():
            put(self.folder / "include" / "samara" / name, header)
        put(self.folder / "samara.c", text.source)
        put(self.folder / "shown", _SHOWN)

    def _objects(self) -> list[Path]:
        root, own = self.tools.root, self.tools.own
        jni = sorted((root / "samara" / "src" / "main" / "jni").glob("*.c"))
        arithmetic = [root / "bionic" / bionic.ARITHMETIC] if own else []
        # The NDK has its own jni.h. The linker drops unused sections.
        flags = (
            *self.chain.compile_flags(self.opt),
            f"-I{self.folder / 'include'}",
            *(self.tools.jdk.include_flags if own else ()),
            *("-ffunction-sections", "-fdata-sections"),
        )
        objects = []
        for source in (self.folder / "samara.c", *jni, *arithmetic):
            objects.append(self.folder / f"{source.stem}.o")
            self.chain.compile(source, objects[-1], flags)
        return objects
