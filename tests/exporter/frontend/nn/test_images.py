# SPDX-License-Identifier: Apache-2.0
"""Layers that rearrange and resize images: float32, PyTorch."""

from __future__ import annotations

import numpy as np
from tests.exporter.frontend import parity

import samara

CASES: parity.Cases = {
    "pixel_shuffle": (lambda m: m.nn.PixelShuffle(2), (1, 8, 2, 3)),
    "pixel_unshuffle": (lambda m: m.nn.PixelUnshuffle(2), (1, 2, 4, 6)),
    "upsample": (lambda m: m.nn.Upsample(scale_factor=2), (1, 2, 3, 2)),
    "upsample_bilinear": (
        lambda m: m.nn.Upsample((5, 4), mode="bilinear", align_corners=True),
        (1, 2, 3, 2),
    ),
    "unfold": (lambda m: m.nn.Unfold((2, 3), 1, 1, 2), (2, 2, 4, 5)),
    "fold": (lambda m: m.nn.Fold((4, 5), (2, 3), 1, 1, 2), (2, 12, 9)),
}


test_float32, test_exported, test_as_pytorch = parity.proofs(CASES, *parity.LAYERS)


def test_fold_undoes_unfold_but_for_overlaps() -> None:
    x = samara.randn(1, 2, 4, 6)
    columns = samara.nn.Unfold(2, stride=2)(x)
    back = samara.nn.Fold((4, 6), 2, stride=2)(columns)
    np.testing.assert_array_equal(back.numpy(), x.numpy())
