# SPDX-License-Identifier: Apache-2.0
"""Random pointwise programs on a device of OpenCL: joined to steps they have the bits of their nodes
one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.ir import ProgramBuilder, save_program

pytestmark = pytest.mark.opencl

PROGRAMS = 24
NODES = 24
# Shapes that broadcast to the first one; n is symbolic in every other program.
SHAPES = (("n", 3, 5), ("n", 3, 5), ("n", 3, 5), (3, 5), ("n", 1, 5), (1, 3, 1), (1,))
UNARY: dict[str, dict[str, Any]] = {
    "neg": {},
    "abs": {},
    "exp": {},
    "sigmoid": {},
    "tanh": {},
    "erf": {},
    "relu": {},
    "floor": {},
    "silu": {},
    "gelu": {"approximate": "tanh"},
    "clamp": {"lo": -0.75, "hi": 1.5},
    "leaky_relu": {"alpha": 0.3},
    "elu": {"alpha": 0.7},
    "hard_sigmoid": {"alpha": 0.2, "beta": 0.4},
}
BINARY = {
    "f32": ("add", "sub", "mul", "div", "min", "max"),
    "f16": ("add", "sub", "mul", "max"),
    "i32": ("add", "sub", "mul", "min", "max"),
    "i64": ("add", "sub", "mul", "min", "max"),
    "bool": ("logical_and", "logical_or", "logical_xor"),
}


class _Random:
    """A function of pointwise nodes that a seed decides."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.program = ProgramBuilder()
        self.f = self.program.function("main")
        self.values: dict[str, list[Any]] = {dtype: [] for dtype in BINARY}
        self.n: str | int = "n" if seed % 2 else 2
        self.constants = [np.float32(0.37), self.rng.random((3, 1), np.float32)]
        for dtype, shapes in (("f32", SHAPES[::-1]), ("i64", SHAPES[:4]), ("f16", SHAPES[:1])):
            for i, shape in enumerate(shapes):
                dims = [self.n if d == "n" else d for d in shape]
                self.values[dtype].append(self.f.input(f"{dtype}_{i}", dtype, dims))
        self.made: list[Any] = []

    def any(self, dtype: str) -> Any:
        """One of the values, the last ones most often."""
        values = self.values[dtype]
        recent = values[-3:] if self.rng.random() < 0.7 else values
        return recent[self.rng.integers(len(recent))]

    def other(self, dtype: str, x: Any) -> Any:
        """One that is not x, or a constant."""
        if dtype == "f32" and self.rng.random() < 0.3:
            return self.f.const(self.constants[self.rng.integers(2)])
        others = [value for value in self.values[dtype] if value is not x] or [x]
        return others[self.rng.integers(len(others))]

    def choose(self, names: Any) -> str:
        names = sorted(names)
        return str(names[self.rng.integers(len(names))])

    def node(self) -> None:
        kind = self.rng.integers(10)
        dtype = self.choose(d for d, values in self.values.items() if values)
        if kind < 3:
            name, dtype = self.choose(UNARY), "f16" if self.rng.random() < 0.2 else "f32"
            y = self.f.op(name, self.any(dtype), **UNARY[name])
        elif kind < 7:
            x = self.any(dtype)
            y = self.f.op(self.choose(BINARY[dtype]), x, self.other(dtype, x))
        elif kind < 8 and dtype in ("f32", "i64"):
            x = self.any(dtype)
            y = self.f.op(self.choose(("eq", "lt", "le")), x, self.other(dtype, x))
            dtype = "bool"
        elif kind < 9 and self.values["bool"] and dtype != "bool":
            x = self.any(dtype)
            y = self.f.op("where", self.any("bool"), x, self.other(dtype, x))
        else:
            to = self.choose(d for d in BINARY if d != dtype)
            y = self.f.op("cast", self.any(dtype), to=to)
            dtype = to
        self.values[dtype].append(y)
        self.made.append(y)

    def save(self, path: Path) -> None:
        for _ in range(NODES):
            self.node()
        outputs = [y for y in self.made if self.rng.random() < 0.15] + self.made[-1:]
        unique = list(dict.fromkeys(outputs))
        self.f.finish(unique, [f"y{i}" for i in range(len(unique))])
        save_program(self.program.finish(["main"]), path)


def _feeds(session: samara.Session, n: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    feeds = {}
    for spec in session.inputs:
        shape = [d if isinstance(d, int) else n for d in spec.shape]
        x = rng.standard_normal(shape)
        feeds[spec.name] = (x * 3 if spec.name.startswith("i") else x).astype(spec.dtype)
    return feeds


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal bits, but for which NaN it is."""
    if a.dtype.kind != "f":
        return a.tobytes() == b.tobytes()
    both = np.isnan(a) & np.isnan(b)
    return np.where(both, 0, a).tobytes() == np.where(both, 0, b).tobytes()


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_steps_have_the_bits_of_their_nodes(seed: int, tmp_path: Path) -> None:
    path, cache = tmp_path / "m.samara", tmp_path / "cache"
    _Random(seed).save(path)
    device = samara.Backend("opencl", cache=cache)
    steps, nodes = samara.Session(path, backend=device), samara.Session(path, backend=device)
    nodes.set_profiling(True)
    for n in (2, 2, 1, 4) if seed % 2 else (2, 2):
        feeds = _feeds(steps, n, seed + n)
        got, want = steps.run(feeds), nodes.run(feeds)
        for name, y in want.items():
            assert _same(got[name], y), name
    assert steps.backend_report().failure == nodes.backend_report().failure == ""
    assert {row.device for row in steps.placement()} == {device.name}
    # Steps were computed, and checked on the CPU.
    (known,) = cache.glob("checked-*.txt")
    assert any(" #" in line and line.startswith("good ") for line in known.read_text().splitlines())
