# SPDX-License-Identifier: Apache-2.0
"""Averages of models by their formulas, batch statistics, and the schedule that leads to a rate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samara
from samara import nn, optim
from samara.optim import lr_scheduler, swa_utils
from samara.pybridge.errors import ArgumentError


def models(n: int = 4) -> list[nn.Module]:
    """Models of one shape with other numbers each, buffers included."""
    source = np.random.default_rng(0)
    made: list[nn.Module] = []
    for i in range(n):
        norm = nn.BatchNorm1d(3)
        model = nn.Sequential(nn.Linear(2, 3), norm)
        for t in (*model.parameters(), *model.buffers()):
            if t.dtype == np.float32:
                t.detach().copy_(samara.tensor(source.standard_normal(t.shape).astype("f4")))
        norm.num_batches_tracked.fill_(10 * i)
        made.append(model)
    return made


def mean(values: list[Any]) -> Any:
    return np.mean(values, 0)


def moving(decay: float) -> Any:
    def average(values: list[Any]) -> Any:
        found = values[0]
        for v in values[1:]:
            found = found * decay + v * (1 - decay)
        return found

    return average


def test_averages() -> None:
    cases: list[tuple[dict[str, Any], Any]] = [
        ({}, mean),
        ({"avg_fn": swa_utils.get_swa_avg_fn()}, mean),
        ({"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()}, mean),
        ({"avg_fn": swa_utils.get_ema_avg_fn(0.8)}, moving(0.8)),
        ({"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.9)}, moving(0.9)),
        ({"avg_fn": lambda a, c, n: a * 0 + float(n)}, lambda v: np.full_like(v[0], 3)),
    ]
    given = models()
    for settings, expected in cases:
        for use_buffers in (False, True):
            averaged = swa_utils.AveragedModel(given[0], use_buffers=use_buffers, **settings)
            for model in given:
                averaged.update_parameters(model)
            assert int(averaged.n_averaged) == 4
            for name, found in averaged.module.state_dict().items():
                history = [m.state_dict()[name].numpy() for m in given]
                learned = name.endswith(("weight", "bias"))
                wanted = expected(history) if learned or use_buffers else history[-1]
                if found.dtype == np.float32:
                    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-6)
                elif not use_buffers:
                    assert int(found) == 30
    assert list(averaged.state_dict())[:2] == ["n_averaged", "module.0.weight"]
    x = samara.ones(2, 2)
    assert samara.equal(averaged.eval()(x), averaged.module(x))
    again = swa_utils.AveragedModel(given[0])
    again.load_state_dict(averaged.state_dict())
    assert int(again.n_averaged) == 4


def test_statistics_are_means_over_the_batches() -> None:
    model = nn.Sequential(nn.BatchNorm1d(2), nn.BatchNorm1d(2, momentum=0.3)).eval()
    source = np.random.default_rng(1)
    batches = [source.standard_normal((6, 2)).astype(np.float32) for _ in range(3)]
    swa_utils.update_bn([(samara.tensor(b), None) for b in batches], model, "cpu")
    first = model[0]
    np.testing.assert_allclose(first.running_mean.numpy(), mean([b.mean(0) for b in batches]), 1e-5)
    np.testing.assert_allclose(
        first.running_var.numpy(), mean([b.var(0, ddof=1) for b in batches]), 1e-5
    )
    assert [m.momentum for m in model] == [0.1, 0.3]
    assert not model.training
    swa_utils.update_bn(iter(()), nn.Linear(1, 1))


def test_the_rate_leads_from_another_schedule_to_its_own() -> None:
    def schedule(**settings: Any) -> tuple[Any, Any, Any]:
        optimizer = optim.SGD([samara.ones(1, requires_grad=True)], lr=0.1)
        before = lr_scheduler.ExponentialLR(optimizer, 0.9)
        return optimizer, before, swa_utils.SWALR(optimizer, 0.05, **settings)

    optimizer, before, after = schedule(anneal_epochs=3)
    rates = []
    for i in range(7):
        rates.append(optimizer.param_groups[0]["lr"])
        (before if i < 2 else after).step()
    # As PyTorch 2.13 gives them.
    np.testing.assert_allclose(rates, [0.1, 0.09, 0.081, 0.07325, 0.05775, 0.05, 0.05], rtol=1e-9)
    optimizer, _, after = schedule(anneal_epochs=4, anneal_strategy="linear")
    after.step()
    np.testing.assert_allclose(after.get_last_lr(), [0.0875])
    other, _, again = schedule(anneal_epochs=4, anneal_strategy="linear")
    other.param_groups[0]["lr"] = 7.0
    again.load_state_dict(after.state_dict())
    again.step()
    np.testing.assert_allclose(other.param_groups[0]["lr"], 0.075)
    assert schedule(anneal_epochs=0)[0].param_groups[0]["lr"] == 0.05
    for wrong in ({"anneal_strategy": "step"}, {"anneal_epochs": -1}):
        with pytest.raises(ArgumentError):
            schedule(**wrong)
    with pytest.raises(ArgumentError, match="2 rates for 1"):
        swa_utils.SWALR(optimizer, [0.1, 0.2])


def test_what_is_refused() -> None:
    with pytest.raises(ArgumentError, match="decay"):
        swa_utils.get_ema_multi_avg_fn(1.5)
    average = swa_utils.get_swa_avg_fn()
    with pytest.raises(ArgumentError, match="both"):
        swa_utils.AveragedModel(
            nn.Linear(1, 1), avg_fn=average, multi_avg_fn=swa_utils.get_swa_multi_avg_fn()
        )
