# SPDX-License-Identifier: Apache-2.0
"""Writers on a file system that refuses them; prints what they said as JSON.

Started by test_writing.py as root of a mount namespace of its own: `refused_writers.py FOLDER`. A
small tmpfs is mounted on FOLDER, filled, and remounted read-only; nothing of it is seen outside.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import samara
from samara.cli.main import app
from samara.exporter.ir import ProgramBuilder

KIB = 192


def _mount(options: str, folder: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], check=True)


def _program(width: int) -> samara.Program:
    builder = ProgramBuilder()
    f = builder.function("main")
    x = f.input("x", "f32", [1, width])
    f.finish([f.op("mul", x, np.ones((1, width), np.float32), name="y")], ["y"])
    return builder.finish(["main"])


def _said(write: Callable[[], object]) -> dict[str, object]:
    """The error of a writer: its text, and whether it is an OSError and one of samara's."""
    try:
        write()
    except samara.SamaraError as error:
        return {
            "text": str(error),
            "os": isinstance(error, OSError),
            "number": getattr(error, "errno", None),
        }
    return {"text": "it went well"}


def _cli(*arguments: object) -> dict[str, object]:
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    raised = done.exception is not None and not isinstance(done.exception, SystemExit)
    return {"text": done.stderr, "code": done.exit_code, "raised": raised}


# A linker that needs more room than there is, and says so in its own words.
_GREEDY = """#!/bin/sh
case "$*" in *--version*) echo greedy 1.0; exit;; esac
for out; do :; done
case "$* " in *" -c "*) : > "$out"; exit;; esac
dd if=/dev/zero of="$out" bs=1M count=16
"""


def _full_for_compilers(small: Path, disk: Path) -> dict[str, object]:
    """Builds whose compilers find no room: where they link to, and for their temporary files."""
    compiler, room = disk.parent / "greedy", disk.parent / "room"
    compiler.write_text(_GREEDY)
    compiler.chmod(0o755)
    room.mkdir()
    _mount("size=8m", room)
    os.environ["TMPDIR"] = str(disk)
    tempfile.tempdir = None  # to be looked up again
    found: dict[str, object] = {"cli temporary": _cli("build", small, "-o", disk.parent / "dist")}
    del os.environ["TMPDIR"]
    tempfile.tempdir = None
    found["cli link"] = _cli("build", small, "--cc", compiler, "-o", room / "dist")
    subprocess.run(["umount", str(room)], check=True)
    return found


def main() -> None:
    disk = Path(sys.argv[1])
    model = disk.parent / "model.samara"
    samara.export(_program(30_000), model, check=False)
    small = disk.parent / "small.samara"
    samara.export(_program(4), small, check=False)
    _mount(f"size={KIB}k", disk)
    target = disk / "old.samara"
    samara.export(_program(4), target, check=False)
    with contextlib.suppress(OSError), (disk / "fill").open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    before = target.read_bytes()
    big = {"a": np.zeros(100_000, np.float32)}
    found: dict[str, object] = {}

    def try_all(kind: str) -> None:
        found[kind] = {
            "export": _said(lambda: samara.export(_program(30_000), target, check=False)),
            "save": _said(lambda: samara.save(big, target)),
            "cli export": _cli("export", model, "-o", target),
            "cli quantize": _cli("quantize", model, "--scheme", "fp16", "-o", target),
            "cli run": _cli("run", model, "--output", disk / "o.npz"),
            "cli inspect": _cli("inspect", model, "--html", disk / "p.html"),
            "cli build": _cli("build", small, "--single-file", "-o", disk / "c"),
            "cli tune": _cli("tune", small, "--runs", 1, "--out", disk / "sub" / "t.txt"),
        }
        if kind == "read-only":  # refused before anything is compiled
            metal = _cli("build", small, "--bare-metal", "cortex-m4", "-o", disk / "c")
            whole = _cli("build", small, "-o", disk / "dist")
            found[kind] = {**found[kind], "cli bare metal": metal, "cli dist": whole}  # type: ignore[dict-item]
        found[f"{kind} unchanged"] = target.read_bytes() == before
        found[f"{kind} left"] = sorted(p.name for p in disk.rglob("*"))

    try_all("full")
    found["full"] = {**found["full"], **_full_for_compilers(small, disk)}  # type: ignore[dict-item]
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    try_all("read-only")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
