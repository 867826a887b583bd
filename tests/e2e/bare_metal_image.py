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

from samara.exporter.package.bare_metal_cpus import CPUS

_HERE = Path(__file__).parent / "bare_metal"
_TIMEOUT_S = 900.0


# Cores whose machine has the core itself: figures are those of the core.
CORES = ("cortex-m3", "cortex-m4f", "cortex-m33", "cortex-m55", "rv32imc", "rv32imafc")


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
    """Link `folder`/net_model.o and the start-up that samara build wrote with the test's program."""
    core = CPUS[cpu]
    rows = ",\n".join(
        "{" + ", ".join(float(v).hex() + "f" for v in x.ravel()) + "}" for x in inputs
    )
    (folder / "inputs.h").write_text(
        f"enum {{ IMAGE_CASES = {len(inputs)} }};\n"
        f"static const float image_inputs[{len(inputs)}][NET_INPUT_SIZE] = {{\n{rows}}};\n"
    )
    strings = [] if core.has_library else ["strings.c"]
    subprocess.run(
        [core.compiler, *core.flags, *core.freestanding, "-Os", "-std=gnu11", "-Wall", "-Wextra", "-Wpedantic",
         "-Werror", f"-I{_HERE}", "-I.", _HERE / "run.c", "startup.c", *strings, "net_model.o", *core.link_flags,
         *core.libraries, "-o", "net.elf"],
        cwd=folder, check=True,
    )  # fmt: skip
    return folder / "net.elf"


def run(qemu: str, cpu: str, image: Path) -> Answer:
    """Run an image to its end; its instructions are counted by the emulator's clock."""
    machine = CPUS[cpu].machine
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
