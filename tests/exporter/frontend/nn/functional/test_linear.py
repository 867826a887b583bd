# SPDX-License-Identifier: Apache-2.0
"""Linear maps, convolutions, embeddings: gradients, float32, PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import parity
from tests.exporter.frontend.parity import functional as f

import samara
from samara.nn import functional as F
from samara.pybridge.errors import SamaraError, ShapeError, UnsupportedError

IDS = np.array([[1, 0, 4], [2, 2, 1]])

CASES: parity.Cases = {
    "linear": (lambda m, x, w, b: f(m).linear(x, w, b), (3, 4), (5, 4), (5,)),
    "linear_no_bias": (lambda m, x, w: f(m).linear(x, w), (2, 3, 4), (5, 4)),
    "linear_vector": (lambda m, x, w, b: f(m).linear(x, w, b), (4,), (5, 4), (5,)),
    "bilinear": (lambda m, x, y, w, b: f(m).bilinear(x, y, w, b), (2, 3), (2, 4), (5, 3, 4), (5,)),
    "conv1d": (lambda m, x, w, b: f(m).conv1d(x, w, b, 2, 1), (2, 3, 7), (4, 3, 3), (4,)),
    "conv1d_groups": (lambda m, x, w: f(m).conv1d(x, w, groups=2), (2, 4, 6), (4, 2, 3)),
    "conv1d_depthwise": (lambda m, x, w: f(m).conv1d(x, w, groups=4), (2, 4, 6), (4, 1, 3)),
    "conv1d_unbatched": (lambda m, x, w, b: f(m).conv1d(x, w, b), (3, 7), (4, 3, 3), (4,)),
    "conv2d": (lambda m, x, w, b: f(m).conv2d(x, w, b, padding=1), (2, 2, 4, 3), (3, 2, 3, 3), (3,)),
    "conv2d_strided": (
        lambda m, x, w: f(m).conv2d(x, w, stride=(2, 1), padding=(1, 0), dilation=(1, 2)), (1, 2, 5, 6), (3, 2, 3, 2),
    ),
    "conv2d_groups": (lambda m, x, w: f(m).conv2d(x, w, groups=2), (1, 4, 4, 4), (6, 2, 3, 3)),
    "conv2d_depthwise": (
        lambda m, x, w, b: f(m).conv2d(x, w, b, padding=1, groups=3), (1, 3, 4, 4), (3, 1, 3, 3), (3,),
    ),
    "conv2d_1x1": (lambda m, x, w: f(m).conv2d(x, w), (2, 3, 2, 2), (4, 3, 1, 1)),
    "conv2d_same": (lambda m, x, w: f(m).conv2d(x, w, padding="same"), (1, 2, 4, 5), (2, 2, 1, 3)),
    "conv2d_valid": (lambda m, x, w: f(m).conv2d(x, w, padding="valid"), (1, 2, 4, 5), (2, 2, 2, 3)),
    "conv3d": (lambda m, x, w, b: f(m).conv3d(x, w, b, 1, 1), (1, 2, 2, 3, 2), (2, 2, 2, 3, 2), (2,)),
    "conv_transpose1d": (lambda m, x, w, b: f(m).conv_transpose1d(x, w, b, 2, 1, 1), (2, 3, 4), (3, 2, 3), (2,)),
    "conv_transpose2d": (
        lambda m, x, w, b: f(m).conv_transpose2d(x, w, b, 2, 1, (1, 0)), (1, 2, 3, 2), (2, 3, 3, 3), (3,),
    ),
    "conv_transpose2d_groups": (
        lambda m, x, w: f(m).conv_transpose2d(x, w, groups=2, dilation=2), (1, 4, 2, 3), (4, 2, 2, 2),
    ),
    "conv_transpose3d": (lambda m, x, w, b: f(m).conv_transpose3d(x, w, b, 2), (1, 2, 2, 1, 2), (2, 2, 2, 2, 2), (2,)),
    "embedding": (lambda m, w, i: f(m).embedding(i, w), (5, 3), IDS),
    "embedding_padding": (lambda m, w, i: f(m).embedding(i, w, padding_idx=3), (5, 3), IDS),
    "embedding_bag_mean": (lambda m, w, i: f(m).embedding_bag(i, w), (5, 3), IDS),
    "embedding_bag_sum": (
        lambda m, w, i, s: f(m).embedding_bag(i, w, mode="sum", per_sample_weights=s), (5, 3), IDS, (2, 3),
    ),
    "embedding_bag_max": (lambda m, w, i: f(m).embedding_bag(i, w, mode="max"), (5, 3), IDS),
    "embedding_bag_offsets": (
        lambda m, w, i, o: f(m).embedding_bag(i, w, o, mode="mean"), (5, 3), IDS.reshape(-1), np.array([0, 2, 2, 5]),
    ),
    "embedding_bag_offsets_max": (
        lambda m, w, i, o: f(m).embedding_bag(i, w, o, mode="max"), (5, 3), IDS.reshape(-1), np.array([0, 2, 2, 5]),
    ),
    "embedding_bag_padding": (lambda m, w, i: f(m).embedding_bag(i, w, mode="mean", padding_idx=2), (5, 3), IDS),
    "one_hot": (lambda m, i: f(m).one_hot(i, 6), IDS),
    "one_hot_counted": (lambda m, i: f(m).one_hot(i), IDS),
}  # fmt: skip


test_gradients, test_second_gradients, test_float32, test_as_pytorch = parity.proofs(
    CASES, parity.gradients, parity.second_gradients, parity.kernels, parity.against_torch
)


@pytest.mark.parametrize(
    "name", sorted(set(CASES) - {"embedding_bag_offsets_max", "one_hot_counted"})
)
def test_exported(name: str, tmp_path: Path) -> None:
    parity.exported(name, CASES, tmp_path)


def test_the_padding_row_is_not_learned() -> None:
    weight: Any = samara.ones(4, 2, requires_grad=True)
    F.embedding(samara.tensor([[1, 2], [2, 3]]), weight, padding_idx=2).sum().backward()
    np.testing.assert_array_equal(weight.grad.numpy(), [[0, 0], [1, 1], [0, 0], [1, 1]])


def test_errors() -> None:
    x, w = samara.zeros(1, 4, 5), samara.zeros(2, 4, 3)
    with pytest.raises(ShapeError, match="weight of 3"):
        F.conv1d(x, w[0])
    with pytest.raises(UnsupportedError, match="stride 1"):
        F.conv1d(x, w, stride=2, padding="same")
    with pytest.raises(UnsupportedError, match="no padding"):
        F.conv1d(x, w, padding="full")
    with pytest.raises(ShapeError, match="groups"):
        F.conv_transpose1d(x, samara.zeros(4, 2, 3), groups=3)
    with pytest.raises(SamaraError):
        F.conv1d(samara.zeros(1, 3, 5), w)
    with pytest.raises(ShapeError, match="offsets"):
        F.embedding_bag(samara.tensor([1, 2]), w[0])
    with pytest.raises(UnsupportedError, match="no mode"):
        F.embedding_bag(samara.tensor([[1, 2]]), w[0], mode="last")


def test_what_cannot_be_traced_says_so() -> None:
    rows = samara.ones(4, 2)
    ids, offsets = samara.tensor([0, 1, 3]), samara.tensor([0, 2])
    with pytest.raises(UnsupportedError, match="num_classes"):
        samara.trace(lambda x: F.one_hot(x), ids)
    with pytest.raises(UnsupportedError, match="'max' with offsets"):
        samara.trace(lambda i, o: F.embedding_bag(i, rows, o, mode="max"), (ids, offsets))
