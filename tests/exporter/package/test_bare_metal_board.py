# SPDX-License-Identifier: Apache-2.0
"""The files that make a program of a bare-metal model, for every core."""

from __future__ import annotations

import re

import pytest

from samara.exporter.package._bare_metal_board import board_files, program_line, run_line
from samara.exporter.package._bare_metal_probe import Figures
from samara.exporter.package.bare_metal_cpus import CPUS, Cpu
from samara.pybridge import sources

FIGURES = Figures(1000, "exactly", stack_bytes=20_000)


@pytest.mark.parametrize("core", CPUS.values(), ids=CPUS)
def test_every_core_has_a_machine_and_its_files(core: Cpu) -> None:
    files = board_files("kws", core, FIGURES, sources())
    assert {"board.h", "startup.c", "link.ld", "Makefile"} <= set(files)
    assert ("strings.c" in files) == (not core.has_library)
    assert "@" not in files["link.ld"]
    assert f"ORIGIN = {core.machine.code:#010x}" in files["link.ld"]
    assert "board_stack_bytes = 40960;" in files["link.ld"]  # twice what was measured
    for text in files.values():
        assert "SPDX-License-Identifier: Apache-2.0" in text
        assert not re.search(r"#include \"bare_", text)
    line, run = program_line("kws", core), run_line("kws", core)
    assert f"\t{line}\n" in files["Makefile"]
    assert f"\t{run}\n" in files["Makefile"]
    for name in ("startup.c", "example.c", "kws_model.c", "-T link.ld"):
        assert name in line
    assert ("strings.c" in line) == ("strings.c" in files)
    assert f"-M {core.machine.name} " in run
    assert run.endswith("-semihosting -kernel kws.elf")
