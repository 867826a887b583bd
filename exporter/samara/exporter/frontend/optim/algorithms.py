# SPDX-License-Identifier: Apache-2.0
"""SGD, Adam, AdamW and RMSprop with PyTorch's formulas.

`foreach` and `fused` have no effect: a step is one call for all float32 parameters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend.optim.adaptive import amsgrad as amsgrad_step
from samara.exporter.frontend.optim.optimizer import (
    Optimizer,
    Update,
    count,
    require,
    scalar,
    zeros,
)
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.exporter.types import ArgumentError


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum and Nesterov's (Sutskever et al. 2013).

    g += weight_decay * p; buffer = momentum * buffer + (1 - dampening) * g;
    p -= lr * (buffer, or g + momentum * buffer with Nesterov).

    PyTorch: `torch.optim.SGD`.

    >>> w = nn.Parameter(samara.ones(1))
    >>> optimizer = samara.optim.SGD([w], lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step(); round(w.item(), 3)
    0.5
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        require("lr", lr, 0.0)
        require("momentum", momentum, 0.0)
        require("weight_decay", weight_decay, 0.0)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ArgumentError("Nesterov's momentum needs momentum > 0 and dampening 0")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
            },
        )

    def update(self, group: dict[str, Any], p: Tensor, g: Tensor, state: dict[str, Any]) -> Update:
        names = ("momentum", "dampening", "weight_decay", "nesterov", "maximize")
        attrs = {n: group[n] for n in names}
        lr = scalar(group["lr"], p)
        if group["momentum"] == 0:
            return Update(ops.sgd, (p, g, lr), attrs, (p,))
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = zeros(p)
        buffer = state["momentum_buffer"]
        if group["dampening"] and "step" not in state and not buffer._symbolic:
            # A buffer without a count comes from PyTorch's state; it has begun.
            state["step"] = wrap(np.asarray(buffer._data.any(), np.float32))
        step = count(state, p) if group["dampening"] else None
        return Update(ops.sgd, (p, g, lr, buffer, step), attrs, (p, buffer))


class Adam(Optimizer):
    """Adaptive moments (Kingma and Ba 2014, arXiv:1412.6980); weight decay is added to g.

    amsgrad: divide by the largest average of squares so far instead of the last one (Reddi, Kale and
    Kumar 2018). It is kept as `max_exp_avg_sq`.

    PyTorch: `torch.optim.Adam`.

    >>> w = nn.Parameter(samara.ones(1))
    >>> optimizer = samara.optim.Adam([w], lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step(); round(w.item(), 3)
    0.5
    """

    decoupled = False

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        require("lr", lr, 0.0)
        require("eps", eps, 0.0)
        require("betas[0]", betas[0], 0.0, 1.0)
        require("betas[1]", betas[1], 0.0, 1.0)
        require("weight_decay", weight_decay, 0.0)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": tuple(betas),
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
            },
        )

    def update(self, group: dict[str, Any], p: Tensor, g: Tensor, state: dict[str, Any]) -> Update:
        if "exp_avg" not in state:
            state["exp_avg"] = zeros(p)
            state["exp_avg_sq"] = zeros(p)
        step = count(state, p)
        m, v = state["exp_avg"], state["exp_avg_sq"]
        attrs = {
            "beta1": group["betas"][0],
            "beta2": group["betas"][1],
            "epsilon": group["eps"],
            "weight_decay": group["weight_decay"],
            "decoupled": self.decoupled,
            "maximize": group["maximize"],
        }
        lr = scalar(group["lr"], p)
        if not group["amsgrad"]:
            return Update(ops.adam, (p, g, m, v, lr, step), attrs, (p, m, v))
        if "max_exp_avg_sq" not in state:
            state["max_exp_avg_sq"] = zeros(p)
        top = state["max_exp_avg_sq"]
        return Update(amsgrad_step, (p, g, m, v, top, lr, step), attrs, (p, m, v, top))


class AdamW(Adam):
    """Adam with weight decay taken off the parameter (Loshchilov and Hutter, arXiv:1711.05101).

    PyTorch: `torch.optim.AdamW`.

    >>> w = nn.Parameter(samara.ones(1))
    >>> optimizer = samara.optim.AdamW([w], lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step(); round(w.item(), 3)
    0.495
    """

    decoupled = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)


class RMSprop(Optimizer):
    """Gradients over the root of their mean square (Tieleman and Hinton 2012).

    PyTorch: `torch.optim.RMSprop`.

    >>> w = nn.Parameter(samara.ones(1))
    >>> optimizer = samara.optim.RMSprop([w], lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step(); round(w.item(), 3)
    -4.0
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        require("lr", lr, 0.0)
        require("alpha", alpha, 0.0)
        require("eps", eps, 0.0)
        require("momentum", momentum, 0.0)
        super().__init__(
            params,
            {
                "lr": lr,
                "alpha": alpha,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "centered": centered,
                "maximize": maximize,
            },
        )

    def update(self, group: dict[str, Any], p: Tensor, g: Tensor, state: dict[str, Any]) -> Update:
        if "square_avg" not in state:
            state["square_avg"] = zeros(p)
            if group["centered"]:
                state["grad_avg"] = zeros(p)
            if group["momentum"]:
                state["momentum_buffer"] = zeros(p)
        count(state, p)
        mean = state["grad_avg"] if group["centered"] else None
        buffer = state["momentum_buffer"] if group["momentum"] else None
        attrs = {
            "alpha": group["alpha"],
            "epsilon": group["eps"],
            "weight_decay": group["weight_decay"],
            "momentum": group["momentum"],
            "centered": group["centered"],
            "maximize": group["maximize"],
        }
        average = state["square_avg"]
        inputs = (p, g, average, scalar(group["lr"], p), mean, buffer)
        targets = (p, average, *(t for t in (mean, buffer) if t is not None))
        return Update(ops.rmsprop, inputs, attrs, targets)
