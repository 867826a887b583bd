# SPDX-License-Identifier: Apache-2.0
"""Fifty steps of every schedule against its formula and PyTorch, and resuming in the middle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import samara
from samara import optim
from samara.optim import lr_scheduler
from samara.pybridge.errors import SamaraError

STEPS = 50
# name -> (what makes it from a module of schedulers and an optimizer, rate at t for base 0.5)
SCHEDULES: dict[str, tuple[Any, Any]] = {
    "step": (lambda m, o: m.StepLR(o, 7, 0.5), lambda t: 0.5 * 0.5 ** (t // 7)),
    "multi_step": (
        lambda m, o: m.MultiStepLR(o, [30, 5, 5, 12], 0.3), lambda t: 0.5 * 0.3 ** sum(x <= t for x in (5, 5, 12, 30)),
    ),
    "exponential": (lambda m, o: m.ExponentialLR(o, 0.9), lambda t: 0.5 * 0.9**t),
    "constant": (lambda m, o: m.ConstantLR(o, 0.25, 6), lambda t: 0.5 * (0.25 if t < 6 else 1.0)),
    "linear": (lambda m, o: m.LinearLR(o, 0.1, 0.8, 20), lambda t: 0.5 * (0.1 + 0.7 * min(t, 20) / 20)),
    "polynomial": (lambda m, o: m.PolynomialLR(o, 30, 2.0), lambda t: 0.5 * (1 - min(t, 30) / 30) ** 2),
    "cosine": (
        lambda m, o: m.CosineAnnealingLR(o, 20, 0.01), lambda t: 0.01 + 0.49 * (1 + math.cos(math.pi * t / 20)) / 2,
    ),
    "restarts": (
        lambda m, o: m.CosineAnnealingWarmRestarts(o, 5, 2, 0.02),
        lambda t: 0.02 + 0.48 * (1 + math.cos(math.pi * _since(t) / _length(t))) / 2,
    ),
    "lambda": (lambda m, o: m.LambdaLR(o, lambda t: 1 / (t + 1)), lambda t: 0.5 / (t + 1)),
    "one_cycle": (lambda m, o: m.OneCycleLR(o, 2.0, total_steps=60, div_factor=10, final_div_factor=100), None),
    "one_cycle_linear": (
        lambda m, o: m.OneCycleLR(o, 2.0, epochs=6, steps_per_epoch=10, pct_start=0.4, anneal_strategy="linear"), None,
    ),
    "sequential": (
        lambda m, o: m.SequentialLR(
            o, [m.LinearLR(o, 0.1, 1.0, 5), m.CosineAnnealingLR(o, 30), m.ExponentialLR(o, 0.9)],
            [5, 35],
        ),
        None,
    ),
}  # fmt: skip


def _length(t: int) -> int:
    return 5 if t < 5 else 10 if t < 15 else 20 if t < 35 else 40


def _since(t: int) -> int:
    return t - (0 if t < 5 else 5 if t < 15 else 15 if t < 35 else 35)


def made(name: str, momentum: float = 0.9) -> tuple[Any, Any]:
    optimizer = optim.SGD([samara.ones(2, requires_grad=True)], lr=0.5, momentum=momentum)
    return optimizer, SCHEDULES[name][0](lr_scheduler, optimizer)


def walk(optimizer: Any, scheduler: Any, steps: int) -> list[tuple[float, float]]:
    found = []
    for _ in range(steps):
        group = optimizer.param_groups[0]
        found.append((float(group["lr"]), float(group["momentum"])))
        assert scheduler.get_last_lr() == [group["lr"]]
        optimizer.step()
        scheduler.step()
    return found


@pytest.mark.parametrize("name", [n for n, (_, formula) in SCHEDULES.items() if formula])
def test_formulas(name: str) -> None:
    formula = SCHEDULES[name][1]
    found = [rate for rate, _ in walk(*made(name), STEPS)]
    np.testing.assert_allclose(found, [formula(t) for t in range(STEPS)], rtol=1e-12)


@pytest.mark.parametrize("name", SCHEDULES)
def test_as_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is compared with where it is installed")
    import warnings

    found = walk(*made(name), STEPS)
    optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.5, momentum=0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own SequentialLR uses what it deprecated
        scheduler = SCHEDULES[name][0](torch.optim.lr_scheduler, optimizer)
        expected = []
        for _ in range(STEPS):
            group = optimizer.param_groups[0]
            expected.append((group["lr"], group["momentum"]))
            optimizer.step()
            scheduler.step()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", SCHEDULES)
def test_resuming(name: str) -> None:
    optimizer, scheduler = made(name)
    walk(optimizer, scheduler, 17)
    saved = (optimizer.state_dict(), scheduler.state_dict())
    rest = walk(optimizer, scheduler, 20)
    other, again = made(name)
    other.load_state_dict(saved[0])
    again.load_state_dict(saved[1])
    assert walk(other, again, 20) == rest


@pytest.mark.parametrize("strategy", ["cos", "linear"])
def test_one_cycle_turns_the_momentum_the_other_way(strategy: str) -> None:
    optimizer = optim.AdamW([samara.ones(2, requires_grad=True)], lr=0.5)
    scheduler = lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=20, anneal_strategy=strategy)
    rates, betas = [], []
    for _ in range(20):
        rates.append(optimizer.param_groups[0]["lr"])
        betas.append(optimizer.param_groups[0]["betas"][0])
        if len(rates) < 20:
            scheduler.step()
    assert rates.index(max(rates)) == betas.index(min(betas)) == 5
    np.testing.assert_allclose((max(rates), rates[0], rates[-1]), (1.0, 0.04, 4e-6), rtol=1e-9)
    np.testing.assert_allclose((betas[0], min(betas), betas[-1]), (0.95, 0.85, 0.95))
    assert optimizer.param_groups[0]["betas"][1] == 0.999
    scheduler.step()  # PyTorch allows as many
    with pytest.raises(SamaraError, match="20 steps"):
        scheduler.step()


def test_one_cycle_leaves_the_momentum_alone_when_told() -> None:
    optimizer = optim.SGD([samara.ones(2, requires_grad=True)], lr=0.5, momentum=0.7)
    lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=9, cycle_momentum=False).step()
    assert optimizer.param_groups[0]["momentum"] == 0.7
    for wrong in ({}, {"total_steps": 5, "anneal_strategy": "odd"}):
        with pytest.raises(SamaraError):
            lr_scheduler.OneCycleLR(optimizer, 1.0, **wrong)  # type: ignore[arg-type]


def test_warm_up() -> None:
    optimizer = optim.SGD([samara.ones(2, requires_grad=True)], lr=0.5)
    scheduler = lr_scheduler.WarmupLR(optimizer, 4)
    found = []
    for _ in range(7):
        found.append(optimizer.param_groups[0]["lr"])
        scheduler.step()
    np.testing.assert_allclose(found, [0.125, 0.25, 0.375, 0.5, 0.5, 0.5, 0.5])


def test_every_group_has_its_base() -> None:
    a, b = samara.ones(2, requires_grad=True), samara.ones(2, requires_grad=True)
    optimizer = optim.SGD([{"params": [a], "lr": 1.0}, {"params": [b]}], lr=0.1)
    scheduler = lr_scheduler.LambdaLR(optimizer, [lambda t: t + 1, lambda t: 10 * (t + 1)])
    scheduler.step()
    assert scheduler.get_last_lr() == [2, 2]
    cycle = lr_scheduler.OneCycleLR(optimizer, [1.0, 4.0], total_steps=10)
    np.testing.assert_allclose(cycle.get_last_lr(), [0.04, 0.16])


@pytest.mark.parametrize("name", ["cosine", "sequential", "step"])
def test_a_rate_that_is_a_tensor_keeps_its_place(name: str) -> None:
    lr = samara.tensor(0.5)
    optimizer = optim.SGD([samara.ones(2, requires_grad=True)], lr=lr)
    scheduler = SCHEDULES[name][0](lr_scheduler, optimizer)
    found = []
    for _ in range(STEPS):
        assert optimizer.param_groups[0]["lr"] is lr
        found.append(float(lr))
        scheduler.step()
    expected = [rate for rate, _ in walk(*made(name), STEPS)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


METRICS = [1.0, 0.9, 0.95, 0.94, 0.93, 0.92, 0.5, 0.51, 0.52, 0.53, 0.5, 0.49, 0.5, 0.5, 0.5, 0.5,
           0.5, 0.5, 0.5, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4]  # fmt: skip
PLATEAUS: list[dict[str, Any]] = [
    {"patience": 2},
    {"patience": 1, "cooldown": 2, "factor": 0.5},
    {"mode": "max", "patience": 3, "min_lr": 0.01},
    {"threshold": 0.05, "threshold_mode": "abs", "patience": 1},
    {"mode": "max", "threshold": 0.1, "patience": 0, "eps": 1e-3},
]


@pytest.mark.parametrize("settings", PLATEAUS)
def test_plateaus_as_pytorch(settings: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is compared with where it is installed")
    own = optim.SGD([samara.ones(2, requires_grad=True)], lr=0.5)
    other = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.5)
    a = lr_scheduler.ReduceLROnPlateau(own, **settings)
    b = torch.optim.lr_scheduler.ReduceLROnPlateau(other, **settings)
    for value in METRICS:
        a.step(samara.tensor(value))
        b.step(value)
        np.testing.assert_allclose(own.param_groups[0]["lr"], other.param_groups[0]["lr"])


def test_plateaus() -> None:
    def plateau() -> tuple[Any, Any]:
        optimizer = optim.SGD([samara.ones(2, requires_grad=True)], lr=1.0)
        return optimizer, lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=2)

    optimizer, scheduler = plateau()
    rates = []
    for value in (3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0):
        scheduler.step(value)
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.5]
    other, again = plateau()
    again.load_state_dict(scheduler.state_dict())
    assert other.param_groups[0]["lr"] == 0.5
    for value in (1.0, 1.0, 1.0):
        scheduler.step(value)
        again.step(value)
    assert other.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"] == 0.25
    with pytest.raises(SamaraError, match="mode"):
        lr_scheduler.ReduceLROnPlateau(optimizer, mode="odd")


def test_wrong_milestones() -> None:
    optimizer, scheduler = made("step")
    with pytest.raises(SamaraError, match="milestones"):
        lr_scheduler.SequentialLR(optimizer, [scheduler], [1])
