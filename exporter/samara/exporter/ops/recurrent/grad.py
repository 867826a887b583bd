# SPDX-License-Identifier: Apache-2.0
"""Gradient rules of lstm and gru.

lstm_grad and gru_grad go back through time and give the gradients of the gates of all steps. The gradients of
weights, bias and inputs are then one product each over all steps.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from samara.exporter import ops
from samara.exporter.ops.autodiff import GradContext, Rule, once, shape_of
from samara.exporter.ops.grad_tools import Grads, range_of

lstm_again: Final[Rule] = once("lstm")
gru_again: Final[Rule] = once("gru")


class _Kept(NamedTuple):
    """The values that the training form of an operator keeps."""

    gates: Any
    h: Any
    c: Any = None


class _Products:
    """Gradients of inputs and weights from those of gates [D, T, N, G]."""

    def __init__(self, ctx: GradContext, gates: Any) -> None:
        self._ctx = ctx
        d, t, n, g = shape_of(gates)
        self._directions, self._rows = d, t * n
        self.gates = self._flat(gates, g)

    def _flat(self, value: Any, size: Any) -> Any:
        return ops.reshape(value, shape=(self._directions, self._rows, size))

    def dx(self) -> Any:
        """gates w, added over directions."""
        parts = ops.matmul(self.gates, self._ctx.w)
        if self._directions != 1:
            parts = ops.reduce_sum(parts, axes=(0,))
        return ops.reshape(parts, shape=self._ctx.shape("x"))

    def dw(self) -> Any:
        """gatesᵀ x."""
        x = ops.reshape(self._ctx.x, shape=(self._rows, self._ctx.shape("x")[2]))
        return ops.matmul(self.gates, x, transpose_x=True)

    def over(self, before: Any) -> Any:
        """gatesᵀ before, for a tensor [D, T, N, H]."""
        states = self._flat(before, shape_of(before)[3])
        return ops.matmul(self.gates, states, transpose_x=True)

    def total(self) -> Any:
        """The sum over all steps, [D, G]."""
        return ops.reduce_sum(self.gates, axes=(1,))


def _lstm_grads(ctx: GradContext, kept: _Kept) -> Grads:
    got = ops.lstm_grad(
        kept.gates, kept.c, ctx.r, ctx.lengths, *ctx.dys[:3], ctx.p, **_attributes(ctx)
    )
    dgates, dh0, dc0 = got
    products = _Products(ctx, dgates)
    dbias = None
    if ctx.needs("bias"):
        total = products.total()
        dbias = ops.concat(total, total, axis=1)
    return (
        products.dx() if ctx.needs("x") else None,
        products.dw() if ctx.needs("w") else None,
        products.over(kept.h) if ctx.needs("r") else None,
        dbias,
        None,
        dh0 if ctx.needs("h0") else None,
        dc0 if ctx.needs("c0") else None,
        _dp(ctx, kept, dgates) if ctx.needs("p") else None,
    )[: ctx.input_count]


def _attributes(ctx: GradContext) -> dict[str, Any]:
    """Those of the operators that train, which take no quantized weights."""
    return {name: value for name, value in ctx.attrs.items() if name != "dynamic"}


def _dp(ctx: GradContext, kept: _Kept, dgates: Any) -> Any:
    """Peepholes i and f read c before the step, o reads c after it."""
    h = ctx.hidden

    def gate(value: Any, k: int) -> Any:
        return range_of(value, 3, k * h, (k + 1) * h)

    kept_f, kept_i, kept_g = gate(kept.gates, 2), gate(kept.gates, 0), gate(kept.gates, 3)
    after = ops.add(ops.mul(kept_f, kept.c), ops.mul(kept_i, kept_g))
    parts = [ops.mul(gate(dgates, k), c) for k, c in ((0, kept.c), (1, after), (2, kept.c))]
    return ops.concat(*(ops.reduce_sum(part, axes=(1, 2)) for part in parts), axis=1)


def _gru_grads(ctx: GradContext, kept: _Kept) -> Grads:
    inputs, states, dh0 = ops.gru_grad(
        kept.gates, kept.h, ctx.r, ctx.lengths, *ctx.dys[:2], **_attributes(ctx)
    )
    of_x, of_h = _Products(ctx, inputs), _Products(ctx, states)
    dbias = None
    if ctx.needs("bias"):
        dbias = ops.concat(of_x.total(), of_h.total(), axis=1)
    return (
        of_x.dx() if ctx.needs("x") else None,
        of_x.dw() if ctx.needs("w") else None,
        _gru_dr(ctx, kept, of_h, states) if ctx.needs("r") else None,
        dbias,
        None,
        dh0 if ctx.needs("h0") else None,
    )[: ctx.input_count]


def _gru_dr(ctx: GradContext, kept: _Kept, of_h: _Products, states: Any) -> Any:
    if ctx.linear_before_reset:
        return of_h.over(kept.h)
    # The last gate was multiplied by r h, which is the fourth part of the kept gates.
    h = ctx.hidden
    head = _Products(ctx, range_of(states, 3, 0, 2 * h)).over(kept.h)
    last = _Products(ctx, range_of(states, 3, 2 * h, 3 * h))
    return ops.concat(head, last.over(range_of(kept.gates, 3, 3 * h, 4 * h)), axis=1)


def lstm(ctx: GradContext) -> Grads:
    """Run the steps again and keep the gates."""
    again = ops.lstm_train(
        ctx.x, ctx.w, ctx.r, ctx.bias, ctx.lengths, ctx.h0, ctx.c0, ctx.p, **_attributes(ctx)
    )
    return _lstm_grads(ctx, _Kept(*again[3:]))


def lstm_train(ctx: GradContext) -> Grads:
    """The kept values are only used by the gradient, which is not differentiated."""
    if any(dy is not None for dy in ctx.dys[3:]):
        lstm_again(ctx)
    return _lstm_grads(ctx, _Kept(ctx.gates, ctx.h, ctx.c))


def gru(ctx: GradContext) -> Grads:
    """Run the steps again and keep the gates."""
    again = ops.gru_train(ctx.x, ctx.w, ctx.r, ctx.bias, ctx.lengths, ctx.h0, **_attributes(ctx))
    return _gru_grads(ctx, _Kept(*again[2:]))


def gru_train(ctx: GradContext) -> Grads:
    """The kept values are only used by the gradient, which is not differentiated."""
    if any(dy is not None for dy in ctx.dys[2:]):
        gru_again(ctx)
    return _gru_grads(ctx, _Kept(ctx.gates, ctx.h))
