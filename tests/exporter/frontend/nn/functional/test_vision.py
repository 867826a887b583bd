# SPDX-License-Identifier: Apache-2.0
"""Padding, resizing and sampling: gradients, float32, PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import parity
from tests.exporter.frontend.parity import functional as f

import samara
from samara.nn import functional as F
from samara.pybridge.errors import ShapeError, UnsupportedError


def square(m: Any, x: Any) -> Any:
    return f(m).interpolate(x, size=(5, 7), mode="bicubic", align_corners=False)


CASES: parity.Cases = {
    "pad": (lambda m, x: f(m).pad(x, (1, 2)), (2, 3)),
    "pad_value": (lambda m, x: f(m).pad(x, (1, 0, 0, 2), value=1.5), (2, 3)),
    "pad_negative": (lambda m, x: f(m).pad(x, (-1, 2, 1, -1)), (3, 4)),
    "pad_reflect": (lambda m, x: f(m).pad(x, (2, 1, 1, 2), "reflect"), (1, 2, 4, 4)),
    "pad_replicate": (lambda m, x: f(m).pad(x, (2, 1, 1, 2), "replicate"), (1, 2, 3, 4)),
    "pad_circular": (lambda m, x: f(m).pad(x, (2, 1, 1, 2), "circular"), (1, 2, 4, 4)),
    "pad_reflect_1d": (lambda m, x: f(m).pad(x, (2, 1), "reflect"), (2, 2, 4)),
    "nearest": (lambda m, x: f(m).interpolate(x, scale_factor=2), (1, 2, 3, 2)),
    "nearest_size": (lambda m, x: f(m).interpolate(x, size=(5, 2)), (1, 2, 3, 4)),
    "nearest_1d": (lambda m, x: f(m).interpolate(x, scale_factor=1.5), (1, 2, 4)),
    "nearest_exact": (lambda m, x: f(m).interpolate(x, size=5, mode="nearest-exact"), (1, 2, 3)),
    "linear": (lambda m, x: f(m).interpolate(x, size=7, mode="linear"), (1, 2, 4)),
    "bilinear": (lambda m, x: f(m).interpolate(x, scale_factor=2, mode="bilinear"), (1, 2, 3, 2)),
    "bilinear_aligned": (lambda m, x: f(m).interpolate(x, (5, 6), mode="bilinear", align_corners=True), (1, 2, 3, 4)),
    "bilinear_down": (lambda m, x: f(m).interpolate(x, (2, 3), mode="bilinear", antialias=True), (1, 2, 5, 6)),
    "bicubic": (square, (1, 1, 4, 4)),
    "trilinear": (lambda m, x: f(m).interpolate(x, scale_factor=2, mode="trilinear"), (1, 1, 2, 3, 2)),
    "area": (lambda m, x: f(m).interpolate(x, (2, 3), mode="area"), (1, 2, 5, 6)),
    "grid_sample": (lambda m, x, g: f(m).grid_sample(x, g, align_corners=False), (1, 2, 4, 3), (1, 2, 3, 2)),
    "grid_sample_border": (
        lambda m, x, g: f(m).grid_sample(x, g, padding_mode="border", align_corners=True), (1, 2, 4, 3), (1, 2, 3, 2),
    ),
    "grid_sample_reflection": (
        lambda m, x, g: f(m).grid_sample(x, g, "bicubic", "reflection", False), (1, 2, 4, 3), (1, 2, 3, 2),
    ),
    "grid_sample_nearest": (
        lambda m, x, g: f(m).grid_sample(x, g.detach(), "nearest", align_corners=False), (1, 2, 4, 3), (1, 2, 3, 2),
    ),
    "affine_grid": (lambda m, t: f(m).affine_grid(t, (2, 1, 3, 4), align_corners=False), (2, 2, 3)),
    "affine_grid_aligned": (lambda m, t: f(m).affine_grid(t, (2, 1, 3, 4), align_corners=True), (2, 2, 3)),
    "pixel_shuffle": (lambda m, x: f(m).pixel_shuffle(x, 2), (2, 8, 2, 3)),
    "pixel_unshuffle": (lambda m, x: f(m).pixel_unshuffle(x, 2), (2, 2, 4, 6)),
    "channel_shuffle": (lambda m, x: f(m).channel_shuffle(x, 2), (1, 6, 2, 2)),
    "unfold": (lambda m, x: f(m).unfold(x, (2, 3), 1, 1, 2), (2, 2, 4, 5)),
    "unfold_dilated": (lambda m, x: f(m).unfold(x, 2, dilation=2), (1, 2, 4, 5)),
    "fold": (lambda m, x: f(m).fold(x, (4, 5), (2, 3), 1, 1, 2), (2, 12, 9)),
    "fold_unbatched": (lambda m, x: f(m).fold(x, (3, 4), 2), (8, 6)),
}  # fmt: skip


test_gradients, test_second_gradients, test_float32, test_exported, test_as_pytorch = parity.proofs(
    CASES, *parity.CALLS
)


def test_upsample_is_interpolate() -> None:
    x = samara.randn(1, 2, 3, 4)
    found, expected = (
        F.upsample(x, (5, 6), mode="bilinear"),
        F.interpolate(x, (5, 6), None, "bilinear"),
    )
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_errors() -> None:
    x = samara.zeros(1, 1, 4, 4)
    with pytest.raises(UnsupportedError, match="no pad mode"):
        F.pad(x, (1, 1), "mirror")
    with pytest.raises(ShapeError, match="pad has"):
        F.pad(x, (1,))
    with pytest.raises(ShapeError, match="either size or"):
        F.interpolate(x)
    with pytest.raises(UnsupportedError, match="no mode"):
        F.interpolate(x, 3, mode="trilinear")
    with pytest.raises(ShapeError, match="fold"):
        F.fold(samara.zeros(1, 8, 5), (3, 4), 2)
