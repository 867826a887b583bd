# SPDX-License-Identifier: Apache-2.0
"""Weights of 8 and 4 bits stay so in memory: a process that runs them never holds their floats."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.e2e.commands import output_of

from samara.exporter.ir import Builder, ProgramBuilder, Value, save_program
from samara.exporter.types import DType, Quant, TensorType

SIZE = 4096
LAYERS = 2
FLOAT_BYTES = LAYERS * SIZE * SIZE * 4
BLOCK = 32

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="NOT RUN: reads /proc/self/status")

# The growth of the largest resident size from before the model is opened until it has run.
RUN = f"""
import json, sys
import numpy as np
import samara

def peak():
    with open("/proc/self/status") as lines:
        return next(int(l.split()[1]) for l in lines if l.startswith("VmHWM")) * 1024

rows = int(sys.argv[2])
x = np.full((rows, {SIZE}), 0.5, np.float32)
samara.devices()
before = peak()
session = samara.Session(samara.Model(sys.argv[1]), threads=2)
for _ in range(2):
    y = session.run({{"x": x}})["y"]
print(json.dumps([peak() - before, float(np.abs(y).max())]))
"""


def _product(b: Builder, kind: str, x: Value, rng: np.random.Generator) -> Any:
    if kind == "float32":
        return b.op("matmul", x, b.const(rng.standard_normal((SIZE, SIZE), np.float32)))
    if kind in ("int8-weights", "int8-dynamic"):
        quant = Quant.per_axis([0.001] * SIZE, 1)
        w = Value(
            f"w{rng.integers(1 << 30)}",
            TensorType.of("qs8", (SIZE, SIZE), quant),
            rng.integers(-127, 128, (SIZE, SIZE), np.int8),
        )
        return b.op("matmul" if kind == "int8-weights" else "matmul_dynamic", x, w)
    q = rng.integers(-8, 8, (SIZE, SIZE), np.int8).astype(DType.I4.numpy)
    scales = np.full((SIZE, SIZE // BLOCK), 0.01, np.float16)
    how = "int8" if kind == "int4-dynamic" else "float32"
    return b.op(
        "matmul_blocks",
        x,
        b.const(q, "w", DType.I4),
        b.const(scales),
        block=BLOCK,
        activations=how,
    )


def _save(kind: str, path: Path) -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    y = b.input("x", "f32", ["n", SIZE])
    rng = np.random.default_rng(0)
    for _ in range(LAYERS):
        y = _product(b, kind, y, rng)
    b.finish([y], ["y"])
    save_program(pb.finish(["main"]), path)


def _growth(path: Path, rows: int) -> int:
    said = output_of(sys.executable, "-c", RUN, path, str(rows), timeout=120)
    growth, largest = json.loads(said)
    assert largest > 0
    return int(growth)


@pytest.mark.parametrize(
    ("kind", "share"),
    [
        ("float32", None),
        ("int8-weights", 0.35),
        ("int8-dynamic", 0.35),
        ("int4", 0.25),
        ("int4-dynamic", 0.155),
    ],  # of which 0.141 are weights and scales: no copy of either
)
def test_peak_memory(kind: str, share: float | None, tmp_path: Path) -> None:
    """`share`: of the bytes that the weights take as float32. They are read in place, from the mapped
    file; two threads have room for the columns that they unfold.
    """
    path = tmp_path / "m.samara"
    _save(kind, path)
    for rows in (1, 24):
        growth = _growth(path, rows)
        if share is None:
            assert growth > 0.9 * FLOAT_BYTES, "what this test measures"
        else:
            assert growth < share * FLOAT_BYTES, f"{growth >> 20} MiB with {rows} rows"
