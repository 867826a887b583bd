# SPDX-License-Identifier: Apache-2.0
"""Embedding layers: float32, PyTorch."""

from __future__ import annotations

import numpy as np
from tests.exporter.frontend import parity

import samara

IDS = np.array([[1, 0, 4], [2, 2, 1]])

CASES: parity.Cases = {
    "embedding": (lambda m: m.nn.Embedding(5, 3), IDS),
    "embedding_padding": (lambda m: m.nn.Embedding(5, 3, padding_idx=0), IDS),
    "bag": (lambda m: m.nn.EmbeddingBag(5, 3), IDS),
    "bag_sum": (lambda m: m.nn.EmbeddingBag(5, 3, mode="sum", padding_idx=2), IDS),
    "bag_offsets": (lambda m: m.nn.EmbeddingBag(5, 3, mode="sum"), IDS.reshape(-1), np.array([0, 2])),
}  # fmt: skip


test_float32, test_exported, test_as_pytorch = parity.proofs(CASES, *parity.LAYERS)


def test_the_padding_row_is_zero() -> None:
    weight = samara.nn.Embedding(5, 3, padding_idx=-1).weight.detach().numpy()
    np.testing.assert_array_equal(weight[-1], 0)
    assert weight[:-1].all()


def test_from_pretrained() -> None:
    rows = samara.randn(4, 2)
    layer = samara.nn.Embedding.from_pretrained(rows)
    assert not layer.weight.requires_grad
    np.testing.assert_array_equal(layer(samara.tensor([3, 0])).numpy(), rows.numpy()[[3, 0]])
