# SPDX-License-Identifier: Apache-2.0
"""A runtime as a Swift package, `Samara`: its API in Swift over the C sources that the models need.

Nothing is compiled here: the app's build does that, for devices, simulators and Macs alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from samara.exporter.package import dist
from samara.exporter.package import features as feature_table
from samara.exporter.package.amalgamate import amalgamate
from samara.exporter.package.lists import lists
from samara.exporter.package.selection import ISA_NAMES, Selection, runtime_version
from samara.exporter.types import UnsupportedError
from samara.pybridge import sources, swift_sources
from samara.pybridge.atomic import put

# What the Swift code calls, whatever the models need of it.
FEATURES = (
    *("files", "metadata", "selftest", "threads", "state", "checkpoints", "bind", "keep"),
    *("profile", "async", "images", "audio", "answers"),
)
# Of arm64 devices and Macs, and of Macs and simulators with x86-64; neon-fp16 joins for float16 data.
_ISA = ("avx2", "avx512", "avx512-vnni", "neon", "neon-dot", "neon-i8mm")
_TESTS = re.compile(r"^ *\.testTarget\(.*\),\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SwiftPackage:
    """What was written: the folder, and its files with their bytes."""

    out: Path
    selection: Selection
    files: dict[str, int]
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """For a terminal."""
        s = self.selection
        lines = [f"{self.out}: samara {s.version} as a Swift package for iOS, macOS and Linux"]
        lines.append(f"  {len(s.ops)} operators, instruction sets {', '.join((s.floor, *s.isa))}")
        lines += [f"  {size:>11,}  {name}" for name, size in self.files.items()]
        lines.append(f'  in Package.swift: .package(path: "{self.out.name}")')
        lines.append(f"  in Xcode: File, Add Package Dependencies, Add Local, {self.out.name}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def to_json(self) -> dict[str, Any]:
        """As plain dicts, lists, strings and numbers."""
        return {
            "out": str(self.out),
            "target": self.selection.target,
            "isa": list(self.selection.isa),
            "operators": sorted(self.selection.ops),
            "files": self.files,
            "notes": list(self.notes),
        }


def write(
    selection: Selection,
    out: Path,
    *,
    isa: Sequence[str] | None = None,
    custom: Sequence[Path] = (),
) -> SwiftPackage:
    """Write a Swift package with the operators of `selection` into the folder `out`.

    isa: instruction sets above portable C; default: all of arm64 and x86-64. The folder appears whole
    or not at all. UnsupportedError for custom operators, which Swift has no way to hand over, and for
    names that are not known.
    """
    if custom:
        raise UnsupportedError(
            "a Swift package takes no custom operators",
            fix="leave out --custom, or add the files of --single-file to the app",
        )
    whole = _completed(selection, isa)
    root = sources()
    amalgam = amalgamate(
        lists(whole, root), exports=feature_table.functions(FEATURES), sources=root
    )
    with dist.whole_folder(out) as folder:
        _copy_swift(swift_sources(), folder)
        c = "Sources/CSamara"
        put(folder / c / "samara.c", amalgam.source)
        put(folder / c / "include" / "samara" / "samara.h", amalgam.header)
        for name, text in amalgam.others.items():
            put(folder / c / "include" / "samara" / name, text)
        put(folder / dist.MANIFEST, whole.text())
        files = {
            path.relative_to(folder).as_posix(): path.stat().st_size
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
    return SwiftPackage(out=out, selection=whole, files=files)


def _completed(selection: Selection, isa: Sequence[str] | None) -> Selection:
    """`selection` for all of Apple's machines at once, with what the Swift code calls."""
    if isa is None:
        float16 = any(types is None or "float16" in types for types in selection.ops.values())
        isa = (*_ISA, "neon-fp16") if float16 else _ISA
    for each in isa:
        if each not in ISA_NAMES:
            raise UnsupportedError(
                f"there is no instruction set {each!r}", fix=f"there are {', '.join(ISA_NAMES)}"
            )
    names = feature_table.closed(FEATURES)
    return replace(
        selection,
        target="swift",
        version=runtime_version(),
        isa=tuple(each for each in ISA_NAMES if each in isa and each != "scalar"),
        floor="scalar",
        features=tuple(name for name in names if name != "core"),
        parts=None if selection.parts is None else selection.parts | feature_table.parts(names),
    )


def _copy_swift(ios: Path, folder: Path) -> None:
    """The package's own files, without what tests it."""
    put(folder / "Package.swift", _TESTS.sub("", (ios / "Package.swift").read_text("utf-8")))
    for path in sorted((ios / "Sources").rglob("*")):
        # A checkout may have been filled for its own tests.
        if path.is_file() and "samara" not in (path.parent.name, path.stem):
            put(folder / path.relative_to(ios), path.read_bytes())
