# SPDX-License-Identifier: Apache-2.0
"""RESIZE_BILINEAR that gives TFLite's own integers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, T, const


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("how", ["", "align_corners", "half_pixel_centers"])
@pytest.mark.parametrize("size", [(14, 10), (3, 4), (20, 7), (1, 1), (7, 5)])
def test_resize_bilinear(kind: str, how: str, size: tuple[int, int]) -> None:
    rng = np.random.default_rng(sum(size))
    info = np.iinfo(kind)
    data = rng.integers(info.min, info.max + 1, (2, 7, 5, 3)).astype(kind)
    zero = 0 if kind == "int16" else 3
    x = T(data, scale=0.1, zero=zero)
    y = T(kind=kind.upper(), shape=(), scale=0.1, zero=zero)
    options = {how: True} if how else {}
    inputs = [x, const(np.array(size, np.int32))]
    Case("RESIZE_BILINEAR", inputs, [y], options, version=4).check(exact=True)
