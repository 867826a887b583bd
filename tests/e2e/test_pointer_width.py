# SPDX-License-Identifier: Apache-2.0
"""The memory contract where pointers have 32 bits: the arena of the file, smaller structures."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.commands import output_of

from samara.exporter.ir import read_file
from samara.exporter.package.amalgamate import amalgamate
from samara.pybridge import sources

EXPORTS = (
    *("samara_model_open_path", "samara_model_close", "samara_session_create"),
    *("samara_session_destroy", "samara_session_memory", "samara_meter_start"),
    *("samara_pool_create", "samara_pool_destroy"),
)


@pytest.fixture(scope="module")
def probe(
    repo: Path, tmp_path_factory: pytest.TempPathFactory, need_tool: Callable[[str, str], str]
) -> Callable[[str], list[str]]:
    """`probe("host")`, `probe("arm")`: the command of the probe, the whole runtime in it."""
    folder = tmp_path_factory.mktemp("probe")
    compilers = {
        "host": need_tool("gcc", "gcc"),
        "arm": need_tool("armhf", "arm-linux-gnueabihf-gcc"),
    }
    emulators: dict[str, list[str]] = {"host": [], "arm": [need_tool("qemu", "qemu-arm")]}
    unit = folder / "samara.c"
    root = sources()
    unit.write_text(amalgamate({}, exports=EXPORTS, sources=root).source, encoding="utf-8")

    def make(machine: str) -> list[str]:
        made = folder / machine
        if not made.exists():
            command: list[str | Path] = [compilers[machine], "-O0", "-static", "-pthread"]
            command += [f"-I{root / 'include'}", unit, repo / "tests/e2e/memory_probe.c"]
            subprocess.run([*command, "-o", made, "-lm"], check=True)
        return [*emulators[machine], str(made)]

    return make


@pytest.mark.extended
@pytest.mark.parametrize("name", ["micro_kws_m_qoperator", "micro_kws_m_fp32", "mnist_cntk"])
def test_tensors_take_the_same_and_structures_less(
    name: str, exported: Callable[[str], Path], probe: Callable[[str], list[str]]
) -> None:
    path = exported(name)
    file = read_file(path)
    for threads in (1, 2):
        row = next(m for m in file.memory if m.threads == threads and "scalar" in m.isa)
        numbers = {}
        for machine in ("host", "arm"):
            command = [*probe(machine), str(path), "scalar", str(threads)]
            numbers[machine] = [int(word) for word in output_of(*command).split()]
        stated = [row.session_bytes, row.arena, row.blocks, row.variables, row.session]
        assert numbers["host"] == [
            row.pointer_bits, file.program_bytes + row.model, row.derived, *stated
        ]  # fmt: skip
        print(f"\n{name}, {threads} threads: {numbers}")
        bits, model, derived, session, arena, blocks, variables, structures = numbers["arm"]
        assert bits == 32
        assert (blocks, variables) == (row.blocks, row.variables)
        assert arena <= row.arena
        assert structures <= row.session
        assert session < row.session_bytes
        assert file.program_bytes < model < file.program_bytes + row.model
        assert derived <= row.derived
