# SPDX-License-Identifier: Apache-2.0
"""Gradient rules of attention."""

from __future__ import annotations

from typing import Any, Final

from samara.exporter import ops
from samara.exporter.ops.autodiff import GradContext, Rule, beside, once, shape_of
from samara.exporter.ops.grad_tools import Grads
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


def _seen(ctx: GradContext, scores: Any) -> Any:
    """[S, T]: row i sees the keys 0 to i."""
    rows, keys = (beside(ctx.q, ops.iota, length=n, dtype=DType.I32) for n in shape_of(scores)[-2:])
    return ops.le(keys, ops.reshape(rows, shape=(shape_of(scores)[-2], 1)))
