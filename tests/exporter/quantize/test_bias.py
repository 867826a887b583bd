# SPDX-License-Identifier: Apache-2.0
"""Bias correction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import normal, program
from tests.exporter.quantize.programs import PLAIN, applied, held, node_of, seen

from samara.exporter.ir import Array, Builder, Node, Program
from samara.exporter.quantize import bias
from samara.exporter.quantize.recipe import Recipe


def data(count: int = 8) -> list[Array]:
    """Images whose channels have means far from zero."""
    means = np.array([3, -2, 5, 1], np.float32)
    return [normal(1, 6, 6, 4, seed=i) + means for i in range(count)]


def net(groups: int = 1, with_bias: bool = True) -> Program:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [1, 6, 6, 4])
        w = b.const(normal(8, 3, 3, 4 // groups, seed=1), "w")
        offset = b.const(normal(8, seed=2), "b") if with_bias else None
        return b.op("conv", x, w, offset, **PLAIN, groups=groups)

    return program(build)


def product(p: Program) -> Node:
    return p.main.nodes[0]


def rounded(w: Array) -> Array:
    made: Array = np.rint(w * 4) / 4
    return made


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("with_bias", [False, True])
def test_the_mean_of_each_channel_is_restored(groups: int, with_bias: bool) -> None:
    node = product(net(groups, with_bias))
    w = held(node.inputs[1])
    back = rounded(w)
    fixed = bias.corrected(node, back, seen(*data()))
    assert fixed is not None
    old = held(node.inputs[2]) if with_bias else 0.0

    def means(weights: Array, offset: Any) -> Array:
        runs = [node.op.reference(a, weights, None, None, **node.attrs) + offset for a in data()]
        mean: Array = np.mean(runs, axis=(0, 1, 2, 3))
        return mean

    want = means(w, old)
    before = np.abs(means(back.astype(np.float32), old) - want)
    after = np.abs(means(back.astype(np.float32), fixed.data) - want)
    assert after.max() < 0.25 * before.max()


def test_matrix_products_of_both_orders() -> None:
    for turned in (False, True):

        def build(b: Builder, turned: bool = turned) -> Any:
            w = normal(4, 3)
            return b.op("matmul", b.input("x", "f32", ["n", 4]), b.const(w.T.copy() if turned else w),
                        transpose_w=turned)  # fmt: skip

        node = product(program(build))
        w = held(node.inputs[1])
        x = normal(50, 4, seed=3) + 2
        moved = bias.shift(node, rounded(w), seen(x))
        error = rounded(w) - w
        assert moved == pytest.approx((x @ (error.T if turned else error)).mean(axis=0), abs=1e-4)


def test_nothing_known_or_nothing_wrong_changes_nothing() -> None:
    node = product(net())
    w = held(node.inputs[1])
    assert bias.corrected(node, rounded(w), None) is None
    assert bias.corrected(node, w, seen(*data())) is None
    assert bias.corrected(node, rounded(w), seen(normal(3, 7))) is None


def test_it_can_be_switched_off() -> None:
    p = net()
    found: dict[bool, Array] = {}
    for on in (False, True):
        done = applied(p, data(), Recipe(bias_correction=on))
        found[on] = held(node_of(done.simulated, "conv").inputs[2])
    old = held(product(p).inputs[2])
    assert found[False] == pytest.approx(old, abs=1e-3)  # rounded to a whole step
    assert np.abs(found[True] - found[False]).max() > 5e-3
