# SPDX-License-Identifier: Apache-2.0
"""Nodes computed by C kernels: as the references within rounding, and refused where there is no kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from tests.exporter.passes.programs import normal, program

from samara.exporter.conformance.operators import cases_of
from samara.exporter.conformance.programs import one_node
from samara.exporter.ir import Builder, Value
from samara.exporter.ir.evaluate import evaluate_node
from samara.exporter.ir.interpret import run
from samara.exporter.ir.kernel_node import kernel_node
from samara.exporter.ir.program import Array, Node
from samara.exporter.ops import all_ops
from samara.exporter.testing import assert_close, run_case
from samara.exporter.types import Dim


class _Kernels:
    """Evaluates by kernels where they exist, and notes the operators for which none does."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.refused: set[str] = set()

    def __call__(
        self,
        node: Node,
        arrays: Sequence[Array | None],
        attrs: Mapping[str, Any],
        dim: Callable[[Dim], int],
    ) -> tuple[Array, ...]:
        made = kernel_node(node, arrays, attrs, dim)
        (self.refused if made is None else self.used).add(node.op.name)
        return evaluate_node(node, arrays, attrs) if made is None else made


def test_every_operator_gives_what_its_reference_gives() -> None:
    kernels = _Kernels()
    for op in all_ops():
        if "control" in op.flags:
            continue
        for cases in cases_of(op, quick=True).values():
            made = one_node(op, cases[0], "static")
            if made is None:
                continue
            got = run(made.program, dict(made.feeds), evaluate=kernels)
            for i, want in enumerate(run_case(op, cases[0])):
                assert_close(got[f"y{i}"], want, op.name)
    assert {"conv", "matmul", "qconv", "lstm", "softmax"} <= kernels.used - kernels.refused
    for op in all_ops():
        if op.name in kernels.refused - kernels.used:
            # Scales per block exist only in a model.
            assert op.measured or op.name == "matmul_blocks", op.name


def test_sizes_are_those_of_the_run() -> None:
    def build(b: Builder) -> Value:
        value: Value = b.op("matmul", b.input("x", "f32", ["n", 3]), b.const(normal(3, 2)))
        return value

    x = normal(5, 3)
    kernels = _Kernels()
    got = run(program(build), {"x": x}, evaluate=kernels)["out0"]
    assert kernels.used == {"matmul"}
    assert got.shape == (5, 2)
    assert np.allclose(got, x @ normal(3, 2), atol=1e-6)
