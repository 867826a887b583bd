# SPDX-License-Identifier: Apache-2.0
"""Transposed convolutions whose windows do not overlap along a row."""

from __future__ import annotations

from typing import Any

import pytest
from tests.exporter.passes.programs import apply, normal, ops, program

from samara.exporter.ir import Builder, Program, Value
from samara.exporter.passes import join_columns

ATTRS: dict[str, Any] = {
    "strides": (2, 2), "dilations": (1, 1), "pads": (0, 0, 0, 0), "output_padding": (0, 0)
}  # fmt: skip


def _net(
    outputs: int = 1, kernel: tuple[int, int] = (2, 2), extra: str = "", **attrs: Any
) -> Program:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", ["n", 3, 4 if "residual" in extra else "w", 5])
        w = b.const(normal(outputs, *kernel, 5 // attrs.get("groups", 1)))
        given: list[Value | None] = [x, w]
        if extra:
            given.append(b.const(normal(outputs, seed=1)) if "bias" in extra else None)
        if "residual" in extra:
            given.append(b.input("r", "f32", ["n", 6, 8, outputs]))
        return b.op("conv_transpose", *given, **{**ATTRS, **attrs})

    return program(build)


@pytest.mark.parametrize(
    ("net", "shape"),
    [
        (_net(), (2, 2, 1, 5)),
        (_net(3, extra="bias", post="sigmoid"), (6, 2, 1, 5)),
        (_net(2, extra="residual"), (4, 2, 1, 5)),
        (_net(2, (3, 4), strides=(2, 4), pads=(1, 0, 0, 0), lo=-0.5), (8, 3, 1, 5)),
    ],
)
def test_columns_become_channels(net: Program, shape: tuple[int, ...]) -> None:
    after = apply(join_columns.PASS, net)
    assert ops(after) == {"conv_transpose": 1, "reshape": len(net.main.inputs)}
    (node,) = [n for n in after.main.nodes if n.op.name == "conv_transpose"]
    assert node.inputs[1] is not None
    assert node.inputs[1].type.static_shape() == shape
    assert node.attrs["strides"][-1] == 1
    assert join_columns.PASS.run(after) is after


@pytest.mark.parametrize(
    "net",
    [
        _net(16),
        _net(kernel=(2, 3)),
        _net(kernel=(2, 1), strides=(2, 1)),
        _net(pads=(0, 1, 0, 0)),
        _net(pads=(0, 0, 0, 1)),
        _net(output_padding=(0, 1)),
    ],
)
def test_others_stay(net: Program) -> None:
    assert join_columns.PASS.run(net) is net
