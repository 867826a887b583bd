# SPDX-License-Identifier: Apache-2.0
"""Rotary positions, grouped-query attention and gated layers, beside their formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import samara
from samara import nn
from samara.nn import functional as F
from samara.pybridge.errors import ArgumentError, ShapeError, UnsupportedError

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}


def test_pairs_turn_by_their_position() -> None:
    x = np.random.default_rng(0).standard_normal((2, 5, 3, 8)).astype(np.float32)
    rotary = nn.RotaryEmbedding(8, base=100.0)
    got = rotary(samara.tensor(x)).numpy()
    angles = np.arange(5)[:, None, None] * 100.0 ** (-np.arange(4) / 4)
    turned = (x[..., :4] + 1j * x[..., 4:]) * np.exp(1j * angles)
    np.testing.assert_allclose(got, np.concatenate([turned.real, turned.imag], -1), 1e-5, 1e-5)
    later = rotary(samara.tensor(x), samara.arange(5) + 3).numpy()
    turned = turned * np.exp(3j * angles[1])
    np.testing.assert_allclose(later[..., :4], turned.real, 1e-5, 1e-5)


def test_scalings() -> None:
    plain = nn.RotaryEmbedding(16).frequencies
    half = nn.RotaryEmbedding(16, scaling={"type": "linear", "factor": 2.0}).frequencies
    np.testing.assert_allclose(half, plain / 2, 1e-6)
    found = nn.RotaryEmbedding(16, scaling=LLAMA3).frequencies
    for frequency, got in zip(plain, found, strict=True):  # the formula of Llama 3.1
        length = 2 * math.pi / frequency
        if length > 64 / 1.0:
            want = frequency / 8
        elif length < 64 / 4.0:
            want = frequency
        else:
            smooth = (64 / length - 1.0) / (4.0 - 1.0)
            want = (1 - smooth) * frequency / 8 + smooth * frequency
        assert got == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize(
    ("error", "text", "scaling"),
    [
        (UnsupportedError, "rope_type 'yarn'", {"rope_type": "yarn"}),
        (ArgumentError, "factor = None", {"rope_type": "linear"}),
        (ArgumentError, "factor = -1", {"rope_type": "linear", "factor": -1}),
        (ArgumentError, "is not below", {**LLAMA3, "low_freq_factor": 4.0}),
        (ArgumentError, "original_max_pos", {k: v for k, v in LLAMA3.items() if "orig" not in k}),
    ],
)
def test_scalings_that_are_refused(
    error: type[Exception], text: str, scaling: dict[str, Any]
) -> None:
    with pytest.raises(error, match=text):
        nn.RotaryEmbedding(8, scaling=scaling)


def _attended(net: Any, x: Any) -> Any:
    """The attention of a net, with repeated keys and a mask."""
    rows = x.shape[1]
    q, k, v = (
        made(x).unflatten(-1, (-1, net.head_dim)) for made in (net.q_proj, net.k_proj, net.v_proj)
    )
    if net.normed:
        q, k = net.q_norm(q), net.k_norm(k)
    if net.rotary is not None:
        q, k = net.rotary(q), net.rotary(k)
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    apart = np.arange(rows)[:, None] - np.arange(rows)
    seen = (apart >= 0) & (apart < (net.window or rows))
    y = F.scaled_dot_product_attention(q, k, v, samara.tensor(seen), enable_gqa=True)
    return net.o_proj(y.transpose(1, 2).flatten(2))


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("plain", [True, False])
def test_grouped_query_attention(plain: bool, window: int | None) -> None:
    samara.manual_seed(1)
    rotary = None if plain else nn.RotaryEmbedding(6)
    net = nn.GroupedQueryAttention(
        20, 4, 2, 6, bias=not plain, rotary=rotary, norm_eps=None if plain else 1e-6, window=window
    )
    x = samara.randn(2, 9, 20, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    got, want = net(x), _attended(net, y)
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), 0, 1e-5)
    got.square().sum().backward()
    grads = [p.grad.numpy().copy() for p in net.parameters() if p.grad is not None]
    assert len(grads) == len(list(net.parameters()))
    net.zero_grad()
    want.square().sum().backward()
    assert x.grad is not None
    assert y.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), 1e-4, 1e-4)
    for grad, p in zip(grads, net.parameters(), strict=True):
        assert p.grad is not None
        np.testing.assert_allclose(grad, p.grad.numpy(), 1e-4, 1e-3)


def test_gated_layer() -> None:
    net = nn.SwiGLU(4, 6)
    x = samara.randn(3, 4)
    gate, up = net.gate_proj(x), net.up_proj(x)
    want = net.down_proj(gate * samara.sigmoid(gate) * up)
    np.testing.assert_allclose(net(x).detach().numpy(), want.detach().numpy(), 1e-5, 1e-6)


def test_sizes_that_do_not_fit() -> None:
    with pytest.raises(ShapeError, match="cannot be cut into pairs"):
        nn.RotaryEmbedding(7)
    with pytest.raises(ShapeError, match="do not share 3 heads"):
        nn.GroupedQueryAttention(16, 4, 3)
    with pytest.raises(ShapeError, match="cannot be cut into 3 heads"):
        nn.GroupedQueryAttention(16, 3)
    with pytest.raises(ShapeError, match="a window of 0 keys"):
        nn.GroupedQueryAttention(16, 4, window=0)
