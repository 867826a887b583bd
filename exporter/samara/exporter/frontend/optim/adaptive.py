# SPDX-License-Identifier: Apache-2.0
"""Adagrad, and the steps of Adam with AMSGrad: formulas of tensor operations.

They have no operator of their own. The operations trace like any others, so a step exports.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from samara.exporter.frontend.optim.optimizer import Optimizer, Update, count, require, scalar
from samara.exporter.frontend.tensor import Tensor, wrap


class Adagrad(Optimizer):
    """Gradients over the root of the sum of their squares (Duchi, Hazan and Singer 2011).

    g += weight_decay * p; sum += g²; p -= lr / (1 + (step - 1) * lr_decay) * g / (sqrt(sum) + eps).
    The sum begins at `initial_accumulator_value`. Raises ArgumentError for a negative setting.

    PyTorch: `torch.optim.Adagrad`.

    >>> w = nn.Parameter(samara.ones(1))
    >>> optimizer = samara.optim.Adagrad([w], lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step(); round(w.item(), 3)
    0.5
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        names = ("lr_decay", "weight_decay", "initial_accumulator_value", "eps")
        settings = (lr_decay, weight_decay, initial_accumulator_value, eps)
        require("lr", lr, 0.0)
        for name, value in zip(names, settings, strict=True):
            require(name, value, 0.0)
        defaults = {"lr": lr, **dict(zip(names, settings, strict=True)), "maximize": maximize}
        super().__init__(params, defaults)

    def update(self, group: dict[str, Any], p: Tensor, g: Tensor, state: dict[str, Any]) -> Update:
        if "sum" not in state:
            first = group["initial_accumulator_value"]
            state["sum"] = wrap(np.full(p.shape, first, p.dtype))
        step = count(state, p)
        attrs = {n: group[n] for n in ("lr_decay", "weight_decay", "eps", "maximize")}
        inputs = (p, g, state["sum"], scalar(group["lr"], p), step)
        return Update(adagrad, inputs, attrs, (p, state["sum"]))


def adagrad(
    p: Tensor,
    g: Tensor,
    total: Tensor,
    lr: Tensor,
    step: Tensor,
    *,
    lr_decay: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> tuple[Tensor, Tensor]:
    """New p and new sum of squares of one step of Adagrad."""
    p, g, total, lr, step = _widened(p, g, total, lr, step)
    g = _ascent(g, maximize)
    if weight_decay:
        g = g + p * weight_decay
    total = total + g * g
    rate = lr / ((step - 1.0) * lr_decay + 1.0)
    return p - rate * g / (total.sqrt() + eps), total


def amsgrad(
    p: Tensor,
    g: Tensor,
    m: Tensor,
    v: Tensor,
    largest: Tensor,
    lr: Tensor,
    step: Tensor,
    *,
    beta1: float,
    beta2: float,
    epsilon: float,
    weight_decay: float,
    decoupled: bool,
    maximize: bool,
) -> tuple[Tensor, ...]:
    """New p, m, v and largest v of one step of Adam with AMSGrad (Reddi, Kale and Kumar 2018)."""
    p, g, m, v, largest, lr, step = _widened(p, g, m, v, largest, lr, step)
    g = _ascent(g, maximize)
    if weight_decay and decoupled:
        p = p * (1.0 - lr * weight_decay)
    elif weight_decay:
        g = g + p * weight_decay
    m = m * beta1 + g * (1.0 - beta1)
    v = v * beta2 + g * g * (1.0 - beta2)
    largest = largest.maximum(v)
    root = largest.sqrt() / _correction(beta2, step).sqrt() + epsilon
    return p - lr / _correction(beta1, step) * m / root, m, v, largest


def _correction(beta: float, step: Tensor) -> Tensor:
    """1 - beta**step, without the cancellation of that difference."""
    return -(step * math.log(beta)).expm1() if beta else step * 0.0 + 1.0


def _ascent(g: Tensor, maximize: bool) -> Tensor:
    return -g if maximize else g


def _widened(*tensors: Tensor) -> Sequence[Tensor]:
    """float16 as float32, so that squares do not underflow; `copy_` rounds the results once."""
    return [t.float() if t.dtype == np.float16 else t for t in tensors]
