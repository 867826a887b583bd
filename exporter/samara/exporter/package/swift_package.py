# SPDX-License-Identifier: Apache-2.0
"""A runtime as a Swift package, `Samara`: its Swift API over the C sources that the models need.

The app's build compiles the C code for devices, simulators and Macs; or it is compiled here, as an
XCFramework in the package or alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from samara.exporter.package import dist, xcframework
from samara.exporter.package import features as feature_table
from samara.exporter.package.amalgamate import Amalgam, amalgamate
from samara.exporter.package.lists import lists
from samara.exporter.package.package_report import PackageReport, files_of
from samara.exporter.package.selection import Selection, for_machines
from samara.exporter.types import UnsupportedError
from samara.pybridge import sources, swift_sources
from samara.pybridge.atomic import put

# Features that the Swift code calls, whatever the models need. `text` comes with models that have a
# tokenizer, or if it is asked for.
FEATURES = (
    *("files", "metadata", "selftest", "threads", "state", "checkpoints", "bind", "keep"),
    *("profile", "async", "images", "audio", "answers"),
)
_C = Path("Sources", "CSamara")
_TEXT = "samara_text.h"
_NO_TEXT = (
    "this package has no text models: build it with the file of one,"
    " or with samara build --target ios --features text"
)
_DECLARED = re.compile(r"^SAMARA_API ([^;(]*?)(samara_\w+)\(([^;]*)\);", re.MULTILINE)
_TESTS = re.compile(r"^ *\.testTarget\(.*\),\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SwiftPackage(PackageReport):
    """The result; `compiler` is that of an XCFramework."""

    def heading(self) -> list[str]:
        s = self.selection
        what = "an XCFramework" if is_framework(self.out) else "a Swift package"
        systems = "iOS, macOS and Linux" if self.compiler is None else "iOS and macOS"
        by = "" if self.compiler is None else f", {self.compiler}"
        return [
            f"{self.out}: samara {s.version} as {what} for {systems}{by}",
            f"  {len(s.ops)} operators, instruction sets {', '.join((s.floor, *s.isa))}",
        ]

    def advice(self) -> list[str]:
        if is_framework(self.out):
            return ["  in Xcode: target, General, Frameworks, Libraries, and Embedded Content"]
        return [
            f'  in Package.swift: .package(path: "{self.out.name}")',
            f"  in Xcode: File, Add Package Dependencies, Add Local, {self.out.name}",
        ]


def is_framework(out: Path) -> bool:
    """Whether a path names an XCFramework rather than a package."""
    return out.suffix == ".xcframework"


def write(
    selection: Selection,
    out: Path,
    *,
    isa: Sequence[str] | None = None,
    features: Sequence[str] = (),
    custom: Sequence[Path] = (),
    binary: bool = False,
    opt: str = "s",
    say: Callable[[str], None] = lambda _text: None,
) -> SwiftPackage:
    """Write a Swift package with the operators of `selection` into the folder `out`.

    isa: instruction sets above portable C; default: all of arm64 and x86-64. features: `text`, for text
    models, which is also there if a model has a tokenizer. Without it, creating a text model throws an error
    that says what to build. binary: compile the C code now, by `opt`, for devices,
    simulators and Macs; if `out` ends in .xcframework, write only that. say: called with every step. The
    folder appears as a whole or not at all. UnsupportedError for custom operators, which the Swift API cannot
    register, for other features and for unknown names; BackendError if a compiler is missing or fails.
    """
    if custom:
        raise UnsupportedError(
            "a Swift package cannot have custom operators",
            fix="leave out --custom, or add the files of --single-file to the app",
        )
    own = _features(selection, features)
    binary = binary or is_framework(out)
    tools = xcframework.compiler() if binary else None
    whole = for_machines(selection, "swift", isa, feature_table.closed(own))
    if binary and opt != "s":
        whole = replace(whole, portable=frozenset())
    root, ios = sources(), swift_sources()
    amalgam = amalgamate(
        lists(whole, root),
        exports=feature_table.functions(own),
        sources=root,
        packs_texts=binary and opt == "s",
    )
    if _TEXT not in amalgam.others and not is_framework(out):
        header = (root / "include" / "samara" / _TEXT).read_text("utf-8")
        amalgam = replace(amalgam, others={**amalgam.others, _TEXT: without_text(header)})
    by = None
    with dist.whole_folder(out) as folder:
        if not is_framework(out):
            _copy_swift(ios, folder, binary=binary)
        if tools is None:
            _put_sources(amalgam, folder / _C)
        else:
            place = folder if is_framework(out) else folder / f"{xcframework.NAME}.xcframework"
            by = xcframework.fill(
                place, amalgam, ios / _C, whole.version, tools=tools, opt=opt, say=say
            )
        put(folder / dist.MANIFEST, whole.text())
        files = files_of(folder)
    return SwiftPackage(out=out, selection=whole, files=files, compiler=by)


def _features(selection: Selection, wanted: Sequence[str]) -> tuple[str, ...]:
    """The features of a package: those of all packages, and `text` if it is needed or wanted."""
    others = [name for name in wanted if name not in (*FEATURES, "core", "text")]
    if others:
        raise UnsupportedError(
            f"a Swift package cannot have the features {', '.join(others)}",
            fix="give text, or none: all others that its API uses are there",
        )
    needs_text = selection.features is None or "text" in (*selection.features, *wanted)
    return (*FEATURES, "text") if needs_text else FEATURES


def _put_sources(amalgam: Amalgam, folder: Path) -> None:
    """Write the C target's sources beside its other files."""
    put(folder / "samara.c", amalgam.source)
    put(folder / "include" / "samara" / "samara.h", amalgam.header)
    for name, text in amalgam.others.items():
        put(folder / "include" / "samara" / name, text)


def _copy_swift(ios: Path, folder: Path, *, binary: bool) -> None:
    """The package's own files without its tests; those of the C target only if it is compiled there."""
    manifest = _TESTS.sub("", (ios / "Package.swift").read_text("utf-8"))
    put(folder / "Package.swift", _of_binary(manifest) if binary else manifest)
    for path in sorted((ios / "Sources").rglob("*")):
        name = path.relative_to(ios)
        # A checkout may contain generated sources for its own tests.
        if not path.is_file() or "samara" in (path.parent.name, path.stem):
            continue
        if binary and name.is_relative_to(_C):
            if name.suffix != ".xcprivacy":
                continue
            # Some versions of Xcode do not look for resources in static frameworks.
            name = Path("Sources", "Samara", name.name)
        put(folder / name, path.read_bytes())


def without_text(header: str) -> str:
    """samara_text.h for Swift code over a runtime without text.

    Functions that create something fail with SAMARA_UNSUPPORTED and say what to build. The others are there
    because Swift code names them; nothing calls them, because nothing can be created.
    """

    def refuse(match: re.Match[str]) -> str:
        result, name, parameters = match.groups()
        value = {"void ": "", "samara_status ": "return SAMARA_UNSUPPORTED;"}.get(
            result, "return 0;"
        )
        if "samara_error *error" in parameters:
            value = "return samara_no_text(error);"
        return f"static inline {result}{name}({parameters}) {{ {value} }}"

    text = f"""\
/* This runtime has no text. */
static inline samara_status samara_no_text(samara_error *error) {{
  static const char text[] = "{_NO_TEXT}";
  if (error == 0) return SAMARA_UNSUPPORTED;
  error->status = SAMARA_UNSUPPORTED;
  for (size_t i = 0; i < sizeof text; i++) error->text[i] = text[i];
  return SAMARA_UNSUPPORTED;
}}
"""
    begin, end = 'extern "C" {\n#endif\n', "\n#ifdef __cplusplus\n}"
    before, rest = header.split(begin)
    inside, after = rest.rsplit(end, 1)
    quiet = '#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored "-Wunused-parameter"\n'
    stubs = _DECLARED.sub(refuse, inside)
    return f"{before}{begin}\n{quiet}{text}{stubs}#pragma GCC diagnostic pop\n{end}{after}"


def _of_binary(manifest: str) -> str:
    """Package.swift with an XCFramework, which supports fewer systems, in place of the C target."""
    for pattern, text in (
        (r", \.tvOS\(\.v\d+\), \.watchOS\(\.v\d+\)\]", "]"),
        (
            r"\.target\(\n +name: \"CSamara\",.*?\[\.define\(\"NDEBUG\"\)\]\)",
            f'.binaryTarget(name: "CSamara", path: "{xcframework.NAME}.xcframework")',
        ),
        (
            r'\.target\(name: "Samara", dependencies: \["CSamara"\]\)',
            '.target(\n      name: "Samara", dependencies: ["CSamara"],'
            ' resources: [.copy("PrivacyInfo.xcprivacy")])',
        ),
    ):
        manifest, count = re.subn(pattern, text, manifest, flags=re.DOTALL)
        assert count == 1, pattern
    return manifest
