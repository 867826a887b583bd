# SPDX-License-Identifier: Apache-2.0
"""Count the instructions of an inference under emulation and compare them with runtime_c/count_budget.txt.

Usage: python -m tools.count [--aarch64 SAMARA_RUN] [--x86-64 SAMARA_RUN] [--only NET …] [--write]. A count is the
difference between one run and two, so it excludes loading. More than 2 % over the budget fails; --write
updates the budget. Missing programs, emulators and models of SAMARA_MODELS are printed as NOT RUN.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from benchmarks.zoo import MODELS, mobilenet_v2

import samara

ROOT = Path(__file__).resolve().parent.parent
BUDGET = ROOT / "runtime_c" / "count_budget.txt"
GROWTH = 1.02
SYSROOT = "/usr/aarch64-linux-gnu"
_HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# Instructions of one inference on one thread, counted by qemu with the builds of CI by gcc: more
# than 2 % more fails; python -m tools.count --write writes this file. A row: kernels, net, instructions.
"""

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Cpu:
    """A CPU of the emulator, which determines the kernels that the runtime selects."""

    kernels: str
    architecture: str
    model: str

    def emulator(self, root: str = SYSROOT) -> list[str]:
        """The qemu command for this CPU; `root` contains the program's libraries."""
        where = ["-L", root] if self.architecture == "aarch64" else []
        return [f"qemu-{self.architecture}", "-cpu", self.model, *where]


CPUS = (
    Cpu("neon", "aarch64", "cortex-a53"),
    Cpu("neon-dot", "aarch64", "neoverse-n1"),
    Cpu("neon-i8mm", "aarch64", "max"),
    Cpu("avx2", "x86_64", "Haswell"),
)


@dataclass(frozen=True, slots=True)
class Net:
    """A model: the result of `build`, quantized if there is a scheme, or that of SAMARA_MODELS with this
    name. cpus: those whose kernels are counted. shape: of an input with symbolic dims.
    """

    name: str
    build: Callable[[], onnx.ModelProto] | None = None
    scheme: str | None = None
    cpus: tuple[str, ...] = ("neon", "avx2")
    shape: str | None = None


_ALL = tuple(cpu.kernels for cpu in CPUS)
NETS = (
    Net("mnist_cntk"),
    Net("micro_kws_m_qdq", cpus=_ALL, shape="serving_default_input:0=1x1960"),
    Net("mobilenet_v2_96", lambda: mobilenet_v2(96)),
    Net("mobilenet_v2_96_int8", lambda: mobilenet_v2(96), "int8", _ALL),
    Net("mobilenet_v2_96_fp16", lambda: mobilenet_v2(96), "fp16", ("neon", "neon-i8mm")),
    Net("resnet8", MODELS["resnet8"].build),
    Net("resnet8_int8", MODELS["resnet8"].build, "int8", _ALL),
    Net("lstm", MODELS["lstm"].build),
)


def write_model(net: Net, folder: Path) -> Path:
    """The net's file. FileNotFoundError if a recorded model is missing."""
    if net.build is not None:
        program = samara.import_onnx(net.build())
    else:
        models = os.environ.get("SAMARA_MODELS")
        if not models:
            raise FileNotFoundError("SAMARA_MODELS is not set")
        (source,) = (Path(models) / net.name).glob("*.onnx")
        program = samara.import_onnx(source)
    if net.scheme is not None:
        rng = np.random.default_rng(0)
        shapes = {v.name: [int(str(d)) for d in v.type.shape] for v in program.main.inputs}
        feeds = {
            name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()
        }
        program = samara.quantize(program, [feeds], scheme=net.scheme)
    path = folder / f"{net.name}.samara"
    samara.export(program, path, check=False)
    return path


def build_plugin(folder: Path) -> Path:
    """The counting plugin, compiled with the host's compiler."""
    plugin = folder / "count.so"
    source = ROOT / "tools" / "qemu_count.c"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", plugin, source], check=True)
    return plugin


def counts_of(
    emulator: Sequence[str], plugin: Path, command: Sequence[str], mark: int | None = None
) -> list[int]:
    """Instructions of a program from its start to every system call with number `mark`, and to its end."""
    given = str(plugin) if mark is None else f"{plugin},mark={mark}"
    words = [*emulator, "-plugin", given, *command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = re.findall(r"^(?:mark|instructions) (\d+)$", done.stderr, re.MULTILINE)
    if done.returncode != 0 or not found:
        raise RuntimeError(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr[-1000:]}")
    return [int(n) for n in found]


def of_one_run(cpu: Cpu, plugin: Path, program: Path, model: Path, shape: str | None) -> int:
    """Instructions that a second inference adds."""
    shapes = ["--shape", shape] if shape else []
    command = [str(program), str(model), *shapes, "--threads", "1", "--repeat"]
    once, twice = (counts_of(cpu.emulator(), plugin, [*command, n])[-1] for n in ("1", "2"))
    return twice - once


# ---- the budget ----


def read_budget(text: str) -> dict[Key, int]:
    """Rows `kernels net instructions`; # starts a comment."""
    rows = [line.split("#")[0].split() for line in text.splitlines()]
    return {(row[0], row[1]): int(row[2]) for row in rows if row}


def budget_text(counts: Mapping[Key, int]) -> str:
    """The file that read_budget reads."""
    return _HEAD + "".join(f"{' '.join(key)} {n}\n" for key, n in counts.items())


def over_budget(counts: Mapping[Key, int], budget: Mapping[Key, int]) -> Iterator[str]:
    """Counts that grew by more than 2 %, and counts without a budget."""
    for key, n in counts.items():
        name = " ".join(key)
        if key not in budget:
            yield f"{name}: {n:,} instructions, without a budget: python -m tools.count --write"
        elif n > budget[key] * GROWTH:
            more = n / budget[key] - 1
            yield f"{name}: {n:,} instructions, {more:.1%} over its budget of {budget[key]:,}"


# ---- counting ----


def usable(programs: Mapping[str, Path], missing: list[str]) -> Iterator[tuple[Cpu, Path]]:
    """CPUs with their programs; missing ones are added to `missing`."""
    for cpu in CPUS:
        program = programs[cpu.architecture]
        if shutil.which(f"qemu-{cpu.architecture}") is None:
            missing.append(f"counts for {cpu.architecture} (no qemu-{cpu.architecture})")
        elif not program.is_file():
            missing.append(f"counts for {cpu.architecture} ({program} is not built)")
        else:
            yield cpu, program


def count_all(
    programs: Mapping[str, Path], names: Sequence[str]
) -> tuple[dict[Key, int], list[str]]:
    """Counts by (kernels, net), and a list of what could not be counted."""
    missing: list[str] = []
    pairs = list(usable(programs, missing))
    with tempfile.TemporaryDirectory(prefix="samara-count-") as scratch:
        folder = Path(scratch)
        plugin = build_plugin(folder)
        jobs: list[tuple[Cpu, Path, Net, Path]] = []
        for net in NETS:
            if names and net.name not in names:
                continue
            try:
                model = write_model(net, folder)
            except FileNotFoundError as error:
                missing.append(f"counts of {net.name} ({error})")
                continue
            jobs += [(cpu, p, net, model) for cpu, p in pairs if cpu.kernels in net.cpus]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            counts = pool.map(lambda j: of_one_run(j[0], plugin, j[1], j[3], j[2].shape), jobs)
            found = zip([(j[0].kernels, j[2].name) for j in jobs], counts, strict=True)
            return dict(sorted(found)), missing


def main(arguments: Iterable[str] | None = None) -> int:
    """Print each count; exit 1 when one is over its budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--aarch64", type=Path, default=ROOT / "build/aarch64/samara-run")
    parser.add_argument("--x86-64", type=Path, default=ROOT / "build/dev/samara-run")
    parser.add_argument("--only", action="append", default=[], choices=[n.name for n in NETS])
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args(None if arguments is None else list(arguments))
    programs = {"aarch64": args.aarch64, "x86_64": args.x86_64}
    counts, missing = count_all(programs, args.only)
    budget = read_budget(BUDGET.read_text(encoding="utf-8")) if BUDGET.is_file() else {}
    for key, n in counts.items():
        print(f"{' '.join(key)}: {n:,} instructions of {budget.get(key, 0):,}")
    for text in dict.fromkeys(missing):
        print(f"NOT RUN: {text}")
    if args.write:
        if missing or args.only:
            parser.error("--write needs all programs, emulators and models")
        BUDGET.write_text(budget_text(counts), encoding="utf-8")
        return 0
    grown = list(over_budget(counts, budget))
    print("\n".join(grown), file=sys.stderr) if grown else None
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
