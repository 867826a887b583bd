# SPDX-License-Identifier: Apache-2.0
"""Loss layers: float32, PyTorch."""

from __future__ import annotations

import numpy as np
from tests.exporter.frontend import parity

import samara

CLASSES = np.array([2, 0, 3])
SIGNS = np.array([1, -1, 1])
POSITIVE = np.array([[0.1, 0.2, 0.3, 0.4], [0.6, 0.7, 0.3, 0.9], [0.25, 0.25, 0.1, 0.4]])
TARGET = parity.Fixed(POSITIVE[::-1])

CASES: parity.Cases = {
    "cross_entropy": (lambda m: m.nn.CrossEntropyLoss(ignore_index=1, label_smoothing=0.1), (3, 4), CLASSES),
    "nll": (lambda m: m.nn.NLLLoss(reduction="sum"), (3, 4), CLASSES),
    "mse": (lambda m: m.nn.MSELoss(), (3, 4), (3, 4)),
    "l1": (lambda m: m.nn.L1Loss(reduction="none"), (3, 4), (3, 4)),
    "smooth_l1": (lambda m: m.nn.SmoothL1Loss(beta=0.5), (3, 4), (3, 4)),
    "huber": (lambda m: m.nn.HuberLoss(delta=0.5), (3, 4), (3, 4)),
    "bce": (lambda m: m.nn.BCELoss(), POSITIVE, TARGET),
    "bce_logits": (lambda m: m.nn.BCEWithLogitsLoss(reduction="sum"), (3, 4), TARGET),
    "kl_div": (lambda m: m.nn.KLDivLoss(reduction="batchmean"), (3, 4), TARGET),
    "poisson": (lambda m: m.nn.PoissonNLLLoss(), (3, 4), TARGET),
    "hinge": (lambda m: m.nn.HingeEmbeddingLoss(0.5), (3,), SIGNS),
    "cosine": (lambda m: m.nn.CosineEmbeddingLoss(0.2), (3, 4), (3, 4), SIGNS),
    "ranking": (lambda m: m.nn.MarginRankingLoss(0.2), (3,), (3,), SIGNS),
    "triplet": (lambda m: m.nn.TripletMarginLoss(0.7), (3, 4), (3, 4), (3, 4)),
    "similarity": (lambda m: m.nn.CosineSimilarity(), (3, 4), (3, 4)),
}  # fmt: skip


test_float32, test_exported, test_as_pytorch = parity.proofs(CASES, *parity.LAYERS)


def test_weights_are_buffers() -> None:
    weight = samara.tensor([1.0, 2.0, 0.5, 1.0])
    loss = samara.nn.CrossEntropyLoss(weight)
    assert list(loss.state_dict()) == ["weight"]
    x, t = samara.randn(3, 4), samara.from_numpy(CLASSES)
    expected = samara.nn.functional.cross_entropy(x, t, weight)
    np.testing.assert_array_equal(loss(x, t).numpy(), expected.numpy())
    assert list(samara.nn.BCEWithLogitsLoss(pos_weight=weight).state_dict()) == ["pos_weight"]
