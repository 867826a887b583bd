# SPDX-License-Identifier: Apache-2.0
"""Operands by name: dims become tensors, and predicates that are known."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter.importers.common.operand import Poison, Ratio, Scaled, shape_data
from samara.exporter.importers.common.scope import Operands
from samara.exporter.ir.builder import ProgramBuilder
from samara.exporter.types import DType, ShapeError, as_dim, deq, f32_bits


def _scope() -> tuple[ProgramBuilder, Operands]:
    program = ProgramBuilder()
    return program, Operands(program.function("main"))


def test_dims_become_tensors() -> None:
    program, scope = _scope()
    x = scope.builder.input("x", DType.F32, ["n", 3])
    n = x.type.shape[0]
    known = scope.materialise(shape_data([2, 3], DType.I32), "known")
    assert known.constant is not None
    assert known.constant.tolist() == [2, 3]
    sizes = scope.materialise(shape_data([[n, n * 2]], DType.I32), "sizes")
    half = as_dim(f32_bits(0.5))
    mixed = scope.materialise(
        shape_data([Scaled(n, half), Ratio(n, as_dim(4))], DType.F32), "mixed"
    )
    scope.builder.finish([sizes, mixed], ["sizes", "mixed"])
    got = program.finish(["main"]).run({"x": np.zeros((6, 3), np.float32)})
    assert got["sizes"].tolist() == [[6, 12]]
    assert got["sizes"].dtype == np.int32
    assert got["mixed"].tolist() == [3.0, 1.5]


def test_a_failure_says_why() -> None:
    _, scope = _scope()
    with pytest.raises(ShapeError, match="no such luck"):
        scope.materialise(Poison("no such luck"), "x")


def test_predicates_that_are_known() -> None:
    _, scope = _scope()
    x = scope.builder.input("x", DType.F32, ["n"])
    is_three = deq(x.type.shape[0], 3)
    assert scope.known(is_three) == is_three
    scope.assume(is_three, 1)
    assert scope.known(is_three * 2) == 2
