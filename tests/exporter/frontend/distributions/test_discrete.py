# SPDX-License-Identifier: Apache-2.0
"""Distributions over classes against their formulas, their gradients, and frequencies of samples."""

from __future__ import annotations

import numpy as np

import samara
from samara.autograd import gradcheck
from samara.distributions import Bernoulli, Categorical

PROBS = np.array([[0.2, 0.3, 0.5], [0.7, 0.0, 0.3]])


def test_bernoulli() -> None:
    p = np.array([0.1, 0.5, 0.999])
    for d in (Bernoulli(samara.tensor(p)), Bernoulli(logits=samara.tensor(np.log(p / (1 - p))))):
        wanted = {
            "one": (d.log_prob(1.0), np.log(p)),
            "zero": (d.log_prob(samara.zeros(2, 3))[1], np.log1p(-p)),
            "entropy": (d.entropy(), -p * np.log(p) - (1 - p) * np.log1p(-p)),
            "mean": (d.mean, p),
            "variance": (d.variance, p * (1 - p)),
        }
        for name, (found, expected) in wanted.items():
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, err_msg=name)
    assert Bernoulli(samara.tensor([0.2, 0.7])).mode.tolist() == [0, 1]
    assert np.isnan(Bernoulli(0.5).mode.item())
    # Probabilities of 0 and 1 are moved by one eps; logits are exact at any size.
    sure = Bernoulli(samara.tensor([0.0, 1.0], requires_grad=True)).log_prob(samara.tensor([0, 1]))
    np.testing.assert_allclose(sure.detach().numpy(), [0, 0], atol=2e-7)
    far = Bernoulli(logits=samara.tensor([25.0, -40.0], dtype=samara.float64))
    np.testing.assert_allclose(far.log_prob(samara.tensor([1.0, 0.0])).numpy(),
                               [-np.exp(-25.0), -np.exp(-40.0)], rtol=1e-9)  # fmt: skip
    leaf = samara.tensor(p, requires_grad=True)
    for name in ("probs", "logits"):
        assert gradcheck(
            lambda x, n=name: (Bernoulli(**{n: x}).log_prob(1.0), Bernoulli(**{n: x}).entropy()),
            (leaf,),
        )


def test_categorical() -> None:
    shifted = samara.tensor(np.log(PROBS + 1e-300)) + 1
    for d in (Categorical(samara.tensor(PROBS * 4)), Categorical(logits=shifted)):
        np.testing.assert_allclose(d.probs.numpy(), PROBS, atol=1e-15)
        found = d.log_prob(samara.tensor([[0, 0], [2, 2], [1, 0]])).numpy()
        wanted = np.log([[0.2, 0.7], [0.5, 0.3], [0.3, 0.7]])
        np.testing.assert_allclose(found, wanted, rtol=1e-9)
        used = np.where(PROBS > 0, PROBS, 1)
        np.testing.assert_allclose(d.entropy().numpy(), -(used * np.log(used)).sum(-1), rtol=1e-9)
        assert d.mode.tolist() == [2, 0]
        assert np.isnan(d.mean.numpy()).all()
        assert np.isnan(d.variance.numpy()).all()
        assert d.enumerate_support().tolist() == [[0, 0], [1, 1], [2, 2]]
        assert d.enumerate_support(expand=False).shape == (3, 1)
        assert d.log_prob(d.enumerate_support()).shape == (3, 2)
    masked = Categorical(logits=samara.tensor([0.0, -float("inf"), 0.0]))
    np.testing.assert_allclose(masked.entropy().item(), np.log(2), rtol=1e-6)
    leaf = samara.tensor(PROBS[:1], requires_grad=True)
    choice = samara.tensor([2])
    for name in ("probs", "logits"):
        assert gradcheck(
            lambda x, n=name: (
                Categorical(**{n: x}).log_prob(choice),
                Categorical(**{n: x}).entropy(),
            ),
            (leaf,),
        )


def test_samples_have_the_frequencies() -> None:
    samara.manual_seed(0)
    drawn = Categorical(samara.tensor(PROBS)).sample((5000, 2)).numpy().reshape(-1, 2)
    found = np.stack([(drawn == c).mean(0) for c in range(3)], -1)
    np.testing.assert_allclose(found, PROBS, atol=0.02)
    assert found[1, 1] == 0
    coins = Bernoulli(samara.tensor([0.0, 0.3, 1.0])).sample((10000,)).numpy()
    np.testing.assert_allclose(coins.mean(0), [0, 0.3, 1], atol=0.02)
    assert set(coins[:, [0, 2]].sum(0)) == {0, 10000}
