# SPDX-License-Identifier: Apache-2.0
"""Gradient rules of operators that move, repeat or drop elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from samara.exporter import ops
from samara.exporter.ops.autodiff import GradContext, shape_of
from samara.exporter.ops.grad_tools import (
    Grads,
    Size,
    axis_of,
    known,
    padded,
    product,
    range_of,
    reversed_along,
)
from samara.exporter.types import UnsupportedError, dmax, provably_ge


def reshape(ctx: GradContext) -> Grads:
    return (ops.reshape(ctx.dy, shape=ctx.shape(0)),)


def transpose(ctx: GradContext) -> Grads:
    perm = ctx.perm
    return (ops.transpose(ctx.dy, perm=sorted(range(len(perm)), key=perm.__getitem__)),)


# ---- concat, split ----


def concat(ctx: GradContext) -> Grads:
    axis = axis_of(ctx)
    sizes = [ctx.shape(i)[axis] for i in range(ctx.input_count)]
    if ctx.input_count == 1:
        return (ctx.dy,)
    if sum(ctx.needed) > 1:
        parts: Grads = ops.split(ctx.dy, axis=axis, sizes=sizes)
        return parts
    return tuple(
        range_of(ctx.dy, axis, total(sizes[:i]), total(sizes[: i + 1])) if ctx.needs(i) else None
        for i in range(ctx.input_count)
    )


def total(sizes: Sequence[Size]) -> Size:
    """The sum of sizes; 0 of none."""
    found: Size = 0
    for size in sizes:
        found = found + size
    return found


def split(ctx: GradContext) -> Grads:
    """The parts' gradients concatenated, zeros for a part without one."""
    axis, sizes = axis_of(ctx), ctx.sizes
    given = [i for i, dy in enumerate(ctx.dys) if dy is not None]
    parts = []
    for place, i in enumerate(given):
        end = given[place + 1] if place + 1 < len(given) else len(sizes)
        before = total(sizes[:i]) if place == 0 else 0
        parts.append(padded(ctx.dys[i], axis, before, total(sizes[i + 1 : end])))
    return (parts[0] if len(parts) == 1 else ops.concat(*parts, axis=axis),)


# ---- slice, pad ----


def slice_(ctx: GradContext) -> Grads:
    dy, shape = ctx.dy, ctx.shape(0)
    taken = shape_of(dy)
    before: list[Size] = []
    after: list[Size] = []
    for axis, (size, begin, step) in enumerate(zip(shape, ctx.begin, ctx.step, strict=True)):
        span: Size = taken[axis]
        if known(step) == 1:
            first: Size = begin
        elif provably_ge(step, 1):
            dy, span = _spread(dy, axis, step, front=False), taken[axis] * step
            first = begin
        elif provably_ge(-1, step):
            # A negative step: the first element taken is the last one here.
            dy = _spread(reversed_along(dy, axis), axis, -step, front=True)
            span = taken[axis] * -step
            first = begin + 1 - span
        else:
            raise UnsupportedError(
                f"the gradient of a slice needs to know the sign of its step {step}",
                op="slice",
                fix="use a step that is a number",
            )
        before.append(first)
        after.append(size - first - span)
    if all(known(n) == 0 for n in (*before, *after)):
        return (dy,)
    return (ops.pad(dy, pads=(*before, *after)),)


def _spread(dy: Any, axis: int, step: Size, front: bool) -> Any:
    """Each element along the axis with step - 1 zeros after it, or before it."""
    if known(step) == 1:
        return dy
    shape = shape_of(dy)
    outer, inner = product(shape[:axis]), product(shape[axis + 1 :])
    apart = ops.reshape(dy, shape=(outer, shape[axis], 1, inner))
    zeros = step - 1
    filled = padded(apart, 2, zeros if front else 0, 0 if front else zeros)
    return ops.reshape(filled, shape=(*shape[:axis], shape[axis] * step, *shape[axis + 1 :]))


def pad(ctx: GradContext) -> Grads:
    dx = _unpadded(ctx)
    if ctx.input_count == 1:
        return (dx,)
    if not ctx.needs(1) or ctx.mode != "constant":
        return (dx, None)
    # All other elements are the value.
    everything = tuple(range(len(ctx.shape(0))))
    rest = ops.sub(ops.reduce_sum(ctx.dy, axes=everything), ops.reduce_sum(dx, axes=everything))
    return (dx, rest)


def _unpadded(ctx: GradContext) -> Any:
    dy, shape, pads = ctx.dy, ctx.shape(0), ctx.pads
    rank = len(shape)
    if ctx.mode == "constant":
        return ops.pad(dy, pads=tuple(-p for p in pads)) if rank else dy
    fold = _FOLDS[ctx.mode]
    for axis in range(rank):
        before, after = pads[axis], pads[rank + axis]
        if known(before) == 0 and known(after) == 0:
            continue
        left, right = _positive(before), _positive(after)
        cropped = (left - before, right - after)
        size = shape[axis] - cropped[0] - cropped[1]
        middle = range_of(dy, axis, left, left + size)
        if known(left) != 0:
            middle = ops.add(middle, fold[0](range_of(dy, axis, 0, left), axis, size, left))
        if known(right) != 0:
            piece = range_of(dy, axis, left + size, left + size + right)
            middle = ops.add(middle, fold[1](piece, axis, size, right))
        dy = padded(middle, axis, *cropped)
    return dy


def _positive(pad: Size) -> Size:
    n = known(pad)
    return dmax(0, pad) if n is None else max(0, n)


Fold = Callable[[Any, int, Size, Size], Any]


def _summed(piece: Any, axis: int) -> Any:
    return ops.reduce_sum(piece, axes=(axis,), keepdims=True)


# By mode: functions that add the gradient of the left and of the right padding to x's. Arguments are the
# padding's gradient, its axis, x's size there and the padding's size.
_FOLDS: dict[str, tuple[Fold, Fold]] = {
    "edge": (
        lambda piece, axis, size, n: padded(_summed(piece, axis), axis, 0, size - 1),
        lambda piece, axis, size, n: padded(_summed(piece, axis), axis, size - 1, 0),
    ),
    "reflect": (
        lambda piece, axis, size, n: padded(reversed_along(piece, axis), axis, 1, size - 1 - n),
        lambda piece, axis, size, n: padded(reversed_along(piece, axis), axis, size - 1 - n, 1),
    ),
    "wrap": (
        lambda piece, axis, size, n: padded(piece, axis, size - n, 0),
        lambda piece, axis, size, n: padded(piece, axis, 0, size - n),
    ),
}


# ---- expand, tile ----


def expand(ctx: GradContext) -> Grads:
    return (ops.sum_to(ctx.dy, shape=ctx.shape(0)),)


def tile(ctx: GradContext) -> Grads:
    """The sum of the copies, axis by axis."""
    dy, shape = ctx.dy, ctx.shape(0)
    tiled = shape_of(dy)
    moved = False
    for axis, repeats in enumerate(ctx.repeats):
        if known(repeats) == 1:
            continue
        moved = True
        inner = shape[axis] * product(tiled[axis + 1 :])
        copies = ops.reshape(dy, shape=(product(shape[:axis]), repeats, inner))
        dy = ops.reduce_sum(copies, axes=(1,))
    return (ops.reshape(dy, shape=shape) if moved else dy,)
