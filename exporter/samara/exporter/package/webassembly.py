# SPDX-License-Identifier: Apache-2.0
"""Link a WebAssembly module as small as the tools at hand make it."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from samara.exporter.package.toolchain import Toolchain
from samara.pybridge import BackendError

OPTIMIZER = "wasm-opt"
"""A program of Binaryen."""
# What browsers with vectors have, and relaxed SIMD, which it finds in modules for it only; wasm-opt may use
# everything that it is allowed to.
_OPTIMIZER_FEATURES = (
    *("--enable-simd", "--enable-bulk-memory", "--enable-nontrapping-float-to-int"),
    *("--enable-sign-ext", "--enable-mutable-globals", "--enable-threads"),
    "--enable-relaxed-simd",
)
# No module has anything in its first 1,024 bytes, where the stack ends: offsets of fields can be folded into loads.
_OPTIMIZER_PASSES = ("--low-memory-unused", "--converge")
# LLVM's rewriting of addresses in loops to running pointers costs bytes here and gives no speed: engines choose
# addresses themselves.
_NO_LOOP_POINTERS = ("-mllvm", "-disable-lsr")
# A word of the linker's command: a file, whose folder may have spaces, or anything else.
_WORD = re.compile(r"(?:/|[A-Za-z]:[\\/]).*?\.(?:[oa]|wasm)(?= |$)|\S+")


def link_module(
    tools: Toolchain,
    source: Path,
    out: Path,
    *,
    opt: str,
    flags: Sequence[str],
    link_flags: Sequence[str],
) -> None:
    """Compile `source` with zig and link it to the module `out`, without symbols.

    opt: `s` small or `2` fast. The linker leaves five bytes for every address of its input, which it shortens
    only if it is asked to; zig does not pass that on, so its last command is repeated with the request. A
    program wasm-opt (of Binaryen), where it is installed, makes the module some percent smaller; old versions do
    not read relaxed SIMD, and leave such a module as it is. BackendError if a tool fails.
    """
    code = source.with_suffix(".o")
    compile_flags = tools.compile_flags(opt)
    tools.compile(source, code, [*compile_flags, *_NO_LOOP_POINTERS, *flags])
    shown = tools.link_program([code], out, ["-v", *compile_flags, *link_flags], [])
    again = linker_command(shown)
    if again is not None:
        linker = (sys.executable, "-m", "ziglang", *again, "--compress-relocations")
        tools.call(linker, f"linking {out.name}", out)
    relaxed = any("relaxed_simd" in flag for flag in flags)
    optimizer = shutil.which(OPTIMIZER)
    if optimizer is not None:
        level = "-Oz" if opt == "s" else "-O2"
        passes = (level, *_OPTIMIZER_PASSES, *_OPTIMIZER_FEATURES)
        command = (optimizer, *passes, str(out), "-o", str(out))
        try:
            tools.call(command, f"making {out.name} smaller", out)
        except BackendError:
            if not relaxed:
                raise
            tools.say(f"{out.name} stays as it is: this {OPTIMIZER} does not know relaxed SIMD")


def linker_command(shown: str) -> list[str] | None:
    """The linker's command with its arguments, from what `zig cc -v` reported; None if it is not there."""
    for line in shown.splitlines():
        if line.startswith("wasm-ld "):
            return _WORD.findall(line)
    return None
