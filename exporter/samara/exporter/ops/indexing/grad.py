# SPDX-License-Identifier: Apache-2.0
"""Gradient rules of gathering and scattering: the gradient of a gather is a scatter with additions, and vice versa."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from samara.exporter import ops
from samara.exporter.ops.autodiff import GradContext, beside, dtype_of, shape_of
from samara.exporter.ops.grad_tools import Grads, axis_of, counted, in_dtype, product, zeros

# ---- gather ----


def gather(ctx: GradContext) -> Grads:
    """The slices added at their positions: scatter_nd with the axis in front."""
    dy, shape, axis = ctx.dy, ctx.shape(0), axis_of(ctx)
    count = len(ctx.shape(1))
    if axis:
        # dy is (before, indices, after); the indices go first.
        rank = len(shape) - 1 + count
        taken = range(axis, axis + count)
        dy = ops.transpose(dy, perm=[*taken, *(a for a in range(rank) if a not in taken)])
    front = (shape[axis], *shape[:axis], *shape[axis + 1 :])
    tuples = ops.reshape(ctx.indices, shape=(*ctx.shape(1), 1))
    dx = ops.scatter_nd(zeros(front, dy), tuples, dy, reduction="add", wrap=ctx.wrap)
    if axis:
        dx = ops.transpose(dx, perm=[*range(1, axis + 1), 0, *range(axis + 1, len(shape))])
    return (dx, None)


def gather_elements(ctx: GradContext) -> Grads:
    nothing = zeros(ctx.shape(0), ctx.dy)
    dx = ops.scatter_elements(
        nothing, ctx.indices, ctx.dy, axis=axis_of(ctx), reduction="add", wrap=ctx.wrap
    )
    return (dx, None)


def gather_nd(ctx: GradContext) -> Grads:
    tuples = _whole_tuples(ctx.indices, ctx.batch_dims)
    nothing = zeros(ctx.shape(0), ctx.dy)
    return (ops.scatter_nd(nothing, tuples, ctx.dy, reduction="add", wrap=ctx.wrap), None)


def _whole_tuples(indices: Any, batch: int) -> Any:
    """Indices with the positions on the batch axes in front."""
    if batch == 0:
        return indices
    lead = shape_of(indices)[:-1]
    places = []
    for axis in range(batch):
        count = beside(indices, ops.iota, length=lead[axis], dtype=dtype_of(indices))
        shape = [n if a == axis else 1 for a, n in enumerate(lead)]
        places.append(ops.expand(ops.reshape(count, shape=(*shape, 1)), shape=(*lead, 1)))
    return ops.concat(*places, indices, axis=len(lead))


# ---- scatter ----


@dataclass(frozen=True, slots=True)
class _Way:
    """How one scatter operator reads and writes the elements at its positions."""

    take: Callable[[Any], Any]
    put: Callable[[Any, Any, str], Any]


def scatter_elements(ctx: GradContext) -> Grads:
    axis, indices, wrap = axis_of(ctx), ctx.indices, ctx.wrap
    return _scattered(
        ctx,
        _Way(
            lambda x: ops.gather_elements(x, indices, axis=axis, wrap=wrap),
            lambda x, u, how: ops.scatter_elements(
                x, indices, u, axis=axis, reduction=how, wrap=wrap
            ),
        ),
    )


def scatter_nd(ctx: GradContext) -> Grads:
    indices, wrap = ctx.indices, ctx.wrap
    return _scattered(
        ctx,
        _Way(
            lambda x: ops.gather_nd(x, indices, wrap=wrap),
            lambda x, u, how: ops.scatter_nd(x, indices, u, reduction=how, wrap=wrap),
        ),
    )


def _scattered(ctx: GradContext, way: _Way) -> Grads:
    dy = ctx.dy
    if ctx.reduction == "none":
        dx = way.put(dy, zeros(ctx.shape(2), dy), "none") if ctx.needs(0) else None
        return (dx, None, _written(ctx, way) if ctx.needs(2) else None)
    if ctx.reduction == "add":
        return (dy, None, way.take(dy) if ctx.needs(2) else None)
    rule = _product if ctx.reduction == "mul" else _extreme
    dx, updates = rule(ctx, way)
    return (dx, None, updates)


def _written(ctx: GradContext, way: _Way) -> Any:
    """The gradient of each update that remains: the last one of several for an element."""
    dy, shape = ctx.dy, ctx.shape(2)
    turns = ops.reshape(beside(dy, ops.iota, length=product(shape)), shape=shape)
    last = way.take(way.put(zeros(ctx.shape(0), turns), turns, "none"))
    return ops.where(ops.eq(last, turns), way.take(dy), 0.0)


def _product(ctx: GradContext, way: _Way) -> tuple[Any, Any]:
    """The product of the other factors, also if a factor is 0."""
    dy, x, updates = ctx.dy, ctx.x, ctx.updates
    du = None
    if ctx.needs(2):
        zero = ops.eq(updates, 0.0)
        safe = ops.where(zero, 1.0, updates)
        flags = counted(zero, dy)
        others = ops.sub(way.take(way.put(zeros(ctx.shape(0), dy), flags, "add")), flags)
        slope = ops.div(way.take(ops.mul(dy, way.put(x, safe, "mul"))), safe)
        du = ops.where(ops.eq(others, 0.0), slope, 0.0)
    if not ctx.needs(0):
        return None, du
    ones = ops.add(zeros(ctx.shape(0), dy), 1.0)
    return ops.mul(dy, way.put(ones, updates, "mul")), du


def _extreme(ctx: GradContext, way: _Way) -> tuple[Any, Any]:
    """All elements of x and updates that equal the result share the gradient evenly."""
    y = way.put(ctx.x, ctx.updates, ctx.reduction)
    own = counted(ops.eq(ctx.x, y), ctx.dy)
    theirs = counted(ops.eq(ctx.updates, way.take(y)), ctx.dy)
    share = ops.div(ctx.dy, way.put(own, theirs, "add"))
    return ops.mul(own, share), ops.mul(theirs, way.take(share))


# ---- range ----


def range_(ctx: GradContext) -> Grads:
    """y[i] = start + i * delta; the length has no gradient."""
    dy = ctx.dy
    start = ops.reduce_sum(dy, axes=(0,)) if ctx.needs(0) else None
    if not ctx.needs(2):
        return (start, None, None)
    steps = in_dtype(beside(dy, ops.iota, length=shape_of(dy)[0]), dy)
    return (start, None, ops.reduce_sum(ops.mul(dy, steps), axes=(0,)))
