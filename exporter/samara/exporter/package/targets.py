# SPDX-License-Identifier: Apache-2.0
"""The machines for which `samara build` makes libraries: their names, compilers and linkers."""

from __future__ import annotations

import difflib
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from samara.pybridge import UnsupportedError

# Instruction sets by architecture, lowest first; docs/internals/building.md explains each.
ISA_NAMES: dict[str, tuple[str, ...]] = {
    "x86_64": ("scalar", "avx2", "avx512", "avx512-vnni", "avx512-bf16", "amx-int8"),
    "aarch64": ("scalar", "neon", "neon-fp16", "neon-dot", "neon-i8mm", "neon-bf16"),
    "wasm32-simd128": ("wasm-simd",),  # no dispatch: a module either needs SIMD or does not use it
}
_PORTABLE = ("scalar",)
# The sets below a set, which it always includes.
_IMPLIED: dict[str, tuple[str, ...]] = {
    "avx512": ("avx2",),
    "avx512-vnni": ("avx512",),
    "avx512-bf16": ("avx512",),
    "amx-int8": ("avx512-vnni",),
    "neon-fp16": ("neon",),
    "neon-dot": ("neon",),
    "neon-i8mm": ("neon-dot",),
    "neon-bf16": ("neon",),
}
_DEFAULT_ISA: dict[str, tuple[str, ...]] = {
    "x86_64": ("scalar", "avx2", "avx512", "avx512-vnni"),
    "x86_64-android": ("scalar", "avx2"),  # emulators and Chromebooks: no device has AVX-512
    "aarch64": ("neon", "neon-dot", "neon-i8mm"),
    "wasm32-simd128": ("wasm-simd",),
}


def series(version: str) -> str:
    """The versions whose libraries are compatible (docs/reference/abi.md): before 1.0 those of one minor version, then
    those of one major version.
    """
    major, minor, _ = version.split(".")
    return f"{major}.{minor}" if major == "0" else major


@dataclass(frozen=True, slots=True)
class Target:
    """A machine and the tools that make programs for it.

    `tools` is the kind of compiler (see toolchain.py): `gcc` is a program called `triple`-gcc, `zig` the
    cross compiler of the package ziglang, `ndk` Android's, `xcode` Apple's, `host` this machine's own
    compiler. `libraries` are those that a program may need besides libsamara, in the order in which they
    are tried; `sdk` is Apple's name of the SDK for `xcode`.
    """

    name: str
    arch: str
    system: str
    tools: str
    triple: str
    package: str = ""
    flags: tuple[str, ...] = ()
    shared_flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    sdk: str = ""

    @property
    def shared_name(self) -> str | None:
        """The file name of a shared library; None if the target has none."""
        return {
            "macos": "libsamara.dylib",
            "ios": "libsamara.dylib",
            "windows": "samara.dll",
            "wasi": None,
        }.get(self.system, "libsamara.so")

    def shared_file(self, version: str) -> str | None:
        """The file name of this version's shared library in a build: on Linux the name that programs ask the loader
        for; `shared_name` is a link to it.
        """
        if self.system != "linux":
            return self.shared_name
        return f"{self.shared_name}.{series(version)}"

    @property
    def program_suffix(self) -> str:
        return {"windows": ".exe", "wasi": ".wasm"}.get(self.system, "")

    @property
    def has_system(self) -> bool:
        """Whether the runtime has files, threads and a clock."""
        return self.system != "wasi"

    @property
    def is_elf(self) -> bool:
        return self.system in ("linux", "android")

    @property
    def isa_names(self) -> tuple[str, ...]:
        """The instruction sets for this target, lowest first."""
        return ISA_NAMES.get(self.arch, _PORTABLE)


def _gcc(name: str, arch: str, *flags: str) -> Target:
    return Target(
        name, arch, "linux", "gcc", name,
        package=f"gcc-{name.replace('_', '-')}",
        flags=flags,
        libraries=("-lm", "-lpthread", "-ldl"),
    )  # fmt: skip


def _zig(name: str, arch: str, system: str) -> Target:
    return Target(name, arch, system, "zig", name, package="ziglang")


def _android(name: str, arch: str, *flags: str) -> Target:
    return Target(
        name, arch, "android", "ndk", name,
        package="the Android NDK",
        flags=flags,
        # Devices with pages of 16 KiB load only libraries with this alignment.
        shared_flags=("-Wl,-z,max-page-size=16384",),
        libraries=("-lm", "-ldl"),
    )  # fmt: skip


def _ios(name: str, sdk: str) -> Target:
    return Target(name, "aarch64", "ios", "xcode", name, package="Xcode", sdk=sdk)


_ALL = (
    _gcc("x86_64-linux-gnu", "x86_64"),
    _gcc("aarch64-linux-gnu", "aarch64"),
    _gcc("arm-linux-gnueabihf", "arm", "-mfpu=neon-vfpv4"),
    _gcc("riscv64-linux-gnu", "riscv64"),
    _zig("x86_64-linux-musl", "x86_64", "linux"),
    _zig("aarch64-linux-musl", "aarch64", "linux"),
    _zig("x86_64-macos", "x86_64", "macos"),
    _zig("aarch64-macos", "aarch64", "macos"),
    _zig("x86_64-windows-gnu", "x86_64", "windows"),
    _zig("aarch64-windows-gnu", "aarch64", "windows"),
    _zig("wasm32-wasi", "wasm32", "wasi"),
    Target(
        "wasm32-wasi-simd128",
        "wasm32-simd128",
        "wasi",
        "zig",
        "wasm32-wasi",
        package="ziglang",
        flags=("-mcpu=generic+simd128",),
    ),
    _android("aarch64-linux-android24", "aarch64"),
    _android("x86_64-linux-android24", "x86_64"),
    _android("armv7a-linux-androideabi24", "arm", "-mthumb"),
    _android("i686-linux-android24", "x86"),
    _ios("arm64-apple-ios15.0", "iphoneos"),
    _ios("arm64-apple-ios15.0-simulator", "iphonesimulator"),
)
TARGETS: dict[str, Target] = {target.name: target for target in _ALL}

_ARCHES = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64", "armv7l": "arm", "i686": "x86"}
_SYSTEMS = {"darwin": "macos", "win32": "windows"}


def host_target() -> Target:
    """The machine of this process, with its default compiler."""
    machine = platform.machine().lower()
    arch = _ARCHES.get(machine, machine)
    system = _SYSTEMS.get(sys.platform, "linux")
    if system == "linux":
        musl = platform.libc_ver()[0] != "glibc"
        abi = "gnueabihf" if arch == "arm" else "gnu"
        name = f"{arch}-linux-{'musl' if musl else abi}"
    else:
        name = f"{arch}-{system}" + ("-gnu" if system == "windows" else "")
    known = TARGETS.get(name)
    if known is None:
        known = Target(name, arch, system, "host", name, libraries=("-lm", "-lpthread", "-ldl"))
    return replace(known, tools="host", package="gcc", flags=())


def find_target(name: str) -> Target:
    """The target called `name`, or `host`. UnsupportedError with similar names."""
    if name == "host":
        return host_target()
    if name in TARGETS:
        return TARGETS[name]
    close = difflib.get_close_matches(name, [*TARGETS, "host"], n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    raise UnsupportedError(
        f"there is no target {name!r}", fix=f"{hint}`samara build --list-targets` lists them all"
    )


def choose_isa(
    target: Target, asked: Sequence[str] | None, float16: bool
) -> tuple[str, tuple[str, ...]]:
    """The instruction sets of a build: the floor, which every CPU must have, and those above it.

    The lowest named set is the floor: `avx2,avx512` requires a CPU with AVX2, `scalar,avx2` does not. The
    default is all sets of the target; `float16`: whether the models have float16 data. UnsupportedError for a
    name that the target does not have.
    """
    known = target.isa_names
    if asked is None:
        of_arch = _DEFAULT_ISA.get(target.arch, _PORTABLE)
        names = _DEFAULT_ISA.get(f"{target.arch}-{target.system}", of_arch)
        if float16 and "neon-fp16" in known:
            names = (*names, "neon-fp16")
    else:
        names = tuple(dict.fromkeys(asked))
        for name in names:
            if name not in known:
                raise UnsupportedError(
                    f"{target.name} has no instruction set {name!r}",
                    fix=f"it has {', '.join(known)}",
                )
        if not names:
            raise UnsupportedError(
                "no instruction set is named", fix=f"name one of {', '.join(known)}"
            )
    chosen = [name for name in known if name in names]
    floor = chosen[0]
    implied = {floor, *_beneath(floor)}
    above = [name for name in known if name not in implied and _wanted(name, chosen, implied)]
    return floor, tuple(above)


def _beneath(name: str) -> set[str]:
    found: set[str] = set()
    for lower in _IMPLIED.get(name, ()):
        found |= {lower, *_beneath(lower)}
    return found


def _wanted(name: str, chosen: Sequence[str], floor: set[str]) -> bool:
    """Whether a set is one of the chosen, or below one of them but not in the floor."""
    return name in chosen or any(name in _beneath(c) for c in chosen if c not in floor)
