# SPDX-License-Identifier: Apache-2.0
"""The keyword net on microcontrollers: built for each core, run on its machine in qemu-system-arm or -riscv32.

The answers are the host's, bit for bit, and the header's figures are what the image really takes. Flash, RAM, stack
and instructions are printed (`-s`, or the report of a failure).
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.bare_metal_image import CORES, build, output_bytes, run
from tests.e2e.commands import output_of
from tests.e2e.models import recorded

import samara
from samara import nn
from samara.exporter.measure.survey import survey
from samara.exporter.package import bare_metal
from samara.exporter.package.bare_metal_cpus import CPUS

Tool = Callable[[str, str], str]
MODEL = "micro_kws_m_qdq"
# Bytes of the arena: the first two cannot be less, the last is what the page promises.
ACTIVATIONS, INPUT, STRUCTURES = 39040, 7840, 2048
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
# Helpers that compute with doubles, and the library's mathematics.
DOUBLE = re.compile(r"__aeabi_(c?d|\w*2d|f2lz|f2ulz)|__\w+df|__fix\w+di|^[a-z]\w+f$|^(exp|log|pow)")
PAGE = Path(__file__).parents[2] / "docs" / "guides" / "bare-metal.md"


@pytest.fixture(scope="module")
def net(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The keyword net with a batch of one."""
    path = tmp_path_factory.mktemp("bare") / "net.samara"
    program = samara.import_onnx(
        models / MODEL / "model.onnx", shapes={"serving_default_input:0": (1, 1960)}
    )
    samara.export(program, path)
    return path


def written(net: Path, cpu: str, out: Path) -> bare_metal.BareMetalReport:
    selection, _ = survey([net], accuracy="strict")
    return bare_metal.write([net], cpu=cpu, name="net", out=out, selection=selection)


@pytest.mark.extended
@pytest.mark.parametrize("cpu", CORES)
def test_keyword_net_gives_the_hosts_bytes(
    net: Path,
    cpu: str,
    models: Path,
    need_tool: Tool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    emulator = CPUS[cpu].machine.emulator
    need_tool("cortex-m" if "arm" in emulator else cpu, CPUS[cpu].compiler)
    qemu = need_tool(emulator, emulator)
    report = written(net, cpu, tmp_path)
    inputs = [next(iter(case.inputs.values())) for case in recorded(models / MODEL)]
    image = build(cpu, tmp_path, inputs)
    answer = run(qemu, cpu, image)

    session = samara.Session(net)
    name = session.inputs[0].name
    for x, got in zip(inputs, answer.outputs, strict=True):
        (want,) = session.run({name: x}).values()
        assert got == output_bytes(want)

    figures = report.figures
    assert figures.flash_bytes is not None
    assert figures.stack_bytes is not None
    assert report.layout == "structures are in flash, laid out when the model was built"
    assert figures.arena_bytes - ACTIVATIONS - INPUT <= STRUCTURES
    # Exactly: all of the arena is used, one byte less is refused by both numbers, none behind it is touched.
    assert answer.figures["arena_used"] == figures.arena_bytes
    assert answer.refusal == (
        f"the arena has {figures.arena_bytes - 1} bytes, the model needs {figures.arena_bytes}"
    )
    assert answer.figures["guard_intact"] == 1
    # Where the emulator of the build knows the core the figure is the core's own; else that of one like it.
    slack = 512 if CPUS[cpu].emulated else 64
    assert abs(answer.stack - figures.stack_bytes) <= slack
    with capsys.disabled():
        print(
            f"\n{cpu:12} flash {figures.flash_bytes:7,} B  arena {figures.arena_bytes:7,} B"
            f"  stack {answer.stack:5,} B  {answer.figures['kilo_instructions']:6,} k instructions"
        )


class Stream(nn.Module):
    """Whole numbers, so that every machine computes the same."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("past", samara.ones(1, 6))

    def forward(self, x: samara.Tensor) -> samara.Tensor:
        self.past *= 2
        self.past += x
        return nn.functional.relu(self.past - 3)


@pytest.mark.extended
@pytest.mark.parametrize("cpu", ["cortex-m3", "rv32imc"])
def test_a_stream_goes_on_from_run_to_run(cpu: str, need_tool: Tool, tmp_path: Path) -> None:
    emulator = CPUS[cpu].machine.emulator
    need_tool("cortex-m" if "arm" in emulator else cpu, CPUS[cpu].compiler)
    qemu = need_tool(emulator, emulator)
    path = tmp_path / "stream.samara"
    samara.export(samara.script(Stream(), (samara.zeros(1, 6),)), path)
    report = written(path, cpu, tmp_path)
    assert report.layout == "structures are in flash, laid out when the model was built"
    inputs = [np.full((1, 6), i, np.float32) for i in (1, 5, -9)]
    answer = run(qemu, cpu, build(cpu, tmp_path, inputs))
    session = samara.Session(path)
    want = [output_bytes(next(iter(session.run({"x": x}).values()))) for x in inputs]
    assert list(answer.outputs) == want


@pytest.mark.extended
@pytest.mark.parametrize("cpu", [name for name in CPUS if name not in CORES])
def test_other_cores_compile_and_run_in_user_mode(
    net: Path, cpu: str, need_tool: Tool, tmp_path: Path
) -> None:
    need_tool(cpu, CPUS[cpu].compiler)
    need_tool(CPUS[cpu].emulator[0], CPUS[cpu].emulator[0])
    report = written(net, cpu, tmp_path)
    figures = report.figures
    assert report.layout == "structures are in flash, laid out when the model was built"
    assert figures.arena_bytes - ACTIVATIONS - INPUT <= STRUCTURES
    assert figures.flash_bytes is not None
    assert figures.stack_bytes is not None
    assert CPUS[cpu].emulator[0] in figures.stack_doc


@pytest.mark.extended
@pytest.mark.parametrize("cpu", CPUS)
def test_the_lines_of_the_readme_show_the_answer(
    net: Path, cpu: str, need_tool: Tool, tmp_path: Path
) -> None:
    """As a user types them, and by make; and what the file needs stands on the page."""
    core = CPUS[cpu]
    need_tool("cortex-m" if "arm" in core.compiler else cpu, core.compiler)
    need_tool(core.machine.emulator, core.machine.emulator)
    report = written(net, cpu, tmp_path)
    lines = [line.strip() for line in (tmp_path / "README.md").read_text().splitlines()]
    typed = [line for line in lines if line.startswith((core.compiler, core.machine.emulator))]
    assert len(typed) == 3
    assert typed[0] == report.to_json()["compile"]
    said = ""
    for line in typed:
        done = subprocess.run(
            line.split(), cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        said = done.stdout + done.stderr
    session = samara.Session(net)
    zeros = {session.inputs[0].name: np.zeros((1, 1960), np.float32)}
    (want,) = session.run(zeros).values()
    assert said.strip() == "output: " + " ".join(f"{value:.6f}" for value in want.ravel()[:10])
    dry = output_of("make", "-B", "-n", "run", cwd=tmp_path)
    assert [line for line in dry.splitlines() if line in typed] == typed[1:]

    assert report.figures.needs
    page = set(re.findall(r"\w+", PAGE.read_text("utf-8")))
    assert set(report.figures.needs) - page == set()
    arithmetic = [name for name in report.figures.needs if DOUBLE.search(name)]
    assert arithmetic == []


@pytest.mark.extended
def test_arena_is_the_same_as_32_bit_x86(
    net: Path, need_tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the core's compiler the figure is that of a 32-bit program of this machine."""
    need_tool("cortex-m", CPUS["cortex-m3"].compiler)
    need_tool("qemu-arm", "qemu-arm")
    real = written(net, "cortex-m3", tmp_path / "real").figures
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if "none-eabi" in name else which(name))
    here = written(net, "cortex-m3", tmp_path / "here").figures
    if here.flash_bytes is None and "64-bit" in here.arena_doc:
        pytest.skip("this machine has no compiler that makes 32-bit programs, or does not run them")
    assert here.arena_bytes == real.arena_bytes


@pytest.mark.extended
@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_host_compilers_take_the_file_without_a_warning(
    net: Path, compiler: str, need_tool: Tool, tmp_path: Path
) -> None:
    """A header that is C++ too, and one plain line for each file."""
    need_tool(compiler, compiler)
    written(net, "cortex-m4f", tmp_path)
    for line in (
        [compiler, "-std=c11", *STRICT, "-c", "net_model.c"],
        [compiler, "-std=c11", *STRICT, "-c", "example.c"],
        [compiler, "-std=c++11", *STRICT, "-x", "c++", "-fsyntax-only", "example.c"],
    ):
        subprocess.run(line, cwd=tmp_path, check=True)


def test_outputs_are_written_as_they_lie() -> None:
    assert output_bytes(np.asarray([1.0], np.float32)) == bytes.fromhex("0000803f")
