# SPDX-License-Identifier: Apache-2.0
"""Initial values of parameters: their statistics, and PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import samara
from samara.nn import init
from samara.pybridge.errors import SamaraError

SHAPE = (120, 40, 3, 3)

Fill = Callable[[Any, Any], Any]
FILLS: dict[str, Fill] = {
    "uniform": lambda i, t: i.uniform_(t, -1.0, 3.0),
    "normal": lambda i, t: i.normal_(t, 0.5, 2.0),
    "trunc_normal": lambda i, t: i.trunc_normal_(t, 0.0, 1.0, -1.5, 1.0),
    "xavier_uniform": lambda i, t: i.xavier_uniform_(t, 1.5),
    "xavier_normal": lambda i, t: i.xavier_normal_(t),
    "kaiming_uniform": lambda i, t: i.kaiming_uniform_(t, math.sqrt(5)),
    "kaiming_normal": lambda i, t: i.kaiming_normal_(t, nonlinearity="relu"),
    "kaiming_fan_out": lambda i, t: i.kaiming_normal_(t, mode="fan_out", nonlinearity="tanh"),
    "orthogonal": lambda i, t: i.orthogonal_(t, 2.0),
    "constant": lambda i, t: i.constant_(t, 0.25),
    "ones": lambda i, t: i.ones_(t),
    "zeros": lambda i, t: i.zeros_(t),
}


def _moments(array: Any) -> list[float]:
    a = np.asarray(array, np.float64)
    return [a.mean(), a.std(), np.abs(a).mean(), a.min(), a.max()]


@pytest.mark.parametrize("name", FILLS)
def test_statistics_as_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is compared with where it is installed")
    samara.manual_seed(1)
    torch.manual_seed(1)
    found = FILLS[name](init, samara.empty(*SHAPE)).numpy()
    expected = FILLS[name](torch.nn.init, torch.empty(*SHAPE)).numpy()
    spread = float(expected.std())
    mine, theirs = _moments(found), _moments(expected)
    # 43,200 numbers: means agree to 5 standard errors, ends to a part of the spread.
    np.testing.assert_allclose(mine[:3], theirs[:3], atol=5 * spread * 2**0.5 / found.size**0.5)
    unbounded = ("normal", "xavier_normal", "kaiming_normal", "kaiming_fan_out", "orthogonal")
    slack = 1.5 if name in unbounded else 0.01
    np.testing.assert_allclose(mine[3:], theirs[3:], atol=spread * slack)


def test_a_seed_repeats() -> None:
    def draw() -> Any:
        samara.manual_seed(7)
        return init.normal_(samara.empty(9)).numpy()

    np.testing.assert_array_equal(draw(), draw())


def test_bounds_by_the_formulas() -> None:
    samara.manual_seed(0)
    t = samara.empty(*SHAPE)
    fan_in, fan_out = 40 * 9, 120 * 9
    peak = abs(init.xavier_uniform_(t).numpy()).max()
    assert 0.999 < peak / math.sqrt(6 / (fan_in + fan_out)) <= 1
    peak = abs(init.kaiming_uniform_(t, a=math.sqrt(5)).numpy()).max()
    assert 0.999 < peak * math.sqrt(fan_in) <= 1


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (4, 3, 2)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    samara.manual_seed(0)
    a = init.orthogonal_(samara.empty(*shape)).numpy().reshape(shape[0], -1)
    product = a.T @ a if a.shape[0] >= a.shape[1] else a @ a.T
    np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-6)


def test_gains() -> None:
    assert init.calculate_gain("relu") == math.sqrt(2)
    assert init.calculate_gain("tanh") == 5 / 3
    assert init.calculate_gain("leaky_relu", 1.0) == 1
    assert init.calculate_gain("selu") == 0.75
    assert init.calculate_gain("sigmoid") == init.calculate_gain("linear") == 1


def test_eye_and_errors() -> None:
    assert init.eye_(samara.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    with pytest.raises(SamaraError, match="2 dimensions"):
        init.xavier_uniform_(samara.empty(3))


def test_parameters_are_filled_outside_the_tape() -> None:
    p = samara.nn.Parameter(samara.empty(3))
    init.ones_(p)
    assert p.tolist() == [1, 1, 1]
    assert p.is_leaf


def test_layers_that_await_weights_draw_nothing() -> None:
    samara.manual_seed(3)
    want = samara.randn(2)
    samara.manual_seed(3)
    with init.skipped():
        layer = samara.nn.Linear(3, 2)
        samara.nn.Embedding(3, 2)
    assert layer.weight.shape == (2, 3)
    assert samara.randn(2).tolist() == want.tolist()
    assert samara.nn.Linear(3, 2).weight.tolist() != layer.weight.tolist()
