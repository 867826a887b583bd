# SPDX-License-Identifier: Apache-2.0
"""Spelled-out activations and layer normalization."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.exporter.passes.programs import apply, normal, ops, program

from samara.exporter.ir import Builder
from samara.exporter.passes import fuse_patterns


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
