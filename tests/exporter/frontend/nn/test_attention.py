# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention: float32, masks, PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import parity

import samara
from samara.pybridge.errors import ShapeError, UnsupportedError

MASK = ~np.tri(3, 5, 1, dtype=bool)
PADDING = np.array([[False, False, True, True, True], [False, False, False, False, True]])


def _made(call: Callable[..., Any]) -> Callable[[Any], Any]:
    """MultiheadAttention(6, 2) whose forward is call(plain forward, *inputs)."""

    def make(m: Any) -> Any:
        class Layer(m.nn.MultiheadAttention):  # type: ignore[misc]
            def forward(self, *inputs: Any) -> Any:
                return call(super().forward, *inputs)

        return Layer(6, 2)

    return make


def with_settings(**settings: Any) -> Callable[[Any], Any]:
    return _made(lambda forward, q, k, v: forward(q, k, v, **settings))


def with_mask(weights: bool) -> Callable[[Any], Any]:
    return _made(lambda forward, q, k, v, a: forward(q, k, v, attn_mask=a, need_weights=weights))


def with_padding(weights: bool) -> Callable[[Any], Any]:
    return _made(
        lambda forward, q, k, v, p: forward(q, k, v, key_padding_mask=p, need_weights=weights)
    )


with_self = _made(lambda forward, x: forward(x, x, x, need_weights=False))

CASES: parity.Cases = {
    "weights": (lambda m: m.nn.MultiheadAttention(6, 2), (3, 2, 6), (5, 2, 6), (5, 2, 6)),
    "batch_first": (
        lambda m: m.nn.MultiheadAttention(6, 3, batch_first=True, bias=False), (2, 3, 6), (2, 5, 6), (2, 5, 6),
    ),
    "other_sizes": (lambda m: m.nn.MultiheadAttention(6, 2, kdim=4, vdim=5), (3, 2, 6), (5, 2, 4), (5, 2, 5)),
    "unbatched": (lambda m: m.nn.MultiheadAttention(6, 2), (3, 6), (5, 6), (5, 6)),
    "fast": (with_settings(need_weights=False), (3, 2, 6), (5, 2, 6), (5, 2, 6)),
    "per_head": (with_settings(average_attn_weights=False), (3, 2, 6), (5, 2, 6), (5, 2, 6)),
    "mask": (with_mask(True), (3, 2, 6), (5, 2, 6), (5, 2, 6), MASK),
    "mask_fast": (with_mask(False), (3, 2, 6), (5, 2, 6), (5, 2, 6), MASK),
    "float_mask": (with_mask(False), (3, 2, 6), (5, 2, 6), (5, 2, 6), (3, 5)),
    "head_mask": (with_mask(True), (3, 2, 6), (5, 2, 6), (5, 2, 6), (4, 3, 5)),
    "padding": (with_padding(True), (3, 2, 6), (5, 2, 6), (5, 2, 6), PADDING),
    "padding_fast": (with_padding(False), (3, 2, 6), (5, 2, 6), (5, 2, 6), PADDING),
    "self": (with_self, (3, 2, 6)),
}  # fmt: skip


test_float32, test_exported, test_as_pytorch = parity.proofs(CASES, *parity.LAYERS)


def test_dropout_acts_in_training_only() -> None:
    samara.manual_seed(0)
    layer = samara.nn.MultiheadAttention(6, 2, dropout=0.5)
    x = samara.randn(4, 2, 6)
    a, b = (layer(x, x, x)[0].detach().numpy() for _ in range(2))
    assert (a != b).any()
    layer.eval()
    slow, fast = layer(x, x, x)[0], layer(x, x, x, need_weights=False)[0]
    np.testing.assert_allclose(slow.detach().numpy(), fast.detach().numpy(), atol=1e-6)


def test_errors() -> None:
    with pytest.raises(ShapeError, match="heads"):
        samara.nn.MultiheadAttention(6, 4)
    with pytest.raises(UnsupportedError, match="add_bias_kv"):
        samara.nn.MultiheadAttention(6, 2, add_bias_kv=True)
    layer = samara.nn.MultiheadAttention(6, 2)
    with pytest.raises(ShapeError, match="3 dimensions"):
        layer(samara.zeros(6), samara.zeros(2, 6), samara.zeros(2, 6))
