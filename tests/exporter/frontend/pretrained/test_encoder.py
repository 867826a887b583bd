# SPDX-License-Identifier: Apache-2.0
"""Encoders: padding does not matter, a text without tokens is no NaN, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.frontend.pretrained import TextEncoder
from samara.pybridge.errors import ModelFormatError, ShapeError, UnsupportedError

SIZES = {"vocab_size": 20, "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2}


def net(**more: Any) -> TextEncoder:
    samara.manual_seed(0)
    made = TextEncoder.of({"model_type": "bert", **SIZES, "num_attention_heads": 2, **more})
    return made.eval()


def test_padding_does_not_matter() -> None:
    made = net()
    short = made(samara.tensor([[3, 4, 5]])).detach().numpy()
    ids, mask = samara.tensor([[3, 4, 5, 9, 9]]), samara.tensor([[1, 1, 1, 0, 0]])
    np.testing.assert_allclose(made(ids, mask).detach().numpy()[:, :3], short, 0, 1e-6)
    assert not np.allclose(made(ids).detach().numpy()[:, :3], short, 0, 1e-3)
    kinds = samara.tensor([[0, 0, 0]])
    np.testing.assert_array_equal(made(ids[:, :3], None, kinds).detach().numpy(), short)
    nothing = made.embed(ids, samara.zeros(1, 5)).detach().numpy()
    assert np.isfinite(nothing).all()


def test_a_text_that_is_too_long() -> None:
    with pytest.raises(ShapeError, match="a text of 9 tokens, and the model knows 8 positions"):
        net(max_position_embeddings=8)(samara.tensor([[3] * 9]))


def test_settings_that_do_not_fit() -> None:
    with pytest.raises(ModelFormatError, match="hidden_size 8 is no multiple"):
        net(num_attention_heads=3)
    with pytest.raises(UnsupportedError, match="position_embedding_type is"):
        net(position_embedding_type="relative_key")
