# SPDX-License-Identifier: Apache-2.0
"""Constant folding."""

from __future__ import annotations

import numpy as np
from tests.exporter.passes.programs import apply, normal, ops, program

from samara.exporter.ir import Builder, Value
from samara.exporter.passes import fold_constants
from samara.exporter.types import DType, Quant


def test_nodes_over_constants_become_one_constant() -> None:
    before = program(
        lambda b: b.op(
            "add", b.input("x", "f32", [2, 3]), b.op("exp", b.op("neg", b.const(normal(3))))
        )
    )
    after = apply(fold_constants.PASS, before)
    assert ops(after) == {"add": 1}
    folded = after.main.nodes[0].inputs[1]
    assert folded is not None
    assert folded.constant is not None
    np.testing.assert_allclose(folded.constant, np.exp(-normal(3)), rtol=1e-6)


def test_what_depends_on_an_input_stays() -> None:
    before = program(lambda b: b.op("exp", b.input("x", "f32", [2])))
    assert fold_constants.PASS.run(before) is before


def test_a_symbolic_attribute_keeps_its_node() -> None:
    before = program(
        lambda b: b.op(
            "expand", b.const(np.float32(1)), shape=b.input("x", "f32", ["n", 2]).type.shape
        )
    )
    assert ops(fold_constants.PASS.run(before)) == {"expand": 1}


def test_int8_constants_stay_so_and_keep_their_parameters() -> None:
    quant = Quant.per_axis([0.1, 0.2], 0)

    def build(b: Builder) -> list[Value]:
        w = b.const(np.arange(6, dtype=np.int8).reshape(2, 3), "w", DType.QS8, quant)
        return [b.op("transpose", w, perm=(1, 0)), b.op("relu", b.op("dequantize", w))]

    after = fold_constants.PASS.run(program(build))
    assert ops(after) == {"dequantize": 1, "relu": 1}
    moved = after.main.outputs[0]
    assert moved.constant is not None
    assert moved.constant.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert moved.type.quant == quant.with_axis(1)
