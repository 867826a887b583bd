# SPDX-License-Identifier: Apache-2.0
"""Texts of a bare-metal build: the header with its figures, the example, the README."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from samara.exporter.package._bare_metal_board import program_line, run_line
from samara.exporter.package._bare_metal_probe import Figures
from samara.exporter.package._c_text import renamer
from samara.exporter.package.bare_metal_cpus import Cpu
from samara.exporter.package.ports import TAKEN
from samara.pybridge import TensorSpec

_C_TYPES = {
    "float32": "float", "float64": "double", "float16": "uint16_t", "bfloat16": "uint16_t",
    "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "uint16": "uint16_t",
    "int32": "int32_t", "uint32": "uint32_t", "int64": "int64_t", "uint64": "uint64_t",
    "bool": "uint8_t", "int4": "uint8_t", "uint4": "uint8_t",
}  # fmt: skip
_SHOWN = 10  # elements of an output that the example shows
_BITS = {"int4": 4, "uint4": 4, "bool": 8, "bfloat16": 16}
_NAME = re.compile(r"[a-z][a-z0-9_]{0,23}\Z")
_STATUS = re.compile(r"^/\* Status codes;.*?^\} samara_status;\n", re.MULTILINE | re.DOTALL)
_ERROR = re.compile(
    r"^typedef struct samara_error \{.*?^\} samara_error;\n", re.MULTILINE | re.DOTALL
)
_BODY = re.compile(r"^#define SAMARA_ARENA_ALIGNMENT.*(?=^#endif)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output in C."""

    name: str  # of the parameter
    spec: TensorSpec

    @property
    def c_type(self) -> str:
        return _C_TYPES[self.spec.dtype]

    @property
    def size(self) -> int:
        return math.prod(int(dim) for dim in self.spec.shape)

    @property
    def size_bytes(self) -> int:
        bits = _BITS.get(self.spec.dtype) or 8 * np.dtype(self.spec.dtype).itemsize
        return (self.size * bits + 7) // 8

    @property
    def items(self) -> int:
        """The number of elements of its C type."""
        return self.size_bytes if self.spec.dtype in ("int4", "uint4") else self.size

    def macros(self) -> list[tuple[str, str]]:
        """Its macros, without the model's prefix."""
        stem = self.name.upper()
        rows = [(f"{stem}_SIZE", str(self.items)), (f"{stem}_BYTES", str(self.size_bytes))]
        if self.spec.scale is not None:
            rows += [
                (f"{stem}_SCALE", f"{np.float32(self.spec.scale)!s}f".replace("np.float32", "")),
                (f"{stem}_ZERO_POINT", f"({self.spec.zero_point})"),
            ]
        return rows

    @property
    def doc(self) -> str:
        shape = ", ".join(map(str, self.spec.shape))
        quant = ""
        if self.spec.scale is not None:
            quant = f", real = scale * ({self.name} - zero point)"
        return f"{self.name}: '{self.spec.name}', {self.spec.dtype} [{shape}]{quant}"


def tensors(
    specs: Sequence[TensorSpec], kind: str, others: Collection[Tensor] = ()
) -> tuple[Tensor, ...]:
    """Inputs or outputs with the names of their parameters: `kind` if there is only one; else their names, if
    they are valid in C and C++ and distinct, also from `others`; else numbered names."""
    if len(specs) == 1:
        return (Tensor(kind, specs[0]),)
    names = [spec.name for spec in specs]
    taken = TAKEN.union(other.name for other in others)
    fit = len(set(names)) == len(names)
    fit = fit and all(_NAME.match(name) and name not in taken for name in names)
    return tuple(Tensor(spec.name if fit else f"{kind}{i}", spec) for i, spec in enumerate(specs))


def header(
    name: str,
    cpu: Cpu,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    figures: Figures,
    sources: Path,
) -> str:
    """NAME.h."""
    upper = name.upper()
    public = (sources / "include/samara/samara.h").read_text("utf-8")
    own = (sources / "bare_metal/bare_model.h").read_text("utf-8")
    status, error, body = _STATUS.search(public), _ERROR.search(public), _BODY.search(own)
    assert status
    assert error
    assert body
    api = renamer(name)("\n".join((status[0], error[0], body[0].rstrip())))
    macros = "".join(
        f"#define {upper}_{key} {value}\n"
        for each in (*inputs, *outputs)
        for key, value in each.macros()
    )
    docs = "".join(f" *   {each.doc}\n" for each in (*inputs, *outputs))
    return f"""\
/* SPDX-License-Identifier: Apache-2.0 */
/* A model for {cpu.title}, written by samara build. {name}_model.c is the rest.
 *
{docs} */
#ifndef {upper}_H_
#define {upper}_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

{_figures(upper, figures)}
{macros}
{api}

{_run(name, inputs, outputs)}
#ifdef __cplusplus
}}
#endif

#endif
"""


def _figures(upper: str, figures: Figures) -> str:
    lines = [f"/* {figures.arena_doc} */", f"#define {upper}_ARENA_BYTES {figures.arena_bytes}u"]
    if figures.flash_bytes is not None:
        lines += [
            f"/* {figures.flash_doc} */",
            f"#define {upper}_FLASH_BYTES {figures.flash_bytes}u",
        ]
    if figures.stack_bytes is not None:
        lines += [
            f"/* {figures.stack_doc} */",
            f"#define {upper}_STACK_BYTES {figures.stack_bytes}u",
        ]
    return "\n".join(lines) + "\n"


def _run(name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> str:
    params = [f"const {each.c_type} *{each.name}" for each in inputs]
    params += [f"{each.c_type} *{each.name}" for each in outputs]
    ins = ", ".join(each.name for each in inputs) or "NULL"
    outs = ", ".join(each.name for each in outputs) or "NULL"
    head = ", ".join((f"{name}_net *net", *params))
    return f"""\
/* Run on these buffers, aligned to their elements; NULL for an input means {name}_input. */
static inline {name}_status {name}_run({head}) {{
  const void *inputs[] = {{{ins}}};
  void *outputs[] = {{{outs}}};
  return {name}_run_with(net, inputs, outputs);
}}
"""


def example(name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> str:
    """example.c: open, fill in, run, read."""
    upper = name.upper()
    results = "".join(
        f"static {each.c_type} {each.name}[{upper}_{each.name.upper()}_SIZE];\n" for each in outputs
    )
    fill = "".join(
        f"""\
  {each.c_type} *{each.name} = ({each.c_type} *){name}_input(net, {i});
  for (size_t i = 0; i < {upper}_{each.name.upper()}_SIZE; i++) {each.name}[i] = 0; /* your data */
"""
        for i, each in enumerate(inputs)
    )
    arguments = ", ".join(["net", *("NULL" for _ in inputs), *(each.name for each in outputs)])
    show = "".join(_show(upper, each) for each in outputs)
    return f"""\
/* SPDX-License-Identifier: Apache-2.0 */
/* A program around {name}_model.c that shows the answer; README.md has the lines that build and run it. */
#include "board.h"
#include "{name}.h"

/* All memory of the model except its stack, which is {upper}_STACK_BYTES. */
static uint64_t arena[({upper}_ARENA_BYTES + 7) / 8];
{results}
int main(void) {{
  {name}_net *net;
  {name}_error error;
  if ({name}_open(arena, sizeof arena, &net, &error) != {upper}_OK) {{
    board_write(error.text);
    return 1;
  }}
{fill}  if ({name}_run({arguments}) != {upper}_OK) {{ /* as often as there are inputs */
    board_write({name}_message(net));
    return 2;
  }}
{show}  return 0;
}}
"""


def _show(upper: str, output: Tensor) -> str:
    """The lines of the example that print the beginning of an output."""
    is_real = output.c_type in ("float", "double")
    call = (
        f"board_real((float){output.name}[i])"
        if is_real
        else f"board_integer((int64_t){output.name}[i])"
    )
    return f"""\
  board_write("{output.name}:");
  for (size_t i = 0; i < {upper}_{output.name.upper()}_SIZE && i < {_SHOWN}; i++) {{
    board_write(" ");
    {call};
  }}
  board_write("\\n");
"""


def readme(name: str, cpu: Cpu, figures: Figures, layout: str) -> str:
    """README.md: how to compile and run, what is needed, and the figures. layout: where the model's
    structures are, in words."""
    upper = name.upper()

    def row(what: str, value: int | None, doc: str) -> str:
        return (
            f"| `{upper}_{what}_BYTES` | {'unknown' if value is None else f'{value:,}'} | {doc} |"
        )

    rows = "\n".join(
        (
            row("ARENA", figures.arena_bytes, figures.arena_doc),
            row("FLASH", figures.flash_bytes, figures.flash_doc),
            row("STACK", figures.stack_bytes, figures.stack_doc),
        )
    )
    return f"""\
# {name} for {cpu.title}

Compile `{name}_model.c` with your program, in one line and without other flags than the CPU's:

    {cpu.compile_line} {name}_model.c

It needs the compiler's own headers, and of other files nothing but
{_needed(figures)}
There is no heap, file, thread, clock or printf in it. `{name}.h` is the interface.

## The example

`example.c` is a whole program: with `startup.c` (vectors, memory, text by semihosting), `board.h` and
`link.ld` (where memory is). `make run` builds it and runs it in the emulator, by these lines:

    {program_line(name, cpu)}
    {run_line(name, cpu)}

The answer to an input of zeros is shown. On a board of your own, write its memory into `link.ld` and
its UART into `board_write`; a debugger with semihosting on shows the text without that.

## Figures

| macro | bytes | |
|---|---:|---|
{rows}

The model's weights stay in flash and are read where they lie; {layout}. A smaller arena than
`{upper}_ARENA_BYTES` is refused by `{name}_open` with a text that names both numbers; a run allocates
nothing. Compile your program with the same setting of `-fshort-enums` as this file.
"""


def _needed(figures: Figures) -> str:
    """The functions that the compiled model calls, or, if it was not compiled, those that it may call."""
    if not figures.needs:
        return "`memcpy memmove memset memcmp strlen strcmp` and the compiler's arithmetic helpers (libgcc)."
    helpers = [each for each in figures.needs if each.startswith("__")]
    others = [each for each in figures.needs if not each.startswith("__")]
    text = f"`{' '.join(others)}`"
    return (
        f"{text} and of the compiler's helpers (libgcc) `{' '.join(helpers)}`."
        if helpers
        else f"{text}."
    )
