# SPDX-License-Identifier: Apache-2.0
"""Bias correction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import normal, program

from samara.exporter.ir import Array, Builder, Node, Program
from samara.exporter.quantize import bias
from samara.exporter.quantize._layers import TensorStats
from samara.exporter.quantize._pipeline import apply, prepare
from samara.exporter.quantize.calibration import observe
from samara.exporter.quantize.observers import Histogram, MovingAverage
from samara.exporter.quantize.recipe import Recipe


def data(count: int = 8) -> list[Array]:
    """Images whose channels have means far from zero."""
    means = np.array([3, -2, 5, 1], np.float32)
    return [normal(1, 6, 6, 4, seed=i) + means for i in range(count)]


def seen(arrays: list[Array]) -> TensorStats:
    stats = TensorStats("x", Histogram(), MovingAverage())
    for a in arrays:
        observe(stats, a)
    return stats


def net(groups: int = 1, with_bias: bool = True) -> Program:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [1, 6, 6, 4])
        w = b.const(normal(8, 3, 3, 4 // groups, seed=1), "w")
        return b.op(
            "conv", x, w, b.const(normal(8, seed=2), "b") if with_bias else None,
            strides=(1, 1), dilations=(1, 1), pads=(0,) * 4, groups=groups,
        )  # fmt: skip

    return program(build)


def product(p: Program) -> Node:
    return p.main.nodes[0]


def rounded(w: Array) -> Array:
    made: Array = np.rint(w * 4) / 4
    return made


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("with_bias", [False, True])
def test_the_mean_of_each_channel_is_restored(groups: int, with_bias: bool) -> None:
    p = net(groups, with_bias)
    node = product(p)
    w = node.inputs[1]
    assert w is not None
    assert w.constant is not None
    back = rounded(w.constant)
    fixed = bias.corrected(node, back, seen(data()))
    assert fixed is not None
    old = node.inputs[2].constant if with_bias and node.inputs[2] is not None else 0.0

    def means(weights: Array, offset: Any) -> Array:
        runs = [node.op.reference(a, weights, None, None, **node.attrs) + offset for a in data()]
        mean: Array = np.mean(runs, axis=(0, 1, 2, 3))
        return mean

    want = means(w.constant, old)
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
        w = node.inputs[1]
        assert w is not None
        assert w.constant is not None
        x = normal(50, 4, seed=3) + 2
        moved = bias.shift(node, rounded(w.constant), seen([x]))
        error = rounded(w.constant) - w.constant
        assert moved == pytest.approx((x @ (error.T if turned else error)).mean(axis=0), abs=1e-4)


def test_nothing_known_or_nothing_wrong_changes_nothing() -> None:
    node = product(net())
    w = node.inputs[1]
    assert w is not None
    assert w.constant is not None
    assert bias.corrected(node, rounded(w.constant), None) is None
    assert bias.corrected(node, w.constant, seen(data())) is None
    other = seen([normal(3, 7)])
    assert bias.corrected(node, rounded(w.constant), other) is None


def test_it_can_be_switched_off() -> None:
    p = net()
    found: dict[bool, Array] = {}
    for on in (False, True):
        recipe = Recipe(bias_correction=on)
        done = apply(prepare(p, data(), recipe), recipe)
        made = next(n for n in done.simulated.main.nodes if n.op.name == "conv").inputs[2]
        assert made is not None
        assert made.constant is not None
        found[on] = made.constant
    old = product(p).inputs[2]
    assert old is not None
    assert old.constant is not None
    assert found[False] == pytest.approx(old.constant, abs=1e-3)  # rounded to a whole step
    assert np.abs(found[True] - found[False]).max() > 5e-3
