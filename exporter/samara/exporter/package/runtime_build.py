# SPDX-License-Identifier: Apache-2.0
"""Build the runtime of a selection for one target: libraries, header, programs, size bill."""

from __future__ import annotations

import json
import plistlib
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from samara.exporter.package import dist, features
from samara.exporter.package.amalgamate import Amalgam, amalgamate
from samara.exporter.package.elf import Elf
from samara.exporter.package.lists import lists
from samara.exporter.package.selection import Selection, runtime_version
from samara.exporter.package.size_bill import SizeBill, size_bill, symbol_files, totals_only
from samara.exporter.package.targets import Target, choose_isa
from samara.exporter.package.toolchain import Toolchain
from samara.exporter.types import BackendError, UnsupportedError
from samara.pybridge import sources as runtime_sources
from samara.pybridge.atomic import put
from samara.pybridge.scratch import scratch_folder

ANDROID_PAGE_BYTES = 16384
_PROGRAMS = ("samara-run", "samara-bench")
_FLOAT16 = frozenset(("float16",))


@dataclass(frozen=True, slots=True)
class BuildReport:
    """The result. `files` are the folder's contents with their bytes; `libraries` those that a program must be
    linked with besides the static library; `notes` are remarks for the user."""

    out: Path
    selection: Selection
    compiler: str
    files: dict[str, int]
    libraries: tuple[str, ...]
    bill: SizeBill
    notes: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """The report as plain dicts, lists, strings and numbers."""
        s = self.selection
        return {
            "out": str(self.out),
            "target": s.target,
            "compiler": self.compiler,
            "isa": list(s.isa),
            "floor": s.floor,
            "features": list(s.features or ()),
            "operators": {
                op: None if types is None else sorted(types) for op, types in s.ops.items()
            },
            "parts": None if s.parts is None else sorted(s.parts),
            "portable": sorted(s.portable),
            "libraries": list(self.libraries),
            "files": self.files,
            "size": self.bill.to_json(),
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """The report for a terminal."""
        s = self.selection
        lines = [f"{self.out}: samara {s.version} for {s.target}, {self.compiler}"]
        lines.append(f"  {len(s.ops)} operators, instruction sets {', '.join((s.floor, *s.isa))}")
        lines.append(f"  features: {', '.join(s.features or ()) or 'none beside the core'}")
        if s.portable:
            lines.append(
                f"  in portable C, because vectors would gain nothing: {', '.join(sorted(s.portable))}"
            )
        weight = self.bill.counted or self.bill.file
        what = "of code and data in the shared library" if self.bill.counted else self.bill.note
        lines.append(f"  {weight:,} bytes {what}")
        lines += [f"  {size:>11,}  {name}" for name, size in self.files.items() if _is_shown(name)]
        flags = " ".join(("lib/libsamara.a", "-Iinclude", *self.libraries))
        lines.append(f"  link: cc app.c {flags}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def _is_shown(name: str) -> bool:
    return name.startswith(("lib/libsamara", "lib/samara.dll", "bin/")) or name == "src/samara.c"


def for_target(
    selection: Selection,
    target: Target,
    *,
    isa: Sequence[str] | None = None,
    wanted: Sequence[str] | None = None,
) -> Selection:
    """Complete `selection` with the choices of target and user: instruction sets and features.

    wanted: features in addition to those that the models need; default: files and threads, if the target
    has them. A list made for the same target keeps its own instruction sets. UnsupportedError for an
    unknown name.
    """
    own = isa is None and selection.target == target.name
    if own:
        floor, above = selection.floor, selection.isa
    else:
        float16 = any(types is None or types & _FLOAT16 for types in selection.ops.values())
        floor, above = choose_isa(target, isa, float16)
    chosen = tuple(wanted) if wanted is not None else default_features(target)
    for name in chosen:
        if name not in features.FEATURES:
            raise UnsupportedError(
                f"there is no feature {name!r}", fix=f"give one of {', '.join(features.FEATURES)}"
            )
    own_features = features.FEATURES if selection.features is None else selection.features
    names = features.closed((*chosen, *own_features))
    return replace(
        selection,
        target=target.name,
        version=runtime_version(),
        isa=above,
        floor=floor,
        features=tuple(name for name in names if name != "core"),
        parts=None if selection.parts is None else selection.parts | features.parts(names),
    )


def default_features(target: Target) -> tuple[str, ...]:
    """The default features of a library, if the system supports them."""
    return ("files", "threads") if target.has_system else ()


def build_dist(
    selection: Selection,
    out: Path,
    *,
    tools: Toolchain,
    opt: str = "s",
    custom: Sequence[Path] = (),
    programs: bool = True,
) -> BuildReport:
    """Build a runtime of `selection`, completed by for_target, into the folder `out`.

    opt: `s` for the smallest code, `2` for the fastest. custom: C files with custom operators to add. The
    folder appears as a whole or not at all. BackendError if a compiler fails.
    """
    root = runtime_sources()
    if opt != "s":
        selection = replace(selection, portable=frozenset())
    tools.say("joining the sources")
    text = amalgamate(
        lists(selection, root),
        exports=features.functions(selection.features or ()),
        sources=root,
        packs_texts=opt == "s",
    )
    with (
        dist.whole_folder(out) as folder,
        scratch_folder() as scratch,
    ):
        build = _Build(selection, tools, opt, root, folder, scratch)
        build.write_sources(text, custom)
        libraries, bill = build.compile(text)
        build.write_packages(libraries)
        if programs:
            build.write_programs(libraries, has_custom=bool(custom))
        files = {
            path.relative_to(folder).as_posix(): path.stat().st_size
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }
    return BuildReport(out, selection, tools.version, files, libraries, bill, tuple(build.notes))


class _Build:
    """One build in progress: first sources, then libraries, then the files that make them easy to use."""

    def __init__(
        self,
        selection: Selection,
        tools: Toolchain,
        opt: str,
        root: Path,
        folder: Path,
        scratch: Path,
    ) -> None:
        self.selection, self.tools, self.target = selection, tools, tools.target
        self.root, self.folder, self.scratch = root, folder, scratch
        self.flags = (*tools.compile_flags(opt), f"-I{folder / 'include'}")
        self.custom: list[str] = []  # sources in src/ beside samara.c
        self.notes: list[str] = []

    def write_sources(self, text: Amalgam, custom: Sequence[Path]) -> None:
        self._write("include/samara/samara.h", text.header)
        for name, header in text.others.items():
            self._write(f"include/samara/{name}", header)
        for cpp in ("include/samara/samara.hpp", "include/samara/samara_result.hpp"):
            self._write(cpp, (self.root / cpp).read_text(encoding="utf-8"))
        self._write("src/samara.c", text.source)
        if custom:
            header, names = dist.custom_header(custom)
            self._write(f"include/samara/{dist.CUSTOM_HEADER}", header)
            self.custom = dist.copy_sources(custom, self.folder / "src")
            self.notes.append(
                f"custom operators {', '.join(names)}: sessions take them by their options, "
                f"samara/{dist.CUSTOM_HEADER}"
            )
        self._write(dist.MANIFEST, self.selection.text())

    def compile(self, text: Amalgam) -> tuple[tuple[str, ...], SizeBill]:
        """Build the libraries; returns the libraries that they need, and the size bill."""
        objects = [self._object("samara.c", self.flags)]
        # Custom operators are written without hidden visibility in mind.
        flags = [flag for flag in self.flags if flag != "-fvisibility=hidden"]
        objects += [self._object(name, flags) for name in self.custom]
        lib = self.folder / "lib"
        lib.mkdir()
        archive = lib / "libsamara.a"
        self.tools.archive(objects, archive)
        libraries = self.tools.libraries_needed(objects, self.scratch)
        if self.target.shared_name is None:
            return libraries, self._bill(totals_only(archive.stat().st_size, "WebAssembly"))
        shared = self.target.shared_file(self.selection.version) or self.target.shared_name
        whole, shipped = self.scratch / shared, lib / shared
        self.tools.link_shared(objects, whole, libraries)
        self.tools.link_shared(objects, shipped, libraries, strip=True)
        if shared != self.target.shared_name:
            link_beside(shipped, self.target.shared_name)
        file_bytes = shipped.stat().st_size
        if not self.target.is_elf:
            return libraries, self._bill(totals_only(file_bytes, self.target.system))
        if self.target.system == "android":
            self._check_pages(shipped)
        source = self.folder / "src" / "samara.c"
        named = symbol_files(self.tools.preprocess(source, self.flags), text.source, source.name)
        for name in self.custom:
            path = self.folder / "src" / name
            code = self.tools.preprocess(path, self.flags)
            marked = f"// ---- {name} ----\n{path.read_text(encoding='utf-8')}"
            named = {**symbol_files(code, marked, name), **named}
        return libraries, self._bill(size_bill(whole.read_bytes(), named, file_bytes))

    def write_packages(self, libraries: Sequence[str]) -> None:
        """Write the files for pkg-config, CMake and Xcode."""
        version = self.selection.version
        sources = [f"src/{name}" for name in ("samara.c", *self.custom)]
        self._write("lib/pkgconfig/samara.pc", dist.pkg_config(version, libraries))
        self._write(
            "lib/cmake/samara/samaraConfig.cmake",
            dist.cmake_config(self.target, version, libraries),
        )
        self._write("lib/cmake/samara/samaraConfigVersion.cmake", dist.cmake_version(version))
        has = set(self.selection.features or ())
        cmake = dist.cmake_lists(
            version,
            sources,
            threads=not has.isdisjoint(("threads", "async", "backends")),
            devices="backends" in has,
        )
        self._write("CMakeLists.txt", cmake)
        if self.target.system in ("macos", "ios"):
            self._write_xcframework()

    def write_programs(self, libraries: Sequence[str], has_custom: bool) -> None:
        """Build samara-run and samara-bench, linked with this build's static library."""
        (self.folder / "bin").mkdir()
        flags = [*self.flags, *(["-DTOOL_CUSTOM_OPS"] if has_custom else [])]
        for name in _PROGRAMS:
            self.tools.link_program(
                [self.root / "tools" / f"{name}.c", self.folder / "lib" / "libsamara.a"],
                self.folder / "bin" / f"{name}{self.target.program_suffix}",
                flags,
                libraries,
            )

    def _object(self, name: str, flags: Sequence[str]) -> Path:
        out = self.scratch / f"{name.removesuffix('.c')}.o"
        self.tools.compile(self.folder / "src" / name, out, flags)
        return out

    def _bill(self, bill: SizeBill) -> SizeBill:
        self._write("size.txt", bill.text())
        self._write("size.json", json.dumps(bill.to_json(), indent=1) + "\n")
        return bill

    def _check_pages(self, library: Path) -> None:
        found = Elf(library.read_bytes(), library.name).page_alignment()
        if found < ANDROID_PAGE_BYTES:
            raise BackendError(
                f"{library.name} is laid out for pages of {found} bytes; devices with pages of "
                f"{ANDROID_PAGE_BYTES} bytes would not load it",
                fix="the linker must honour -z max-page-size: use the NDK's own",
            )

    def _write_xcframework(self) -> None:
        """samara.xcframework with this target's slice; xcodebuild can join several."""
        platform = "macos" if self.target.system == "macos" else "ios"
        arch = {"aarch64": "arm64"}.get(self.target.arch, self.target.arch)
        simulator = self.target.name.endswith("-simulator")
        slice_name = f"{platform}-{arch}{'-simulator' if simulator else ''}"
        library = {
            "LibraryIdentifier": slice_name,
            "LibraryPath": "libsamara.a",
            "HeadersPath": "Headers",
            "SupportedArchitectures": [arch],
            "SupportedPlatform": platform,
            **({"SupportedPlatformVariant": "simulator"} if simulator else {}),
        }
        plist = {
            "AvailableLibraries": [library],
            "CFBundlePackageType": "XFWK",
            "XCFrameworkFormatVersion": "1.0",
        }
        base = "samara.xcframework"
        self._write(f"{base}/Info.plist", plistlib.dumps(plist).decode("utf-8"))
        headers = f"{base}/{slice_name}/Headers"
        shutil.copytree(self.folder / "include", self.folder / headers, dirs_exist_ok=True)
        # Xcode copies the headers of all frameworks into one folder. Module maps in separate folders do not
        # collide there, and clang searches the folder with the module's name.
        found = sorted(path.name for path in (self.folder / headers / "samara").glob("*.h"))
        lines = "".join(f'  header "{name}"\n' for name in found)
        self._write(
            f"{headers}/samara/module.modulemap", f"module samara {{\n{lines}  export *\n}}\n"
        )
        shutil.copy(self.folder / "lib" / "libsamara.a", self.folder / base / slice_name)

    def _write(self, name: str, text: str) -> None:
        put(self.folder / name, text)


def link_beside(file: Path, name: str) -> None:
    """`name` beside `file` as a link to it; a copy if the system has no links."""
    link = file.with_name(name)
    try:
        link.symlink_to(file.name)
    except OSError:
        shutil.copy(file, link)


def merged(selections: Iterable[Selection]) -> Selection:
    """The union of all selections, with target and instruction sets of the first."""
    first, *others = selections
    for other in others:
        first = first.merge(other)
    return first
