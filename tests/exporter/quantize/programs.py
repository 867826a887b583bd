# SPDX-License-Identifier: Apache-2.0
"""Small float programs and data for the tests of quantization."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.exporter.passes.programs import conv, normal, program

from samara.exporter.ir import Array, Builder, Program


def cnn(**attrs: Any) -> Program:
    """[1, 8, 8, 3] through conv, relu, max pool, depthwise conv, relu, mean, product to [1, 5]."""

    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [1, 8, 8, 3])
        y = conv(b, x, 8, 3, seed=1, pads=(1,) * 4, bias=b.const(normal(8, seed=2), "b1"), **attrs)
        y = b.op(
            "max_pool",
            b.op("relu", y),
            kernel=(2, 2),
            strides=(2, 2),
            dilations=(1, 1),
            pads=(0,) * 4,
        )
        w = b.const(normal(8, 3, 3, 1, seed=3), "dw")
        y = b.op("conv", y, w, strides=(1, 1), dilations=(1, 1), pads=(1,) * 4, groups=8)
        y = b.op("relu", y, name="act")
        y = b.op("reduce_mean", y, axes=(1, 2), keepdims=False)
        return b.op("matmul", y, b.const(normal(8, 5, seed=4), "fc"), b.const(normal(5), "fc_b"))

    return program(build)


def images(count: int = 8, seed: int = 7) -> Array:
    return normal(count, 8, 8, 3, seed=seed)


def samples(count: int = 8, seed: int = 7) -> list[dict[str, Array]]:
    return [{"x": image[np.newaxis]} for image in images(count, seed)]


def sqnr(want: Array, got: Array) -> float:
    """Signal-to-noise ratio in decibels."""
    noise = np.square(want.astype(np.float64) - got).sum()
    return float(10 * np.log10(np.square(want.astype(np.float64)).sum() / max(noise, 1e-300)))


def agreement(a: Program, b: Program, feeds: list[dict[str, Array]]) -> float:
    """The signal-to-noise ratio of b's first output against a's, by the reference interpreter."""
    runs = [[next(iter(p.run(dict(f)).values())) for f in feeds] for p in (a, b)]
    return sqnr(np.stack(runs[0]), np.stack(runs[1]))
