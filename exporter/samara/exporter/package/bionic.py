# SPDX-License-Identifier: Apache-2.0
"""Compile for Android without its NDK: with clang and lld (of the system or of ziglang), samara's own
declarations of the C library, and stub libraries that define exactly these.
"""

from __future__ import annotations

import importlib.resources
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from samara.exporter.package.processes import run_text
from samara.exporter.package.targets import Target
from samara.exporter.package.toolchain import Toolchain
from samara.exporter.types import is_installed
from samara.pybridge import BackendError
from samara.pybridge.atomic import put

# Symbols that a library may use from Android 7.0 (API level 24) on, by library: a subset of those that
# Bionic exports to apps on every ABI. Any other symbol is a link error.
ALLOWED: Final[Mapping[str, str]] = {
    "c": """
        __errno __sched_cpucount abort abs atoi calloc clock_gettime close fclose fflush fgets fopen fread free
        fstat fsync fwrite getauxval getenv getpid labs lseek64 madvise malloc memchr memcmp memcpy memmove memset
        mkdir mmap64 munmap nanosleep open posix_memalign pread64 pthread_attr_destroy pthread_attr_init
        pthread_attr_setstacksize pthread_cond_broadcast pthread_cond_destroy pthread_cond_init
        pthread_cond_signal pthread_cond_timedwait pthread_cond_wait pthread_create pthread_join
        pthread_mutex_destroy pthread_mutex_init pthread_mutex_lock pthread_mutex_trylock
        pthread_mutex_unlock pthread_once pthread_self qsort read realloc remove rename sched_getaffinity
        sched_yield snprintf sscanf stat strchr strcmp strcpy strcspn strerror strlen strncmp strncpy strrchr
        strspn strstr strtod strtof strtol strtoll strtoul strtoull syscall sysconf time unlink vsnprintf
        write
    """,
    "m": """
        acos acosf acosh acoshf asin asinf asinh asinhf atan atan2 atan2f atanf atanh atanhf cbrt cbrtf ceil
        ceilf copysign copysignf cos cosf cosh coshf erf erfc erfcf erff exp exp2 exp2f expf expm1 expm1f
        fabs fabsf floor floorf fma fmaf fmax fmaxf fmin fminf fmod fmodf frexp frexpf hypot hypotf ldexp
        ldexpf lgamma lgammaf llrint llrintf llround llroundf log log10 log10f log1p log1pf log2 log2f logf
        lrint lrintf lround lroundf modf modff nearbyint nearbyintf nextafter nextafterf pow powf remainder
        remainderf rint rintf round roundf scalbn scalbnf sin sinf sinh sinhf sqrt sqrtf tan tanf tanh tanhf
        tgamma tgammaf trunc truncf
    """,
    "dl": "dladdr dlclose dlerror dlopen dlsym",
    "log": "__android_log_write",
}
# Calls that clang inserts for a sine and a cosine of the same number.
OF_CLANG: Final = "sincos sincosf"
# Calls that clang inserts on arm: memory functions of its ABI, which the C library has.
_OF_ARM: Final = (
    "__aeabi_memclr __aeabi_memclr4 __aeabi_memclr8 __aeabi_memcpy __aeabi_memcpy4 __aeabi_memcpy8"
    " __aeabi_memmove __aeabi_memmove4 __aeabi_memmove8 __aeabi_memset __aeabi_memset4 __aeabi_memset8"
)
ARITHMETIC: Final = "arithmetic.c"  # of android/bionic: operations that 32-bit CPUs lack
LIBRARIES: Final = tuple(f"-l{name}" for name in ALLOWED)

# Linker flags that clang passes for Android.
_LINKED: Final = ("-z", "now", "-z", "relro", "--hash-style=gnu", "--build-id", "--eh-frame-hdr")
_LINKED_FOR: Final[Mapping[str, tuple[str, ...]]] = {"aarch64": ("--fix-cortex-a53-843419",)}

_VERSIONS: Final = range(25, 15, -1)  # clang supports regions of instruction sets from 16 on
_VERSION: Final = re.compile(r"clang version (\d+)")


@dataclass(frozen=True, slots=True)
class Clang:
    """A clang and its linker, as commands; `ld` is () if clang calls it."""

    cc: tuple[str, ...]
    ar: tuple[str, ...]
    ld: tuple[str, ...] = ()


def find_clang() -> Clang:
    """A clang of version 16 or later with its lld, else that of ziglang. BackendError with what to install."""
    for version in (*(f"-{number}" for number in _VERSIONS), ""):
        clang = shutil.which(f"clang{version}")
        if clang is None or shutil.which(f"ld.lld{version}") is None:
            continue
        said = _VERSION.search(run_text([clang, "--version"]).stdout)
        if said is not None and int(said[1]) >= _VERSIONS[-1]:
            return Clang((clang, "-fuse-ld=lld"), (str(Path(clang).resolve().parent / "llvm-ar"),))
    if is_installed("ziglang"):
        return _clang_of_zig()
    raise BackendError(
        "no compiler for Android: no NDK is named, and neither clang with lld of version 16 or later"
        " nor the Python package ziglang is installed",
        fix="set ANDROID_NDK_HOME, or apt install clang-19 lld-19 (Debian, Ubuntu), or"
        " pip install ziglang",
    )


def _clang_of_zig() -> Clang:
    """The clang and lld in zig. `zig cc` itself has no C library for Android."""
    zig = (sys.executable, "-m", "ziglang")
    # clang's own headers, which it expects beside a program of its name.
    resources = Path(str(importlib.resources.files("ziglang"))) / "lib"
    return Clang((*zig, "clang", "-resource-dir", str(resources)), (*zig, "ar"), (*zig, "ld.lld"))


def tools_for(clang: Clang, target: Target, declarations: Path, folder: Path) -> Toolchain:
    """The tools of an Android target. declarations: android/bionic; folder: for stub libraries.

    `ARITHMETIC` is compiled for it and linked into each library. BackendError if a compiler fails.
    """
    flags = [f"--target={target.triple}", "-nostdlibinc", "-isystem", str(declarations / "include")]
    if target.arch == "aarch64":
        flags.append("-mno-outline-atomics")  # they would call functions of an NDK library
    found = f"-L{folder}"
    if clang.ld:
        linker = (*clang.ld, *_LINKED, *_LINKED_FOR.get(target.arch, ()), found)
        tools = Toolchain(target, (*clang.cc, *flags), clang.ar, linker)
    else:
        # One command compiles and links, so some flags are unused in either step.
        link = ("-nostdlib", found, "-Wno-unused-command-line-argument")
        tools = Toolchain(target, (*clang.cc, *flags, *link), clang.ar)
    for name, symbols in ALLOWED.items():
        own = {"c": _OF_ARM * (target.arch == "arm"), "m": OF_CLANG}.get(name, "")
        _write_stub(tools, folder, name, f"{symbols} {own}")
    return tools


def _write_stub(tools: Toolchain, folder: Path, name: str, symbols: str) -> None:
    """lib`name`.so, which defines exactly `symbols`."""
    source = folder / f"{name}.c"
    put(source, "".join(f"void {symbol}(void) {{}}\n" for symbol in symbols.split()))
    made = folder / f"{name}.o"
    tools.compile(source, made, ("-ffreestanding", "-fno-builtin", "-fPIC", "-w"))
    tools.link_shared([made], folder / f"lib{name}.so", ())
