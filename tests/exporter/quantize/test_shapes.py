# SPDX-License-Identifier: Apache-2.0
"""Where the channels of a product lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import normal, program
from tests.exporter.quantize.programs import PLAIN, held

from samara.exporter.ir import Builder, Node
from samara.exporter.quantize._shapes import by_input, channel_axis, channels_of


def conv(groups: int) -> Node:
    def build(b: Builder) -> Any:
        w = b.const(normal(8, 3, 3, 4 // groups))
        return b.op("conv", b.input("x", "f32", [1, 5, 5, 4]), w, **PLAIN, groups=groups)

    return program(build).main.nodes[0]


def matmul(turned: bool) -> Node:
    def build(b: Builder) -> Any:
        w = normal(4, 8)
        return b.op("matmul", b.input("x", "f32", [2, 4]), b.const(w.T.copy() if turned else w),
                    transpose_w=turned)  # fmt: skip

    return program(build).main.nodes[0]


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_constant_image_is_multiplied_by_the_summed_weights(groups: int) -> None:
    node = conv(groups)
    colour = np.array([1, -2, 3, 0.5], np.float32)
    image = np.broadcast_to(colour, (1, 5, 5, 4)).copy()
    w = held(node.inputs[1])
    got = node.op.reference(image, w, None, None, **node.attrs)
    assert by_input(node, w) @ colour == pytest.approx(got[0, 1, 1], abs=1e-4)
    assert (channel_axis(node), channels_of(node)) == (0, 8)


@pytest.mark.parametrize("turned", [False, True])
def test_matrix_products(turned: bool) -> None:
    node = matmul(turned)
    x = normal(4, seed=1)
    w = held(node.inputs[1])
    got = node.op.reference(x[None], w, None, None, **node.attrs)
    assert by_input(node, w) @ x == pytest.approx(got[0], abs=1e-5)
    assert (channel_axis(node), channels_of(node)) == (0 if turned else 1, 8)


def test_computed_weights_have_no_channels() -> None:
    p = program(lambda b: b.op("matmul", b.input("x", "f32", [4, 4]), b.input("w", "f32", [4, 4])))
    assert channels_of(p.main.nodes[0]) is None
