# SPDX-License-Identifier: Apache-2.0
"""The machines that `samara build` makes libraries for: how each is called, compiled for and linked."""

from __future__ import annotations

import difflib
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from samara.pybridge import UnsupportedError

# Instruction sets by architecture, least first; docs/building.md says what each one means.
ISA_NAMES: dict[str, tuple[str, ...]] = {
    "x86_64": ("scalar", "avx2", "avx512", "avx512-vnni", "avx512-bf16"),
    "aarch64": ("scalar", "neon", "neon-fp16", "neon-dot", "neon-i8mm", "neon-bf16"),
    "wasm32-simd128": ("wasm-simd",),  # no dispatch there: a module with SIMD runs with it or not
}
_PORTABLE = ("scalar",)
# What a set has beneath it and cannot be without.
_IMPLIED: dict[str, tuple[str, ...]] = {
    "avx512": ("avx2",),
    "avx512-vnni": ("avx512",),
    "avx512-bf16": ("avx512",),
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
    """The versions whose libraries take each other's place (docs/abi.md): one minor version before
    1.0, one major version after.
    """
    major, minor, _ = version.split(".")
    return f"{major}.{minor}" if major == "0" else major


@dataclass(frozen=True, slots=True)
class Target:
    """A machine and the tools that make programs for it.

    `tools` names the kind of compiler (toolchain.py knows them): `gcc` is one program called
    `triple`-gcc, `zig` the cross compiler of the package ziglang, `ndk` Android's, `xcode` Apple's,
    `host` whatever this machine compiles its own programs with. `libraries` are those that a program
    may need beside libsamara, in the order in which they are tried; `sdk` is Apple's name for what
    `xcode` compiles against.
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
        """The file name of a shared library; None where there are none."""
        return {
            "macos": "libsamara.dylib",
            "ios": "libsamara.dylib",
            "windows": "samara.dll",
            "wasi": None,
        }.get(self.system, "libsamara.so")

    def shared_file(self, version: str) -> str | None:
        """The shared library of this version as it lies in a build: on Linux under the name that
        programs ask the loader for, beside which `shared_name` is a link to it.
        """
        if self.system != "linux":
            return self.shared_name
        return f"{self.shared_name}.{series(version)}"

    @property
    def program_suffix(self) -> str:
        return {"windows": ".exe", "wasi": ".wasm"}.get(self.system, "")

    @property
    def has_system(self) -> bool:
        """Whether there are files, threads and a clock for the runtime."""
        return self.system != "wasi"

    @property
    def is_elf(self) -> bool:
        return self.system in ("linux", "android")

    @property
    def isa_names(self) -> tuple[str, ...]:
        """The instruction sets that libraries for this target can hold, least first."""
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
        # Devices with pages of 16 KiB load only what is laid out for them.
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
    """The machine that this process runs on, with the compiler that it calls its own."""
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
    """The target called `name`, `host` included. UnsupportedError with the names close to it."""
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

    The least set that is named is the floor: `avx2,avx512` asks for a CPU with AVX2, and
    `scalar,avx2` for none. By default all that the target has; `float16` says whether the models
    hold float16 data. UnsupportedError for a name that the target does not know.
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
    """Whether a set is one of the chosen, or beneath one without being in the floor."""
    return name in chosen or any(name in _beneath(c) for c in chosen if c not in floor)
