# SPDX-License-Identifier: Apache-2.0
"""The files that turn a bare-metal model into a program: start-up, linker script, and make rules."""

from __future__ import annotations

import re
from pathlib import Path

from samara.exporter.package._bare_metal_probe import Figures
from samara.exporter.package.bare_metal_cpus import Cpu

_LEAST_STACK = 16 << 10
_INCLUDES = "#include <stddef.h>\n#include <stdint.h>\n"


def board_files(name: str, cpu: Cpu, figures: Figures, runtime: Path) -> dict[str, str]:
    """The files by name: board.h, startup.c, link.ld, Makefile, and strings.c for a compiler without a C
    library. runtime: the folder runtime_c."""
    board = runtime / "bare_metal" / "board"
    found = {each: (board / each).read_text("utf-8") for each in ("board.h", "startup.c")}
    found["link.ld"] = _link((board / "link.ld").read_text("utf-8"), cpu, figures)
    if not cpu.has_library:
        text = (runtime / "bare_metal" / "bare_strings.h").read_text("utf-8")
        own = re.sub(r"^#(?:ifndef|define) SMR_BARE_STRINGS_H\n|^#endif\n\Z", "", text, flags=re.M)
        found["strings.c"] = own.replace('#include "bare_libc.h"\n', _INCLUDES)
    found["Makefile"] = _makefile(name, cpu)
    return found


def program_line(name: str, cpu: Cpu) -> str:
    """The compiler command that makes NAME.elf from the sources."""
    return " ".join(
        (cpu.compiler, *cpu.flags, *cpu.freestanding, "-Os", *_sources(name, cpu), *cpu.link_flags, *cpu.libraries)
    ) + f" -o {name}.elf"  # fmt: skip


def run_line(name: str, cpu: Cpu) -> str:
    """The emulator command that runs NAME.elf."""
    return " ".join(cpu.machine.command(f"{name}.elf"))


def _sources(name: str, cpu: Cpu) -> tuple[str, ...]:
    own = () if cpu.has_library else ("strings.c",)
    return ("startup.c", "example.c", f"{name}_model.c", *own)


def _link(text: str, cpu: Cpu, figures: Figures) -> str:
    machine = cpu.machine
    stack = max(_LEAST_STACK, (2 * (figures.stack_bytes or 0) + 1023) // 1024 * 1024)
    values = {
        "TITLE": f"qemu's {machine.name}",
        "CODE": f"{machine.code:#010x}",
        "CODE_SIZE": f"{machine.code_bytes // 1024}K",
        "RAM": f"{machine.ram:#010x}",
        "RAM_SIZE": f"{machine.ram_bytes // 1024}K",
        "STACK": str(stack),
    }
    return re.sub(r"@(\w+)@", lambda match: values[match[1]], text)


def _makefile(name: str, cpu: Cpu) -> str:
    needs = " ".join((*_sources(name, cpu), f"{name}.h", "board.h", "link.ld"))
    return f"""\
# SPDX-License-Identifier: Apache-2.0
# {name} for {cpu.title}: `make` builds the example, `make run` shows its answer.

{name}.elf: {needs}
\t{program_line(name, cpu)}

run: {name}.elf
\t{run_line(name, cpu)}

clean:
\trm -f {name}.elf

.PHONY: run clean
"""
