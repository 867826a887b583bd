# SPDX-License-Identifier: Apache-2.0
"""Programs as text."""

from __future__ import annotations

import numpy as np

from samara.exporter.ir import ProgramBuilder, count_ops, print_program
from samara.exporter.ir.printer import constant_bytes


def test_text_of_a_program() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", ["n", 3])
    k = b.input("k", "i64", [])
    y = b.op("mul", x, 2.5, outputs=["scaled"])
    y = b.op("matmul", y, b.const(np.ones((3, 4), np.float32), "w"), lo=0.0, outputs=["fc"])
    i = b.op("iota", length=b.read(k, 0, bound=4), name="count")
    b.finish([y, i], ["out", "count"])
    program = pb.finish(["main"])
    assert print_program(program) == (
        "entry main(%x: f32[n, 3], %k: i64[]) {\n"
        "  %scaled: f32[n, 3] = mul(%x, 2.5:f32[])\n"
        "  %fc: f32[n, 4] = matmul(%scaled, const w f32[3, 4], lo=0)\n"
        "  %count: i64[read(k, 0)] = iota(length=read(k, 0))\n"
        "  guard 0 <= read(k, 0)  # iota: the length must not be negative\n"
        "  bound read(k, 0) <= 4\n"
        "  return out=%fc, %count\n"
        "}\n"
    )
    assert str(program) == print_program(program)


def test_counts() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", [2])
    shared = b.const(np.zeros(8, np.float32))
    y = b.op("neg", b.op("neg", x))
    z = b.op("concat", shared, shared, y, axis=0)
    b.finish([z], ["out"])
    program = pb.finish(["main"])
    assert list(count_ops(program).items()) == [("neg", 2), ("concat", 1)]
    assert constant_bytes(program) == 32
