# SPDX-License-Identifier: Apache-2.0
"""What a bare-metal model takes: its code compiled for the CPU, and run once in an emulator.

Arena and stack are measured by runtime_c/bare_metal/probe.c. Without the CPU's compiler or emulator
the same code runs as a 32-bit program of an x86-64 machine: pointers, integers and alignments are as
on the CPU, so the arena is the same to the byte.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from samara.exporter.package._bare_metal_cpus import Cpu
from samara.exporter.package.elf import Elf
from samara.exporter.package.processes import run_text
from samara.pybridge import BackendError
from samara.pybridge.scratch import raise_if_full

_SHOWN = 12  # lines of what a compiler says
_TIMEOUT_S = 300.0
_ROOM = 16 << 20  # of the probe's arena: untouched pages of it cost nothing
# 32-bit x86 with the alignments and sizes of the embedded ABIs, and with IEEE arithmetic.
_X86 = ("-m32", "-malign-double", "-msse2", "-mfpmath=sse", "-fno-pie", "-fno-stack-protector")
_NO_LIBRARY = ("-ffreestanding", "-fbuiltin", "-DPROBE_NO_LIBRARY=1")


@dataclass(frozen=True, slots=True)
class Figures:
    """Bytes, and in a sentence each how they are known; None: not known."""

    arena_bytes: int
    arena_doc: str
    flash_bytes: int | None = None
    flash_doc: str = ""
    stack_bytes: int | None = None
    stack_doc: str = ""
    needs: tuple[str, ...] = ()  # functions that the program has to bring along; (): not known


@dataclass(frozen=True, slots=True)
class _Use:
    arena: int
    open_stack: int
    run_stack: int

    @property
    def stack(self) -> int:
        return (max(self.open_stack, self.run_stack) + 63) // 64 * 64


def compiler_of(cpu: Cpu) -> str | None:
    """The path of the CPU's compiler, where it is installed."""
    return shutil.which(cpu.compiler)


def measure(name: str, cpu: Cpu, folder: Path, sources: Path) -> Figures | None:
    """Arena and stack of `folder`/NAME_model.c, written for an arena of any size; None where nothing
    can run it. BackendError when the CPU's compiler fails.
    """
    probe = _Probe(name, cpu, folder, sources)
    compiler = compiler_of(cpu)
    use, how = None, ""
    emulator = shutil.which(cpu.emulator[0])
    if compiler is not None and emulator is not None:
        use = probe.emulated(compiler, (emulator, *cpu.emulator[1:]))
        alike = f" as {cpu.emulated[0]}" if cpu.emulated else ""
        how = f"measured with {_version(compiler)} -Os{alike} in {cpu.emulator[0]}"
    if use is None:
        use = probe.on_x86()
        how = "measured as 32-bit x86 code, so an estimate"
    if use is None:
        return None
    return Figures(
        arena_bytes=use.arena,
        arena_doc="the buffer that the model needs, exactly",
        stack_bytes=use.stack,
        stack_doc=f"of the deepest call, {how}; your interrupts come on top",
    )


def compile_object(name: str, cpu: Cpu, folder: Path) -> tuple[Path, int, str] | None:
    """Compile NAME_model.c to NAME_model.o: its path, the bytes of flash of a program that has the
    model and nothing else, and how they are known. None without the CPU's compiler.
    """
    compiler = compiler_of(cpu)
    if compiler is None:
        return None
    made, program = folder / f"{name}_model.o", folder / f"{name}.elf"
    start = [compiler, *cpu.flags]
    own = () if cpu.has_library else _NO_LIBRARY
    _call([*start, *own, "-Os", "-c", str(folder / f"{name}_model.c"), "-o", str(made)])
    wanted = [f"-Wl,-u,{name}_{each}" for each in ("open", "run_with", "input", "message")]
    flags = ["-nostdlib", "-static", "-Wl,-e,0", "-Wl,--unresolved-symbols=ignore-all", *wanted]
    try:
        _call([*start, *flags, str(made), *cpu.libraries, "-o", str(program)])
        elf = Elf(program.read_bytes(), program.name)
    finally:
        program.unlink(missing_ok=True)
    loaded = [s for s in elf.sections if s.is_loaded and s.in_file]
    doc = f"code and constants, the model included, with {_version(compiler)} -Os"
    return made, sum(section.size for section in loaded), doc


class _Probe:
    def __init__(self, name: str, cpu: Cpu, folder: Path, sources: Path) -> None:
        self._cpu, self._folder = cpu, folder
        self._support = sources / "bare_metal"
        self._model = folder / f"{name}_model.c"
        self._name = name

    def emulated(self, compiler: str, emulator: Sequence[str]) -> _Use | None:
        own = () if self._cpu.has_library else _NO_LIBRARY
        command = [compiler, *(self._cpu.emulated or self._cpu.flags), *own, "-nostdlib", "-static"]
        return self._run(emulator, self._link(command, self._cpu.libraries))

    def on_x86(self) -> _Use | None:
        """None where the machine is no x86-64 Linux, or has no compiler that makes 32-bit code."""
        if platform.machine() not in ("x86_64", "AMD64") or not sys.platform.startswith("linux"):
            return None
        for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
            command = shlex.split(name)
            if not command or shutil.which(command[0]) is None:
                continue
            enums = ("-fshort-enums",) if self._cpu.short_enums else ()
            flags = (*_X86, *enums, *_NO_LIBRARY, "-nostdlib", "-static", "-no-pie")
            try:
                return self._run((), self._link([*command, *flags], ()))
            except (BackendError, OSError):
                continue
        return None

    def _link(self, command: Sequence[str], libraries: Sequence[str]) -> Path:
        program = self._folder / f"{self._name}_probe"
        defines = {
            "HEADER": f'"{self._folder / f"{self._name}.h"}"',
            "NET": f"{self._name}_net",
            "ERROR": f"{self._name}_error",
            "OPEN": f"{self._name}_open",
            "RUN": f"{self._name}_run_with",
            "ARENA_USED": f"{self._name}_arena_used",
            "ARENA_ROOM": str(_ROOM),
        }
        flags = [f"-DPROBE_{key}={value}" for key, value in defines.items()]
        files = [str(self._model), str(self._support / "probe.c")]
        _call(
            [*command, "-Os", f"-I{self._support}", *flags, *files, *libraries, "-o", str(program)]
        )
        return program

    def _run(self, emulator: Sequence[str], program: Path) -> _Use | None:
        try:
            done = run_text([*emulator, str(program)], timeout=_TIMEOUT_S)
        finally:
            program.unlink(missing_ok=True)
        said = dict(line.split() for line in done.stdout.splitlines())
        if done.returncode != 0 or "arena" not in said:
            return None  # an emulator that does not know the CPU, a kernel without 32-bit programs
        return _Use(int(said["arena"]), int(said["open_stack"]), int(said["run_stack"]))


def _version(compiler: str) -> str:
    done = run_text([compiler, "-dumpversion"])
    return f"{Path(compiler).name} {done.stdout.strip()}"


def _call(command: Sequence[str]) -> None:
    done = run_text(command)
    if done.returncode != 0:
        raise_if_full(done.stderr, Path(command[command.index("-o") + 1]).parent)
        text = "\n".join(done.stderr.splitlines()[:_SHOWN])
        raise BackendError(
            f"{Path(command[0]).name} failed with status {done.returncode}:\n{text}",
            fix=f"the command was: {shlex.join(command)}",
        )
