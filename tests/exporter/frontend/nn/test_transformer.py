# SPDX-License-Identifier: Apache-2.0
"""Transformer layers: float32, PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.frontend import parity

import samara
from samara.pybridge.errors import UnsupportedError

CASES: parity.Cases = {
    "encoder_layer": (lambda m: m.nn.TransformerEncoderLayer(6, 2, 8, 0.0), (3, 2, 6)),
    "encoder_layer_first": (
        lambda m: m.nn.TransformerEncoderLayer(6, 2, 8, 0.0, "gelu", norm_first=True, batch_first=True), (2, 3, 6),
    ),
    "encoder_layer_mask": (
        lambda m: m.nn.TransformerEncoderLayer(6, 2, 8, 0.0, bias=False), (3, 2, 6), parity.Fixed((3, 3)),
    ),
    "decoder_layer": (lambda m: m.nn.TransformerDecoderLayer(6, 2, 8, 0.0), (3, 2, 6), (4, 2, 6)),
    "decoder_layer_first": (
        lambda m: m.nn.TransformerDecoderLayer(6, 2, 8, 0.0, norm_first=True), (3, 2, 6), (4, 2, 6),
    ),
    "transformer": (lambda m: m.nn.Transformer(6, 2, 2, 1, 8, 0.0), (3, 2, 6), (4, 2, 6)),
    "encoder": (
        lambda m: m.nn.TransformerEncoder(m.nn.TransformerEncoderLayer(6, 2, 8, 0.0), 2, m.nn.LayerNorm(6)), (3, 2, 6),
    ),
    "decoder": (lambda m: m.nn.TransformerDecoder(m.nn.TransformerDecoderLayer(6, 2, 8, 0.0), 2), (3, 2, 6), (4, 2, 6)),
}  # fmt: skip


test_float32, test_exported, test_as_pytorch = parity.proofs(CASES, *parity.LAYERS)


def test_layers_are_copies() -> None:
    encoder = samara.nn.TransformerEncoder(samara.nn.TransformerEncoderLayer(6, 2, 8), 2)
    first, second = encoder.layers
    np.testing.assert_array_equal(
        first.linear1.weight.detach().numpy(), second.linear1.weight.detach().numpy()
    )
    assert first.linear1.weight is not second.linear1.weight


def test_the_mask_hides_what_comes_later() -> None:
    samara.manual_seed(0)
    mask = samara.nn.Transformer.generate_square_subsequent_mask(4)
    layer = samara.nn.TransformerEncoderLayer(6, 2, 8, batch_first=True).eval()
    x = samara.randn(1, 4, 6)
    before = layer(x, mask).detach().numpy()
    changed = x.clone()
    changed[0, 3] = 9.0
    after = layer(changed, mask).detach().numpy()
    np.testing.assert_array_equal(before[0, :3], after[0, :3])
    assert (before[0, 3] != after[0, 3]).any()


def test_a_trace_gives_what_eager_gives() -> None:
    samara.manual_seed(0)
    layer = samara.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    x = samara.randn(2, 5, 8)
    program = samara.trace(layer, x, dynamic={"src": {0: "batch", 1: "length"}})
    other = samara.randn(3, 4, 8)
    (found,) = program.run({"src": other.numpy()}).values()
    np.testing.assert_allclose(found, layer(other).detach().numpy(), atol=1e-5)


def test_an_unknown_activation_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="activation"):
        samara.nn.TransformerEncoderLayer(6, 2, activation="tanh")
