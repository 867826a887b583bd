# SPDX-License-Identifier: Apache-2.0
"""Bad calibration data is named, good data is not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import conv, program

from samara.exporter.ir import Array, Builder, Program
from samara.exporter.quantize._pipeline import prepare
from samara.exporter.quantize.diagnose import FEWEST, declared_ranges, diagnose
from samara.exporter.quantize.recipe import Recipe
from samara.exporter.types import QuantizationError


def _net(layout: str = "NCHW", side: int = 16) -> Program:
    shape = [1, 3, side, side] if layout == "NCHW" else [1, side, side, 3]

    def build(b: Builder) -> Any:
        x = b.input("image", "f32", shape)
        y = b.op("transpose", x, perm=(0, 2, 3, 1)) if layout == "NCHW" else x
        return b.op("relu", conv(b, y, 4, 3, seed=1))

    return program(build)


def _smooth(count: int, side: int = 16, seed: int = 0) -> Array:
    """Images [N, side, side, 3] in 0..1 whose neighbours are alike, of different colours."""
    rng = np.random.default_rng(seed)
    grid = np.linspace(0, 1, side)
    made = []
    for _ in range(count):
        a, b, c, d = rng.uniform(-3, 3, 4)
        wave = np.sin(a + b * grid[:, None] + c * grid[None, :]) * np.cos(d * grid[None, :])
        colour = rng.uniform(0, 1, 3)
        made.append(0.5 + 0.5 * wave[..., None] * colour - 0.2 * colour)
    images: Array = np.clip(np.stack(made), 0, 1).astype(np.float32)
    return images


def _kinds(p: Program, images: Sequence[Array] | Array, **ranges: tuple[float, float]) -> list[str]:
    data = [{"image": x[None]} for x in images]
    return [f.kind for f in diagnose(prepare(p, data, Recipe()), ranges or None)]


def _planes(images: Array) -> Array:
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2))


def test_too_few() -> None:
    assert _kinds(_net(), _planes(_smooth(FEWEST - 1))) == ["few"]
    assert _kinds(_net(), _planes(_smooth(FEWEST))) == []


def test_constant() -> None:
    zeros = np.zeros((20, 3, 16, 16), np.float32)
    for images in (zeros, zeros + 0.5, np.repeat(_planes(_smooth(1)), 20, axis=0)):
        assert _kinds(_net(), images) == ["constant"]


def test_out_of_the_declared_range() -> None:
    images = _planes(_smooth(20))
    assert _kinds(_net(), images, image=(0.0, 1.0)) == []
    assert _kinds(_net(), images * 255, image=(0.0, 1.0)) == ["range"]
    assert _kinds(_net(), images, image=(0.0, 255.0)) == ["range"]
    assert _kinds(_net(), images - 0.5, image=(0.0, 1.0)) == ["range"]


def test_the_range_may_be_declared_in_the_metadata() -> None:
    entry = json.dumps({"image": {"range": [0, 1]}})
    p = replace(_net(), metadata={"preprocessing": entry})
    assert declared_ranges(p) == {"image": (0.0, 1.0)}
    assert _kinds(p, _planes(_smooth(20)) * 255) == ["range"]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_memory_in_the_other_order(layout: str) -> None:
    images = _smooth(20)
    right: Array = _planes(images)
    wrong: Array = images.reshape(20, 3, 16, 16)
    if layout == "NHWC":
        right, wrong = images, _planes(images).reshape(images.shape)
    assert _kinds(_net(layout), right) == []
    assert _kinds(_net(layout), wrong) == ["layout"]


def test_a_shape_in_the_other_order_is_an_error_that_says_so() -> None:
    with pytest.raises(QuantizationError, match=r"NHWC|transpose"):
        _kinds(_net(), _smooth(20))


def test_not_finite() -> None:
    images = _planes(_smooth(20))
    images[3, 0, 0, 0] = np.nan
    assert _kinds(_net(), images) == ["finite"]


@pytest.mark.parametrize("seed", range(5))
def test_good_data_raises_no_alarm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    images = _planes(_smooth(32, seed=seed))
    noisy = images + rng.normal(0, 0.05 * seed, images.shape).astype(np.float32)
    normal = ((noisy - 0.45) / 0.23).astype(np.float32)
    assert _kinds(_net(), normal) == []
    assert _kinds(_net(), rng.normal(0, 1, images.shape).astype(np.float32)) == []


@pytest.mark.parametrize("limits", [(1.0, 0.0), (0.0,), ("a", "b"), (0.0, np.inf)])
def test_what_is_no_range(limits: Any) -> None:
    with pytest.raises(QuantizationError, match="declared range"):
        declared_ranges(_net(), {"image": limits})


def test_a_range_of_no_input() -> None:
    with pytest.raises(QuantizationError, match="not an input"):
        declared_ranges(_net(), {"picture": (0.0, 1.0)})
