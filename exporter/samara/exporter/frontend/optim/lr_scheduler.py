# SPDX-License-Identifier: Apache-2.0
"""`samara.optim.lr_scheduler`: learning rates over time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from samara.exporter.frontend.optim.optimizer import Optimizer
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ArgumentError

__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
    "WarmupLR",
]


class LRScheduler:
    """Sets `lr` of an optimizer's groups as a function of how often `step` was called.

    Subclasses define `rate(base, group, t)`: the rate at time t for a group that began with `base`.
    A rate is a function of t alone, so a resumed run has exactly the rates of an uninterrupted one.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", float(group["lr"]))
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch + 1
        self._set()

    def rate(self, base: float, group: int, t: int) -> float:
        """The learning rate of a group at time t."""
        raise NotImplementedError

    def step(self) -> None:
        """Time goes on by one."""
        self.last_epoch += 1
        self._set()

    def _set(self) -> None:
        for i, group in enumerate(self.optimizer.param_groups):
            _put(group, self.rate(self.base_lrs[i], i, self.last_epoch))

    def get_last_lr(self) -> list[float]:
        """The rates now."""
        return [float(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Where the schedule is."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.last_epoch = int(state_dict["last_epoch"])
        self.base_lrs = list(state_dict["base_lrs"])
        self._set()


def _put(group: dict[str, Any], rate: float) -> None:
    """The rate of a group; a tensor that holds it keeps its place, so a traced step sees it."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(rate)
    else:
        group["lr"] = rate


class LambdaLR(LRScheduler):
    """base * lr_lambda(t); one function, or one per group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        n = len(optimizer.param_groups)
        self.lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * n
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, group: int, t: int) -> float:
        return base * float(self.lambdas[group](t))


class StepLR(LRScheduler):
    """Times `gamma` every `step_size`."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, group: int, t: int) -> float:
        return base * self.gamma ** (t // self.step_size)


class MultiStepLR(LRScheduler):
    """Times `gamma` at each milestone."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = sorted(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, group: int, t: int) -> float:
        return base * self.gamma ** sum(m <= t for m in self.milestones)


class ExponentialLR(LRScheduler):
    """Times `gamma` each time."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, group: int, t: int) -> float:
        return base * self.gamma**t


class ConstantLR(LRScheduler):
    """Times `factor` for the first `total_iters`."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, group: int, t: int) -> float:
        return base * (self.factor if t < self.total_iters else 1.0)


class LinearLR(LRScheduler):
    """From `start_factor` to `end_factor` of the base over `total_iters`."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, group: int, t: int) -> float:
        done = min(t, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * done)


class WarmupLR(LinearLR):
    """From nearly nothing to the base over `warmup_steps`: (t + 1) / warmup_steps of it."""

    def __init__(self, optimizer: Optimizer, warmup_steps: int, last_epoch: int = -1) -> None:
        first = 1.0 / warmup_steps
        super().__init__(optimizer, first, 1.0, max(warmup_steps - 1, 1), last_epoch)


class PolynomialLR(LRScheduler):
    """base * (1 - t / total_iters) ** power."""

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, group: int, t: int) -> float:
        left = 1.0 - min(t, self.total_iters) / self.total_iters
        return float(base * left**self.power)


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the base to `eta_min` in `T_max`, and back (arXiv:1608.03983)."""

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, group: int, t: int) -> float:
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * t / self.T_max)) / 2


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine in T_0, begun again each time, T_mult times longer (arXiv:1608.03983)."""

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        self.T_0 = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, group: int, t: int) -> float:
        length = self.T_0
        while t >= length:
            t -= length
            length *= self.T_mult
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * t / length)) / 2


class OneCycleLR(LRScheduler):
    """Up to `max_lr` and far down again over `total_steps` (Smith and Topin, arXiv:1708.07120).

    Momentum (or Adam's beta1) goes the other way where `cycle_momentum` is set.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ArgumentError("OneCycleLR needs total_steps, or epochs and steps_per_epoch")
            total_steps = epochs * steps_per_epoch
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(
                f"there is no anneal_strategy {anneal_strategy!r}", fix="cos or linear"
            )
        n = len(optimizer.param_groups)
        self.max_lrs = [float(max_lr)] * n if isinstance(max_lr, (int, float)) else list(max_lr)
        self.total_steps = total_steps
        self.up = float(pct_start * total_steps) - 1
        self.cosine = anneal_strategy == "cos"
        self.cycle_momentum = cycle_momentum
        self.momenta = (max_momentum, base_momentum)
        self.div_factor = div_factor
        self.final_div_factor = final_div_factor
        super().__init__(optimizer, last_epoch)

    def _between(self, first: float, top: float, last: float, t: int) -> float:
        if t <= self.up:
            a, b, done = first, top, t / self.up if self.up else 1.0
        else:
            a, b = top, last
            done = (t - self.up) / (self.total_steps - 1 - self.up)
        if self.cosine:
            return b + (a - b) / 2.0 * (1 + math.cos(math.pi * done))
        return a + (b - a) * done

    def rate(self, base: float, group: int, t: int) -> float:
        if t > self.total_steps:
            raise ArgumentError(
                f"OneCycleLR was stepped {t} times; it has {self.total_steps} steps"
            )
        top = self.max_lrs[group]
        first = top / self.div_factor
        return self._between(first, top, first / self.final_div_factor, t)

    def _set(self) -> None:
        super()._set()
        if not self.cycle_momentum:
            return
        high, low = self.momenta
        m = self._between(high, low, high, self.last_epoch)
        for group in self.optimizer.param_groups:
            if "betas" in group:
                group["betas"] = (m, *group["betas"][1:])
            elif "momentum" in group:
                group["momentum"] = m


class SequentialLR:
    """Schedulers one after the other; each starts at its milestone."""

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int]
    ) -> None:
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentError(
                f"{len(schedulers)} schedulers need {len(schedulers) - 1} milestones, "
                f"got {len(milestones)}"
            )
        self.optimizer = optimizer
        self.schedulers = list(schedulers)
        self.milestones = list(milestones)
        self.last_epoch = 0
        self._set()

    def step(self) -> None:
        """Time goes on by one."""
        self.last_epoch += 1
        self._set()

    def _set(self) -> None:
        index = sum(m <= self.last_epoch for m in self.milestones)
        begin = self.milestones[index - 1] if index else 0
        active = self.schedulers[index]
        active.last_epoch = self.last_epoch - begin
        active._set()

    def get_last_lr(self) -> list[float]:
        """The rates now."""
        return [float(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Where the schedule is."""
        return {
            "last_epoch": self.last_epoch,
            "schedulers": [s.state_dict() for s in self.schedulers],
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        for s, state in zip(self.schedulers, state_dict["schedulers"], strict=True):
            s.load_state_dict(state)
        self.last_epoch = int(state_dict["last_epoch"])
        self._set()


class ReduceLROnPlateau:
    """Times `factor` when a metric has not improved for more than `patience` steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ArgumentError(
                "ReduceLROnPlateau takes mode min or max, threshold_mode rel or abs"
            )
        self.optimizer = optimizer
        self.better = _improvement(mode, threshold_mode, threshold)
        self.factor = factor
        self.patience = patience
        self.cooldown = cooldown
        self.min_lr = min_lr
        self.eps = eps
        self.best = math.inf if mode == "min" else -math.inf
        self.bad = 0
        self.rest = 0

    def step(self, metrics: Any) -> None:
        """Take in a new value of the metric."""
        value = float(metrics)
        if self.better(value, self.best):
            self.best = value
            self.bad = 0
        else:
            self.bad += 1
        if self.rest > 0:
            self.rest -= 1
            self.bad = 0
        if self.bad > self.patience:
            for group in self.optimizer.param_groups:
                old = float(group["lr"])
                new = max(old * self.factor, self.min_lr)
                if old - new > self.eps:
                    _put(group, new)
            self.rest = self.cooldown
            self.bad = 0

    def state_dict(self) -> dict[str, Any]:
        """What has been seen."""
        rates = [float(group["lr"]) for group in self.optimizer.param_groups]
        return {"best": self.best, "bad": self.bad, "rest": self.rest, "lrs": rates}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.best = float(state_dict["best"])
        self.bad = int(state_dict["bad"])
        self.rest = int(state_dict["rest"])
        for group, lr in zip(self.optimizer.param_groups, state_dict["lrs"], strict=True):
            _put(group, lr)


def _improvement(mode: str, kind: str, threshold: float) -> Callable[[float, float], bool]:
    if kind == "rel" and mode == "min":
        return lambda value, best: value < best * (1 - threshold)
    if kind == "rel":
        return lambda value, best: value > best * (1 + threshold)
    if mode == "min":
        return lambda value, best: value < best - threshold
    return lambda value, best: value > best + threshold
