# SPDX-License-Identifier: Apache-2.0
"""Gradient of the Fourier transform: the transform in the other direction."""

from __future__ import annotations

from typing import Any

from samara.exporter import ops
from samara.exporter.ops.autodiff import GradContext, beside, shape_of
from samara.exporter.ops.grad_tools import Grads, axis_of, counted, number, padded, range_of
from samara.exporter.types import DType, floordiv


def dft(ctx: GradContext) -> Grads:
    """The adjoint: the unscaled inverse for the transform, the transform over the length for the inverse."""
    axis, length = axis_of(ctx), ctx.length
    size, parts = ctx.shape(0)[axis], ctx.shape(0)[-1]
    if not ctx.inverse:
        # Elements that were cut off have no gradient: the transform fills them with zeros.
        dx = ops.dft(ctx.dy, length=length, axis=axis, inverse=True)
        dx = ops.mul(dx, number(length, dx))
    else:
        dx = ops.dft(ctx.dy, length=length, axis=axis, onesided=ctx.onesided)
        dx = ops.div(dx, number(length, dx))
        if ctx.onesided:
            dx = ops.mul(dx, _appearances(ctx, dx, axis))
    dx = padded(dx, axis, 0, size - shape_of(dx)[axis])
    return (range_of(dx, len(shape_of(dx)) - 1, 0, parts),)


def _appearances(ctx: GradContext, like: Any, axis: int) -> Any:
    """How often each element of the one-sided spectrum occurs in the full one: twice, except at the ends."""
    half = floordiv(ctx.length, 2) + 1
    doubled = beside(like, ops.iota, length=half, step=2, dtype=DType.F32)
    ends = ops.logical_or(ops.eq(doubled, 0.0), ops.eq(doubled, number(ctx.length, doubled)))
    shape: list[Any] = [1] * len(shape_of(like))
    shape[axis] = half
    return ops.reshape(ops.sub(2.0, counted(ends, like)), shape=tuple(shape))
