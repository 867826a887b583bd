# SPDX-License-Identifier: Apache-2.0
"""The ABIs, libraries and symbols that Android offers to native libraries of apps."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from samara.exporter.package.bionic import ALLOWED, OF_CLANG

LEAST_API: Final = 24  # of samara's own library
JNI: Final = "libsamara_jni.so"

ABIS: Final[Mapping[str, tuple[str, int]]] = MappingProxyType(
    {
        "arm64-v8a": ("aarch64", 64),
        "armeabi-v7a": ("arm", 32),
        "x86_64": ("x86_64", 64),
        "x86": ("x86", 32),
        "riscv64": ("riscv", 64),
    }
)
"""ABIs, with the machine and the bits of their libraries."""

COMMON: Final = ("arm64-v8a", "armeabi-v7a", "x86_64", "x86")

SYSTEM: Final[Mapping[str, int]] = MappingProxyType(
    {
        **dict.fromkeys(("libc.so", "libm.so", "libdl.so", "liblog.so", "libz.so"), 3),
        **dict.fromkeys(("libstdc++.so", "libandroid.so", "libjnigraphics.so", "libEGL.so"), 9),
        **dict.fromkeys(("libGLESv1_CM.so", "libGLESv2.so", "libOpenSLES.so"), 9),
        "libOpenMAXAL.so": 14,
        "libGLESv3.so": 18,
        "libmediandk.so": 21,
        **dict.fromkeys(("libcamera2ndk.so", "libvulkan.so"), 24),
        **dict.fromkeys(("libaaudio.so", "libnativewindow.so", "libsync.so"), 26),
        "libneuralnetworks.so": 27,
        "libamidi.so": 29,
        "libbinder_ndk.so": 29,
        "libicu.so": 31,
        "libnativehelper.so": 31,
    }
)
"""Libraries of the system that apps may link, as the NDK documents them, with the first API level."""

# Symbols that the NDK's clang adds to those of the sources: checks of sizes and of the stack.
_OF_NDK: Final = """
    __cxa_atexit __cxa_finalize __memcpy_chk __memmove_chk __memset_chk __read_chk __register_atfork
    __stack_chk_fail __strchr_chk __strcpy_chk __strlen_chk __strncpy_chk __strncpy_chk2 __strrchr_chk
    __vsnprintf_chk __fread_chk __fwrite_chk __open_2 __sF
"""

SYMBOLS: Final = frozenset(f"{' '.join(ALLOWED.values())} {OF_CLANG} {_OF_NDK}".split())
"""Symbols that samara's library may take from the system, on every ABI from LEAST_API on."""

SYMBOLS_OF_ARM: Final = "__aeabi_"
"""What names of functions begin with that compilers call on armeabi-v7a, which the C library has."""
