# SPDX-License-Identifier: Apache-2.0
"""Products whose rows are rounded to int8: the bits of the reference on every instruction set, for every number of
threads, and however rows are split over runs.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from samara import Model, Session
from samara.exporter.ir import Builder, Program, ProgramBuilder, Value, to_bytes
from samara.exporter.types import DType, Quant, TensorType

K, N, BLOCK, ROWS = 200, 333, 32, 70
ISAS = ("scalar", "avx2", "avx512", "avx512-vnni", "amx-int8", "neon", "neon-dot", "neon-i8mm")
KINDS = ("i4", "i4 blocks of 16", "u4 with zero points", "i8 with zero points", "i8 per channel")


def _product(b: Builder, kind: str, x: Value, rng: np.random.Generator) -> Any:
    if kind == "i8 per channel":
        quant = Quant.per_axis(rng.uniform(0.001, 0.01, N).astype(np.float32).tolist(), 1)
        w = rng.integers(-128, 128, (K, N), np.int8)
        bias = b.const(rng.standard_normal(N, np.float32))
        return b.op("matmul_dynamic", x, Value("w", TensorType.of("qs8", (K, N), quant), w), bias)
    block = 16 if "16" in kind else BLOCK
    dtype = DType.parse(kind[:2])
    low, high = {"i4": (-8, 8), "u4": (0, 16), "i8": (-128, 128)}[kind[:2]]
    q = rng.integers(low, high, (N, K)).astype(np.int8).astype(dtype.numpy)
    count = -(-K // block)
    given: list[Value | None] = [x, b.const(q, "w", dtype)]
    given.append(b.const(rng.uniform(0.001, 0.01, (N, count)).astype(np.float16)))
    if "zero" in kind:
        zeros = rng.integers(low, high, (N, count)).astype(np.int8).astype(dtype.numpy)
        given.append(b.const(zeros, "z", dtype))
    return b.op("matmul_blocks", *given, block=block, activations="int8")


@cache
def _case(kind: str) -> tuple[Program, bytes, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(KINDS.index(kind))
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", ["n", K])
    b.finish([_product(b, kind, x, rng)], ["y"])
    program = pb.finish(["main"])
    rows = rng.standard_normal((ROWS, K), np.float32) * np.exp(rng.uniform(-9, 9, (ROWS, 1)))
    rows = rows.astype(np.float32)
    rows[3] = 0
    rows[5, 7] = np.nan
    rows[6, 1] = -np.inf
    return program, to_bytes(program), rows, program.run({"x": rows})["y"]


def _bits(y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """With one NaN for all: its bits are nobody's promise."""
    found = np.ascontiguousarray(y).view(np.uint32).copy()
    found[np.isnan(y)] = 0x7FC00000
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("isa", ISAS)
def test_bits_are_equal(kind: str, isa: str) -> None:
    """An instruction set that the CPU lacks means the best of those below it."""
    _, file, rows, want = _case(kind)
    model = Model(file)
    for threads in (1, 2, 3):
        session = Session(model, isa=isa, threads=threads)
        for split in (1, 3, 7, 64, ROWS):
            parts = [session.run({"x": rows[i : i + split]})["y"] for i in range(0, ROWS, split)]
            np.testing.assert_array_equal(_bits(np.concatenate(parts)), _bits(want))


@pytest.mark.parametrize("kind", KINDS)
def test_unusable_rows_are_nan_and_zeros_the_bias(kind: str) -> None:
    _, file, rows, want = _case(kind)
    y = Session(Model(file)).run({"x": rows})["y"]
    assert np.isnan(y[[5, 6]]).all()
    assert not np.isnan(np.delete(y, [5, 6], axis=0)).any()
    np.testing.assert_array_equal(y[3], want[3])
