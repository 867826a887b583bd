# SPDX-License-Identifier: Apache-2.0
"""A step length that meets the strong Wolfe conditions, along one direction."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

_DECREASE: Final = 1e-4  # c1 and c2 of Nocedal and Wright, for quasi-Newton directions
_CURVATURE: Final = 0.9


class Point(NamedTuple):
    """What is known at one step length: loss, gradient, and the loss's slope along the direction."""

    t: float
    loss: float
    gradient: Any
    slope: float


Measure = Callable[[float], Point]


def strong_wolfe(
    measure: Measure, start: Point, t: float, direction: Any, tolerance: float, most: int
) -> Point:
    """Return a point that meets the strong Wolfe conditions.

    `start` is the point at 0 and `t` the first length to try. Nocedal and Wright, "Numerical
    Optimization", algorithms 3.5 and 3.6, with the cubic steps of M. Schmidt's minFunc, as PyTorch
    has them. After `most` lengths beside the first, or once no parameter changes by `tolerance`
    within the bracket, the best point found is returned.
    """
    low, high, tried, found = _bracket(measure, start, t, most)
    if found:
        return high
    longest = float(np.abs(direction).max())
    shortest = tolerance / longest if longest else math.inf
    return _narrow(measure, start, (low, high), most - tried, shortest)


def _bracket(measure: Measure, start: Point, t: float, most: int) -> tuple[Point, Point, int, bool]:
    """Two points, how many lengths came before the last, and whether that one meets the conditions.

    If it does not, the points lie around one that does, unless `most` lengths were not enough.
    """
    before, here = start, measure(t)
    for i in range(most):
        risen = here.loss > _line(start, here.t) or (i > 1 and here.loss >= before.loss)
        if not risen and abs(here.slope) <= -_CURVATURE * start.slope:
            return before, here, i, True
        if risen or here.slope >= 0:
            return before, here, i, False
        bounds = (here.t + 0.01 * (here.t - before.t), here.t * 10)
        t = _cubic(before, here, bounds)
        before, here = here, measure(t)
    return start, here, most, False


def _narrow(
    measure: Measure, start: Point, ends: tuple[Point, Point], most: int, shortest: float
) -> Point:
    """Interpolate between two points until a length meets the conditions; the best one found."""
    low, high = sorted(ends, key=lambda p: p.loss)
    stalled = False
    for _ in range(most):
        if abs(high.t - low.t) < shortest:
            break
        left, right = sorted((low.t, high.t))
        first, second = (low, high) if low.t <= high.t else (high, low)
        t, stalled = _inside(_cubic(first, second, (left, right)), left, right, stalled)
        here = measure(t)
        if here.loss > _line(start, t) or here.loss >= low.loss:
            high = here
            if high.loss < low.loss:
                low, high = high, low
            continue
        if abs(here.slope) <= -_CURVATURE * start.slope:
            return here
        if here.slope * (high.t - low.t) >= 0:
            high = low
        low = here
    return low


def _line(start: Point, t: float) -> float:
    """The loss that a step of length t must reach: the condition of sufficient decrease."""
    return start.loss + _DECREASE * t * start.slope


def _inside(t: float, left: float, right: float, stalled: bool) -> tuple[float, bool]:
    """Move t off the ends of the bracket if it came close to one twice; whether it is close now."""
    margin = 0.1 * (right - left)
    if min(right - t, t - left) >= margin:
        return t, False
    if not stalled and left < t < right:
        return t, True
    return (right - margin if abs(t - right) < abs(t - left) else left + margin), False


def _cubic(a: Point, b: Point, bounds: tuple[float, float]) -> float:
    """The minimum of the cubic through two points with their slopes, within bounds."""
    middle = (bounds[0] + bounds[1]) / 2
    if a.t == b.t:
        return middle
    if a.t > b.t:
        a, b = b, a
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return middle
    d2 = math.sqrt(square)
    below = b.slope - a.slope + 2 * d2
    if not below:
        return middle
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / below)
    return min(max(t, bounds[0]), bounds[1])
