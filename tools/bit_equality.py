# SPDX-License-Identifier: Apache-2.0
"""Check that every build of the runtime, on every instruction set, gives the reference's bits.

        tools/bit_equality.py                    build, run the vectors, print the matrix
        tools/bit_equality.py --build NAME=PATH  also use this samara-run (qemu runs those for aarch64)
        tools/bit_equality.py --patched          build with three wrong roundings; each must be noticed

tools/bit_vectors.py writes the vectors. A cell that is not run shows the reason. Exit status 1: a cell is
wrong (or a patched build was not noticed).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tools.unity import unity_text  # noqa: E402

RUNTIME = ROOT / "runtime_c"
SYSROOT = "/usr/aarch64-linux-gnu"
CLANGS = tuple(f"clang-{v}" for v in (21, 20, 19, 18, 17, 16))
X86 = ("scalar", "avx2", "avx512", "avx512-vnni", "amx-int8")
ARM = ("scalar", "neon", "neon-dot", "neon-i8mm")

# The rounding of portable kernels, and wrong replacements of it.
ROUNDING = RUNTIME / "src" / "simd" / "requantize.h"
PATCHES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "half up": (
        (
            "(int32_t)((within + SMR_ROUND_MAGIC) - SMR_ROUND_MAGIC)",
            "(int32_t)floorf(within + 0.5f)",
        ),
    ),
    "fused multiply-add": (
        (
            "const float p = (float)acc * m;",
            "const float whole = fmaf((float)acc, m, SMR_ROUND_MAGIC) - SMR_ROUND_MAGIC;\n"
            "  const float p = fabsf((float)acc * m) < 1024.0f ? whole : (float)acc * m;",
        ),
    ),
    "clamp after rounding": (
        ("const float within = above < hi ? above : hi;", "(void)above;"),
        (
            "return (int32_t)((within + SMR_ROUND_MAGIC) - SMR_ROUND_MAGIC) + zero;",
            "const int32_t whole = (int32_t)(int64_t)((number + SMR_ROUND_MAGIC) - SMR_ROUND_MAGIC);\n"
            "  return (whole < (int32_t)lo ? (int32_t)lo : whole > (int32_t)hi ? (int32_t)hi : whole) + zero;",
        ),
    ),
}


@dataclass(frozen=True)
class Build:
    """A samara-run, and the command that starts it."""

    name: str
    program: Path | None
    sets: tuple[str, ...]
    start: tuple[str, ...] = ()
    reason: str = ""  # why there is no program


def compile_plain(
    compiler: Sequence[str],
    source: Path,
    out: Path,
    files: Sequence[Path] = (),
    *,
    first: Sequence[str] = (),
    last: Sequence[Path] = (),
) -> str:
    """Compile samara-run with one plain compiler command without flags; returns the reason of a failure.

    Without `files` the library is one unit, which compiles in a quarter of the time of its files.
    """
    if not files:
        unit = out.with_name(f"{out.name}.c")
        unit.write_text(unity_text(source), encoding="utf-8")
        files = [unit, source / "tools" / "samara-run.c"]
    places = (f"-I{source}/include", f"-I{source}/src")
    line = [*compiler, *first, *places, *files, *last, "-lm", "-lpthread", "-o", out]
    done = subprocess.run(list(map(str, line)), capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"does not compile: {done.stderr.strip()[-400:]}"


def compile_cmake(compiler: str, folder: Path, *options: str) -> str:
    """Build samara-run with CMake; returns the reason of a failure."""
    make = ["cmake", "-S", str(RUNTIME), "-B", str(folder), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
            f"-DCMAKE_C_COMPILER={compiler}", "-DSAMARA_BUILD_TESTS=OFF", "--log-level=WARNING", *options]  # fmt: skip
    for command in (make, ["cmake", "--build", str(folder), "--target", "samara-run"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return f"does not build: {(done.stdout + done.stderr).strip()[-400:]}"
    return ""


def plain(
    name: str,
    compiler: Sequence[str],
    folder: Path,
    given: Mapping[str, Path],
    sets: tuple[str, ...],
    start: tuple[str, ...] = (),
) -> Build:
    """A plain build: the given one, a new one, or the reason why there is none."""
    if name in given:
        return Build(name, given[name], sets, start)
    if shutil.which(compiler[0]) is None:
        return Build(name, None, sets, start, f"no {compiler[0]}")
    out = folder / name.replace(" ", "-")
    reason = compile_plain(compiler, RUNTIME, out)
    return Build(name, None if reason else out, sets, start, reason)


def cmade(
    name: str,
    compiler: str,
    folder: Path,
    given: Mapping[str, Path],
    sets: tuple[str, ...],
    start: tuple[str, ...] = (),
    *options: str,
) -> Build:
    """A build with CMake: the given one, a new one, or the reason why there is none."""
    if name in given:
        return Build(name, given[name], sets, start)
    if shutil.which(compiler) is None:
        return Build(name, None, sets, start, f"no {compiler}")
    out = folder / f"{name.replace(' ', '-')}.build"
    reason = compile_cmake(compiler, out, *options)
    return Build(name, None if reason else out / "samara-run", sets, start, reason)


def builds(folder: Path, given: Mapping[str, Path]) -> list[Build]:
    """Every build that this machine can make or was given, made in parallel."""
    clang = next((c for c in CLANGS if shutil.which(c)), CLANGS[2])
    qemu = (shutil.which("qemu-aarch64") or "", "-cpu", "max", "-L", SYSROOT)
    cross = "aarch64-linux-gnu-gcc"
    clang_cross = [clang, "--target=aarch64-linux-gnu", "-fuse-ld=lld"]
    toolchain = f"-DCMAKE_TOOLCHAIN_FILE={RUNTIME}/cmake/aarch64-linux-gnu.cmake"
    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        made = [
            pool.submit(cmade, "x86-64 gcc cmake", "gcc", folder, given, X86),
            pool.submit(plain, "x86-64 gcc plain", ["gcc"], folder, given, X86),
            pool.submit(cmade, "x86-64 clang cmake", clang, folder, given, X86),
            pool.submit(plain, "x86-64 clang plain", [clang], folder, given, X86),
            pool.submit(cmade, "aarch64 gcc cmake", cross, folder, given, ARM, qemu, toolchain),
            pool.submit(plain, "aarch64 gcc plain", [cross], folder, given, ARM, qemu),
            pool.submit(plain, "aarch64 clang plain", clang_cross, folder, given, ARM, qemu),
        ]
        found = [m.result() for m in made]
    if qemu[0]:
        return found
    return [replace(b, program=None, reason="no qemu-aarch64") if b.start else b for b in found]


def run(build: Build, isa: str, files: Sequence[Path]) -> str:
    """ "ok", "NOT RUN: reason", or what is wrong."""
    if build.program is None:
        return f"NOT RUN: {build.reason}"
    for file in files:
        done = subprocess.run(
            [*build.start, str(build.program), str(file), "--selftest"],
            env={**os.environ, "SAMARA_ISA": isa}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            return f"WRONG: {file.name}: {(done.stderr + done.stdout).strip()[:300]}"
        if isa not in done.stdout.strip().rpartition(" on ")[2].split(","):
            return f"NOT RUN: this CPU has no {isa}"
    return "ok"


def matrix(found: Sequence[Build], files: Sequence[Path]) -> int:
    """Print the table; returns the number of wrong cells."""
    notes: list[str] = []
    wrong = 0
    print(f"numpy's bits, {len(files)} files of vectors")
    for sets in dict.fromkeys(b.sets for b in found):
        width = max(len(b.name) for b in found)
        print(f"{'':{width}}  " + "  ".join(f"{isa:>11}" for isa in sets))
        for build in (b for b in found if b.sets == sets):
            cells = []
            for isa in sets:
                outcome = run(build, isa, files)
                wrong += outcome.startswith("WRONG")
                cells.append("equal" if outcome == "ok" else outcome.partition(":")[0])
                if outcome != "ok":
                    notes.append(f"{build.name}, {isa}: {outcome}")
            print(
                f"{build.name:{width}}  " + "  ".join(f"{cell:>11}" for cell in cells), flush=True
            )
    # One line per reason, in the form that the gate collects.
    for note in notes:
        where, _, outcome = note.partition(": ")
        print(
            f"NOT RUN: bit equality of {where} ({outcome[9:]})"
            if outcome.startswith("NOT RUN")
            else note
        )
    return wrong


_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def includers(header: Path) -> list[Path]:
    """The sources of the runtime that include `header`, directly or not."""
    src = RUNTIME / "src"
    reaches: dict[Path, bool] = {header: True}

    def reach(path: Path) -> bool:
        if path not in reaches:
            reaches[path] = False  # a header that includes itself again
            names = _INCLUDE.findall(path.read_text(encoding="utf-8"))
            places = (place for n in names for place in (path.parent / n, src / n))
            reaches[path] = any(reach(p.resolve()) for p in places if p.is_file())
        return reaches[path]

    return [path for path in sorted(src.rglob("*.c")) if reach(path.resolve())]


def patch(name: str, folder: Path) -> Path:
    """The samara-run of a runtime with a wrong rounding.

    Sources that round are compiled again and replace their objects in build/dev's archive.
    """
    source = folder / name.replace(" ", "_")
    place = source / ROUNDING.relative_to(RUNTIME / "src")
    text = ROUNDING.read_text(encoding="utf-8")
    for old, new in PATCHES[name]:
        if text.count(old) != 1:
            raise SystemExit(
                f"{ROUNDING.name} does not contain {old!r} exactly once: adjust patch {name!r}"
            )
        text = text.replace(old, new)
    include = '#include "simd/common.h"'
    place.parent.mkdir(parents=True)
    place.write_text(text.replace(include, f"{include}\n\n#include <math.h>"), encoding="utf-8")
    archive = ROOT / "build" / "dev" / "libsamara.a"
    if not archive.is_file():
        raise SystemExit(f"{archive.relative_to(ROOT)} is missing: run `make build`")
    program = folder / f"{source.name}.out"
    files = [*includers(ROUNDING), RUNTIME / "tools" / "samara-run.c"]
    reason = compile_plain(["cc"], RUNTIME, program, files, first=(f"-I{source}",), last=(archive,))
    if reason:
        raise SystemExit(f"the runtime with {name!r} {reason}")
    return program


def patched(folder: Path, files: Sequence[Path]) -> int:
    """Build the runtime with each wrong rounding and run the vectors; returns how many were not noticed."""
    unnoticed = 0
    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        programs = dict(zip(PATCHES, pool.map(lambda n: patch(n, folder), PATCHES), strict=True))
    for name, program in programs.items():
        outcomes = {f.name: run(Build(name, program, X86), "scalar", [f]) for f in files}
        red = [f for f, outcome in outcomes.items() if outcome.startswith("WRONG")]
        print(f"{name:22}  {'noticed by ' + ', '.join(red) if red else 'NOT NOTICED'}", flush=True)
        unnoticed += not red
    return unnoticed


def main() -> int:
    """Run the matrix, or the patched builds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vectors", type=Path, help="folder of files; default: write them")
    parser.add_argument("--build", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--patched", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        vectors = args.vectors or folder / "vectors"
        if args.vectors is None:
            more = ["--no-models"] if args.patched else []
            subprocess.run(
                [sys.executable, str(ROOT / "tools" / "bit_vectors.py"), str(vectors), *more],
                check=True,
            )
        files = sorted(vectors.glob("*.samara"))
        if not files:
            parser.error(f"{vectors} has no vectors: write them with tools/bit_vectors.py")
        if args.patched:
            return 1 if patched(folder, files) else 0
        given = {name: Path(path) for name, _, path in (b.partition("=") for b in args.build)}
        return 1 if matrix(builds(folder, given), files) else 0


if __name__ == "__main__":
    sys.exit(main())
