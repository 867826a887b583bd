# SPDX-License-Identifier: Apache-2.0
"""Estimate the share of a core's multiply-add peak that inner loops of the AArch64 kernels reach, with LLVM's models.

Usage: mca.py [--cc "clang-19 --target=aarch64-linux-gnu"] [--cpu CPU …] [--show LOOP]. Each kernel is compiled as in
the build; its inner loop is the innermost one with the most multiply-adds, and llvm-mca simulates it in the
steady state. The peak is the same model's rate for independent multiply-adds of the loop's kind. --show prints
a loop. The rows are those of docs/internals/kernels.md.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

KERNELS = Path(__file__).resolve().parent.parent / "runtime_c" / "src" / "kernels"
FLAGS = ("-std=c11", "-O2", "-DNDEBUG", "-fPIC", "-S", "-o", "-")
CLANG = "clang-19 --target=aarch64-linux-gnu"
CPUS = ("neoverse-n1", "neoverse-v1", "cortex-a55")
# Two pipes of 64 bits do one 128-bit multiply-add per cycle, but LLVM's model issues two. The model also lets
# 128-bit loads issue at the same time, so its results for this core are an upper bound.
PEAKS: Mapping[tuple[str, str], float] = {("cortex-a55", "fmla"): 1, ("cortex-a55", "fmla.8h"): 1}
# Features of instructions that LLVM's models do not derive from the name of a core.
FEATURES: Mapping[str, str] = {"smmla": "+i8mm", "sdot": "+dotprod", "fmla.8h": "+fullfp16"}
_BRANCH = re.compile(r"\s+(?:b|b\.\w+|b\w\w|cbn?z|tbn?z)\s(?:.*,)?\s*(\.L\w+)")


@dataclass(frozen=True)
class Loop:
    """An inner loop: its function, and its multiply instruction (`fmla.8h`: only with lanes of that shape)."""

    name: str
    source: str
    function: str
    multiply: str
    not_on: tuple[str, ...] = ()  # cores without the instruction


LOOPS = (
    Loop("f32_gemm 8x8", "f32_gemm/f32_gemm.c", r"f32_gemm_tile_8x8_neon", "fmla"),
    Loop("f32_gemm 4x8", "f32_gemm/f32_gemm.c", r"f32_gemm_tile_4x8_neon", "fmla"),
    Loop("f32_gemm 8x8, f16 weights", "f32_gemm/f32_gemm.c", r"tile_8x8h_neon", "fmla"),
    Loop("f32_gemm 8x16, f16 sums", "f32_gemm/f32_gemm.c", r"_neon_fp16", "fmla.8h"),
    Loop("f32 gemv", "f32_gemm/f32_gemm.c", r"gemv_kernel_neon", "fmla"),
    Loop("f32_dwconv 3x3", "f32_dwconv/f32_dwconv.c", r"run_3x3s1_neon", "fmla"),
    Loop("f32_dwconv 3x3, stride 2", "f32_dwconv/f32_dwconv.c", r"run_3x3s2_neon", "fmla"),
    Loop("f32_dwconv 5x5", "f32_dwconv/f32_dwconv.c", r"run_x5s1_neon", "fmla"),
    Loop("i8_gemm 8x8, dot", "i8_gemm/i8_gemm.c", r"rows_8_neon_dot", "sdot"),
    Loop("i8 gemv, dot", "i8_gemm/i8_gemm.c", r"rows_1_neon_dot", "sdot"),
    Loop("i8_gemm 8x8, i8mm", "i8_gemm/i8_gemm.c", r"rows_8_neon_i8mm", "smmla",
         ("neoverse-n1", "cortex-a55")),
    Loop("i8_gemm 4x8, plain", "i8_gemm/i8_gemm.c", r"rows_4_neon\b", "smull"),
    Loop("i8_dwconv 5x5, plain", "i8_dwconv/i8_dwconv.c", r"run_5s1", "smlal"),
)  # fmt: skip


@dataclass(frozen=True)
class Body:
    """The instructions of a loop."""

    function: str
    lines: tuple[str, ...]
    multiplies: int


@dataclass(frozen=True)
class Rate:
    """A model's result for a loop."""

    cycles: float  # per iteration
    per_cycle: float  # multiply-adds
    fraction: float  # of the peak


def is_multiply(line: str, multiply: str) -> bool:
    name, _, shape = multiply.partition(".")
    return re.match(rf"{name}2?\s", line) is not None and (not shape or f".{shape}" in line)


def compiled(source: Path, compiler: str) -> list[str]:
    """The assembly of a kernel's source."""
    root = KERNELS.parent
    command = [*shlex.split(compiler), *FLAGS, f"-I{root.parent / 'include'}", f"-I{root}", str(source)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    return done.stdout.splitlines()


def back_edges(assembly: Sequence[str]) -> list[tuple[str, int, int]]:
    """(function, first line, line of the backward branch) of every loop."""
    function, labels, found = "", dict[str, int](), []
    for at, line in enumerate(assembly):
        if label := re.match(r"([\w.$]+):", line):
            if not label[1].startswith(".L"):
                function, labels = label[1], {}
            labels[label[1]] = at
        elif (branch := _BRANCH.match(line)) and branch[1] in labels:
            found.append((function, labels[branch[1]], at))
    return found


def instructions(assembly: Sequence[str]) -> tuple[str, ...]:
    """The lines without labels, directives and comments."""
    code = (re.split(r"//|;", line)[0].strip() for line in assembly)
    return tuple(line for line in code if line and line[0] not in ".#" and not line.endswith(":"))


def inner_loop(assembly: Sequence[str], loop: Loop) -> Body:
    """The innermost loop of the function with the most multiply-adds."""
    edges = [e for e in back_edges(assembly) if re.search(loop.function, e[0])]
    best: Body | None = None
    for function, first, last in edges:
        inside = [e for e in edges if first <= e[1] and e[2] <= last and e[1:] != (first, last)]
        if inside:
            continue
        lines = instructions(assembly[first : last + 1])
        count = sum(is_multiply(line, loop.multiply) for line in lines)
        if count and (best is None or count > best.multiplies):
            best = Body(function, lines, count)
    if best is None:
        raise SystemExit(f"{loop.name}: no loop of {loop.source} has {loop.multiply}")
    return best


def cycles(lines: Sequence[str], cpu: str, features: str, mca: str) -> float:
    """Cycles per iteration in the steady state."""
    totals = []
    for iterations in (100, 300):
        command = [mca, "-mtriple=aarch64", f"-mcpu={cpu}", f"-iterations={iterations}", "-json"]
        if features:
            command.append(f"-mattr={features}")
        text = "\n".join(lines) + "\n"
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\n{done.stderr[-2000:]}")
        report = json.loads(done.stdout)
        totals.append(report["CodeRegions"][0]["SummaryView"]["TotalCycles"])
    return float(totals[1] - totals[0]) / 200


def independent(line: str) -> list[str]:
    """Sixteen independent multiply-adds like `line`."""
    name, operands = line.split(None, 1)
    to, rest = operands.split(",", 1)
    shape = to.strip().partition(".")[2]
    rest = re.sub(r"\bv\d+", "v1", rest)  # by lane, half precision reaches v0 to v15 only
    return [f"{name} v{16 + i}.{shape},{rest}" for i in range(16)]


def rate(body: Body, loop: Loop, cpu: str, mca: str) -> Rate:
    features = FEATURES.get(loop.multiply, "")
    sample = next(line for line in body.lines if is_multiply(line, loop.multiply))
    peak = 16 / cycles(independent(sample), cpu, features, mca)
    peak = min(peak, PEAKS.get((cpu, loop.multiply), peak))
    taken = max(cycles(body.lines, cpu, features, mca), body.multiplies / peak)
    reached = body.multiplies / taken
    return Rate(taken, reached, reached / peak)


def by_lane(body: Body, loop: Loop) -> bool:
    """Whether the multiply-adds take a lane of a vector, so that no broadcast is needed."""
    lines = [line for line in body.lines if is_multiply(line, loop.multiply)]
    return all(re.search(r"\[\d+\]$", line) for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cc", default=CLANG, help=f"compiler for aarch64 (default: {CLANG})")
    parser.add_argument("--cpu", action="append", help=f"default: {', '.join(CPUS)}")
    parser.add_argument("--show", help="print this loop instead")
    given = parser.parse_args()
    mca = shutil.which("llvm-mca-19") or shutil.which("llvm-mca")
    if mca is None:
        raise SystemExit("no llvm-mca: install llvm-19")
    if shutil.which(shlex.split(given.cc)[0]) is None:
        raise SystemExit(f"no {shlex.split(given.cc)[0]}: install it, or name a compiler with --cc")
    cores: tuple[str, ...] = tuple(given.cpu or CPUS)
    loops = [loop for loop in LOOPS if given.show in (None, loop.name)]
    if not loops:
        raise SystemExit(f"no loop {given.show}; there are: {', '.join(x.name for x in LOOPS)}")
    sources: dict[str, list[str]] = {}
    if not given.show:
        print("| loop | instructions | multiply-adds |", " | ".join(cores), "|")
        print("|---" * (3 + len(cores)) + "|")
    for loop in loops:
        if loop.source not in sources:
            sources[loop.source] = compiled(KERNELS / loop.source, given.cc)
        body = inner_loop(sources[loop.source], loop)
        if given.show:
            print(f"// {body.function}", *body.lines, sep="\n")
            continue
        cells = []
        for cpu in cores:
            if cpu in loop.not_on:
                cells.append("–")
                continue
            r = rate(body, loop, cpu, mca)
            cells.append(
                f"{r.cycles:.1f} cycles, {r.per_cycle:.2f}/cycle, {100 * r.fraction:.0f} %"
            )
        kind = loop.multiply.partition(".")[0] + (" by lane" if by_lane(body, loop) else "")
        counts = f"{len(body.lines)} | {body.multiplies} {kind}"
        print(f"| {loop.name} | {counts} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
