# SPDX-License-Identifier: Apache-2.0
"""Spelled-out activations and layer normalization."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import apply, normal, ops, program

from samara.exporter.ir import Builder
from samara.exporter.passes import fuse_patterns


def test_silu() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [9])
        return b.op("mul", b.op("sigmoid", x), x)

    assert ops(apply(fuse_patterns.PASS, program(build))) == {"silu": 1}


def test_hard_swish() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [9])
        return b.op("mul", x, b.op("hard_sigmoid", x, alpha=1 / 6, beta=0.5))

    assert ops(apply(fuse_patterns.PASS, program(build))) == {"hard_swish": 1}


@pytest.mark.parametrize("half_first", [False, True])
@pytest.mark.parametrize("multiply", [False, True])
def test_gelu(half_first: bool, multiply: bool) -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [9])
        ratio = b.op("mul", x, 1 / math.sqrt(2)) if multiply else b.op("div", x, math.sqrt(2))
        one_plus = b.op("add", b.op("erf", ratio), 1.0)
        if half_first:
            return b.op("mul", b.op("mul", x, 0.5), one_plus)
        return b.op("mul", b.op("mul", x, one_plus), 0.5)

    assert ops(apply(fuse_patterns.PASS, program(build)))["gelu"] == 1


def test_a_factor_that_is_not_gelu_stays() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [9])
        one_plus = b.op("add", b.op("erf", b.op("div", x, 1.5)), 1.0)
        return b.op("mul", b.op("mul", x, one_plus), 0.5)

    assert ops(apply(fuse_patterns.PASS, program(build)))["gelu"] == 0


def spelled_norm(b: Builder, scale: bool, bias: bool, axis: int = 1) -> Any:
    x = b.input("x", "f32", [4, 6])
    centred = b.op("sub", x, b.op("reduce_mean", x, axes=[axis], keepdims=True))
    variance = b.op("reduce_mean", b.op("mul", centred, centred), axes=[axis], keepdims=True)
    y = b.op("div", centred, b.op("sqrt", b.op("add", variance, np.float32(1e-3))))
    if scale:
        y = b.op("mul", y, b.const(normal(6)))
    if bias:
        y = b.op("add", y, b.const(normal(6, seed=2)))
    return y


def test_layer_norm() -> None:
    found = ops(apply(fuse_patterns.PASS, program(lambda b: spelled_norm(b, True, True))))
    assert found["layer_norm"] == 1
    assert found["add"] == 0 or "div" in found


def test_a_norm_over_another_axis_stays() -> None:
    before = program(lambda b: spelled_norm(b, False, False, axis=0))
    assert ops(apply(fuse_patterns.PASS, before))["layer_norm"] == 0
