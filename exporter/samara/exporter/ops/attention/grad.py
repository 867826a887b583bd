# SPDX-License-Identifier: Apache-2.0
"""Gradient rules of attention."""

from __future__ import annotations

from typing import Any, Final

from samara.exporter import ops
from samara.exporter.ops.autodiff import GradContext, Rule, beside, once, shape_of
from samara.exporter.ops.grad_tools import Grads, zeros
from samara.exporter.ops.reverse_pass import vjp
from samara.exporter.types import DType

again: Final[Rule] = once("attention")


def attention(ctx: GradContext) -> Grads:
    """One backward operator; if the mask needs a gradient, the composition over all scores."""
    if ctx.needs("mask"):
        return vjp(
            lambda *inputs: _composed(ctx, *inputs), (ctx.q, ctx.k, ctx.v, ctx.mask), ctx.dys
        )
    found = ops.attention_grad(ctx.q, ctx.k, ctx.v, ctx.dy, ctx.mask, **ctx.attrs)
    return (*found, None)[: ctx.input_count]


def _composed(ctx: GradContext, q: Any, k: Any, v: Any, mask: Any) -> Any:
    """attention in simple operators."""
    if ctx.layout == "bshd":
        q, k, v = _turned(q), _turned(k), _turned(v)
    if ctx.groups != 1:
        k, v = _repeated(k, ctx.groups), _repeated(v, ctx.groups)
    scores = ops.add(ops.mul(ops.matmul(q, k, transpose_w=True), ctx.scale), mask)
    if ctx.causal:
        scores = ops.where(_seen(ctx, scores), scores, float("-inf"))
    y = ops.matmul(ops.softmax(scores, axis=-1), v)
    return _turned(y) if ctx.layout == "bshd" else y


def _turned(x: Any) -> Any:
    """Swap rows and heads."""
    rank = len(shape_of(x))
    perm = [*range(rank - 3), rank - 2, rank - 3, rank - 1]
    return ops.transpose(x, perm=tuple(perm))


def _repeated(x: Any, groups: int) -> Any:
    """[..., H, T, D] with every head `groups` times."""
    *lead, heads, rows, size = shape_of(x)
    x = ops.reshape(x, shape=(*lead, heads, 1, rows, size))
    x = ops.expand(x, shape=(*lead, heads, groups, rows, size))
    return ops.reshape(x, shape=(*lead, heads * groups, rows, size))


def _seen(ctx: GradContext, scores: Any) -> Any:
    """[S, T]: which keys each row sees."""
    rows, keys = shape_of(scores)[-2:]
    key = beside(ctx.q, ops.iota, length=keys, dtype=DType.I32)
    start = keys - rows if ctx.align == "end" else 0
    own = beside(ctx.q, ops.iota, length=rows, start=start, dtype=DType.I32)
    own = ops.reshape(own, shape=(rows, 1))
    seen = ops.le(key, own)
    if not ctx.window:
        return seen
    return ops.logical_and(seen, ops.lt(ops.sub(own, ctx.window), key))


def write_rows(ctx: GradContext) -> Grads:
    """The gradient of x is 0 where rows were written, that of the rows is taken from there."""
    shape = ctx.shape(1)
    at = beside(ctx.dy, ops.iota, length=shape[1], dtype=DType.I64)
    at = ops.add(at, ctx.start)
    if ctx.ring:
        at = ops.mod(at, beside(ctx.dy, ops.dims, values=(ctx.shape(0)[1],), dtype=DType.I64))
    dx = ops.write_rows(ctx.dy, zeros(shape, ctx.dy), ctx.start, ring=ctx.ring)
    return (dx, ops.gather(ctx.dy, at, axis=1), None)


def rotary(ctx: GradContext) -> Grads:
    """Turned back; the angles' from the pairs, over batch and heads."""
    low, high = _halves(ctx.x)
    d, e = _halves(ctx.dy)

    def summed(one: Any, other: Any) -> Any:
        return ops.reduce_sum(ops.add(one, other), axes=(0, 2), keepdims=False)

    dc = summed(ops.mul(d, low), ops.mul(e, high)) if ctx.needs(1) else None
    ds = summed(ops.mul(e, low), ops.neg(ops.mul(d, high))) if ctx.needs(2) else None
    return (ops.rotary(ctx.dy, ctx.cosines, ops.neg(ctx.sines)), dc, ds)


def _halves(x: Any) -> Any:
    half = shape_of(x)[-1] // 2
    return ops.split(x, axis=3, sizes=(half, half))
