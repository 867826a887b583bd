# SPDX-License-Identifier: Apache-2.0
"""Write all C sources of the library as one translation unit, and compile it with one command.

This proves that file-local names are unique, that no macro leaks from one file into the next, and that target
regions, not per-file flags, select the instruction sets.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNTIME = ROOT / "runtime_c"
INCLUDES = ("-Iruntime_c/include", "-Iruntime_c/src")

_MARKER = re.compile(r'^# (\d+) "([^"]*)"')
_DEFINE = re.compile(r"^#\s*(define|undef)\s+(\w+)")
_GUARD = re.compile(r"^#\s*(pragma once|ifndef (\w+)\s*\n#\s*define \2\b)", re.MULTILINE)
_FEATURE = re.compile(r"^_\w+_SOURCE$")  # requests declarations from the system


def sources(runtime: Path = RUNTIME) -> list[Path]:
    """All library sources, in the same order on every machine."""
    return sorted((runtime / "src").rglob("*.c"))


def unity_text(runtime: Path = RUNTIME) -> str:
    """The translation unit; its includes are relative to src/."""
    lines = ["// SPDX-License-Identifier: Apache-2.0", "// Every source of libsamara, in one unit."]
    src = runtime / "src"
    lines += [f'#include "{path.relative_to(src).as_posix()}"' for path in sources(runtime)]
    return "\n".join(lines) + "\n"


def leaked_macros(preprocessed: str) -> list[str]:
    """Macros that a source leaves defined, as `file:line: NAME`.

    `preprocessed` is the output of `cc -E -dD`. Headers with an include guard may define macros for other
    files; files that are compiled, or included for their content (.inc, body.h), may not.
    """
    alive: dict[str, tuple[str, int]] = {}
    for file, line, verb, name in _definitions(preprocessed):
        allowed = _for_everyone(file) or _is_once(file, name) or _FEATURE.match(name)
        if verb == "undef" or allowed:
            alive.pop(name, None)
        else:
            alive[name] = (file, line)
    return [f"{file}:{line}: {name}" for name, (file, line) in alive.items()]


@cache
def _for_everyone(file: str) -> bool:
    """Whether a file is the compiler's own, a system header or a header with an include guard."""
    path = Path(file)
    if path.suffix != ".h" or file.startswith("/usr/"):
        return path.suffix not in (".c", ".inc")
    return _GUARD.search(path.read_text(encoding="utf-8")) is not None


@cache
def _is_once(file: str, name: str) -> bool:
    """Whether `name` records that a content header was read for this vector width."""
    pattern = rf"^#.*!defined\({name}\)[^\n]*\n#define {name}$"
    return re.search(pattern, Path(file).read_text(encoding="utf-8"), re.MULTILINE) is not None


def _definitions(preprocessed: str) -> Iterator[tuple[str, int, str, str]]:
    file, line = "", 0
    for text in preprocessed.splitlines():
        marker = _MARKER.match(text)
        if marker:
            line, file = int(marker[1]), marker[2]
            continue
        definition = _DEFINE.match(text)
        if definition:
            yield file, line, definition[1], definition[2]
        line += 1


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)


def main() -> int:
    """Write the unit; with --cc also compile and link it, and report macros that leak."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "unity")
    parser.add_argument("--cc", help="compiler and flags, e.g. 'cc -O2'; without it only write")
    parser.add_argument("--name", default="samara_unity", help="stem of the written files")
    args = parser.parse_args()

    out = args.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    unit = out / f"{args.name}.c"
    unit.write_text(unity_text(), encoding="utf-8")
    if args.cc is None:
        print(unit)
        return 0

    compiler = shlex.split(args.cc)
    seen = _run([*compiler, *INCLUDES, "-E", "-dD", str(unit)])
    leaks = leaked_macros(seen.stdout)
    if seen.returncode != 0 or leaks:
        print(seen.stderr, *(f"left defined: {leak}" for leak in leaks), sep="\n", file=sys.stderr)
        return 1
    start = time.monotonic()
    library = out / f"lib{args.name}.so"
    link = ["-fPIC", "-shared", "-o", str(library), "-lm", "-lpthread"]
    if sys.platform.startswith("linux"):
        link.append("-Wl,-z,defs")  # fail if an operator lacks its function
    built = _run([*compiler, *INCLUDES, str(unit), *link])
    print(built.stderr, end="", file=sys.stderr)
    if built.returncode != 0:
        return 1
    print(
        f"unity build: {len(sources())} files, {args.cc}, "
        f"{time.monotonic() - start:.0f} s, {library.stat().st_size} bytes"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
