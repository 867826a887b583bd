# SPDX-License-Identifier: Apache-2.0
"""Layer normalization as files spell it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import apply, normal, ops, program

from samara.exporter.ir import Builder, Value
from samara.exporter.passes import fuse_patterns

INVERSES = ("rsqrt", "reciprocal", "one over", "power")


def _inverse(b: Builder, value: Any, form: str) -> Any:
    if form == "rsqrt":
        return b.op("rsqrt", value)
    if form == "power":
        return b.op("pow", value, -0.5)
    root = b.op("sqrt", value)
    return b.op("reciprocal", root) if form == "reciprocal" else b.op("div", 1.0, root)


def spelled_norm(
    b: Builder, form: str, scale: bool, bias: bool, axis: int = 1, wide: bool = False
) -> Any:
    """form: "divided"; one of INVERSES, optionally with " inside" (the scale is part of the factor) or " folded"
    (as Keras writes it).
    """
    x = b.input("x", "f32", ["n", 6] if axis else [4, 6])
    mean = b.op("reduce_mean", x, axes=[axis], keepdims=True)
    centred = b.op("sub", x, mean)
    variance = b.op("reduce_mean", b.op("mul", centred, centred), axes=[axis], keepdims=True)
    shifted = b.op("add", variance, np.float32(1e-3))
    shape = (1, 6) if wide else (6,)
    gamma, beta = b.const(normal(*shape)), b.const(normal(*shape, seed=2))
    if form == "divided":
        y = b.op("div", centred, b.op("sqrt", shifted))
        y = b.op("mul", y, gamma) if scale else y
        return b.op("add", beta, y) if bias else y
    name, _, place = form.partition("; ")
    factor: Value = _inverse(b, shifted, name)
    if place == "folded":
        m = b.op("mul", factor, gamma)
        return b.op("add", b.op("mul", x, m), b.op("sub", beta, b.op("mul", mean, m)))
    if place == "inside":
        y = b.op("mul", centred, b.op("mul", gamma, factor))
    else:
        y = b.op("mul", centred, factor)
        y = b.op("mul", y, gamma) if scale else y
    return b.op("add", y, beta) if bias else y


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(("scale", "bias"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("form", ["divided", *INVERSES])
def test_layer_norm(form: str, scale: bool, bias: bool, wide: bool) -> None:
    before = program(lambda b: spelled_norm(b, form, scale, bias, wide=wide))
    assert ops(apply(fuse_patterns.PASS, before)) == {"layer_norm": 1}


@pytest.mark.parametrize(
    "form", ["rsqrt; inside", "reciprocal; inside", "rsqrt; folded", "reciprocal; folded"]
)
@pytest.mark.parametrize("wide", [False, True])
def test_a_scale_in_the_factor(form: str, wide: bool) -> None:
    before = program(lambda b: spelled_norm(b, form, scale=True, bias=True, wide=wide))
    assert ops(apply(fuse_patterns.PASS, before)) == {"layer_norm": 1}


def test_a_bias_without_a_scale_stays_behind() -> None:
    before = program(lambda b: spelled_norm(b, "rsqrt", scale=False, bias=True))
    assert ops(apply(fuse_patterns.PASS, before)) == {"layer_norm": 1, "add": 1}


@pytest.mark.parametrize("form", ["divided", "rsqrt"])
def test_another_axis_stays(form: str) -> None:
    before = program(lambda b: spelled_norm(b, form, scale=False, bias=False, axis=0))
    assert "layer_norm" not in ops(apply(fuse_patterns.PASS, before))


@pytest.mark.parametrize("place", ["none", "after", "inside"])
@pytest.mark.parametrize("form", ["divided", *INVERSES])
def test_rms_norm(form: str, place: str) -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", ["n", 6])
        gamma = b.const(normal(6))
        square = b.op("reduce_mean", b.op("mul", x, x), axes=[1], keepdims=True)
        shifted = b.op("add", square, np.float32(1e-3))
        if form == "divided":
            y = b.op("div", x, b.op("sqrt", shifted))
        else:
            factor = _inverse(b, shifted, form)
            y = b.op("mul", x, b.op("mul", factor, gamma) if place == "inside" else factor)
        return b.op("mul", gamma, y) if place == "after" else y

    assert ops(apply(fuse_patterns.PASS, program(build))) == {"rms_norm": 1}


def test_another_mean_is_no_layer_norm() -> None:
    def build(b: Builder) -> Any:
        x, z = b.input("x", "f32", [4, 6]), b.input("z", "f32", [4, 6])
        mean = b.op("reduce_mean", z, axes=[1], keepdims=True)
        centred = b.op("sub", x, mean)
        variance = b.op("reduce_mean", b.op("mul", centred, centred), axes=[1], keepdims=True)
        return b.op("mul", centred, b.op("rsqrt", b.op("add", variance, np.float32(1e-3))))

    found = ops(apply(fuse_patterns.PASS, program(build)))
    assert found == {"reduce_mean": 1, "sub": 1, "rms_norm": 1}
