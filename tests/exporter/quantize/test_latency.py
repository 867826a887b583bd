# SPDX-License-Identifier: Apache-2.0
"""Estimates: arithmetic and memory both count, symbols get their sizes from inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.exporter.passes.programs import normal, program

from samara.exporter.ir import Builder, Program
from samara.exporter.quantize.latency import CORES, cost_of, estimate, sizes_of
from samara.exporter.quantize.quantize import quantize
from samara.exporter.types import sym


def _product(rows: Any, depth: int, columns: int) -> Program:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [rows, depth])
        return b.op("matmul", x, b.const(normal(depth, columns), "w"))

    return program(build)


def test_operations_decide_where_there_are_many() -> None:
    feeds = {"x": np.zeros((512, 512), np.float32)}
    seconds = estimate(_product(512, 512, 512), feeds)
    for core in CORES:
        assert seconds[core.isa] >= 2 * 512**3 / core.f32
    assert seconds["scalar"] > seconds["neon"] > seconds["avx512"]


def test_bytes_decide_for_one_row() -> None:
    core = next(c for c in CORES if c.isa == "avx512")
    seconds = estimate(_product(1, 2048, 2048), {"x": np.zeros((1, 2048), np.float32)})
    assert seconds["avx512"] >= 4 * 2048**2 / core.memory


def test_symbolic_sizes_come_from_the_inputs() -> None:
    p = _product(sym("n"), 8, 8)
    node = p.main.nodes[0]
    assert cost_of(node, {}) is None
    sizes = sizes_of(p.main, {"x": np.zeros((5, 8), np.float32)})
    assert sizes == {"n": 5}
    cost = cost_of(node, sizes)
    assert cost is not None
    assert cost[0] == 2 * 5 * 8 * 8


def test_int8_pays_where_there_are_dot_products() -> None:
    p = _product(64, 512, 512)
    feeds = [{"x": normal(64, 512, seed=s)} for s in range(2)]
    done = quantize(p, feeds)
    before, after = estimate(p, feeds[0]), estimate(done, feeds[0])
    assert after["avx512-vnni"] < before["avx512-vnni"] / 2
