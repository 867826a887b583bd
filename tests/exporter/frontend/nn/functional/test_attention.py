# SPDX-License-Identifier: Apache-2.0
"""Attention: gradients, float32, PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import parity
from tests.exporter.frontend.parity import functional as f

import samara
from samara.nn import functional as F
from samara.pybridge.errors import ShapeError, UnsupportedError

MASK = np.tri(3, 5, 1, dtype=bool)

Q, K, V = (2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 6)


def attend(m: Any, *args: Any, **settings: Any) -> Any:
    return f(m).scaled_dot_product_attention(*args, **settings)


CASES: parity.Cases = {
    "plain": (attend, Q, K, V),
    "scale": (lambda m, q, k, v: attend(m, q, k, v, scale=0.3), Q, K, V),
    "causal": (lambda m, q, k, v: attend(m, q, k, v, is_causal=True), Q, K, V),
    "bool_mask": (lambda m, q, k, v, a: attend(m, q, k, v, a), Q, K, V, MASK),
    "float_mask": (lambda m, q, k, v, a: attend(m, q, k, v, a), Q, K, V, (3, 5)),
    "float_mask_heads": (lambda m, q, k, v, a: attend(m, q, k, v, a), Q, K, V, (2, 1, 3, 5)),
    "grouped": (lambda m, q, k, v: attend(m, q, k, v, enable_gqa=True), (2, 4, 3, 4), (2, 2, 5, 4), (2, 1, 5, 6)),
    "grouped_mask": (
        lambda m, q, k, v, a: attend(m, q, k, v, a, enable_gqa=True), (4, 3, 4), (2, 5, 4), (2, 5, 6), MASK
    ),
    "three_dimensions": (attend, (2, 3, 4), (2, 5, 4), (2, 5, 4)),
    "two_dimensions": (attend, (3, 4), (5, 4), (5, 4)),
}  # fmt: skip


test_gradients, test_float32, test_exported, test_as_pytorch = parity.proofs(
    CASES, parity.gradients, parity.kernels, parity.exported, parity.against_torch
)


def test_dropout_drops_and_keeps_the_mean() -> None:
    samara.manual_seed(0)
    q, k = samara.zeros(1, 400, 8), samara.zeros(1, 300, 8)
    v = samara.ones(1, 300, 1)
    out = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5).numpy()
    assert abs(out.mean() - 1) < 0.01
    assert out.std() > 0.03
    q.requires_grad = True
    F.scaled_dot_product_attention(q, k, v, dropout_p=0.5, is_causal=True).sum().backward()
    assert q.grad is not None


def test_a_second_gradient_is_refused() -> None:
    q, k = samara.randn(1, 3, 4, requires_grad=True), samara.randn(1, 5, 4)
    y = F.scaled_dot_product_attention(q, k, k).sum()
    (g,) = samara.autograd.grad(y, q, create_graph=True)
    assert g is not None
    with pytest.raises(UnsupportedError, match="differentiated again"):
        g.sum().backward()


def test_errors() -> None:
    with pytest.raises(ShapeError, match="must agree"):
        F.scaled_dot_product_attention(samara.zeros(2, 3), samara.zeros(2, 4), samara.zeros(2, 4))
    q, k = samara.zeros(1, 5, 2, 2), samara.zeros(1, 2, 2, 2)
    with pytest.raises(ShapeError, match="5 heads of query are no multiple of the 2 heads of key"):
        F.scaled_dot_product_attention(q, k, k, enable_gqa=True)
    with pytest.raises(ShapeError, match="enable_gqa needs heads"):
        F.scaled_dot_product_attention(q, k[0, 0], k, enable_gqa=True)


def test_grouped_queries_are_repeated_heads() -> None:
    q, k, v = samara.randn(2, 6, 3, 4), samara.randn(2, 2, 5, 4), samara.randn(2, 3, 5, 4)
    found = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    wide = k.repeat_interleave(3, 1), v.repeat_interleave(2, 1)
    expected = F.scaled_dot_product_attention(q, *wide, is_causal=True)
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
