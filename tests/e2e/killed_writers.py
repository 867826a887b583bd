# SPDX-License-Identifier: Apache-2.0
"""Runs every kind of writer and kills it at each of its calls; prints what it found as JSON.

Started by test_writing.py with faults.c preloaded: `killed_writers.py FOLDER`.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import samara
from samara.exporter.ir import ProgramBuilder, Variable
from samara.exporter.measure.run import write_outputs
from samara.exporter.package.dist import whole_folder
from samara.exporter.package.selection import MAGIC
from samara.exporter.quantize.recipe import Recipe
from samara.exporter.types import DType, TensorType
from samara.pybridge.atomic import put, replacing_files, write_text

SHIM = ctypes.CDLL(None)

# Writes version 0 or 1 of something at a path.
Writer = Callable[[Path, int], None]


def _program(factor: float) -> samara.Program:
    builder = ProgramBuilder()
    f = builder.function("main")
    f.finish([f.op("mul", f.input("x", "f32", [4]), factor, name="y")], ["y"])
    return builder.finish(["main"])


def stateful(path: Path) -> samara.Session:
    """Export a model with a variable, and open it."""
    builder = ProgramBuilder()
    f = builder.function("main")
    x, total = f.input("x", "f32", [2]), f.input("total", "f32", [2])
    f.finish([f.op("add", total, x, name="after")], ["y"])
    main = builder.functions["main"]
    object.__setattr__(main, "reads", {"total": "total"})
    object.__setattr__(main, "writes", {0: "total"})
    variable = Variable("total", TensorType.of(DType.F32, (2,)), np.zeros(2, np.float32))
    samara.export(builder.finish(["main"], [variable]), path, check=False)
    return samara.Session(path, threads=1)


def _two_files(path: Path, version: int) -> None:
    with replacing_files(path) as folder:
        for name in ("a.c", "a.h"):
            put(folder / name, f"{name} of version {version}\n" * 2000)


def _dist(path: Path, version: int) -> None:
    with whole_folder(path) as folder:
        put(folder / "ops.txt", f"{MAGIC}\n")
        put(folder / "lib" / "a", f"{version}" * 3000)


def _writers(scratch: Path) -> dict[str, Writer]:
    session = stateful(scratch / "stateful.samara")

    def state(path: Path, version: int) -> None:
        session.state["total"] = np.full(2, version, np.float32)
        session.state.save(path)

    arrays: dict[str, Any] = {"big": np.zeros(20_000, np.float32), "small": np.zeros(3, np.int64)}
    recipe = Recipe()
    return {
        "export": lambda p, v: (samara.export(_program(v + 2.0), p, check=False), None)[1],
        "save": lambda p, v: samara.save({k: a + v for k, a in arrays.items()}, p),
        "state": state,
        "outputs.npz": lambda p, v: write_outputs(p, {k: a + v for k, a in arrays.items()}),
        "text": lambda p, v: write_text(p, f"version {v}\n" * 3000),
        "recipe": lambda p, v: recipe.with_layer("l", scheme=("int8", "fp16")[v]).save(p),
        "folder": _two_files,
        "dist": _dist,
    }


def content(path: Path) -> object:
    """What is at a path, whole; None for nothing."""
    if path.is_dir():
        return {
            p.relative_to(path).as_posix(): p.read_bytes().hex()
            for p in sorted(path.rglob("*"))
            if p.is_file() and ".saving" not in p.name and ".building" not in p.as_posix()
        }
    return path.read_bytes().hex() if path.exists() else None


def _killed(write: Writer, path: Path, version: int, at: int) -> bool:
    """Whether the writer was killed, in a child, at its call number `at`."""
    child = os.fork()
    if child == 0:
        SHIM.fault_arm(ctypes.c_long(at))
        code = 3
        try:
            write(path, version)
            code = 0
        finally:
            if code:
                traceback.print_exc()
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
        raise SystemExit(f"the writer failed at call {at}")
    return os.WIFSIGNALED(status)


def examine(name: str, write: Writer, folder: Path) -> Mapping[str, object]:
    """Kill the writer of version 1 at every call, over version 0 and over nothing."""
    faults: list[str] = []
    counts = []
    for there in (False, True):
        number = 0
        while True:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            path = folder / name
            write(path, 1)
            new = content(path)
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            if there:
                write(path, 0)
            old = content(path)
            killed = _killed(write, path, 1, number)
            found = content(path)
            if found not in ((old, new) if killed else (new,)):
                faults.append(f"{name} over {'old' if there else 'nothing'}, call {number}: torn")
            write(path, 1)
            if content(path) != new or [p.name for p in folder.iterdir()] != [name]:
                left = sorted(p.name for p in folder.iterdir())
                faults.append(f"{name}, after call {number}: the next writer leaves {left}")
            if not killed:
                break
            number += 1
        counts.append(number)
    return {"calls": counts, "faults": faults}


def examine_beside(folder: Path) -> Mapping[str, object]:
    """Kill the writer of two files at every call, in a folder that holds other things.

    Each file must be the old or the new one; "mixed" counts the calls that left one of either.
    """
    path, others = folder / "shared", {"notes.txt": "mine\n", "sub/a.c": "mine too\n"}

    def prepare() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        (path / "sub").mkdir(parents=True)
        for name, text in others.items():
            (path / name).write_text(text)
        _two_files(path, 0)

    prepare()
    olds = content(path)
    _two_files(path, 1)
    news = content(path)
    assert isinstance(olds, dict)
    assert isinstance(news, dict)
    faults: list[str] = []
    mixed = number = 0
    killed = True
    while killed:
        prepare()
        killed = _killed(_two_files, path, 1, number)
        found = content(path)
        assert isinstance(found, dict)
        if set(found) != set(news) or any(v not in (olds[k], news[k]) for k, v in found.items()):
            faults.append(f"call {number}: torn, or others changed")
        mixed += found not in (olds, news)
        _two_files(path, 1)
        left = sorted(p.name for p in (*path.iterdir(), *folder.iterdir()))
        if content(path) != news or left != ["a.c", "a.h", "notes.txt", "shared", "sub"]:
            faults.append(f"after call {number}: the next writer leaves {left}")
        number += killed
    return {"calls": [number], "faults": faults, "mixed": mixed}


def main() -> None:
    scratch = Path(sys.argv[1])
    found = {
        name: examine(name, write, scratch / "target") for name, write in _writers(scratch).items()
    }
    found["beside"] = examine_beside(scratch / "target")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
