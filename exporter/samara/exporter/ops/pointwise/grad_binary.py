# SPDX-License-Identifier: Apache-2.0
"""Gradient rules of operators that broadcast. Kinks and ties follow PyTorch."""

from __future__ import annotations

import math
from typing import Any

from samara.exporter import ops
from samara.exporter.ops.autodiff import GradContext
from samara.exporter.ops.grad_tools import Grads, unbroadcast, zeros


def add(ctx: GradContext) -> Grads:
    dy = ctx.dy
    return (
        unbroadcast(ctx, dy, 0) if ctx.needs(0) else None,
        unbroadcast(ctx, dy, 1) if ctx.needs(1) else None,
    )


def sub(ctx: GradContext) -> Grads:
    dy = ctx.dy
    return (
        unbroadcast(ctx, dy, 0) if ctx.needs(0) else None,
        ops.neg(unbroadcast(ctx, dy, 1)) if ctx.needs(1) else None,
    )


def mul(ctx: GradContext) -> Grads:
    dy = ctx.dy
    return (
        unbroadcast(ctx, ops.mul(dy, ctx.b), 0) if ctx.needs(0) else None,
        unbroadcast(ctx, ops.mul(dy, ctx.a), 1) if ctx.needs(1) else None,
    )


def div(ctx: GradContext) -> Grads:
    share = ops.div(ctx.dy, ctx.b)
    return (
        unbroadcast(ctx, share, 0) if ctx.needs(0) else None,
        ops.neg(unbroadcast(ctx, ops.mul(share, ctx.y), 1)) if ctx.needs(1) else None,
    )


def mod(ctx: GradContext) -> Grads:
    """y = a - n * b with a whole number n whose gradient is zero."""
    dy = ctx.dy
    db = None
    if ctx.needs(1):
        count = ops.round(ops.div(ops.sub(ctx.a, ctx.y), ctx.b))
        db = ops.neg(unbroadcast(ctx, ops.mul(dy, count), 1))
    return (unbroadcast(ctx, dy, 0) if ctx.needs(0) else None, db)


def pow_(ctx: GradContext) -> Grads:
    """b * a**(b - 1), 0 if b is 0; y * ln a, 0 if a is 0 and b is not negative."""
    a, b, dy = ctx.a, ctx.b, ctx.dy
    return (
        _power(ctx, a, b, dy) if ctx.needs(0) else None,
        unbroadcast(ctx, ops.mul(dy, _growth(a, b, ctx.y)), 1) if ctx.needs(1) else None,
    )


def _power(ctx: GradContext, a: Any, b: Any, dy: Any) -> Any:
    if isinstance(b, int | float):
        if b == 0:
            return zeros(ctx.shape(0), dy)
        return ops.mul(dy, ops.mul(_lowered(ctx, a, b), b))
    slope = ops.mul(b, ops.pow(a, ops.sub(b, 1.0)))
    return unbroadcast(ctx, ops.where(ops.eq(b, 0.0), 0.0, ops.mul(dy, slope)), 0)


def _lowered(ctx: GradContext, a: Any, b: float) -> Any:
    """a ** (b - 1). Products and quotients cost a tenth of a power."""
    if b in (2, 3):
        return a if b == 2 else ops.mul(a, a)
    return ops.div(ctx.y, a) if b < 0 else ops.pow(a, b - 1)


def _growth(a: Any, b: Any, y: Any) -> Any:
    if isinstance(a, int | float):
        if a == 0:
            return ops.where(ops.le(0.0, b), 0.0, ops.mul(y, -math.inf))
        return ops.mul(y, math.log(a) if a > 0 else math.nan)
    still = ops.logical_and(ops.eq(a, 0.0), ops.le(0.0, b))
    return ops.where(still, 0.0, ops.mul(y, ops.log(a)))


def max_(ctx: GradContext) -> Grads:
    return _extreme(ctx, ((ctx.a, ctx.b), (ctx.b, ctx.a)))


def min_(ctx: GradContext) -> Grads:
    return _extreme(ctx, ((ctx.b, ctx.a), (ctx.a, ctx.b)))


def _extreme(ctx: GradContext, order: tuple[tuple[Any, Any], tuple[Any, Any]]) -> Grads:
    """The larger operand (for min the smaller) gets dy; equal operands share it, or `a` gets all of it."""
    if ctx.first:
        at = [ops.lt(*order[0]), ops.logical_not(ops.lt(*order[0]))]
        return tuple(
            unbroadcast(ctx, ops.where(at[i], 0.0, ctx.dy), i) if ctx.needs(i) else None
            for i in range(2)
        )
    share = ops.where(ops.eq(ctx.a, ctx.b), ops.mul(ctx.dy, 0.5), ctx.dy)
    return tuple(
        unbroadcast(ctx, ops.where(ops.lt(*order[i]), 0.0, share), i) if ctx.needs(i) else None
        for i in range(2)
    )


def prelu(ctx: GradContext) -> Grads:
    positive = ops.lt(0.0, ctx.x)
    dx = slope = None
    if ctx.needs(0):
        dx = ops.where(positive, ctx.dy, ops.mul(ctx.dy, ctx.slope))
    if ctx.needs(1):
        slope = unbroadcast(ctx, ops.where(positive, 0.0, ops.mul(ctx.dy, ctx.x)), 1)
    return (dx, slope)


def atan2(ctx: GradContext) -> Grads:
    a, b = ctx.a, ctx.b
    square = ops.add(ops.mul(a, a), ops.mul(b, b))
    share = ops.where(ops.eq(square, 0.0), 0.0, ops.div(ctx.dy, square))
    return (
        unbroadcast(ctx, ops.mul(share, b), 0) if ctx.needs(0) else None,
        ops.neg(unbroadcast(ctx, ops.mul(share, a), 1)) if ctx.needs(1) else None,
    )


def where(ctx: GradContext) -> Grads:
    cond, dy = ctx.cond, ctx.dy
    return (
        None,
        unbroadcast(ctx, ops.where(cond, dy, 0.0), 1) if ctx.needs(1) else None,
        unbroadcast(ctx, ops.where(cond, 0.0, dy), 2) if ctx.needs(2) else None,
    )


def sum_to(ctx: GradContext) -> Grads:
    return (ops.expand(ctx.dy, shape=ctx.shape(0)),)
