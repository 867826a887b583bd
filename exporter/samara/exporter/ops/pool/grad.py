# SPDX-License-Identifier: Apache-2.0
"""Gradient rules of pools."""

from __future__ import annotations

from typing import Any

from samara.exporter import ops
from samara.exporter.ops.autodiff import GradContext
from samara.exporter.ops.grad_tools import Grads, product

_WINDOW = ("kernel", "strides", "dilations", "pads")


def _window(ctx: GradContext) -> dict[str, Any]:
    return {name: ctx.attrs[name] for name in _WINDOW}


def max_pool(ctx: GradContext) -> Grads:
    return (ops.max_pool_grad(ctx.dy, ctx.x, **_window(ctx)),)


def avg_pool(ctx: GradContext) -> Grads:
    return (ops.avg_pool_grad(ctx.dy, **ctx.attrs, size=ctx.shape(0)[1:-1]),)


def lp_pool(ctx: GradContext) -> Grads:
    """sign(x) |x|^(p-1) times the sum of dy y^(1-p) over the windows of x; 0 if y is 0."""
    share, own = ctx.dy, ops.sign(ctx.x)
    if ctx.p > 1:
        norm = ctx.y if ctx.p == 2 else ops.pow(ctx.y, float(ctx.p - 1))
        share = ops.where(ops.eq(ctx.y, 0.0), 0.0, ops.div(share, norm))
        own = ctx.x
    if ctx.p > 2:
        own = ops.mul(own, ops.pow(ops.abs(own), float(ctx.p - 2)))
    # With all pads counted the mean is the sum over a fixed number.
    mean = ops.avg_pool_grad(
        share,
        **_window(ctx),
        extend=(0,) * len(ctx.kernel),
        count_include_pad=True,
        size=ctx.shape(0)[1:-1],
    )
    return (ops.mul(own, ops.mul(mean, float(product(ctx.kernel)))),)


def max_pool_grad(ctx: GradContext) -> Grads:
    """Linear in dy: its values at the largest elements of x. A jump in x has no gradient."""
    if not ctx.needs(0):
        return (None, None)
    out, (n, *sizes, channels) = ctx.shape(0), ctx.shape(1)
    places = ops.max_pool_indices(ctx.x, **_window(ctx))
    flat = ops.reshape(places, shape=(n, product(out[1:-1]), channels))
    ddx = ops.reshape(ctx.dy, shape=(n, product(sizes), channels))
    met = ops.reshape(ops.gather_elements(ddx, flat, axis=1), shape=out)
    return (ops.where(ops.lt(places, 0), 0.0, met), None)


def avg_pool_grad(ctx: GradContext) -> Grads:
    attrs = {name: value for name, value in ctx.attrs.items() if name != "size"}
    return (ops.avg_pool(ctx.dy, **attrs),)
