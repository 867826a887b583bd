# SPDX-License-Identifier: Apache-2.0
"""Distances and losses of margins, against numbers worked out by hand, and gumbel_softmax."""

from __future__ import annotations

import math

import numpy as np
import pytest

import samara
from samara.nn import functional as F
from samara.pybridge.errors import SamaraError

A = samara.tensor([[0.0, 0.0]])
P = samara.tensor([[0.0, 1.0]])
N = samara.tensor([[0.0, 1.5]])


def test_distances_and_triplets() -> None:
    assert abs(F.pairwise_distance(A, P, eps=0.0).item() - 1) < 1e-6
    assert abs(F.triplet_margin_loss(A, P, N).item() - 0.5) < 1e-5
    assert abs(F.triplet_margin_loss(A, P, N, swap=True).item() - 1.5) < 1e-5
    loss = F.triplet_margin_with_distance_loss(
        A, P, N, distance_function=lambda a, b: (a - b).abs().sum(-1), margin=0.25
    )
    assert loss.item() == 0


def test_margins() -> None:
    x = samara.tensor([[1.0, 2.0, 0.0]])
    assert abs(F.multi_margin_loss(x, samara.tensor([0])).item() - 2 / 3) < 1e-6
    soft = F.soft_margin_loss(samara.tensor([1.0]), samara.tensor([-1.0]))
    assert abs(soft.item() - math.log(1 + math.e)) < 1e-6
    both = F.multilabel_soft_margin_loss(samara.zeros(1, 2), samara.tensor([[0.0, 1.0]]))
    assert abs(both.item() - math.log(2)) < 1e-6


def test_gaussian_nll() -> None:
    x, t = samara.tensor([1.0]), samara.tensor([3.0])
    assert (
        abs(F.gaussian_nll_loss(x, t, samara.tensor([2.0])).item() - (math.log(2) + 2) / 2) < 1e-6
    )
    full = F.gaussian_nll_loss(x, t, samara.tensor([1.0]), full=True).item()
    assert abs(full - 2 - math.log(2 * math.pi) / 2) < 1e-6


def test_gumbel_softmax() -> None:
    samara.manual_seed(0)
    logits = samara.log(samara.tensor([0.1, 0.2, 0.7])).expand(20000, 3)
    hard = F.gumbel_softmax(logits, hard=True)
    np.testing.assert_allclose(hard.mean(0).numpy(), [0.1, 0.2, 0.7], atol=0.015)
    w = samara.zeros(4, 3).requires_grad_()
    (F.gumbel_softmax(w, 0.5, hard=True) * samara.arange(3.0)).sum().backward()
    assert w.grad is not None
    assert bool((w.grad != 0).any())
    with pytest.raises(SamaraError, match="random"):
        samara.trace(F.gumbel_softmax, samara.zeros(2, 3))
