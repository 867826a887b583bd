# SPDX-License-Identifier: Apache-2.0
"""L-BFGS against losses and counts that PyTorch 2.13 gives for the same problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara import optim
from samara.pybridge.errors import ArgumentError, ShapeError, UnsupportedError

# Settings, the loss at the start of each of six steps, and PyTorch's func_evals and n_iter.
RECORDED: list[tuple[dict[str, Any], list[float], tuple[int, int]]] = [
    (
        {"line_search_fn": "strong_wolfe", "max_iter": 4, "history_size": 2},
        [14.75, 8.131677056822593, 4.95889351837936, 3.9899823625499766, 3.913881683977456, 3.3202126536575034],
        (31, 19),
    ),
    (
        {"lr": 0.01, "max_iter": 5},
        [14.75, 13.137167262547674, 12.676429711104742, 12.253355132104097, 11.864391734185727, 11.506310746711314],
        (30, 30),
    ),
    (
        {"lr": 0.5, "max_iter": 3, "history_size": 1},
        [14.75, 31.69271733842977, 8.512504884144793, 8.172361990865625, 8.11009066042459, 7.709503306607316],
        (18, 12),
    ),
    (
        {"lr": 1e-3, "max_eval": 7},
        [14.75, 14.561196947045822, 14.487790149479002, 14.414750063009066, 14.34208169790887, 14.269789500052068],
        (42, 36),
    ),
    ({"line_search_fn": "strong_wolfe", "lr": 30.0, "max_iter": 3}, [14.75] * 6, (24, 6)),
]  # fmt: skip


def problem(dtype: Any = np.float64, start: Any = (-1.5, 2.0), **settings: Any) -> Any:
    """Rosenbrock's function of two parameters, and a distance of a third."""
    w = samara.tensor(np.array(start, dtype), requires_grad=True)
    u = samara.tensor(np.array(0.5, dtype), requires_grad=True)
    optimizer = optim.LBFGS([w, u], **settings)

    def closure() -> samara.Tensor:
        optimizer.zero_grad()
        loss = (1 - w[0]) ** 2 + 100 * (w[1] - w[0] * w[0]) ** 2 + (u - w[1]) ** 2
        loss.backward()
        return loss

    return [w, u], optimizer, closure


def test_as_pytorch() -> None:
    for settings, losses, counts in RECORDED:
        (w, _), optimizer, closure = problem(**settings)
        found = [float(optimizer.step(closure)) for _ in losses]
        np.testing.assert_allclose(found, losses, rtol=1e-9, err_msg=str(settings))
        assert (optimizer.state[w]["func_evals"], optimizer.state[w]["n_iter"]) == counts


def test_it_finds_the_minimum_in_float32() -> None:
    params, optimizer, closure = problem(np.float32, line_search_fn="strong_wolfe", max_iter=80)
    seen: list[Any] = []
    optimizer.register_step_post_hook(seen.append)
    with samara.no_grad():
        optimizer.step(closure)
    assert seen == [optimizer]
    assert all(p.dtype == np.float32 for p in params)
    np.testing.assert_allclose(params[0].detach().numpy(), [1, 1], atol=1e-4)
    before = optimizer.state[params[0]]["n_iter"]
    optimizer.param_groups[0]["tolerance_grad"] = 1.0
    optimizer.step(closure)  # the gradient is small: one call of the closure and no iteration
    assert optimizer.state[params[0]]["n_iter"] == before


def test_resuming_is_bit_equal(tmp_path: Path) -> None:
    settings = {"line_search_fn": "strong_wolfe", "max_iter": 3}
    params, optimizer, closure = problem(**settings)
    optimizer.step(closure)
    samara.save({"optimizer": optimizer.state_dict()}, tmp_path / "state.safetensors")
    kept = optimizer.state_dict()
    at = [p.detach().numpy().copy() for p in params]
    for _ in range(3):
        optimizer.step(closure)
    for state in (samara.load(tmp_path / "state.safetensors")["optimizer"], kept):
        again, other, close = problem(start=at[0], **settings, lr=0.3)
        with samara.no_grad():
            again[1].copy_(samara.tensor(at[1]))
        other.load_state_dict(state)
        for _ in range(3):
            other.step(close)
        assert [p.tolist() for p in again] == [p.tolist() for p in params]
    other = optim.LBFGS([samara.ones(5, requires_grad=True)])
    with pytest.raises(ShapeError, match="5 elements"):
        other.load_state_dict({"state": kept["state"], "param_groups": [{"params": [0]}]})


def test_what_is_refused() -> None:
    a, b = samara.ones(2, requires_grad=True), samara.ones(2, requires_grad=True)
    for wrong in ({"line_search_fn": "armijo"}, {"lr": -1.0}, {"history_size": 0}):
        with pytest.raises(ArgumentError):
            optim.LBFGS([a], **wrong)
    with pytest.raises(ArgumentError, match="one group"):
        optim.LBFGS([{"params": [a]}, {"params": [b]}])
    optimizer = optim.LBFGS([a])
    with pytest.raises(ArgumentError, match="several times"):
        optimizer.step()

    def step(x: samara.Tensor) -> samara.Tensor:
        found: samara.Tensor = optimizer.step(lambda: (a * x).sum())
        return found

    with pytest.raises(UnsupportedError, match=r"optim.LBFGS cannot be part of a Program"):
        samara.trace(step, b.detach())
