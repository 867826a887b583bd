# SPDX-License-Identifier: Apache-2.0
"""Shape simplification."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.exporter.passes.programs import ops, program

from samara.exporter.ir import Builder
from samara.exporter.passes import simplify_shapes


def test_a_dim_read_from_dims_is_the_expression_itself() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", ["n", 4])
        n = x.type.shape[0]
        shape = b.op("dims", values=[n * 2, 2])
        return b.op("reshape", x, shape=[b.read(shape, 0), b.read(shape, 1)])

    after = simplify_shapes.PASS.run(program(build))
    assert ops(after) == {"reshape": 1}
    assert [str(d) for d in after.main.outputs[0].type.shape] == ["2*n", "2"]
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(after.run({"x": x})["out0"], x.reshape(4, 2))


def test_static_dims_and_short_ranges_are_constants() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "i64", [3])
        return b.op(
            "add",
            b.op("add", x, b.op("dims", values=[1, 2, 3])),
            b.op("iota", length=3, start=4, step=-1),
        )

    after = simplify_shapes.PASS.run(program(build))
    assert ops(after) == {"add": 2}
    np.testing.assert_array_equal(after.run({"x": np.zeros(3, np.int64)})["out0"], [5, 5, 5])
