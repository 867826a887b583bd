# SPDX-License-Identifier: Apache-2.0
"""`samara.optim.swa_utils`: averages of a model's parameters over training.

Stochastic weight averaging: Izmailov et al. 2018, arXiv:1803.05407.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from samara.exporter.frontend import creation, tape
from samara.exporter.frontend.counterparts import name_counterparts
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.nn.norms import _BatchNorm
from samara.exporter.frontend.optim.lr_scheduler import LRScheduler
from samara.exporter.frontend.optim.optimizer import Optimizer
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ArgumentError

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Average = Callable[[Tensor, Tensor, Any], Any]
AverageMany = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """An `avg_fn`: decay * average + (1 - decay) * parameter. ArgumentError unless 0 <= decay <= 1."""
    _check_decay(decay)
    return lambda average, current, count: average * decay + current * (1 - decay)


def get_swa_avg_fn() -> Average:
    """An `avg_fn`: the mean of all models so far."""
    return lambda average, current, count: average + (current - average) / (int(count) + 1)


def get_ema_multi_avg_fn(decay: float = 0.999) -> AverageMany:
    """A `multi_avg_fn`: exponential moving averages. ArgumentError unless 0 <= decay <= 1.

    >>> average = samara.optim.swa_utils.get_ema_multi_avg_fn(0.75)
    >>> kept = samara.ones(2)
    >>> average([kept], [samara.zeros(2)], 1); kept.tolist()
    [0.75, 0.75]
    """
    return _each(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> AverageMany:
    """A `multi_avg_fn`: the means of all models so far."""
    return _each(get_swa_avg_fn())


def _each(average: Average) -> AverageMany:
    def run(averages: Sequence[Tensor], currents: Sequence[Tensor], count: Any) -> None:
        with tape.no_grad():
            for mine, theirs in zip(averages, currents, strict=True):
                mine.copy_(average(mine, theirs, count))

    return run


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ArgumentError(f"decay is {decay}", fix="it must be from 0 to 1")


class AveragedModel(Module):
    """A copy of a model that holds averages of its parameters, under `module`.

    update_parameters(model) takes the parameters for one more time; the first time copies them.
    avg_fn(average, current, n_averaged) returns a new average, multi_avg_fn(averages, currents,
    n_averaged) changes all averages in place; without either it is the mean. Buffers are copied, or
    averaged too with `use_buffers`. `device` is the CPU. Raises ArgumentError if both are given.

    >>> model = nn.Linear(2, 1)
    >>> averaged = samara.optim.swa_utils.AveragedModel(model)
    >>> averaged.update_parameters(model); averaged.n_averaged.item()
    1
    >>> samara.equal(averaged(samara.ones(1, 2)), model(samara.ones(1, 2)))
    True
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: AverageMany | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ArgumentError("avg_fn and multi_avg_fn were both given", fix="pass one of them")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.register_buffer("n_averaged", creation.tensor(0, dtype=np.int64))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the parameters of `model` into the averages."""
        own, given = self._averaged(self.module), self._averaged(model)
        with tape.no_grad():
            if int(self.n_averaged) == 0:
                for average, current in zip(own, given, strict=True):
                    average.copy_(current)
            elif self.multi_avg_fn is not None:
                self.multi_avg_fn(own, given, self.n_averaged)
            else:
                _each(self.avg_fn or get_swa_avg_fn())(own, given, self.n_averaged)
            if not self.use_buffers:
                for mine, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
                    mine.copy_(theirs)
            self.n_averaged.add_(1)

    def _averaged(self, model: Module) -> list[Tensor]:
        buffers: Iterable[Tensor] = model.buffers() if self.use_buffers else ()
        return [t.detach() for t in chain(model.parameters(), buffers)]


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of batch norms again, as means over the batches of a loader.

    A batch that is a list or tuple is represented by its first element. Modules keep their mode.

    >>> model = nn.Sequential(nn.BatchNorm1d(1))
    >>> batches = [samara.full((2, 1), 3.0), samara.full((2, 1), 5.0)]
    >>> samara.optim.swa_utils.update_bn(batches, model); model[0].running_mean.item()
    4.0
    """
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    momenta = [m.momentum for m in norms]
    if not norms:
        return
    training = model.training
    model.train()
    for m in norms:
        m.reset_running_stats()
        m.momentum = None
    try:
        with tape.no_grad():
            for batch in loader:
                x = batch[0] if isinstance(batch, (list, tuple)) else batch
                model(x if device is None else x.to(device))
    finally:
        for m, momentum in zip(norms, momenta, strict=True):
            m.momentum = momentum
        model.train(training)


class SWALR(LRScheduler):
    """From the rate at the first step to `swa_lr` within `anneal_epochs` steps, and constant then.

    swa_lr: a number, or one per group. anneal_strategy: "cos" or "linear". The first step reads the
    rate, so another schedule may run before. Raises ArgumentError for other values.

    >>> optimizer = samara.optim.SGD([nn.Parameter(samara.ones(1))], lr=1.0)
    >>> scheduler = samara.optim.swa_utils.SWALR(optimizer, 0.5, 2, "linear")
    >>> scheduler.step(); scheduler.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        groups = optimizer.param_groups
        rates = list(swa_lr) if isinstance(swa_lr, (list, tuple)) else [swa_lr] * len(groups)
        if len(rates) != len(groups):
            raise ArgumentError(f"swa_lr has {len(rates)} rates for {len(groups)} groups")
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(
                f"anneal_strategy is {anneal_strategy!r}", fix='use "cos" or "linear"'
            )
        if anneal_epochs < 0:
            raise ArgumentError(f"anneal_epochs is {anneal_epochs}", fix="use an integer from 0")
        self.anneal_epochs = anneal_epochs
        self.anneal_strategy = anneal_strategy
        for group, rate in zip(groups, rates, strict=True):
            group["swa_lr"] = float(rate)
        self.begins = [float(g["lr"]) for g in groups]
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, group: int, t: int) -> float:
        at = min(1.0, t / self.anneal_epochs) if self.anneal_epochs else 1.0
        share = at if self.anneal_strategy == "linear" else (1 - math.cos(math.pi * at)) / 2
        goal = float(self.optimizer.param_groups[group]["swa_lr"])
        return goal * share + self.begins[group] * (1 - share)

    def step(self) -> None:
        """Time goes on by one."""
        if self.last_epoch == 0:
            self.begins = [float(g["lr"]) for g in self.optimizer.param_groups]
        super().step()

    def state_dict(self) -> dict[str, Any]:
        """Where the schedule is, and where it began."""
        return {**super().state_dict(), "begins": list(self.begins)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.begins = list(state_dict["begins"])
        super().load_state_dict(state_dict)


name_counterparts(globals(), __all__, "torch.optim.swa_utils")
