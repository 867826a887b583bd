# SPDX-License-Identifier: Apache-2.0
"""Gradient rules of reductions, cumulative sums and selections."""

from __future__ import annotations

from typing import Any

from samara.exporter import ops
from samara.exporter.ops.autodiff import GradContext, shape_of
from samara.exporter.ops.grad_tools import (
    Grads,
    Size,
    axis_of,
    counted,
    known,
    number,
    product,
    range_of,
    zeros,
)
from samara.exporter.ops.reverse_pass import vjp


def _axes(ctx: GradContext) -> tuple[int, ...]:
    """The reduced axes counted from the front, in order."""
    rank = len(ctx.shape(0))
    return tuple(sorted(a % rank for a in ctx.axes))


def _kept(ctx: GradContext, value: Any) -> Any:
    """A result with its reduced axes restored, of size 1."""
    if ctx.keepdims:
        return value
    axes = _axes(ctx)
    return ops.reshape(value, shape=[1 if a in axes else n for a, n in enumerate(ctx.shape(0))])


def _spread(ctx: GradContext) -> Any:
    """The gradient of each result, repeated for every element of its sum."""
    return ops.expand(_kept(ctx, ctx.dy), shape=ctx.shape(0))


def _count(ctx: GradContext) -> Size:
    """The number of elements that are reduced to one."""
    return product([ctx.shape(0)[a] for a in _axes(ctx)])


def reduce_sum(ctx: GradContext) -> Grads:
    if not ctx.axes:
        return (ctx.dy,)
    return (_spread(ctx),)


def reduce_mean(ctx: GradContext) -> Grads:
    if not ctx.axes:
        return (ctx.dy,)
    count = _count(ctx)
    dy = _kept(ctx, ctx.dy)
    if known(count) not in (0, 1):
        dy = ops.div(dy, number(count, dy))
    return (ops.expand(dy, shape=ctx.shape(0)),)


def reduce_extreme(ctx: GradContext) -> Grads:
    """Equal elements share the gradient evenly, or the first in row-major order gets it."""
    if not ctx.axes:
        return (ctx.dy,)
    if known(_count(ctx)) == 0:
        return (_spread(ctx),)
    if ctx.first:
        return (_to_first(ctx),)
    mask = counted(ops.eq(ctx.x, _kept(ctx, ctx.y)), ctx.dy)
    ties = ops.reduce_sum(mask, axes=ctx.axes, keepdims=True)
    return (ops.mul(mask, ops.div(_kept(ctx, ctx.dy), ties)),)


def _to_first(ctx: GradContext) -> Any:
    """The gradient of each result at the first element that equals it."""
    axes, shape = _axes(ctx), ctx.shape(0)
    left = [a for a in range(len(shape)) if a not in axes]
    perm = (*left, *axes)
    rows = (product([shape[a] for a in left]), _count(ctx))
    x = ops.reshape(ops.transpose(ctx.x, perm=perm), shape=rows)
    pick = ops.argmax if ctx.op.name == "reduce_max" else ops.argmin
    at = pick(x, axis=1, keepdims=True)
    dy = ops.reshape(ctx.dy, shape=(rows[0], 1))
    dx = ops.scatter_elements(zeros(rows, dy), at, dy, axis=1)
    dx = ops.reshape(dx, shape=[shape[a] for a in perm])
    return ops.transpose(dx, perm=[perm.index(a) for a in range(len(shape))])


def reduce_prod(ctx: GradContext) -> Grads:
    """The product of the other elements. It is right for zeros, at every order of differentiation.

    With a symbolic number of elements, second derivatives treat zeros as constants.
    """
    if not ctx.axes:
        return (ctx.dy,)
    count = known(_count(ctx))
    if count is None:
        return (_prod_of_symbolic_size(ctx),)
    if count == 0:
        return (_spread(ctx),)
    return (vjp(lambda x: _product_tree(ctx, x, count), (ctx.x,), ctx.dys)[0],)


def _product_tree(ctx: GradContext, x: Any, count: int) -> Any:
    """The product by halves, without division."""
    axes = _axes(ctx)
    rank = len(ctx.shape(0))
    left = [a for a in range(rank) if a not in axes]
    rows = ops.transpose(x, perm=(*left, *axes))
    rows = ops.reshape(rows, shape=(product([ctx.shape(0)[a] for a in left]), count))
    while count > 1:
        half = count // 2
        paired = ops.mul(range_of(rows, 1, 0, half), range_of(rows, 1, half, 2 * half))
        odd = count % 2
        rows = ops.concat(paired, range_of(rows, 1, 2 * half, count), axis=1) if odd else paired
        count = half + odd
    return ops.reshape(rows, shape=shape_of(ctx.dy))


def _prod_of_symbolic_size(ctx: GradContext) -> Any:
    x = ctx.x
    zero = ops.eq(x, 0.0)
    safe = ops.where(zero, 1.0, x)
    product_of_rest = ops.reduce_prod(safe, axes=ctx.axes, keepdims=True)
    flags = counted(zero, x)
    others = ops.sub(ops.reduce_sum(flags, axes=ctx.axes, keepdims=True), flags)
    slope = ops.div(ops.mul(_kept(ctx, ctx.dy), product_of_rest), safe)
    return ops.where(ops.eq(others, 0.0), slope, 0.0)


def cumsum(ctx: GradContext) -> Grads:
    back = ops.cumsum(ctx.dy, axis=ctx.axis, exclusive=ctx.exclusive, reverse=not ctx.reverse)
    return (back,)


def top_k(ctx: GradContext) -> Grads:
    if ctx.dy is None:
        return (None,)
    nothing = zeros(ctx.shape(0), ctx.dy)
    return (ops.scatter_elements(nothing, ctx.indices, ctx.dy, axis=axis_of(ctx)),)
