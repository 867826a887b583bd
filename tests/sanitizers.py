# SPDX-License-Identifier: Apache-2.0
"""Programs built with sanitizers, and replaying inputs through them."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Seconds for one command; a build from nothing takes most of it on two cores.
BUILD_SECONDS = 900


class Unavailable(Exception):
    """This machine cannot build with that sanitizer; the text says why."""


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One builder at a time: test processes run side by side."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_suffix(".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(command: Sequence[str | Path]) -> None:
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
        cwd=ROOT / "runtime_c",
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{done.stdout[-4000:]}")


@functools.cache
def _supports(sanitizer: str) -> str | None:
    """Why the machine's compiler cannot do it, or None."""
    compiler = os.environ.get("CC", "cc")
    if shutil.which(compiler) is None:
        return f"there is no compiler {compiler}"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "probe.c"
        source.write_text("int main(void) { return 0; }\n")
        made = subprocess.run(
            [compiler, f"-fsanitize={sanitizer}", source, "-o", f"{folder}/probe"],
            capture_output=True,
            check=False,
        )
        if made.returncode != 0:
            return f"{compiler} has no -fsanitize={sanitizer}"
        ran = subprocess.run([f"{folder}/probe"], capture_output=True, check=False)
        return None if ran.returncode == 0 else f"programs with -fsanitize={sanitizer} do not start"


def built(preset: str, sanitizer: str, target: str) -> Path:
    """The program or library `target` of a CMake preset, up to date. Raises Unavailable."""
    why = _supports(sanitizer)
    if why is not None:
        raise Unavailable(why)
    folder = ROOT / "build" / preset
    with _alone(folder):
        _run(["cmake", "--preset", preset, "--log-level=WARNING"])
        _run(
            ["cmake", "--build", folder, "--target", target, "--parallel", str(os.cpu_count() or 1)]
        )
    return folder / target


@dataclass(frozen=True)
class Crash:
    """An input that a program did not survive, and what the sanitizer said."""

    path: Path
    report: str


def replay(program: Path, files: Sequence[Path], seconds: float = 1200) -> list[Crash]:
    """Run every file through a replaying fuzz target, going on after a crash."""
    crashes: list[Crash] = []
    left = list(files)
    environment = {
        **os.environ,
        "ASAN_OPTIONS": "allocator_may_return_null=1:max_allocation_size_mb=1024",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    while left:
        with tempfile.NamedTemporaryFile("w", suffix=".list") as names:
            names.write("".join(f"{f}\n" for f in left))
            names.flush()
            done = subprocess.run(
                [program, "--names", f"@{names.name}"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env=environment,
                timeout=seconds,
                check=False,
            )
        if done.returncode == 0:
            return crashes
        lines = done.stderr.splitlines()
        known = {str(f): i for i, f in enumerate(left)}
        reached = [known[line] for line in lines if line in known]
        report = "\n".join(line for line in lines if line not in known)[:4000]
        at = reached[-1] if reached else 0
        crashes.append(Crash(left[at], f"exit {done.returncode}\n{report}"))
        if at + 1 == len(left):
            return crashes
        left = left[at + 1 :]
    return crashes
