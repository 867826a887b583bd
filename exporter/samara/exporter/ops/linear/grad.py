# SPDX-License-Identifier: Apache-2.0
"""Gradient rules of products and convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from samara.exporter import ops
from samara.exporter.ops.autodiff import GradContext, shape_of
from samara.exporter.ops.grad_tools import Grads, known, padded, product, range_of, unbroadcast
from samara.exporter.ops.reverse_pass import vjp

_Product = Callable[..., Any]


# ---- the epilogue ----


def _is_plain(ctx: GradContext) -> bool:
    """Whether nothing follows the sum of product, bias and residual."""
    return bool(ctx.lo == -math.inf and ctx.hi == math.inf and ctx.post == "none")


def _activated(y: Any, ctx: GradContext) -> Any:
    """post(clamp(y)) as separate operators."""
    if ctx.lo != -math.inf or ctx.hi != math.inf:
        y = ops.clamp(y, lo=ctx.lo, hi=ctx.hi)
    if ctx.post == "none":
        return y
    if ctx.post == "hard_sigmoid":
        return ops.hard_sigmoid(y, alpha=ctx.post_alpha, beta=ctx.post_beta)
    if ctx.post == "leaky_relu":
        return ops.leaky_relu(y, alpha=ctx.post_alpha)
    if ctx.post == "elu":
        return ops.elu(y, alpha=ctx.post_alpha)
    if ctx.post == "gelu_tanh":
        return ops.gelu(y, approximate="tanh")
    named: dict[str, Callable[[Any], Any]] = {
        "sigmoid": ops.sigmoid,
        "tanh": ops.tanh,
        "hard_swish": ops.hard_swish,
        "silu": ops.silu,
        "gelu": ops.gelu,
    }
    return named[ctx.post](y)


def _unfused(ctx: GradContext, op: _Product, **attrs: Any) -> Grads:
    """The gradients through the same product and its epilogue as two steps."""
    given = (ctx.x, ctx.w, ctx.bias, ctx.residual)[: ctx.input_count]
    return vjp(lambda *inputs: _activated(op(*inputs, **attrs), ctx), given, ctx.dys)


def _extras(ctx: GradContext) -> Grads:
    """Gradients of bias and residual."""
    dy = ctx.dy
    bias = residual = None
    if ctx.needs(2):
        bias = ops.reduce_sum(dy, axes=tuple(range(len(shape_of(dy)) - 1)))
    if ctx.needs(3):
        residual = dy
    return (bias, residual)


# ---- matmul ----


def matmul(ctx: GradContext) -> Grads:
    """dx = dy @ wᵀ and dw = xᵀ @ dy; one product over all rows where w is a single matrix."""
    turns = {"transpose_x": ctx.transpose_x, "transpose_w": ctx.transpose_w}
    if not _is_plain(ctx):
        return _unfused(ctx, ops.matmul, **turns)
    dx = dw = None
    if ctx.needs(0):
        dx = unbroadcast(ctx, _matmul_dx(ctx), 0)
    if ctx.needs(1):
        dw = unbroadcast(ctx, _matmul_dw(ctx), 1)
    return (dx, dw, *_extras(ctx))[: ctx.input_count]


def _matmul_dx(ctx: GradContext) -> Any:
    if ctx.transpose_x:
        return ops.matmul(ctx.w, ctx.dy, transpose_x=ctx.transpose_w, transpose_w=True)
    return ops.matmul(ctx.dy, ctx.w, transpose_w=not ctx.transpose_w)


def _matmul_dw(ctx: GradContext) -> Any:
    x, dy = ctx.x, ctx.dy
    if len(ctx.shape(1)) == 2 and len(ctx.shape(0)) > 2 and not ctx.transpose_x:
        x, dy = _rows(x), _rows(dy)
    if ctx.transpose_w:
        return ops.matmul(dy, x, transpose_x=True, transpose_w=ctx.transpose_x)
    return ops.matmul(x, dy, transpose_x=not ctx.transpose_x)


def _rows(x: Any) -> Any:
    shape = shape_of(x)
    return ops.reshape(x, shape=(product(shape[:-1]), shape[-1]))


# ---- convolutions ----


def _moves(ctx: GradContext) -> dict[str, Any]:
    """The attributes of the window, which all convolutions have."""
    return {name: ctx.attrs[name] for name in ("strides", "dilations", "pads", "groups")}


def _exchanged(w: Any, groups: int) -> Any:
    """Weights [O, k…, C/groups] as [C, k…, O/groups]: inputs and outputs swapped."""
    outputs, *kernel, depth = shape_of(w)
    rank = len(kernel) + 2
    if groups == 1:
        return ops.transpose(w, perm=(rank - 1, *range(1, rank - 1), 0))
    if known(depth) == 1 and known(outputs) == groups:
        return w
    each = outputs // groups
    parts = ops.reshape(w, shape=(groups, each, *kernel, depth))
    turned = ops.transpose(parts, perm=(0, rank, *range(2, rank), 1))
    return ops.reshape(turned, shape=(depth * groups, *kernel, each))


def conv(ctx: GradContext) -> Grads:
    moves = _moves(ctx)
    if not _is_plain(ctx):
        return _unfused(ctx, ops.conv, **moves)
    dx = dw = None
    if ctx.needs(0):
        dx = ops.conv_grad_input(ctx.dy, ctx.w, **moves, size=ctx.shape(0)[1:-1])
    if ctx.needs(1):
        dw = ops.conv_grad_weight(ctx.dy, ctx.x, **moves, kernel=ctx.shape(1)[1:-1])
    return (dx, dw, *_extras(ctx))[: ctx.input_count]


def conv_transpose(ctx: GradContext) -> Grads:
    """An ordinary convolution with the roles of input and output exchanged.

    If the output padding exceeds the stride, that convolution reads further pixels; their results are cut off.
    """
    moves = _moves(ctx)
    if not _is_plain(ctx):
        return _unfused(ctx, ops.conv_transpose, **moves, output_padding=ctx.output_padding)
    more = [p // s for p, s in zip(ctx.output_padding, ctx.strides, strict=True)]
    dx = dw = None
    if ctx.needs(0):
        dx = ops.conv(ctx.dy, _exchanged(ctx.w, ctx.groups), **moves)
        for i, n in enumerate(more):
            if n:
                dx = range_of(dx, i + 1, 0, ctx.shape(0)[i + 1])
    if ctx.needs(1):
        x = ctx.x
        for i, n in enumerate(more):
            x = padded(x, i + 1, 0, n)
        turned = ops.conv_grad_weight(x, ctx.dy, **moves, kernel=ctx.shape(1)[1:-1])
        dw = _exchanged(turned, ctx.groups)
    return (dx, dw, *_extras(ctx))[: ctx.input_count]


def conv_grad_input(ctx: GradContext) -> Grads:
    """Linear in dy, as conv is in x, and in w."""
    moves = _moves(ctx)
    ddy = dw = None
    if ctx.needs(0):
        ddy = ops.conv(ctx.dys[0], ctx.w, **moves)
    if ctx.needs(1):
        dw = ops.conv_grad_weight(ctx.saved["dy"], ctx.dys[0], **moves, kernel=ctx.shape(1)[1:-1])
    return (ddy, dw)


def conv_grad_weight(ctx: GradContext) -> Grads:
    """Linear in dy and in x."""
    moves = _moves(ctx)
    ddy = dx = None
    if ctx.needs(0):
        ddy = ops.conv(ctx.x, ctx.dys[0], **moves)
    if ctx.needs(1):
        size = ctx.shape(1)[1:-1]
        dx = ops.conv_grad_input(ctx.saved["dy"], ctx.dys[0], **moves, size=size)
    return (ddy, dx)
