# SPDX-License-Identifier: Apache-2.0
"""The tools that build an AAR: Java's compiler and platform, and a C compiler for every ABI."""

from __future__ import annotations

import importlib.resources
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from samara.exporter.package import bionic
from samara.exporter.package.java import Jdk, find_jdk, find_platform, jar
from samara.exporter.package.targets import Target, find_target
from samara.exporter.package.toolchain import Toolchain, find_toolchain, names_ndk
from samara.pybridge import BackendError, UnsupportedError

# Android's names of its ABIs, the most common first.
ABIS: Final = {
    "arm64-v8a": "aarch64-linux-android24",
    "armeabi-v7a": "armv7a-linux-androideabi24",
    "x86_64": "x86_64-linux-android24",
    "x86": "i686-linux-android24",
}
_T = TypeVar("_T")
_ToolsFor = Callable[[Target, Path], Toolchain]  # with a folder of the tools' own


@dataclass(frozen=True, slots=True)
class AarTools:
    """Programs and sources for building an AAR.

    targets: by ABI. for_target: makes the C compiler of one, with its own folder. own: whether it uses
    samara's declarations of the C library and stub libraries, instead of the NDK's. platform: android.jar;
    None means samara's declarations. root: the folder android/.
    """

    targets: Mapping[str, Target]
    jdk: Jdk
    platform: Path | None
    for_target: _ToolsFor
    own: bool
    root: Path

    def classes(self, scratch: Path) -> bytes:
        """classes.jar of android/samara; `scratch` is an empty folder for intermediate files."""
        declared = self.root / "stubs"
        # No platform contains the annotations.
        self.jdk.compile(declared / "androidx" if self.platform else declared, scratch / "stubs")
        path = [*([] if self.platform is None else [self.platform]), scratch / "stubs"]
        sources = self.root / "samara" / "src" / "main" / "java"
        self.jdk.compile(sources, scratch / "classes", path)
        return jar(scratch / "classes")


def android_sources() -> Path:
    """The folder android/ of a checkout, or its copy in an installed package. BackendError without."""
    here = Path(str(importlib.resources.files("samara.pybridge"))).resolve()
    for folder in (here / "android", here.parents[2] / "android"):
        if (folder / "samara").is_dir():
            return folder
    raise BackendError(
        f"the sources for Android are not in {here / 'android'}", fix="reinstall samara"
    )


def find_tools(
    *,
    abis: Sequence[str] | None = None,
    isa: Sequence[str] | None = None,
    ndk: str | os.PathLike[str] | None = None,
) -> AarTools:
    """The tools for these ABIs (default: all): the NDK if one is named, else clang.

    UnsupportedError for an unknown ABI or instruction set, BackendError with everything that is
    missing.
    """
    targets = _targets(abis, isa)
    root = android_sources()
    jdk, for_target = _both(find_jdk, lambda: _compiler(targets.values(), root, ndk))
    return AarTools(targets, jdk, find_platform(), for_target, not names_ndk(ndk), root)


def _targets(abis: Sequence[str] | None, isa: Sequence[str] | None) -> dict[str, Target]:
    """The targets by ABI. UnsupportedError for an unknown ABI or instruction set."""
    chosen = list(ABIS) if abis is None else list(dict.fromkeys(abis))
    for abi in chosen:
        if abi not in ABIS:
            raise UnsupportedError(f"Android has no ABI {abi!r}", fix=f"it has {', '.join(ABIS)}")
    if not chosen:
        raise UnsupportedError("no ABI is named", fix=f"name some of {', '.join(ABIS)}")
    targets = {abi: find_target(ABIS[abi]) for abi in chosen}
    known = dict.fromkeys(name for target in targets.values() for name in target.isa_names)
    for name in isa or ():
        if name not in known:
            raise UnsupportedError(
                f"none of {', '.join(chosen)} has an instruction set {name!r}",
                fix=f"they have {', '.join(known)}",
            )
    return targets


def isa_of(target: Target, isa: Sequence[str] | None) -> list[str] | None:
    """Those of the named sets that a target has; None for its default."""
    return [name for name in isa or () if name in target.isa_names] or None


def _both(jdk: Callable[[], Jdk], compiler: Callable[[], _T]) -> tuple[Jdk, _T]:
    """The results of both. BackendError with everything that is missing."""
    try:
        found = jdk()
    except BackendError as error:
        try:
            compiler()
        except BackendError as other:
            raise BackendError(
                f"{error.message}; {other.message}", fix=f"{error.fix}; {other.fix}"
            ) from None
        raise
    return found, compiler()


def _compiler(
    targets: Iterable[Target], root: Path, ndk: str | os.PathLike[str] | None
) -> _ToolsFor:
    """The NDK if one is named, else clang with samara's declarations. BackendError if there is none."""
    if names_ndk(ndk):
        of = {target.name: find_toolchain(target, ndk=ndk) for target in targets}
        return lambda target, _folder: of[target.name]
    clang = bionic.find_clang()
    return lambda target, folder: bionic.tools_for(clang, target, root / "bionic", folder)
