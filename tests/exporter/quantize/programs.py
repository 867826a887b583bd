# SPDX-License-Identifier: Apache-2.0
"""Small float programs and data for the tests of quantization."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.exporter.passes.programs import conv, normal, program

from samara.exporter.ir import Array, Builder, Node, Program, Value
from samara.exporter.quantize._layers import Applied, TensorStats
from samara.exporter.quantize._pipeline import apply, prepare
from samara.exporter.quantize.calibration import observe
from samara.exporter.quantize.observers import Histogram, MovingAverage
from samara.exporter.quantize.recipe import Recipe

PLAIN: dict[str, Any] = {"strides": (1, 1), "dilations": (1, 1), "pads": (0,) * 4}
POOL: dict[str, Any] = {**PLAIN, "kernel": (2, 2), "strides": (2, 2)}


def cnn(**attrs: Any) -> Program:
    """[1, 8, 8, 3] through conv, relu, max pool, depthwise conv, relu, mean, product to [1, 5]."""

    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [1, 8, 8, 3])
        y = conv(b, x, 8, 3, seed=1, pads=(1,) * 4, bias=b.const(normal(8, seed=2), "b1"), **attrs)
        y = b.op("max_pool", b.op("relu", y), **POOL)
        w = b.const(normal(8, 3, 3, 1, seed=3), "dw")
        y = b.op("conv", y, w, **{**PLAIN, "pads": (1,) * 4}, groups=8)
        y = b.op("relu", y, name="act")
        y = b.op("reduce_mean", y, axes=(1, 2), keepdims=False)
        return b.op("matmul", y, b.const(normal(8, 5, seed=4), "fc"), b.const(normal(5), "fc_b"))

    return program(build)


def images(count: int = 8, seed: int = 7) -> Array:
    return normal(count, 8, 8, 3, seed=seed)


def samples(count: int = 8, seed: int = 7) -> list[dict[str, Array]]:
    return [{"x": image[np.newaxis]} for image in images(count, seed)]


def applied(p: Program, calibration: Any, recipe: Recipe | None = None) -> Applied:
    """A recipe (the default one) carried out on a program that was prepared for it."""
    recipe = recipe or Recipe()
    return apply(prepare(p, calibration, recipe), recipe)


def node_of(p: Program, op: str) -> Node:
    """The first node of an operator."""
    return next(n for n in p.main.nodes if n.op.name == op)


def held(v: Value | None) -> Array:
    """The data of a constant."""
    assert v is not None
    assert v.constant is not None
    return v.constant


def sqnr(want: Array, got: Array) -> float:
    """Signal-to-noise ratio in decibels."""
    noise = np.square(want.astype(np.float64) - got).sum()
    return float(10 * np.log10(np.square(want.astype(np.float64)).sum() / max(noise, 1e-300)))


def seen(*arrays: Array) -> TensorStats:
    """Statistics of a tensor that had these values."""
    stats = TensorStats("x", Histogram(), MovingAverage())
    for a in arrays:
        observe(stats, a)
    return stats


def agreement(a: Program, b: Program, feeds: list[dict[str, Array]]) -> float:
    """The signal-to-noise ratio of b's first output against a's, by the reference interpreter."""
    runs = [[next(iter(p.run(dict(f)).values())) for f in feeds] for p in (a, b)]
    return sqnr(np.stack(runs[0]), np.stack(runs[1]))
