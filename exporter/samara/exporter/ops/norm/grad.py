# SPDX-License-Identifier: Apache-2.0
"""Gradient rules of softmax, normalisations and cross-entropy.

Forward operators have fused backward operators. The compositions of simple operators below compute the same, and
the gradients of backward operators come from them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from samara.exporter import ops
from samara.exporter.ops.autodiff import GradContext, Rule, beside, dtype_of, shape_of
from samara.exporter.ops.grad_tools import Grads, counted, number
from samara.exporter.ops.reverse_pass import vjp
from samara.exporter.types import as_dim, floordiv

Axes = tuple[int, ...]


def _given(ctx: GradContext, *grads: Any) -> Grads:
    """One gradient per input, None for those that are not needed."""
    return tuple(g if ctx.needs(i) else None for i, g in enumerate(grads[: ctx.input_count]))


def _through(function: Callable[..., Any], *attrs: str) -> Rule:
    """The rule that differentiates `function`, which takes the inputs and these attributes."""

    def rule(ctx: GradContext) -> Grads:
        given = [ctx.saved[n.rstrip("?")] for n in ctx.op.inputs[: ctx.input_count]]
        chosen = {name: ctx.attrs[name] for name in attrs}
        return vjp(lambda *inputs: function(*inputs, **chosen), given, ctx.dys)

    return rule


def _sum_of(a: Any, b: Any) -> Any:
    """a + b, where None is nothing."""
    return b if a is None else a if b is None else ops.add(a, b)


# ---- softmax ----


def softmax(ctx: GradContext) -> Grads:
    return (ops.softmax_grad(ctx.dy, ctx.y, axis=ctx.axis),)


def log_softmax(ctx: GradContext) -> Grads:
    return (ops.log_softmax_grad(ctx.dy, ctx.y, axis=ctx.axis),)


def _softmax_grad(dy: Any, y: Any, *, axis: int) -> Any:
    return ops.mul(y, ops.sub(dy, ops.reduce_sum(ops.mul(dy, y), axes=(axis,), keepdims=True)))


def _log_softmax_grad(dy: Any, y: Any, *, axis: int) -> Any:
    return ops.sub(dy, ops.mul(ops.exp(y), ops.reduce_sum(dy, axes=(axis,), keepdims=True)))


softmax_grad: Rule = _through(_softmax_grad, "axis")
log_softmax_grad: Rule = _through(_log_softmax_grad, "axis")


# ---- parts of normalisations ----


def _unit(x: Any, axes: Axes, eps: float, centred: bool = True) -> tuple[Any, Any]:
    """x normalised over the axes, and 1 / sqrt(variance + eps)."""
    u = ops.sub(x, ops.reduce_mean(x, axes=axes, keepdims=True)) if centred else x
    r = ops.rsqrt(ops.add(ops.reduce_mean(ops.mul(u, u), axes=axes, keepdims=True), eps))
    return ops.mul(u, r), r


def _dx(h: Any, unit: Any, r: Any, axes: Axes, centred: bool = True) -> Any:
    """r * (h - mean of h - unit * mean of h * unit)."""
    tilt = ops.mul(unit, ops.reduce_mean(ops.mul(h, unit), axes=axes, keepdims=True))
    if centred:
        h = ops.sub(h, ops.reduce_mean(h, axes=axes, keepdims=True))
    return ops.mul(r, ops.sub(h, tilt))


# ---- layer and root mean square ----


def layer_norm(ctx: GradContext) -> Grads:
    scale = ctx.saved["scale"]
    return _given(ctx, *ops.layer_norm_grad(ctx.dy, ctx.x, scale, axis=ctx.axis, eps=ctx.eps))


def rms_norm(ctx: GradContext) -> Grads:
    scale = ctx.saved["scale"]
    return _given(ctx, *ops.rms_norm_grad(ctx.dy, ctx.x, scale, axis=ctx.axis, eps=ctx.eps))


def _layer_norm_grad(
    dy: Any, x: Any, scale: Any = None, *, axis: int, eps: float
) -> tuple[Any, ...]:
    rank = len(shape_of(x))
    axes, outer = tuple(range(axis % rank, rank)), tuple(range(axis % rank))
    unit, r = _unit(x, axes, eps)
    dx = _dx(dy if scale is None else ops.mul(dy, scale), unit, r, axes)
    return dx, ops.reduce_sum(ops.mul(dy, unit), axes=outer), ops.reduce_sum(dy, axes=outer)


def _rms_norm_grad(dy: Any, x: Any, scale: Any = None, *, axis: int, eps: float) -> tuple[Any, ...]:
    rank = len(shape_of(x))
    axes, outer = tuple(range(axis % rank, rank)), tuple(range(axis % rank))
    unit, r = _unit(x, axes, eps, centred=False)
    dx = _dx(dy if scale is None else ops.mul(dy, scale), unit, r, axes, centred=False)
    return dx, ops.reduce_sum(ops.mul(dy, unit), axes=outer)


layer_norm_grad: Rule = _through(_layer_norm_grad, "axis", "eps")
rms_norm_grad: Rule = _through(_rms_norm_grad, "axis", "eps")


# ---- batch ----


def batch_norm(ctx: GradContext) -> Grads:
    """Gradients through y, and through the statistics if they have gradients.

    That is rare, because running statistics do not pass gradients on.
    """
    grads: tuple[Any, ...] = (None, None, None)
    if ctx.dy is not None:
        scale = ctx.saved["scale"]
        grads = ops.batch_norm_grad(ctx.dy, ctx.x, ctx.mean, ctx.var, scale, eps=ctx.eps)
    dmean, dvar = ctx.dys[1:3]
    if dmean is not None or dvar is not None:
        (more,) = vjp(_statistics, (ctx.x,), (dmean, dvar))
        grads = (_sum_of(grads[0], more), *grads[1:])
    return _given(ctx, *grads)


def _statistics(x: Any) -> tuple[Any, Any]:
    axes = tuple(range(len(shape_of(x)) - 1))
    mean = ops.reduce_mean(x, axes=axes)
    u = ops.sub(x, mean)
    return mean, ops.reduce_mean(ops.mul(u, u), axes=axes)


def _batch_norm_grad(
    dy: Any, x: Any, mean: Any, var: Any, scale: Any = None, *, eps: float
) -> tuple[Any, ...]:
    axes = tuple(range(len(shape_of(x)) - 1))
    r = ops.rsqrt(ops.add(var, eps))
    unit = ops.mul(ops.sub(x, mean), r)
    dx = _dx(dy, unit, r if scale is None else ops.mul(r, scale), axes)
    return dx, ops.reduce_sum(ops.mul(dy, unit), axes=axes), ops.reduce_sum(dy, axes=axes)


batch_norm_grad: Rule = _through(_batch_norm_grad, "eps")


# ---- groups ----


def group_norm(ctx: GradContext) -> Grads:
    scale = ctx.saved["scale"]
    return _given(ctx, *ops.group_norm_grad(ctx.dy, ctx.x, scale, groups=ctx.groups, eps=ctx.eps))


def instance_norm(ctx: GradContext) -> Grads:
    return _given(ctx, *ops.group_norm_grad(ctx.dy, ctx.x, ctx.scale, groups=0, eps=ctx.eps))


def _group_norm_grad(
    dy: Any, x: Any, scale: Any = None, *, groups: int, eps: float
) -> tuple[Any, ...]:
    shape = shape_of(x)
    rank = len(shape)
    axes, outer = tuple(range(1, rank - 1)), tuple(range(rank - 1))
    h = dy if scale is None else ops.mul(dy, scale)
    if groups:
        inner = floordiv(as_dim(shape[-1]), groups)
        x, h = (ops.reshape(v, shape=(*shape[:-1], groups, inner)) for v in (x, h))
        axes = (*axes, rank)
    unit, r = _unit(x, axes, eps)
    dx = _dx(h, unit, r, axes)
    if groups:
        dx, unit = (ops.reshape(v, shape=shape) for v in (dx, unit))
    return dx, ops.reduce_sum(ops.mul(dy, unit), axes=outer), ops.reduce_sum(dy, axes=outer)


group_norm_grad: Rule = _through(_group_norm_grad, "groups", "eps")


# ---- across channels ----


def _lrn(x: Any, *, size: int, alpha: float, beta: float, bias: float) -> Any:
    shape = shape_of(x)
    before, flat = (size - 1) // 2, (0,) * (len(shape) - 1)
    squares = ops.pad(ops.mul(x, x), pads=(*flat, before, *flat, size - 1 - before))
    total: Any = None
    for i in range(size):
        end = (*shape[:-1], as_dim(shape[-1]) + i)
        part = ops.slice(squares, begin=(*flat, i), end=end, step=(1,) * len(shape))
        total = _sum_of(total, part)
    base = ops.add(ops.mul(total, alpha / size), bias)
    return ops.mul(x, ops.pow(base, -beta))


lrn: Rule = _through(_lrn, "size", "alpha", "beta", "bias")


# ---- cross-entropy ----


def cross_entropy(ctx: GradContext) -> Grads:
    """Gradients for the logits through the loss and through `log_sum`, and for the weights."""
    weight, target = ctx.saved["weight"], ctx.target
    chosen = {"label_smoothing": ctx.label_smoothing, "ignore_index": ctx.ignore_index}
    dloss, dlog_sum, dshare = ctx.dys
    dx = dweight = None
    if ctx.needs("x"):
        if dloss is not None:
            dx = ops.cross_entropy_grad(dloss, ctx.x, target, ctx.log_sum, weight, **chosen)
        if dlog_sum is not None:
            p = ops.exp(ops.sub(ctx.x, _column(ctx.log_sum)))
            dx = _sum_of(dx, ops.mul(p, _column(dlog_sum)))
    if ctx.needs("weight"):
        (dweight,) = vjp(
            lambda w: _loss(ctx.x, target, ctx.log_sum, w, **chosen), (weight,), (dloss, dshare)
        )
    return (dx, None, dweight)[: ctx.input_count]


def _column(rows: Any) -> Any:
    return ops.reshape(rows, shape=(*shape_of(rows), 1))


def _shares(target: Any, weight: Any, like: Any, ignore_index: int) -> tuple[Any, Any]:
    """(1, or 0 for ignored rows; the weight of each row's target, or 0) in the dtype of `like`."""
    ignored = ops.eq(target, ignore_index)
    keep = counted(ops.logical_not(ignored), like)
    if weight is None:
        return keep, keep
    return keep, ops.mul(keep, ops.gather(weight, ops.where(ignored, 0, target), axis=0))


def _loss(
    x: Any, target: Any, log_sum: Any, weight: Any, *, label_smoothing: float, ignore_index: int
) -> tuple[Any, Any]:
    """(loss, share) of each row."""
    keep, share = _shares(target, weight, log_sum, ignore_index)
    safe = ops.where(ops.eq(target, ignore_index), 0, target)
    own = ops.reshape(ops.gather_elements(x, _column(safe), axis=1), shape=shape_of(log_sum))
    loss = ops.mul(ops.mul(share, ops.sub(log_sum, own)), 1.0 - label_smoothing)
    if label_smoothing:
        far = ops.mul(ops.sub(_column(log_sum), x), weight)
        part = ops.div(ops.mul(keep, label_smoothing), number(shape_of(x)[1], x))
        loss = ops.add(loss, ops.mul(part, ops.reduce_sum(far, axes=(1,))))
    return loss, share


def _cross_entropy_grad(
    target: Any, dloss: Any, x: Any, log_sum: Any, weight: Any, label_smoothing: float, ignore: int
) -> Any:
    keep, share = _shares(target, weight, log_sum, ignore)
    own = ops.mul(ops.mul(dloss, share), 1.0 - label_smoothing)
    factor, even = own, None
    if label_smoothing:
        part = ops.div(ops.mul(ops.mul(dloss, keep), label_smoothing), number(shape_of(x)[1], x))
        total = number(shape_of(x)[1], x) if weight is None else ops.reduce_sum(weight, axes=(0,))
        factor = ops.add(own, ops.mul(part, total))
        even = _column(part) if weight is None else ops.mul(_column(part), weight)
    dx = ops.mul(ops.exp(ops.sub(x, _column(log_sum))), _column(factor))
    classes = beside(x, ops.iota, length=shape_of(x)[1], dtype=dtype_of(target))
    dx = ops.sub(dx, ops.where(ops.eq(_column(target), classes), _column(own), 0.0))
    return dx if even is None else ops.sub(dx, even)


def cross_entropy_grad(ctx: GradContext) -> Grads:
    weight = ctx.saved["weight"]

    def dx(dloss: Any, x: Any, log_sum: Any, weight: Any = None) -> Any:
        return _cross_entropy_grad(
            ctx.target, dloss, x, log_sum, weight, ctx.label_smoothing, ctx.ignore_index
        )

    floats = (ctx.dloss, ctx.x, ctx.log_sum, *(() if weight is None else (weight,)))
    got = vjp(dx, floats, ctx.dys)
    return (*got[:2], None, *got[2:], None)[: ctx.input_count]
