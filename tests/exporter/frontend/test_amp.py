# SPDX-License-Identifier: Apache-2.0
"""autocast has no effect, and a GradScaler scales by one unless it is made for the CPU."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import samara
from samara import nn
from samara.amp import GradScaler
from samara.pybridge.errors import SamaraError


def test_autocast_has_no_effect() -> None:
    net, x = nn.Linear(2, 2), samara.ones(1, 2)
    want = net(x).tolist()
    contexts: list[Any] = [
        samara.autocast("cuda"),
        samara.autocast(device_type="cpu", dtype=samara.bfloat16, enabled=True),
        samara.amp.autocast("cuda", samara.float16, cache_enabled=False),
        samara.cuda.amp.autocast(),
        samara.cuda.amp.autocast(enabled=False),
    ]
    for context in contexts:
        with context:
            out = net(x)
        assert out.dtype == samara.float32
        assert out.tolist() == want
        assert context(net) is net
    assert not samara.is_autocast_enabled()
    assert not samara.amp.is_autocast_available("cpu")

    assert samara.amp.custom_fwd(device_type="cuda")(step) is step
    assert samara.amp.custom_fwd(step) is samara.amp.custom_bwd(step) is step


def step(scaler: Any, factor: float = 1.0) -> tuple[float, bool]:
    """The scaled loss, and whether the optimizer stepped."""
    p = nn.Parameter(samara.ones(2))
    optimizer = samara.optim.SGD([p], lr=0.5)
    loss = (p * factor).sum()
    scaled = scaler.scale(loss)
    scaled.backward()
    scaler.step(optimizer)
    scaler.update()
    return scaled.item(), p.tolist() != [1, 1]


@pytest.mark.parametrize(
    "scaler",
    [
        GradScaler(),
        GradScaler("cuda", enabled=True),
        GradScaler("cpu", enabled=False),
        samara.cuda.amp.GradScaler(1024.0),
    ],
    ids=["plain", "cuda", "disabled", "old"],
)
def test_disabled_scalers_scale_by_one(scaler: Any) -> None:
    assert not scaler.is_enabled()
    assert scaler.get_scale() == 1
    assert step(scaler) == (2.0, True)
    assert scaler.state_dict() == {}
    scaler.load_state_dict({})
    p = nn.Parameter(samara.ones(1))
    scaler.unscale_(samara.optim.SGD([p], lr=0.1))
    assert scaler.step(samara.optim.SGD([p], lr=0.1)) is None


def test_an_enabled_scaler() -> None:
    scaler = GradScaler("cpu", init_scale=8.0, growth_interval=2)
    assert step(scaler) == (16.0, True)
    assert scaler.get_scale() == 8
    assert step(scaler) == (16.0, True)
    assert scaler.get_scale() == 16  # after two steps without infinities
    assert step(scaler, math.inf)[1] is False
    assert scaler.get_scale() == 8
    other = GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    assert scaler.scale([samara.ones(1), (samara.ones(1),)])[1][0].item() == 8
    assert [t.item() for t in scaler.scale(iter([samara.ones(1)]))] == [8]
    scaler.update(4.0)
    assert scaler.get_scale() == 4
    assert (scaler.get_growth_factor(), scaler.get_backoff_factor()) == (2, 0.5)
    assert scaler.get_growth_interval() == 2


def test_gradients_are_unscaled_once() -> None:
    scaler = GradScaler("cpu", init_scale=8.0)
    p = nn.Parameter(samara.ones(2))
    optimizer = samara.optim.SGD([p], lr=0.5)
    scaler.scale(p.sum()).backward()
    scaler.unscale_(optimizer)
    assert p.grad is not None
    assert p.grad.tolist() == [1, 1]
    with pytest.raises(SamaraError, match="twice"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(SamaraError, match="twice"):
        scaler.step(optimizer)
    assert np.allclose(p.detach().numpy(), 0.5)


def test_what_a_scaler_cannot_take() -> None:
    with pytest.raises(SamaraError, match="growth_factor"):
        GradScaler("cpu", growth_factor=1.0)
    with pytest.raises(SamaraError, match="takes tensors"):
        GradScaler("cpu").scale(5)
    with pytest.raises(SamaraError, match="disabled"):
        GradScaler("cpu").load_state_dict({})
