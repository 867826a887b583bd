# SPDX-License-Identifier: Apache-2.0
"""Divergences against sums and integrals of p log(p / q), with their gradients and their edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samara
from samara.autograd import gradcheck
from samara.distributions import Bernoulli, Categorical, Normal, kl_divergence
from samara.pybridge.errors import UnsupportedError


def test_normal_is_the_integral() -> None:
    p, q = Normal(samara.tensor([0.5, -1.0], dtype=samara.float64), 1.5), Normal(1.0, 0.7)
    x = np.linspace(-20, 20, 40001)
    at = samara.tensor(x).unsqueeze(-1)
    log_p, log_q = p.log_prob(at).numpy(), q.log_prob(at).numpy()
    wanted = (np.exp(log_p) * (log_p - log_q)).sum(0) * (x[1] - x[0])
    np.testing.assert_allclose(kl_divergence(p, q).numpy(), wanted, rtol=1e-6)


def test_classes_are_the_sum() -> None:
    a, b = np.array([[0.2, 0.3, 0.5], [0.0, 0.4, 0.6]]), np.array([0.1, 0.6, 0.3])
    used = np.where(a > 0, a, b)
    wanted = (a * np.log(used / b)).sum(-1)
    found = kl_divergence(Categorical(samara.tensor(a)), Categorical(samara.tensor(b)))
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9)
    coins = kl_divergence(Bernoulli(samara.tensor([0.2, 0.9])), Bernoulli(samara.tensor(0.4)))
    sums = [0.2 * np.log(0.5) + 0.8 * np.log(0.8 / 0.6), 0.9 * np.log(2.25) + 0.1 * np.log(1 / 6)]
    np.testing.assert_allclose(coins.numpy(), sums, rtol=1e-5)


def test_certain_events() -> None:
    """0 log(0 / q) is 0 and p log(p / 0) infinite, as PyTorch has it."""
    tensor = samara.tensor
    coins = kl_divergence(
        Bernoulli(tensor([0.0, 1.0, 0.5, 0.5, 0.0, 1.0])),
        Bernoulli(tensor([1.0, 0.0, 0.0, 1.0, 0.0, 1.0])),
    )
    assert coins.tolist()[:4] == [float("inf")] * 4
    np.testing.assert_allclose(coins.numpy()[4:], [0, 0], atol=1e-6)
    half = Categorical(tensor([0.5, 0.5, 0.0]))
    assert kl_divergence(half, Categorical(tensor([1.0, 0.0, 1.0]))).item() == float("inf")
    np.testing.assert_allclose(kl_divergence(half, half).item(), 0, atol=1e-6)


def test_gradients_and_other_pairs() -> None:
    source = np.random.default_rng(0)
    leaves = [samara.tensor(source.random((2, 3)) + 0.5, requires_grad=True) for _ in range(4)]
    kinds: list[Any] = [
        lambda a, b, c, d: (Normal(a, b), Normal(c, d)),
        lambda a, b, *_: (Bernoulli(a / 3), Bernoulli(b / 3)),
        lambda a, b, *_: (Bernoulli(logits=a), Bernoulli(logits=b)),
        lambda a, b, *_: (Categorical(a), Categorical(logits=b)),
    ]
    for i, kind in enumerate(kinds):
        given = leaves if i == 0 else leaves[:2]
        assert gradcheck(lambda *t, k=kind: kl_divergence(*k(*t)), given)
    with pytest.raises(UnsupportedError, match="Normal from Bernoulli"):
        kl_divergence(Normal(0.0, 1.0), Bernoulli(0.5))
