# SPDX-License-Identifier: Apache-2.0
"""Constant folding."""

from __future__ import annotations

import numpy as np
from tests.exporter.passes.programs import apply, normal, ops, program

from samara.exporter.passes import fold_constants


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
