# SPDX-License-Identifier: Apache-2.0
"""Cross-layer equalization."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import conv, normal, program
from tests.exporter.quantize.programs import (
    PLAIN,
    POOL,
    agreement,
    applied,
    cnn,
    held,
    node_of,
    samples,
)

from samara.exporter.ir import Array, Builder, Program, Value, verify
from samara.exporter.quantize._pipeline import observed_tensors
from samara.exporter.quantize.calibration import calibrate
from samara.exporter.quantize.equalize import equalize, find_pairs
from samara.exporter.quantize.recipe import Recipe

X = [1, 6, 6, 4]


def uneven(*shape: int, axis: int = 0, seed: int = 0) -> Array:
    """Weights whose channels differ a thousandfold."""
    factors = np.geomspace(1e-2, 10, shape[axis]).astype(np.float32)
    wide = factors.reshape([-1 if a == axis else 1 for a in range(len(shape))])
    made: Array = normal(*shape, seed=seed) * wide
    return made


def window(b: Builder, x: Value, w: Array, bias: Array | None = None, **attrs: Any) -> Any:
    given = None if bias is None else b.const(bias)
    return b.op("conv", x, b.const(w), given, **{**PLAIN, "pads": (1,) * 4, **attrs})


def chain(between: str = "relu", **attrs: Any) -> Program:
    """conv, something, depthwise conv, something, conv, channels uneven."""

    def build(b: Builder) -> Any:
        y = window(b, b.input("x", "f32", X), uneven(8, 3, 3, 4), normal(8))
        y = b.op(between, y, **attrs)
        y = window(b, y, uneven(8, 3, 3, 1, seed=1), normal(8, seed=2), groups=8)
        y = b.op(between, y, **attrs)
        return window(b, y, normal(5, 3, 3, 8, seed=3))

    return program(build)


def feeds() -> list[dict[str, Array]]:
    return [{"x": normal(*X, seed=i)} for i in range(4)]


def spread(p: Program, index: int) -> float:
    """The largest over the smallest channel of the convolution's weights."""
    w = held([n for n in p.main.nodes if n.op.name == "conv"][index].inputs[1])
    largest = np.abs(w).max(axis=(1, 2, 3))
    return float(largest.max() / largest.min())


@pytest.mark.parametrize(
    ("between", "attrs"), [("relu", {}), ("identity", {}), ("leaky_relu", {"alpha": 0.1})]
)
def test_channels_get_alike_and_answers_stay(between: str, attrs: dict[str, Any]) -> None:
    before = chain(between, **attrs)
    after, pairs = equalize(before)
    verify(after)
    assert pairs == 2
    assert spread(after, 0) < spread(before, 0) / 4
    assert agreement(before, after, feeds()) > 100


def test_pooling_between_and_grouped_convolutions() -> None:
    def build(b: Builder) -> Any:
        y = window(b, b.input("x", "f32", X), uneven(8, 3, 3, 4), normal(8))
        y = b.op("max_pool", b.op("relu", y), **POOL)
        return window(b, y, normal(12, 3, 3, 2, seed=3), groups=4)

    before = program(build)
    after, pairs = equalize(before)
    assert pairs == 1
    assert agreement(before, after, feeds()) > 100


@pytest.mark.parametrize("turned", [False, True])
def test_matrix_products(turned: bool) -> None:
    def build(b: Builder) -> Any:
        def put(w: Array) -> Value:
            return b.const(w.T.copy() if turned else w)

        y = b.op("matmul", b.input("x", "f32", [3, 4]), put(uneven(4, 8, axis=1)),
                 b.const(normal(8)), transpose_w=turned)  # fmt: skip
        return b.op("matmul", b.op("relu", y), put(normal(8, 2, seed=1)), transpose_w=turned)

    before = program(build)
    after, pairs = equalize(before)
    assert pairs == 1
    data = [{"x": normal(3, 4, seed=i)} for i in range(4)]
    assert agreement(before, after, data) > 100
    first = held(node_of(after, "matmul").inputs[1])
    largest = np.abs(first).max(axis=1 if turned else 0)
    assert largest.max() / largest.min() < 100


def test_what_is_not_homogeneous_or_used_twice_is_left_alone() -> None:
    assert find_pairs(chain("sigmoid").main) == []
    assert find_pairs(chain("clamp", lo=0.0, hi=6.0).main) == []

    def twice(b: Builder) -> Any:
        y = b.op("relu", conv(b, b.input("x", "f32", X), 4))
        return [conv(b, y, 3, seed=2), y]

    def shared(b: Builder) -> Any:
        w = b.const(normal(4, 1, 1, 4))
        return b.op("conv", b.op("conv", b.input("x", "f32", X), w, **PLAIN), w, **PLAIN)

    for build in (twice, shared):
        p = program(build)
        assert equalize(p) == (p, 0)


def test_dead_channels_stay_dead() -> None:
    def build(b: Builder) -> Any:
        w = uneven(4, 3, 3, 4)
        w[2] = 0
        last = normal(3, 3, 3, 4, seed=1)
        last[..., 1] = 0
        return window(b, b.op("relu", window(b, b.input("x", "f32", X), w, normal(4))), last)

    before = program(build)
    after, _ = equalize(before)
    assert agreement(before, after, feeds()) > 100
    assert all(np.isfinite(v.constant).all() for v in after.main.values() if v.constant is not None)


def test_a_network() -> None:
    p = cnn()
    after, pairs = equalize(p)
    assert pairs == 1
    assert agreement(p, after, samples()) > 100


# ---- by what was seen


def spread_of(p: Program, name: str) -> float:
    """The largest over the smallest channel maximum of a tensor."""
    runs = [p.run(f, keep=[name])[name] for f in feeds()]
    largest = np.abs(np.concatenate(runs)).reshape(-1, runs[0].shape[-1]).max(axis=0)
    return float(largest.max() / largest.min())


def seen(p: Program) -> Any:
    return calibrate(p, feeds(), observed_tensors(p.main)).stats


def uneven_inside() -> Program:
    """Two convolutions; what is wide in the first's channels is narrow in the second's."""

    def build(b: Builder) -> Any:
        first = uneven(8, 3, 3, 4)
        last = normal(5, 3, 3, 8, seed=3) / np.geomspace(1e-2, 10, 8).astype(np.float32)
        y = window(b, b.input("x", "f32", X), first)
        return window(b, b.op("relu", y), last)

    return program(build)


def test_the_channels_of_the_tensor_between_get_alike() -> None:
    before = uneven_inside()
    after, pairs = equalize(before, seen(before))
    verify(after)
    assert pairs == 1
    assert agreement(before, after, feeds()) > 100
    assert spread_of(after, "relu.equalized") < spread_of(before, "relu") / 20


def test_scaled_tensors_have_other_names_and_the_rest_theirs() -> None:
    before = chain()
    after, _ = equalize(before, seen(before))
    old, new = ({v.name for v in p.main.values()} for p in (before, after))
    assert {n for n in new if n.endswith(".equalized")} == {f"{n}.equalized" for n in old - new}
    assert [n.name for n in after.main.nodes] == [n.name for n in before.main.nodes]


def test_it_makes_less_noise_in_int8() -> None:
    p = uneven_inside()
    found = {}
    for on in (False, True):
        done = applied(p, feeds(), Recipe(equalize=on, observer="minmax"))
        found[on] = agreement(p, done.program, feeds())
    assert found[True] > found[False] + 10


def test_even_channels_are_left_alone() -> None:
    """Nothing is moved where that would not make less noise."""

    def build(b: Builder) -> Any:
        w = np.ones((4, 1, 1, 4), np.float32)
        y = window(b, b.input("x", "f32", X), w, pads=(0,) * 4)
        return window(b, b.op("relu", y), np.ones((4, 1, 1, 4), np.float32), pads=(0,) * 4)

    p = program(build)
    assert equalize(p, seen(p)) == (p, 0)


def test_channels_that_were_never_seen_stay_finite() -> None:
    def build(b: Builder) -> Any:
        w = normal(4, 3, 3, 4)
        w[2] = 0
        return window(b, b.op("relu", window(b, b.input("x", "f32", X), w)), normal(3, 3, 3, 4))

    p = program(build)
    after, _ = equalize(p, seen(p))
    assert agreement(p, after, feeds()) > 100
    assert equalize(p, {}) == (p, 0)
