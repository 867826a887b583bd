# SPDX-License-Identifier: Apache-2.0
"""Gradient rules of activations: one backward operator each, and its own gradient.

The latter comes from the derivative, composed of other operators. Kinks follow PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from samara.exporter import ops
from samara.exporter.ops.autodiff import GradContext
from samara.exporter.ops.grad_tools import Grads

KINDS: Final = (
    *("relu", "leaky_relu", "elu", "sigmoid", "tanh", "gelu", "gelu_tanh", "silu"),
    *("softplus", "hard_sigmoid", "hard_swish", "clamp"),
)
"""The activations that `activation_grad` knows, in the order of its codes."""


def _of(kind: str, ctx: GradContext, v: Any, alpha: float = 0.0, beta: float = 0.0) -> Grads:
    return (ops.activation_grad(ctx.dy, v, kind=kind, alpha=alpha, beta=beta),)


def relu(ctx: GradContext) -> Grads:
    return _of("relu", ctx, ctx.y)


def leaky_relu(ctx: GradContext) -> Grads:
    return _of("leaky_relu", ctx, ctx.x, ctx.alpha)


def elu(ctx: GradContext) -> Grads:
    return _of("elu", ctx, ctx.x, ctx.alpha)


def sigmoid(ctx: GradContext) -> Grads:
    return _of("sigmoid", ctx, ctx.y)


def tanh(ctx: GradContext) -> Grads:
    return _of("tanh", ctx, ctx.y)


def gelu(ctx: GradContext) -> Grads:
    return _of("gelu" if ctx.approximate == "none" else "gelu_tanh", ctx, ctx.x)


def silu(ctx: GradContext) -> Grads:
    return _of("silu", ctx, ctx.x)


def softplus(ctx: GradContext) -> Grads:
    return _of("softplus", ctx, ctx.x)


def hard_sigmoid(ctx: GradContext) -> Grads:
    return _of("hard_sigmoid", ctx, ctx.y, ctx.alpha)


def hard_swish(ctx: GradContext) -> Grads:
    return _of("hard_swish", ctx, ctx.x)


def clamp(ctx: GradContext) -> Grads:
    lo, hi = ctx.lo, ctx.hi
    if ctx.open:  # what lies strictly between lo and hi, in float32
        lo = float(np.nextafter(np.float32(lo), np.float32(np.inf)))
        hi = float(np.nextafter(np.float32(hi), np.float32(-np.inf)))
    return _of("clamp", ctx, ctx.x, lo, hi)


# ---- second order ----

_Composed = Callable[[Any, Any, float, float], Any]


def _gelu(dy: Any, x: Any, _a: float, _b: float) -> Any:
    """Phi(x) + x phi(x)"""
    whole = ops.add(ops.mul(ops.erf(ops.mul(x, math.sqrt(0.5))), 0.5), 0.5)
    bell = ops.mul(ops.exp(ops.mul(ops.mul(x, x), -0.5)), 1 / math.sqrt(2 * math.pi))
    return ops.mul(dy, ops.add(whole, ops.mul(x, bell)))


def _gelu_tanh(dy: Any, x: Any, _a: float, _b: float) -> Any:
    root, square = math.sqrt(2 / math.pi), ops.mul(x, x)
    t = ops.tanh(ops.mul(x, ops.add(ops.mul(square, root * 0.044715), root)))
    slope = ops.add(ops.mul(square, 3 * root * 0.044715), root)
    curve = ops.mul(ops.mul(x, slope), ops.sub(1.0, ops.mul(t, t)))
    return ops.mul(dy, ops.mul(ops.add(ops.add(t, 1.0), curve), 0.5))


def _silu(dy: Any, x: Any, _a: float, _b: float) -> Any:
    s = ops.sigmoid(x)
    return ops.mul(dy, ops.mul(s, ops.add(ops.mul(x, ops.sub(1.0, s)), 1.0)))


def _elu(dy: Any, x: Any, a: float, _b: float) -> Any:
    # The clamp keeps infinities of the branch not taken out of the products.
    slope = ops.mul(ops.exp(ops.clamp(x, hi=0.0)), a)
    return ops.where(ops.le(x, 0.0), ops.mul(dy, slope), dy)


def _hard_swish(dy: Any, x: Any, _a: float, _b: float) -> Any:
    slope = ops.mul(dy, ops.add(ops.mul(x, 1 / 3), 0.5))
    return ops.where(ops.le(x, -3.0), 0.0, ops.where(ops.lt(x, 3.0), slope, dy))


def _hard_sigmoid(dy: Any, y: Any, a: float, _b: float) -> Any:
    inside = ops.logical_and(ops.lt(0.0, y), ops.lt(y, 1.0))
    return ops.where(inside, ops.mul(dy, a), 0.0)


_COMPOSED: Final[dict[str, _Composed]] = {
    "relu": lambda dy, y, a, b: ops.where(ops.le(y, 0.0), 0.0, dy),
    "leaky_relu": lambda dy, x, a, b: ops.where(ops.lt(0.0, x), dy, ops.mul(dy, a)),
    "elu": _elu,
    "sigmoid": lambda dy, y, a, b: ops.mul(ops.mul(dy, y), ops.sub(1.0, y)),
    "tanh": lambda dy, y, a, b: ops.mul(dy, ops.sub(1.0, ops.mul(y, y))),
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "silu": _silu,
    "softplus": lambda dy, x, a, b: ops.mul(dy, ops.sigmoid(x)),
    "hard_sigmoid": _hard_sigmoid,
    "hard_swish": _hard_swish,
    "clamp": lambda dy, x, a, b: ops.where(ops.logical_and(ops.le(a, x), ops.le(x, b)), dy, 0.0),
}


def activation_grad(ctx: GradContext) -> Grads:
    """Linear in dy; in v through the derivative as a composition."""
    again = dv = None
    if ctx.needs(0):
        again = ops.activation_grad(
            ctx.dys[0], ctx.v, kind=ctx.kind, alpha=ctx.alpha, beta=ctx.beta
        )
    if ctx.needs(1):
        composed = _COMPOSED[ctx.kind]
        dy = ctx.saved["dy"]
        dv = ops.vjp(lambda v: composed(dy, v, ctx.alpha, ctx.beta), (ctx.v,), ctx.dys)[0]
    return (again, dv)
