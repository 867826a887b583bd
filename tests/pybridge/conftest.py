# SPDX-License-Identifier: Apache-2.0
"""Small model files that the tests of the bridge run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samara.exporter.ir import Builder, Golden, Program, ProgramBuilder, Variable, save_program
from samara.exporter.types import DType, Quant, TensorType

WEIGHT = np.arange(12, dtype=np.float32).reshape(4, 3) / 8 - 0.5
BIAS = np.array([0.25, -1.0, 0.5], np.float32)


def affine(x: np.ndarray) -> np.ndarray:
    """What the `dense` model computes."""
    return np.asarray(np.maximum(x @ WEIGHT + BIAS, 0), np.float32)


def _dense(dims: tuple[int | str, ...]) -> Program:
    """y = relu(x @ w + b), with the sum visible as h."""
    program = ProgramBuilder()
    f = program.function("main")
    x = f.input("x", "f32", dims)
    h = f.op("matmul", x, WEIGHT, BIAS, name="h")
    f.finish([f.op("relu", h, name="r")], ["y"])
    return program.finish(["main"], metadata={"note": "hello", "labels": '["a", "b", "c"]'})


def numbers(*shape: int) -> Any:
    """Quarters from -1 on."""
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape) / 4 - 1


def dense(folder: Path, *, rows: int | str = "n", golden: bool = False) -> Path:
    path = folder / f"dense_{rows}_{golden}.samara"
    program = _dense((rows, 4))
    stored = []
    if golden:
        x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
        stored = [Golden("main", {"x": x}, {"y": affine(x)}, {"y": (1e-5, 1e-5)})]
    save_program(program, path, golden=stored)
    return path


def every_dtype(folder: Path) -> Path:
    """Each input comes out unchanged; `q` is quantized."""
    program = ProgramBuilder()
    f = program.function("main")
    inputs = [f.input(d, d, [2, 3]) for d in ("f32", "f16", "i8", "u8", "i32", "i64", "bool")]
    inputs.append(f.input("q", "qs8", [3], Quant((0.5,), (-3,))))
    copies = [f.op("identity", v, name=f"{v.name}_copy") for v in inputs]
    f.finish(copies, [f"{v.name}_out" for v in inputs])
    path = folder / "dtypes.samara"
    save_program(program.finish(["main"]), path)
    return path


def counter(folder: Path) -> Path:
    """total += x at every run; returns twice the new total."""
    program = ProgramBuilder()
    f = program.function("main")
    x, total = f.input("x", "f32", [2]), f.input("total", "f32", [2])
    after = f.op("add", total, x, name="after")
    done = f.finish([f.op("mul", after, 2.0, name="twice"), after], ["y", "total_out"])
    program.functions["main"] = replace(done, reads={"total": "total"}, writes={1: "total"})
    initial = np.array([10, 20], np.float32)
    variable = Variable("total", TensorType.of(DType.F32, (2,)), initial)
    path = folder / "counter.samara"
    save_program(program.finish(["main"], [variable]), path)
    return path


def counting_loop(folder: Path) -> Path:
    """y = x + 1, `trips` times: as long a run as one asks for."""
    program = ProgramBuilder()
    f = program.function("main")
    trips, x = f.input("trips", "i64", []), f.input("x", "f32", [64])
    body = f.child("body")
    body.input("i", "i64", [])
    go, acc = body.input("go", "bool", []), body.input("acc", "f32", [64])
    (y,) = f.loop(trips, None, [x], (body, [go, body.op("add", acc, 1.0)]))
    f.finish([y], ["y"])
    path = folder / "loop.samara"
    save_program(program.finish(["main"]), path)
    return path


def two_functions(folder: Path) -> Path:
    """`double` and `sum` (two inputs, two outputs); and one whose output's size depends on data."""
    program = ProgramBuilder()
    f = program.function("double")
    f.finish([f.op("mul", f.input("x", "f32", [3]), 2.0, name="d")], ["y"])
    g = program.function("sum")
    a, b = g.input("a", "f32", [3]), g.input("b", "f32", [3])
    g.finish([g.op("add", a, b, name="s"), g.op("sub", a, b, name="t")], ["plus", "minus"])
    h: Builder = program.function("where")
    h.finish([h.op("nonzero", h.input("mask", "bool", ["n"]), name="at")], ["at"])
    path = folder / "two.samara"
    save_program(program.finish(["double", "sum", "where"]), path)
    return path


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The models by name."""
    folder = tmp_path_factory.mktemp("models")
    made: dict[str, Callable[[Path], Path]] = {
        "dense": dense,
        "static": lambda f: dense(f, rows=2),
        "golden": lambda f: dense(f, golden=True),
        "dtypes": every_dtype,
        "counter": counter,
        "loop": counting_loop,
        "two": two_functions,
    }
    return {name: make(folder) for name, make in made.items()}
