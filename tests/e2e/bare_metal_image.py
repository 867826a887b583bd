# SPDX-License-Identifier: Apache-2.0
"""Images of bare-metal models for machines of qemu: built, run, their answers read."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.exporter.package._bare_metal_cpus import CPUS

_HERE = Path(__file__).parent / "bare_metal"
_STRINGS = Path(__file__).parents[2] / "runtime_c" / "bare_metal"
_TIMEOUT_S = 900.0


@dataclass(frozen=True, slots=True)
class Machine:
    """A board of qemu: the emulator, its name there, and where code and memory are when it starts."""

    emulator: str
    name: str
    code: int
    ram: int
    options: tuple[str, ...] = ()


_ARM, _RISCV = "qemu-system-arm", "qemu-system-riscv32"
MACHINES = {
    "cortex-m3": Machine(_ARM, "mps2-an385", 0x0000_0000, 0x2000_0000),
    "cortex-m4f": Machine(_ARM, "mps2-an386", 0x0000_0000, 0x2000_0000),
    "cortex-m33": Machine(_ARM, "mps2-an505", 0x1000_0000, 0x3800_0000),
    "cortex-m55": Machine(_ARM, "mps3-an547", 0x0000_0000, 0x2000_0000),
    "rv32imc": Machine(_RISCV, "virt", 0x8000_0000, 0x8008_0000, ("-bios", "none")),
    "rv32imafc": Machine(_RISCV, "virt", 0x8000_0000, 0x8008_0000, ("-bios", "none")),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What an image said: the bytes of its outputs, and figures by name."""

    outputs: tuple[bytes, ...]
    refusal: str
    figures: dict[str, int]

    @property
    def stack(self) -> int:
        return max(self.figures["open_stack"], self.figures["run_stack"])


def build(cpu: str, folder: Path, inputs: Sequence[npt.NDArray[Any]]) -> Path:
    """Link `folder`/net_model.o, as samara build left it, with the test's own start-up and program."""
    core, machine = CPUS[cpu], MACHINES[cpu]
    rows = ",\n".join(
        "{" + ", ".join(float(v).hex() + "f" for v in x.ravel()) + "}" for x in inputs
    )
    (folder / "inputs.h").write_text(
        f"enum {{ IMAGE_CASES = {len(inputs)} }};\n"
        f"static const float image_inputs[{len(inputs)}][NET_INPUT_SIZE] = {{\n{rows}}};\n"
    )
    image = folder / "net.elf"
    library = ["-lm"] if core.has_library else ["-ffreestanding", "-nostdlib", "-lgcc"]
    subprocess.run(
        [core.compiler, *core.flags, "-Os", "-Wall", "-Wextra", "-Werror", "-nostartfiles", "-static",
         f"-I{_HERE}", f"-I{_STRINGS}", f"-I{folder}",
         f"-Wl,--defsym=CODE={machine.code:#x}", f"-Wl,--defsym=RAM={machine.ram:#x}",
         "-T", _HERE / "image.ld", _HERE / "startup.c", _HERE / "run.c", folder / "net_model.o",
         *library, "-o", image],
        check=True,
    )  # fmt: skip
    return image


def run(qemu: str, cpu: str, image: Path) -> Answer:
    """Run an image to its end; its instructions are counted by the emulator's clock."""
    machine = MACHINES[cpu]
    done = subprocess.run(
        [qemu, "-M", machine.name, *machine.options, "-display", "none", "-monitor", "none", "-serial", "none",
         "-icount", "shift=0", "-semihosting-config", "enable=on,target=native", "-kernel", image],
        text=True, capture_output=True, check=False, timeout=_TIMEOUT_S,
    )  # fmt: skip
    # The emulator writes what an image says to its standard error.
    said = (done.stdout + done.stderr).splitlines()
    assert done.returncode == 0, said[-5:]
    assert said[-1] == "done", said[-5:]
    outputs, refusal, figures = [], "", {}
    for line in said[:-1]:
        name, _, rest = line.partition(" ")
        if name == "output":
            outputs.append(bytes.fromhex(rest))
        elif name == "refused":
            refusal = rest
        else:
            figures[name] = int(rest)
    return Answer(tuple(outputs), refusal, figures)


def output_bytes(answer: npt.NDArray[Any]) -> bytes:
    """An output of the host's as an image writes it."""
    return np.ascontiguousarray(answer).tobytes()
