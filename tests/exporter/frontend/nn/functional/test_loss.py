# SPDX-License-Identifier: Apache-2.0
"""Losses: gradients, float32, PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import parity
from tests.exporter.frontend.parity import functional as f

import samara
from samara.nn import functional as F
from samara.pybridge.errors import SamaraError, ShapeError

CLASSES = np.array([2, 0, 3])
PIXELS = np.array([[0, 2, 1], [2, -100, 0]])
SIGNS = np.array([1, -1, 1])
WEIGHT = np.array([0.5, 2.0, 1.0, 0.25])


SOFT = parity.Fixed(np.array([[0.1, 0.2, 0.3, 0.4], [0, 0.7, 0.3, 0], [0.25, 0.25, 0.1, 0.4]]))
WEIGHTS = parity.Fixed(WEIGHT)

CASES: parity.Cases = {
    "cross_entropy": (lambda m, x, t: f(m).cross_entropy(x, t), (3, 4), CLASSES),
    "cross_entropy_sum": (lambda m, x, t: f(m).cross_entropy(x, t, reduction="sum"), (3, 4), CLASSES),
    "cross_entropy_none": (lambda m, x, t: f(m).cross_entropy(x, t, reduction="none"), (3, 4), CLASSES),
    "cross_entropy_weights": (
        lambda m, x, t, w: f(m).cross_entropy(x, t, weight=w, label_smoothing=0.1), (3, 4), CLASSES, WEIGHTS,
    ),
    "cross_entropy_smooth": (
        lambda m, x, t: f(m).cross_entropy(x, t, label_smoothing=0.2, reduction="none"), (3, 4), CLASSES,
    ),
    "cross_entropy_ignored": (
        lambda m, x, t: f(m).cross_entropy(x, t, ignore_index=0, label_smoothing=0.1), (3, 4), CLASSES,
    ),
    "cross_entropy_pixels": (lambda m, x, t: f(m).cross_entropy(x, t), (2, 4, 3), PIXELS),
    "cross_entropy_pixels_none": (
        lambda m, x, t, w: f(m).cross_entropy(x, t, w, reduction="none"), (2, 4, 3), PIXELS, WEIGHTS,
    ),
    "cross_entropy_one": (lambda m, x, t: f(m).cross_entropy(x, t), (4,), np.array(2)),
    "cross_entropy_soft": (lambda m, x, t: f(m).cross_entropy(x, t), (3, 4), SOFT),
    "cross_entropy_soft_weights": (
        lambda m, x, t, w: f(m).cross_entropy(x, t, w, label_smoothing=0.1), (3, 4), SOFT, WEIGHTS,
    ),
    "nll": (lambda m, x, t: f(m).nll_loss(x.log_softmax(1), t), (3, 4), CLASSES),
    "nll_weights": (lambda m, x, t, w: f(m).nll_loss(x, t, w, ignore_index=3), (3, 4), CLASSES, WEIGHTS),
    "nll_pixels": (lambda m, x, t: f(m).nll_loss(x, t, reduction="none"), (2, 4, 3), PIXELS),
    "mse": (lambda m, x, t: f(m).mse_loss(x, t), (3, 4), (3, 4)),
    "mse_none": (lambda m, x, t: f(m).mse_loss(x, t, reduction="none"), (3, 4), (3, 4)),
    "l1": (lambda m, x, t: f(m).l1_loss(x, t, reduction="sum"), (3, 4), (3, 4)),
    "smooth_l1": (lambda m, x, t: f(m).smooth_l1_loss(x, t, beta=0.7), (3, 4), (3, 4)),
    "smooth_l1_none": (lambda m, x, t: f(m).smooth_l1_loss(x, t, reduction="none"), (3, 4), (3, 4)),
    "huber": (lambda m, x, t: f(m).huber_loss(x, t, delta=0.7), (3, 4), (3, 4)),
    "bce": (lambda m, x, t: f(m).binary_cross_entropy(x.sigmoid(), t), (3, 4), SOFT),
    "bce_weight": (lambda m, x, t, w: f(m).binary_cross_entropy(x.sigmoid(), t, w), (3, 4), SOFT, WEIGHTS),
    "bce_logits": (lambda m, x, t: f(m).binary_cross_entropy_with_logits(x * 5, t), (3, 4), SOFT),
    "bce_logits_weights": (
        lambda m, x, t, w, p: f(m).binary_cross_entropy_with_logits(x, t, w, reduction="sum", pos_weight=p),
        (3, 4), SOFT, WEIGHTS, WEIGHTS,
    ),
    "kl_div": (lambda m, x, t: f(m).kl_div(x.log_softmax(-1), t, reduction="batchmean"), (3, 4), SOFT),
    "kl_div_none": (lambda m, x, t: f(m).kl_div(x.log_softmax(-1), t.softmax(-1), reduction="none"), (3, 4), (3, 4)),
    "kl_div_log": (
        lambda m, x, t: f(m).kl_div(x.log_softmax(-1), t.log_softmax(-1), reduction="sum", log_target=True),
        (3, 4), (3, 4),
    ),
    "cosine_similarity": (lambda m, x, y: f(m).cosine_similarity(x, y), (3, 4), (3, 4)),
    "cosine_similarity_dim": (lambda m, x, y: f(m).cosine_similarity(x, y, dim=-1), (2, 3, 4), (2, 3, 4)),
    "cosine_embedding": (lambda m, x, y, s: f(m).cosine_embedding_loss(x, y, s, 0.1), (3, 4), (3, 4), SIGNS),
    "hinge_embedding": (lambda m, x, s: f(m).hinge_embedding_loss(x, s, 0.8, reduction="none"), (3,), SIGNS),
    "margin_ranking": (lambda m, x, y, s: f(m).margin_ranking_loss(x, y, s, 0.2), (3,), (3,), SIGNS),
    "triplet_margin": (
        lambda m, a, p, n: f(m).triplet_margin_loss(a, p, n, 1.5, reduction="none"), (3, 4), (3, 4), (3, 4),
    ),
    "triplet_margin_swap": (
        lambda m, a, p, n: f(m).triplet_margin_loss(a, p, n, 1.5, swap=True), (3, 4), (3, 4), (3, 4),
    ),
    "poisson_full": (
        lambda m, x, t: f(m).poisson_nll_loss(x, t, full=True, reduction="none"),
        (2, 2), parity.Fixed(np.array([[0.5, 2.0], [7.0, 1.0]])),
    ),
    "poisson": (lambda m, x, t: f(m).poisson_nll_loss(x, t), (3, 4), SOFT),
    "poisson_plain": (lambda m, x, t: f(m).poisson_nll_loss(x.exp(), t, log_input=False), (3, 4), SOFT),
}  # fmt: skip


test_gradients, test_second_gradients, test_float32, test_exported, test_as_pytorch = parity.proofs(
    CASES, *parity.CALLS
)


def test_errors() -> None:
    x = samara.zeros(3, 4)
    with pytest.raises(SamaraError, match="no reduction"):
        F.mse_loss(x, x, reduction="median")
    with pytest.raises(ShapeError, match="classes of shape"):
        F.cross_entropy(x, samara.zeros(4, dtype=samara.int64))
    with pytest.raises(ShapeError, match="a target of shape"):
        F.binary_cross_entropy(x, samara.zeros(3))


def test_extreme_logits_stay_finite() -> None:
    x: Any = samara.tensor([[1000.0, -1000.0]], requires_grad=True)
    loss = F.cross_entropy(x, samara.tensor([1]))
    loss.backward()
    assert loss.item() == 2000
    np.testing.assert_array_equal(x.grad.numpy(), [[1, -1]])
    y: Any = samara.tensor([1000.0, -1000.0], requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(y, samara.tensor([0.0, 1.0]), reduction="sum")
    loss.backward()
    assert loss.item() == 2000
    np.testing.assert_array_equal(y.grad.numpy(), [1, -1])
