# SPDX-License-Identifier: Apache-2.0
"""The length that the line search finds meets both conditions, from first lengths of every size."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from samara.exporter.frontend.optim.line_search import Point, strong_wolfe

Curve = tuple[Callable[[float], float], Callable[[float], float]]
# Losses of the length and their slopes: a parabola, a steep wall behind a flat valley, waves.
CURVES: dict[str, Curve] = {
    "parabola": (lambda t: (t - 3) ** 2, lambda t: 2 * (t - 3)),
    "wall": (lambda t: math.exp(4 * (t - 2)) - t, lambda t: 4 * math.exp(4 * (t - 2)) - 1),
    "waves": (lambda t: 0.1 * t * t - math.sin(t), lambda t: 0.2 * t - math.cos(t)),
    "quartic": (lambda t: (t - 1) ** 4 - t, lambda t: 4 * (t - 1) ** 3 - 1),
}


def search(curve: Curve, first: float, most: int = 25) -> tuple[Point, Point, list[float]]:
    tried: list[float] = []

    def measure(t: float) -> Point:
        tried.append(t)
        return Point(t, curve[0](t), np.array([curve[1](t)]), curve[1](t))

    start = Point(0.0, curve[0](0), np.array([curve[1](0)]), curve[1](0))
    return start, strong_wolfe(measure, start, first, np.ones(1), 1e-9, most), tried


@pytest.mark.parametrize("name", CURVES)
def test_both_conditions_hold(name: str) -> None:
    for first in (1e-4, 0.1, 1.0, 7.0, 100.0):
        start, found, tried = search(CURVES[name], first)
        assert found.loss <= start.loss + 1e-4 * found.t * start.slope, (first, found)
        assert abs(found.slope) <= 0.9 * abs(start.slope), (first, found)
        assert len(tried) <= 26


def test_the_number_of_lengths_is_limited() -> None:
    def falling(t: float) -> float:
        return -t

    for most in (0, 1, 4):  # the loss falls for ever, so no length meets the second condition
        start, found, tried = search((falling, lambda t: -1.0), 1.0, most)
        assert len(tried) == most + 1
        assert found.loss <= start.loss
    start, found, _ = search(CURVES["parabola"], 1e6, 0)
    assert found is start  # the only length tried was worse
