# SPDX-License-Identifier: Apache-2.0
"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.exporter.importers.tflite.suite.entries import Entry, Real, X, entries, fixed, uniform

_SIZES = (
    ((4, 4), (8, 8)),
    ((4, 5), (7, 3)),
    ((8, 8), (4, 4)),
    ((1, 1), (3, 4)),
    ((3, 3), (1, 1)),
    ((5, 5), (5, 5)),
    ((6, 4), (9, 10)),
    ((7, 7), (13, 20)),
)
_MODES = (
    {"align_corners": False, "half_pixel_centers": False},
    {"align_corners": True, "half_pixel_centers": False},
    {"align_corners": False, "half_pixel_centers": True},
)


def _resized(op: str) -> Any:
    def make(rng: Any, size: Any, to: Any, mode: int, channels: int) -> Real:
        operands = [X(uniform(rng, (2, *size, channels))), fixed(to)]
        return Real(op, operands, _MODES[mode], quantized="same")

    return make


def cases() -> Iterator[Entry]:
    given = [
        {"size": a, "to": b, "mode": m, "channels": c}
        for a, b in _SIZES
        for m in range(len(_MODES))
        for c in (1, 8)
    ]
    for op, kinds in (
        ("RESIZE_BILINEAR", "float32, int8, uint8, int16"),
        ("RESIZE_NEAREST_NEIGHBOR", "float32, float16, int8, uint8, int16"),
    ):
        yield from entries("resizing", op, kinds, _resized(op), given)
