# SPDX-License-Identifier: Apache-2.0
"""Gradient rules of elementwise operators of one operand. Kinks follow PyTorch."""

from __future__ import annotations

import math

from samara.exporter import ops
from samara.exporter.ops.autodiff import GradContext
from samara.exporter.ops.grad_tools import Grads


def identity(ctx: GradContext) -> Grads:
    return (ctx.dy,)


def neg(ctx: GradContext) -> Grads:
    return (ops.neg(ctx.dy),)


def abs_(ctx: GradContext) -> Grads:
    return (ops.mul(ctx.dy, ops.sign(ctx.x)),)


def exp(ctx: GradContext) -> Grads:
    return (ops.mul(ctx.dy, ctx.y),)


def log(ctx: GradContext) -> Grads:
    return (ops.div(ctx.dy, ctx.x),)


def sqrt(ctx: GradContext) -> Grads:
    return (ops.div(ctx.dy, ops.mul(ctx.y, 2.0)),)


def rsqrt(ctx: GradContext) -> Grads:
    cube = ops.mul(ops.mul(ctx.y, ctx.y), ctx.y)
    return (ops.mul(ops.mul(ctx.dy, cube), -0.5),)


def reciprocal(ctx: GradContext) -> Grads:
    return (ops.neg(ops.mul(ctx.dy, ops.mul(ctx.y, ctx.y))),)


def sin(ctx: GradContext) -> Grads:
    return (ops.mul(ctx.dy, ops.cos(ctx.x)),)


def cos(ctx: GradContext) -> Grads:
    return (ops.neg(ops.mul(ctx.dy, ops.sin(ctx.x))),)


def tan(ctx: GradContext) -> Grads:
    return (ops.mul(ctx.dy, ops.add(ops.mul(ctx.y, ctx.y), 1.0)),)


def asin(ctx: GradContext) -> Grads:
    return (ops.mul(ctx.dy, ops.rsqrt(ops.sub(1.0, ops.mul(ctx.x, ctx.x)))),)


def acos(ctx: GradContext) -> Grads:
    return (ops.neg(asin(ctx)[0]),)


def atan(ctx: GradContext) -> Grads:
    return (ops.div(ctx.dy, ops.add(ops.mul(ctx.x, ctx.x), 1.0)),)


def sinh(ctx: GradContext) -> Grads:
    return (ops.mul(ctx.dy, ops.cosh(ctx.x)),)


def cosh(ctx: GradContext) -> Grads:
    return (ops.mul(ctx.dy, ops.sinh(ctx.x)),)


def asinh(ctx: GradContext) -> Grads:
    return (ops.mul(ctx.dy, ops.rsqrt(ops.add(ops.mul(ctx.x, ctx.x), 1.0))),)


def acosh(ctx: GradContext) -> Grads:
    return (ops.mul(ctx.dy, ops.rsqrt(ops.sub(ops.mul(ctx.x, ctx.x), 1.0))),)


def atanh(ctx: GradContext) -> Grads:
    return (ops.div(ctx.dy, ops.sub(1.0, ops.mul(ctx.x, ctx.x))),)


def erf(ctx: GradContext) -> Grads:
    bell = ops.exp(ops.neg(ops.mul(ctx.x, ctx.x)))
    return (ops.mul(ops.mul(ctx.dy, bell), 2 / math.sqrt(math.pi)),)


def cast(ctx: GradContext) -> Grads:
    to = ctx.dtype(0)
    if not (to.is_float and ctx.to.is_float):
        return (None,)
    return (ops.cast(ctx.dy, to=to),)
