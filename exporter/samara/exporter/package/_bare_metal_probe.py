# SPDX-License-Identifier: Apache-2.0
"""Measure a bare-metal model: compile its code for the CPU, and run it once in an emulator.

runtime_c/bare_metal/probe.c measures arena and stack. Without a compiler or emulator for the CPU the same
code runs as a 32-bit program on an x86-64 machine: pointers, integers and alignments are as on the
CPU, so the arena has the same size.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from samara.exporter.package._c_text import renamer
from samara.exporter.package.bare_metal_cpus import Cpu
from samara.exporter.package.elf import Elf
from samara.exporter.package.processes import run_text
from samara.pybridge import BackendError
from samara.pybridge.atomic import put
from samara.pybridge.scratch import raise_if_full

_SHOWN = 12  # lines of compiler output in an error
_TIMEOUT_S = 300.0
_ROOM = 16 << 20  # bytes of the probe's arena; pages that are not touched cost nothing
# 32-bit x86 with the alignments and sizes of the embedded ABIs, and with IEEE arithmetic.
_X86 = (
    "-m32", "-malign-double", "-msse2", "-mfpmath=sse", "-fno-pie", "-fno-stack-protector",
    "-DSMR_LIKE_EMBEDDED=1",
)  # fmt: skip
# Two base addresses: words that differ between them are pointers.
_PLACES = (0x0010_0000, 0x0234_0000)
# Keep functions with equal bodies distinct, and padding of structs 0.
_LAYOUT_FLAGS = ("-Os", "-fno-ipa-icf", "-ftrivial-auto-var-init=zero")
_NO_LIBRARY = ("-ffreestanding", "-fbuiltin", "-DPROBE_NO_LIBRARY=1")


@dataclass(frozen=True, slots=True)
class Figures:
    """Bytes, and for each a sentence about how they were found; None: unknown."""

    arena_bytes: int
    arena_doc: str
    flash_bytes: int | None = None
    flash_doc: str = ""
    stack_bytes: int | None = None
    stack_doc: str = ""
    needs: tuple[str, ...] = ()  # functions that the program must supply; (): unknown
    answers: tuple[str, ...] = ()  # outputs of runs on made-up inputs


@dataclass(frozen=True, slots=True)
class _Use:
    arena: int
    open_stack: int
    run_stack: int
    answers: tuple[str, ...]
    layout: str  # the output of layout.c

    @property
    def stack(self) -> int:
        return (max(self.open_stack, self.run_stack) + 63) // 64 * 64


def compiler_of(cpu: Cpu) -> str | None:
    """The path of the CPU's compiler, if it is installed."""
    return shutil.which(cpu.compiler)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of each input and output in the caller's memory."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def measure(
    name: str, cpu: Cpu, folder: Path, sources: Path, sizes: Sizes | None = None
) -> Figures | None:
    """Arena and stack of `folder`/NAME_model.c, written for an arena of any size; None if nothing can run it.
    BackendError if the CPU's compiler fails. sizes: given to get answers, too.
    """
    for how, machine in _machines(name, cpu, folder, sources, sizes):
        use = machine.run()
        if use is not None:
            return _figures(use, how)
    return None


def look_inside(
    name: str, cpu: Cpu, folder: Path, sources: Path, sizes: Sizes
) -> tuple[Figures, list[tuple[str, Elf]]] | None:
    """The same, with the output of layout.c for two programs at different base addresses."""
    for how, machine in _machines(name, cpu, folder, sources, sizes):
        uses = machine.run_with_layout()
        if uses is not None:
            return _figures(uses[0][0], how), [(use.layout, elf) for use, elf in uses]
    return None


def _machines(
    name: str, cpu: Cpu, folder: Path, sources: Path, sizes: Sizes | None
) -> Iterator[tuple[str, _Probe]]:
    """What can run the model, best first, with a sentence about how the figures were found."""
    compiler, emulator = compiler_of(cpu), shutil.which(cpu.emulator[0])
    if compiler is not None and emulator is not None:
        own = () if cpu.has_library else _NO_LIBRARY
        command = (compiler, *(cpu.emulated or cpu.flags), *own, "-nostdlib", "-static")
        alike = f" as {cpu.emulated[0]}" if cpu.emulated else ""
        how = f"measured with {_version(compiler)} -Os{alike} in {cpu.emulator[0]}"
        run = (emulator, *cpu.emulator[1:])
        yield how, _Probe(name, folder, sources, sizes, command, cpu.libraries, run, True)
    # 32-bit code on this machine, if it is x86-64 Linux with a compiler for such code.
    if platform.machine() not in ("x86_64", "AMD64") or not sys.platform.startswith("linux"):
        return
    enums = ("-fshort-enums",) if cpu.short_enums else ()
    for each in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        words = shlex.split(each)
        if words and shutil.which(words[0]) is not None:
            command = (*words, *_X86, *enums, *_NO_LIBRARY, "-nostdlib", "-static", "-no-pie")
            how = "measured as 32-bit x86 code, so an estimate"
            yield how, _Probe(name, folder, sources, sizes, command, (), (), False)


def _figures(use: _Use, how: str) -> Figures:
    return Figures(
        arena_bytes=use.arena,
        arena_doc="the buffer that the model needs, exactly",
        stack_bytes=use.stack,
        stack_doc=f"of the deepest call, {how}; your interrupts come on top",
        answers=use.answers,
    )


def compile_object(name: str, cpu: Cpu, folder: Path) -> tuple[Path, int, str] | None:
    """Compile NAME_model.c to NAME_model.o: its path, the flash bytes of a program with only the model, and
    how they were found. None without a compiler for the CPU.
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


@dataclass(frozen=True, slots=True)
class _Probe:
    """probe.c with a model, for one machine. command: its compiler with flags; emulator: runs the program. If
    `strict`, a failing compiler is an error; else there is no result."""

    name: str
    folder: Path
    sources: Path
    sizes: Sizes | None
    command: tuple[str, ...]
    libraries: tuple[str, ...]
    emulator: tuple[str, ...]
    strict: bool

    def run(self) -> _Use | None:
        model = self.folder / f"{self.name}_model.c"
        done = self._build_and_run(model, ("-Os",), {}, ((),))
        return done[0][0] if done else None

    def run_with_layout(self) -> list[tuple[_Use, Elf]] | None:
        """The same program at two base addresses; the programs are returned for their symbols."""
        text = (self.sources / "bare_metal/layout.c").read_text("utf-8")
        both = self.folder / f"{self.name}_layout.c"
        put(both, f'#include "{self.name}_model.c"\n{renamer(self.name)(text)}')
        places = tuple((f"-Wl,-Ttext-segment={place:#x}",) for place in _PLACES)
        try:
            return self._build_and_run(both, _LAYOUT_FLAGS, {"LAYOUT": "1"}, places)
        except BackendError:  # an old compiler lacks the flags: skip the layout
            return None
        finally:
            both.unlink()

    def _build_and_run(
        self,
        model: Path,
        flags: tuple[str, ...],
        more: dict[str, str],
        places: tuple[tuple[str, ...], ...],
    ) -> list[tuple[_Use, Elf]] | None:
        support = self.sources / "bare_metal"
        macros = [f"-DPROBE_{key}={value}" for key, value in (self._defines() | more).items()]
        objects = [self.folder / f"{self.name}_{each}.o" for each in ("probed", "probe")]
        program = self.folder / f"{self.name}_probe"
        found: list[tuple[_Use, Elf]] = []
        try:
            for source, made in zip((model, support / "probe.c"), objects, strict=True):
                include = (f"-I{support}", f"-I{self.folder}")
                _call([*self.command, *flags, *include, *macros, "-c", str(source), "-o", str(made)])  # fmt: skip
            for place in places:
                linked = [*self.command, *flags, *place, *map(str, objects)]
                _call([*linked, *self.libraries, "-o", str(program)])
                use = _run(self.emulator, program)
                if use is None:
                    return None
                found.append((use, Elf(program.read_bytes(), program.name)))
            return found
        except (BackendError, OSError):
            if self.strict:
                raise
            return None
        finally:
            for file in (*objects, program):
                file.unlink(missing_ok=True)

    def _defines(self) -> dict[str, str]:
        defines = {
            "HEADER": f'"{self.folder / f"{self.name}.h"}"',
            "NET": f"{self.name}_net",
            "ERROR": f"{self.name}_error",
            "OPEN": f"{self.name}_open",
            "INPUT": f"{self.name}_input",
            "RUN": f"{self.name}_run_with",
            "ARENA_USED": f"{self.name}_arena_used",
            "ARENA_ROOM": str(_ROOM),
        }
        if self.sizes is not None:
            outputs = self.sizes.outputs
            defines |= {
                "INPUT_BYTES": "".join(f"{size}," for size in self.sizes.inputs),
                "OUTPUT_BYTES": "".join(f"{size}," for size in outputs),
                "OUTPUT_ROOM": str(sum((size + 15) // 16 * 16 for size in outputs) + 16),
            }
        return defines


def _run(emulator: Sequence[str], program: Path) -> _Use | None:
    done = run_text([*emulator, str(program)], timeout=_TIMEOUT_S)
    text, _, layout = done.stdout.partition("layout\n")
    said = dict(line.split() for line in text.splitlines())
    if done.returncode != 0 or "arena" not in said:
        return None  # an emulator that does not know the CPU, a kernel without 32-bit programs
    answers = tuple(value for key, value in said.items() if key.startswith("answer"))
    return _Use(
        int(said["arena"]), int(said["open_stack"]), int(said["run_stack"]), answers, layout
    )


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
