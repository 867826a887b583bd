# SPDX-License-Identifier: Apache-2.0
"""An XCFramework: the C runtime as static frameworks for iOS devices, their simulator and Macs.

Xcode and SwiftPM use such a folder as a binary target. No program of Apple is needed to make it: frameworks
are folders, and a library for two architectures is two libraries with a header in front.
"""

from __future__ import annotations

import importlib.util
import plistlib
import shutil
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from samara.exporter.package.amalgamate import Amalgam
from samara.exporter.package.targets import Target
from samara.exporter.package.toolchain import Toolchain, find_toolchain
from samara.exporter.types import BackendError, is_installed
from samara.pybridge.atomic import put
from samara.pybridge.scratch import scratch_folder

NAME = "CSamara"
"""The name of the framework and of its module."""

Say = Callable[[str], None]

# From <mach/machine.h>: CPU type and subtype.
_CPUS = {"arm64": (0x0100000C, 0), "x86_64": (0x01000007, 3)}
_FAT_MAGIC = 0xCAFEBABE
_FAT_ALIGN = 3  # 2**3 bytes, as lipo lays out static libraries


@dataclass(frozen=True, slots=True)
class Slice:
    """A system of a framework: `platform` as in Apple's property lists, with its oldest version; `sdk` is Xcode's
    name for it.
    """

    platform: str
    minimum: str
    sdk: str
    arches: tuple[str, ...]
    variant: str = ""

    @property
    def is_mac(self) -> bool:
        return self.platform == "macos"

    @property
    def identifier(self) -> str:
        """The slice's folder."""
        return "-".join(filter(None, (self.platform, "_".join(self.arches), self.variant)))

    def target(self, arch: str, tools: str) -> Target:
        """The target for a compiler of that kind."""
        arch_of_zig = {"arm64": "aarch64"}.get(arch, arch)
        tail = f"-{self.variant}" * bool(self.variant)
        triple = {
            "zig": f"{arch_of_zig}-{self.platform}.{self.minimum}{tail}",
            "xcode": f"{arch}-apple-{self.platform}{self.minimum}{tail}",
        }[tools]
        return Target(
            triple, arch_of_zig, self.platform, tools, triple,
            package="ziglang", flags=_header_flags() if tools == "zig" else (), sdk=self.sdk,
        )  # fmt: skip


SLICES = (
    Slice("ios", "15.0", "iphoneos", ("arm64",)),
    Slice("ios", "15.0", "iphonesimulator", ("arm64", "x86_64"), "simulator"),
    Slice("macos", "12.0", "macosx", ("arm64", "x86_64")),
)


def compiler() -> str:
    """The kind of compiler that is installed: `xcode`, else `zig`. BackendError if there is none."""
    if shutil.which("xcrun") is not None:
        return "xcode"
    if is_installed("ziglang"):
        return "zig"
    raise BackendError(
        "no compiler for iOS and macOS: neither Xcode nor the Python package ziglang is installed",
        fix="pip install ziglang, or build on a Mac with Xcode",
    )


def fill(
    folder: Path,
    amalgam: Amalgam,
    own: Path,
    version: str,
    *,
    tools: str,
    opt: str = "s",
    say: Say = lambda _text: None,
) -> str:
    """Write the XCFramework of `amalgam` into `folder`; returns the compiler's name.

    own: the folder of the Swift package's C target, with its privacy manifest and header. tools: the result of
    compiler(). opt: `s` small or `2` fast. BackendError if the compiler fails.
    """
    headers = _headers(amalgam, own / "include")
    named = ""
    with scratch_folder() as scratch:
        source = scratch / "samara.c"
        for name, text in {
            "samara.c": amalgam.source,
            "samara/samara.h": amalgam.header,
            **{f"samara/{name}": text for name, text in amalgam.others.items()},
        }.items():
            put(scratch / name, text)
        for part in SLICES:
            libraries = {}
            for arch in part.arches:
                made = replace(find_toolchain(part.target(arch, tools)), say=say)
                libraries[arch] = _library(made, source, opt)
                named = made.version
            files: dict[str, str | bytes] = {NAME: fat(libraries), **headers}
            files |= _resources(part, version, (own / "PrivacyInfo.xcprivacy").read_bytes())
            _write_framework(folder / part.identifier / f"{NAME}.framework", part, files)
    put(folder / "Info.plist", plistlib.dumps(_index()))
    return named


def fat(libraries: Mapping[str, bytes]) -> bytes:
    """One file with a library per architecture; with a single one, the library itself."""
    if len(libraries) == 1:
        return next(iter(libraries.values()))
    step = 1 << _FAT_ALIGN
    at = 8 + 20 * len(libraries)
    head = struct.pack(">2I", _FAT_MAGIC, len(libraries))
    body = b""
    for arch, data in libraries.items():
        gap = -(at + len(body)) % step
        body += bytes(gap)
        head += struct.pack(">5I", *_CPUS[arch], at + len(body), len(data), _FAT_ALIGN)
        body += data
    return head + body


def _library(tools: Toolchain, source: Path, opt: str) -> bytes:
    """A static library of the source for one architecture."""
    out = source.with_name(f"{tools.target.triple}.o")
    flags = (*tools.compile_flags(opt), f"-I{source.parent}")
    tools.compile(source, out, flags)
    archive = out.with_suffix(".a")
    tools.archive([out], archive)
    return archive.read_bytes()


def _header_flags() -> tuple[str, ...]:
    """The folder of Darwin's headers in zig, which uses them by default only for macOS."""
    found = importlib.util.find_spec("ziglang")
    assert found is not None, "compiler() has seen it"
    assert found.origin is not None
    headers = Path(found.origin).parent / "lib" / "libc" / "include" / "any-darwin-any"
    return ("-nostdlibinc", "-isystem", str(headers))


# ---- folders ----


def _headers(amalgam: Amalgam, include: Path) -> dict[str, str]:
    """The headers of a framework, with an umbrella header, and the module map."""
    found = {"samara.h": amalgam.header, **amalgam.others}
    found |= {path.name: path.read_text("utf-8") for path in sorted(include.glob("*.h"))}
    lines = "".join(f"#include <{NAME}/{name}>\n" for name in found)
    whole = f"/* SPDX-License-Identifier: Apache-2.0 */\n/* The whole C interface. */\n{lines}"
    moved = {
        f"Headers/{name}": text.replace("#include <samara/", f"#include <{NAME}/")
        for name, text in found.items()
    }
    module = f'framework module {NAME} {{\n  umbrella header "{NAME}.h"\n  export *\n}}\n'
    return {**moved, f"Headers/{NAME}.h": whole, "Modules/module.modulemap": module}


def _resources(part: Slice, version: str, manifest: bytes) -> dict[str, bytes]:
    """Files other than code and headers; on Macs they have a folder."""
    folder = "Resources/" if part.is_mac else ""
    return {
        f"{folder}Info.plist": plistlib.dumps(_information(part, version)),
        f"{folder}PrivacyInfo.xcprivacy": manifest,
    }


def _write_framework(bundle: Path, part: Slice, files: Mapping[str, str | bytes]) -> None:
    """The bundle of one slice. On a Mac the files belong to a version, and links point to them."""
    inside = bundle / "Versions" / "A" if part.is_mac else bundle
    for name, data in files.items():
        put(inside / name, data)
    if part.is_mac:
        _link(bundle / "Versions" / "Current", "A")
        for name in dict.fromkeys(name.split("/")[0] for name in files):
            _link(bundle / name, f"Versions/Current/{name}")


def _link(link: Path, to: str) -> None:
    """A link to a neighbour; a copy if the system has no links."""
    try:
        link.symlink_to(to)
    except OSError:
        found = link.parent / to
        if found.is_dir():
            shutil.copytree(found, link)
        else:
            shutil.copyfile(found, link)


# ---- property lists ----


def _information(part: Slice, version: str) -> dict[str, object]:
    """The Info.plist of a framework."""
    oldest = "LSMinimumSystemVersion" if part.is_mac else "MinimumOSVersion"
    system = {"iphoneos": "iPhoneOS", "iphonesimulator": "iPhoneSimulator", "macosx": "MacOSX"}
    return {
        "CFBundleDevelopmentRegion": "en",
        "CFBundleExecutable": NAME,
        "CFBundleIdentifier": f"dev.samara.{NAME}",
        "CFBundleInfoDictionaryVersion": "6.0",
        "CFBundleName": NAME,
        "CFBundlePackageType": "FMWK",
        "CFBundleShortVersionString": version,
        "CFBundleSupportedPlatforms": [system[part.sdk]],
        "CFBundleVersion": version,
        oldest: part.minimum,
    }


def _index() -> dict[str, object]:
    """The Info.plist of the XCFramework, which lists its contents."""
    return {
        "AvailableLibraries": [
            {
                "BinaryPath": f"{NAME}.framework/" + ("Versions/A/" if part.is_mac else "") + NAME,
                "LibraryIdentifier": part.identifier,
                "LibraryPath": f"{NAME}.framework",
                "SupportedArchitectures": list(part.arches),
                "SupportedPlatform": part.platform,
                **({"SupportedPlatformVariant": part.variant} if part.variant else {}),
            }
            for part in SLICES
        ],
        "CFBundlePackageType": "XFWK",
        "XCFrameworkFormatVersion": "1.0",
    }
