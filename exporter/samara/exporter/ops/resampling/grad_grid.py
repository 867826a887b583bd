# SPDX-License-Identifier: Apache-2.0
"""grid_sample composed of simpler operators, for gradients of its gradient."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from samara.exporter import ops
from samara.exporter.ops.autodiff import GradContext, shape_of
from samara.exporter.ops.grad_tools import Grads, known, number, range_of
from samara.exporter.ops.reverse_pass import vjp
from samara.exporter.types import DType

_CUBIC_A = -0.75  # as in grid_sample


def sample(ctx: GradContext) -> Grads:
    """One operator for both gradients."""
    dx, dgrid = ops.grid_sample_grad(
        ctx.dy,
        ctx.x,
        ctx.grid,
        mode=ctx.mode,
        padding=ctx.padding,
        align_corners=ctx.align_corners,
    )
    return dx, dgrid


def sample_grad(ctx: GradContext) -> Grads:
    """Through the composition, differentiated twice."""
    composed = _Composed(ctx.mode, ctx.padding, ctx.align_corners)

    def backward(dy: Any, x: Any, grid: Any) -> Grads:
        return vjp(composed, (x, grid), (dy,))

    # `ctx.dy` would be the gradient of dx.
    return vjp(backward, (ctx.saved["dy"], ctx.x, ctx.grid), ctx.dys)


@dataclass(frozen=True, slots=True)
class _Tap:
    """One tap along one axis at every point."""

    index: Any  # int64, in the axis also where the tap is outside
    inside: Any
    weight: Any  # None: 1


@dataclass(frozen=True, slots=True)
class _Composed:
    mode: str
    padding: str
    align: bool

    def __call__(self, x: Any, grid: Any) -> Any:
        axes = len(shape_of(x)) - 2
        along = [self._axis(x, grid, axis) for axis in range(axes)]
        total = None
        for taps in itertools.product(*along):
            part = _weighed(x, taps)
            total = part if total is None else ops.add(total, part)
        return total

    def _axis(self, x: Any, grid: Any, axis: int) -> list[_Tap]:
        points, size = shape_of(grid), shape_of(x)[axis + 1]
        last = len(points) - 1
        place = len(shape_of(x)) - 3 - axis
        given = ops.reshape(range_of(grid, last, place, place + 1), shape=points[:-1])
        n = number(size, grid)
        if self.align:
            at = ops.mul(ops.mul(ops.add(given, 1.0), 0.5), _plus(n, -1.0))
        else:
            at = ops.mul(ops.sub(ops.mul(ops.add(given, 1.0), n), 1.0), 0.5)
        if self.mode == "cubic":
            below = ops.floor(at)
            t = ops.sub(at, below)
            return [
                _tap(self._pad(ops.add(below, float(i)), size, n), n, weight)
                for i, weight in zip((-1, 0, 1, 2), _cubic(t), strict=True)
            ]
        at = self._pad(at, size, n)
        if self.mode == "nearest":
            return [_tap(ops.round(at), n, None)]
        below = ops.floor(at)
        t = ops.sub(at, below)
        return [_tap(below, n, ops.sub(1.0, t)), _tap(ops.add(below, 1.0), n, t)]

    def _pad(self, at: Any, size: Any, n: Any) -> Any:
        """The coordinates after padding."""
        if self.padding == "zeros":
            return at
        last = _plus(n, -1.0)
        if self.padding == "reflection" and not (self.align and known(size) == 1):
            low = 0.0 if self.align else -0.5
            # For a size of 1 the span is 0 and nothing is left to reflect.
            span = ops.max(last, 0.5) if self.align and known(size) is None else last
            at = _reflected(at, low, span if self.align else n)
        return ops.where(ops.le(at, 0.0), 0.0, ops.where(ops.lt(at, last), at, last))


def _plus(n: Any, by: float) -> Any:
    return n + by if isinstance(n, float) else ops.add(n, by)


def _reflected(at: Any, low: float, span: Any) -> Any:
    """Coordinates reflected at low and low + span until they lie between them."""
    away = ops.abs(ops.sub(at, low))
    turns = ops.floor(ops.div(away, span))
    beyond = ops.sub(away, ops.mul(turns, span))
    odd = ops.sub(turns, ops.mul(ops.floor(ops.mul(turns, 0.5)), 2.0))
    turned = ops.sub(span, ops.mul(beyond, 2.0))
    return ops.add(ops.add(beyond, ops.mul(odd, turned)), low)


def _tap(at: Any, n: Any, weight: Any) -> _Tap:
    inside = ops.logical_and(ops.le(0.0, at), ops.lt(at, n))
    return _Tap(ops.cast(ops.where(inside, at, 0.0), to=DType.I64), inside, weight)


def _cubic(t: Any) -> list[Any]:
    """The weights of the elements at -1, 0, 1 and 2 from the one before, at a fraction t."""

    def near(d: Any) -> Any:
        a = _CUBIC_A
        inner = ops.sub(ops.mul(d, a + 2), a + 3)
        return ops.add(ops.mul(ops.mul(inner, d), d), 1.0)

    def far(d: Any) -> Any:
        a = _CUBIC_A
        inner = ops.add(ops.mul(ops.sub(ops.mul(d, a), 5 * a), d), 8 * a)
        return ops.sub(ops.mul(inner, d), 4 * a)

    return [far(ops.add(t, 1.0)), near(t), near(ops.sub(1.0, t)), far(ops.sub(2.0, t))]


def _weighed(x: Any, taps: tuple[_Tap, ...]) -> Any:
    """The contribution of one tap of every point to the sample."""
    points = shape_of(taps[0].index)
    column = (*points, 1)
    indices = ops.concat(*(ops.reshape(t.index, shape=column) for t in taps), axis=len(points))
    value = ops.gather_nd(x, indices, batch_dims=1)
    inside = taps[0].inside
    for tap in taps[1:]:
        inside = ops.logical_and(inside, tap.inside)
    weight = None
    for tap in taps:
        if tap.weight is not None:
            weight = tap.weight if weight is None else ops.mul(weight, tap.weight)
    if weight is not None:
        value = ops.mul(value, ops.reshape(weight, shape=column))
    return ops.where(ops.reshape(inside, shape=column), value, 0.0)
