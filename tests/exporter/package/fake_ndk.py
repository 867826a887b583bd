# SPDX-License-Identifier: Apache-2.0
"""A folder with the layout of Android's NDK, for tests of the lines that call it: no NDK is there.

Its clang is this machine's, told where this folder's headers and libraries are, which the real one knows
by itself; it writes its arguments into a file. Headers are android/bionic's and the JDK's jni.h,
libraries the stubs that samara links with.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from samara.exporter.package import bionic
from samara.exporter.package.java import find_jdk
from samara.exporter.package.targets import find_target

CALLS = "calls.txt"
_API = "24"
# Functions of atomics are in a library of the NDK's that is not here.
_CLANG = """\
#!/bin/sh
echo "$*" >>"{root}/{calls}"
case "$*" in *aarch64*) inline=-mno-outline-atomics ;; esac
exec "{clang}" --sysroot="{tools}/sysroot" -resource-dir="{tools}/lib/clang/19" -fuse-ld=lld \\
  --rtlib=compiler-rt --unwindlib=libunwind -Wno-unused-command-line-argument $inline "$@"
"""


def make(root: Path, repo: Path, clang: str, targets: Sequence[str]) -> Path:
    """The folder `root`, with the libraries of the named targets; clang: a program of version 19."""
    tools = root / "toolchains" / "llvm" / "prebuilt" / "linux-x86_64"
    include = tools / "sysroot" / "usr" / "include"
    shutil.copytree(repo / "android" / "bionic" / "include", include)
    for folder in find_jdk().include_flags:
        for name in ("jni.h", "jni_md.h"):
            file = Path(folder.removeprefix("-I")) / name
            if file.is_file():
                shutil.copy(file, include)
    (tools / "bin").mkdir()
    program = tools / "bin" / "clang"
    text = _CLANG.format(root=root, calls=CALLS, clang=clang, tools=tools)
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    asked = [clang, "-print-resource-dir"]
    resources = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    resource = tools / "lib" / "clang" / "19"
    resource.mkdir(parents=True)
    (resource / "include").symlink_to(Path(resources) / "include")
    for name in targets:
        _add_libraries(name, tools, resource, repo)
    return root


def _add_libraries(name: str, tools: Path, resource: Path, repo: Path) -> None:
    """What clang links for a target by itself, and the stubs of Android's libraries."""
    target = find_target(name)
    triple = target.triple.removesuffix(_API).replace("armv7a-", "arm-")
    folder = tools / "sysroot" / "usr" / "lib" / triple / _API
    own = bionic.tools_for(bionic.find_clang(), target, repo / "android" / "bionic", folder)
    empty = folder / "empty.c"
    empty.touch()
    for start in ("crtbegin_so.o", "crtend_so.o"):
        own.compile(empty, folder / start, ())
    # The NDK's library of what a CPU has no instruction for.
    arithmetic = folder / "arithmetic.o"
    own.compile(repo / "android" / "bionic" / bionic.ARITHMETIC, arithmetic, ("-fPIC", "-O1"))
    arch = {"x86": "i686"}.get(target.arch, target.arch)
    builtins = resource / "lib" / "linux"
    builtins.mkdir(parents=True, exist_ok=True)
    own.archive([arithmetic], builtins / f"libclang_rt.builtins-{arch}-android.a")
    (builtins / arch).mkdir(exist_ok=True)
    own.archive([folder / "crtbegin_so.o"], builtins / arch / "libunwind.a")
