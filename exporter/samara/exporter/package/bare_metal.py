# SPDX-License-Identifier: Apache-2.0
"""Models for microcontrollers: one C file with runtime and model, which runs in one buffer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from samara.exporter.package._bare_metal_board import board_files, program_line, run_line
from samara.exporter.package._bare_metal_layout import NotLaidOutError, read
from samara.exporter.package._bare_metal_probe import (
    Figures,
    Sizes,
    compile_object,
    look_inside,
    measure,
)
from samara.exporter.package._bare_metal_tables import Tables, tables
from samara.exporter.package._bare_metal_text import Tensor, example, header, readme, tensors
from samara.exporter.package.amalgamate import amalgamate, image
from samara.exporter.package.bare_metal_cpus import Cpu, find_cpu
from samara.exporter.package.elf import Elf
from samara.exporter.package.lists import is_of_device, lists
from samara.exporter.package.selection import STEPS, Selection
from samara.pybridge import Model, UnsupportedError, sources
from samara.pybridge.atomic import put, replacing_files
from samara.pybridge.memory_use import CountedModel
from samara.pybridge.scratch import scratch_folder

EXPORTS = tuple(
    f"samara_{name}" for name in ["open", "run_with", "input", "reset", "message", "arena_used"]
)
# Parts that no bare-metal program can use; other parts depend on the models. The transforms of
# convolutions are among them: they need several times the memory of the weights, and bare-metal sessions
# have strict accuracy, which excludes them. `verify`: the model is declared constant, and nothing
# compares its checksums.
HOSTED = frozenset({"survey", "eager", "verify", "threads", "keep", "profile", "custom"}) | {
    "async",
    "image",
    "audio",
    "answer",
    "backends",
    "backends_auto",
    "backends_float16",
    "backends_steps",
    "backend_opencl",
    "conv_winograd",
    "f32_winograd_f23",
    "f32_winograd_f43",
}
# Convolutions that read pixels through pointers use smaller blocks here than in the library that
# determined the needs (ops/conv/indirect.c), so the last block may have few rows.
_SMALL_BLOCKS = {"f32_gemm_indirect": "f32_gemm_short"}
_SUPPORT = ("bare_model.h", "bare_model.c", "bare_steps.h", "bare_steps.c")
_SYSTEM_FILES = ("base/os_posix.c", "base/os_windows.c")
# Headers of a C library; bare_metal/bare_libc.h declares what is used of them.
_LIBRARY_HEADER = re.compile(
    r"^#include <(?:assert|errno|inttypes|math|stdio|stdlib|string|time)\.h>\n", re.MULTILINE
)
# Make the runtime's own enums as short as their values allow, whatever the compiler's flags, so that
# structures are equal for all compilers. Enums of the interface follow the flags.
_ENUM = re.compile(r"^( *)(typedef )?enum( \w+)? \{", re.MULTILINE)
_SMALL = """\
#if defined(__GNUC__)
#define SMR_SMALL __attribute__((packed))
#else
#define SMR_SMALL
#endif
"""
_PART = re.compile(r"^SMR_PART\((\w+),", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class BareMetalReport:
    """The files that were written, and their memory figures."""

    name: str
    cpu: Cpu
    files: tuple[Path, ...]
    figures: Figures
    layout: str  # where the model's structures are, and why, in words
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "cpu": self.cpu.name,
            "files": [str(path) for path in self.files],
            "arena_bytes": self.figures.arena_bytes,
            "flash_bytes": self.figures.flash_bytes,
            "stack_bytes": self.figures.stack_bytes,
            "compile": f"{self.cpu.compile_line} {self.name}_model.c",
            "program": program_line(self.name, self.cpu),
            "run": run_line(self.name, self.cpu),
            "needs": list(self.figures.needs),
            "layout": self.layout,
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """A few lines for a terminal."""
        figures = self.figures
        rows = (
            ("arena", figures.arena_bytes, figures.arena_doc),
            ("flash", figures.flash_bytes, figures.flash_doc),
            ("stack", figures.stack_bytes, figures.stack_doc),
        )
        lines = [f"{self.name} for {self.cpu.title}: {self.files[0].parent}"]
        lines += [f"  {path.name}" for path in self.files]
        lines += [f"  {what} {'?' if n is None else f'{n:,}':>9} B  {doc}" for what, n, doc in rows]
        lines.append(f"  {self.layout}")
        lines.append(f"  compile with: {self.cpu.compile_line} {self.name}_model.c")
        lines.append(f"  try the example: make -C {self.files[0].parent} run")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


def write(
    models: Sequence[Path],
    *,
    cpu: str,
    name: str,
    out: Path,
    selection: Selection,
    embed: bool = True,
) -> BareMetalReport:
    """Write NAME_model.c, NAME.h, example.c and README.md for one model into the folder `out`, and the files
    that make a program of them: startup.c, board.h, link.ld, Makefile. If the CPU's compiler is installed,
    also NAME_model.o.

    cpu: a name of _bare_metal_cpus.CPUS. selection: what the model needs of the runtime. The model is always
    embedded. UnsupportedError for an unknown CPU, and for a model with sizes that are not fixed;
    BackendError if a compiler fails.
    """
    core = find_cpu(cpu)
    if len(models) != 1 or not embed:
        raise UnsupportedError(
            f"a bare-metal build holds one embedded model, not {len(models)}",
            fix="build each model on its own, with a --name of its own",
        )
    inputs, outputs = _interface(models[0])
    runtime = sources()
    files = [f"{name}_model.c", f"{name}.h", "example.c", "README.md"]
    notes: list[str] = []
    with scratch_folder() as folder:
        source = _source(models[0], name, core, selection, runtime)
        put(folder / files[0], source.text(_ANY))
        unknown = Figures(0, "")
        put(folder / files[1], header(name, core, inputs, outputs, unknown, runtime))
        sizes = Sizes(tuple(t.size_bytes for t in inputs), tuple(t.size_bytes for t in outputs))
        source, figures = _laid_out(source, name, core, folder, runtime, sizes)
        if figures is None:
            figures = measure(name, core, folder, runtime)
    if figures is None:
        figures = _bound(models[0])
        notes.append("nothing here can run the model, so its arena is only an upper bound")
    with replacing_files(out) as fresh:
        put(fresh / files[0], source.text(figures.arena_bytes))
        made = compile_object(name, core, fresh)
        if made is None:
            notes.append(f"nothing was compiled: {core.compiler} is not installed ({core.package})")
        else:
            path, flash, doc = made
            files.append(path.name)
            needs = tuple(sorted(Elf(path.read_bytes(), path.name).undefined))
            figures = replace(figures, flash_bytes=flash, flash_doc=doc, needs=needs)
        written = {
            f"{name}.h": header(name, core, inputs, outputs, figures, runtime),
            "example.c": example(name, inputs, outputs),
            "README.md": readme(name, core, figures, source.why),
            **board_files(name, core, figures, runtime),
        }
        for file, content in written.items():
            put(fresh / file, content)
        files += [file for file in written if file not in files]
    return BareMetalReport(
        name, core, tuple(out / f for f in files), figures, source.why, tuple(notes)
    )


_ARENA = "SMR_ARENA_BYTES_GOES_HERE"
_ANY = 0  # an arena of any size
_NOT_LAID_OUT = "#define SMR_LAID_OUT 0\n"
# Machines with the structures of the tables: 32 bits, little-endian, and 64-bit integers aligned to 8
# bytes, as everywhere except on x86.
_LAID_OUT = """\
#if UINTPTR_MAX == 0xffffffffu && (!defined(__i386__) || defined(SMR_LIKE_EMBEDDED)) && \\
    (!defined(__BYTE_ORDER__) || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
#define SMR_LAID_OUT 1
#else
#define SMR_LAID_OUT 0
#endif
"""


@dataclass(frozen=True, slots=True)
class _Source:
    """NAME_model.c under construction. why: how its structures are made, in words."""

    whole: str
    model: bytes
    why: str = ""
    tables: Tables | None = None

    def text(self, arena_bytes: int) -> str:
        written = self.whole.replace(_ARENA, f"{arena_bytes}u" if arena_bytes else "0", 1)
        if self.tables is None:
            return written
        written = written.replace(_NOT_LAID_OUT, _LAID_OUT, 1)
        return written.replace(image(self.model), self.tables.image, 1) + self.tables.text


def _laid_out(
    source: _Source, name: str, cpu: Cpu, folder: Path, runtime: Path, sizes: Sizes
) -> tuple[_Source, Figures | None]:
    """The source with its tables, and its figures. If its structures cannot be laid out, the source is
    unchanged except for the reason. The figures are None if they are unknown."""
    found = look_inside(name, cpu, folder, runtime, sizes)
    if found is None:
        return replace(source, why=f"{_OPENED}: nothing here runs 32-bit programs"), None
    opened, runs = found
    file = folder / f"{name}_model.c"
    try:
        made = tables(read(runs), source.model)
        fresh = replace(
            source, tables=made, why="structures are in flash, laid out when the model was built"
        )
        put(file, fresh.text(_ANY))
        figures = measure(name, cpu, folder, runtime, sizes)
        if figures is None or figures.answers != opened.answers:
            raise NotLaidOutError("the tables give other answers")
    except NotLaidOutError as error:
        put(file, source.text(_ANY))
        return replace(source, why=f"{_OPENED}: {error}"), opened
    return fresh, figures


_OPENED = "structures are made in the arena by open"


def _interface(path: Path) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Inputs and outputs of the first function. UnsupportedError if a size is symbolic."""
    function = Model(path).function(None)
    for spec in (*function.inputs, *function.outputs):
        if not all(isinstance(dim, int) for dim in spec.shape):
            shape = "x".join(map(str, spec.shape))
            raise UnsupportedError(
                f"{path.name}: {spec.name} is {shape}: a bare-metal build needs numbers",
                fix=f"export the model with --shape {spec.name}=…",
            )
    if function.growing:
        raise UnsupportedError(
            f"{path.name}: a run may allocate, because a size without bound depends on data",
            fix="export it with --bound, which gives such sizes a limit",
        )
    inputs = tensors(function.inputs, "input")
    return inputs, tensors(function.outputs, "output", inputs)


def _source(model: Path, name: str, cpu: Cpu, selection: Selection, runtime: Path) -> _Source:
    known = frozenset(_PART.findall((runtime / "src/base/parts.inc").read_text("utf-8")))
    parts = (known if selection.parts is None else selection.parts) - HOSTED
    parts = frozenset(
        part for part in parts if not is_of_device(part) and not part.startswith(tuple(STEPS))
    )
    parts |= {more for part, more in _SMALL_BLOCKS.items() if part in parts}
    chosen = replace(selection, parts=parts, floor="scalar", isa=(), features=(), target=cpu.name)
    rows = lists(chosen, runtime) | dict.fromkeys(_SYSTEM_FILES, "\n")
    data = model.read_bytes()
    amalgam = amalgamate(
        rows,
        prefix=name,
        exports=EXPORTS,
        sources=runtime,
        extra_sources=[runtime / "bare_metal" / each for each in _SUPPORT],
        embed=data,
        defines={"SMR_BARE_METAL": "1", "SAMARA_ARENA_BYTES": _ARENA},
    )
    text = _LIBRARY_HEADER.sub("", amalgam.source)
    library = (runtime / "bare_metal/bare_libc.h").read_text("utf-8")

    def small(match: re.Match[str]) -> str:
        indent, typedef, tag = (part or "" for part in match.groups())
        own = (typedef or tag) and not tag.startswith(f" {name}_")
        return f"{indent}{typedef}enum SMR_SMALL{tag} {{" if own else match[0]

    text = _ENUM.sub(small, text)
    head = f"#include <stdint.h>\n{library}{_SMALL}{_NOT_LAID_OUT}"
    return _Source(text.replace("#include <stdint.h>\n", head, 1), data)


def _bound(path: Path) -> Figures:
    """The model's memory in this 64-bit library, which is never less than on a 32-bit machine."""
    with CountedModel(path) as model:
        function = next(iter(Model(path).functions))
        counted = model.session(function=function, threads=1, isa="scalar", strict=True)
    total = counted.model_bytes + counted.derived_bytes + counted.session_bytes
    return Figures(total, "enough, measured on a 64-bit machine; the real figure is smaller")
