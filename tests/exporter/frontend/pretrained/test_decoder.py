# SPDX-License-Identifier: Apache-2.0
"""Decoders by their settings alone: which layers have windows, positions and biases."""

from __future__ import annotations

from typing import Any

import pytest

import samara
from samara.exporter.frontend.pretrained import CausalLM
from samara.pybridge.errors import ModelFormatError

SIZES = {"vocab_size": 20, "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 3}


def net(kind: str, **more: Any) -> Any:
    return CausalLM.of({"model_type": kind, **SIZES, "num_attention_heads": 2, **more})


@pytest.mark.parametrize(
    ("kind", "more", "windows"),
    [
        ("llama", {"sliding_window": 4}, [None] * 3),
        ("mistral", {"sliding_window": 4}, [4] * 3),
        ("mistral", {"sliding_window": None}, [None] * 3),
        ("qwen2", {"sliding_window": 4, "use_sliding_window": False}, [None] * 3),
        (
            "qwen2",
            {"sliding_window": 4, "use_sliding_window": True, "max_window_layers": 2},
            [None, None, 4],
        ),
        (
            "qwen3",
            {"sliding_window": 4, "layer_types": ["sliding_attention"] + ["full_attention"] * 2},
            [4, None, None],
        ),
    ],
)
def test_windows(kind: str, more: dict[str, Any], windows: list[int | None]) -> None:
    assert [layer.self_attn.window for layer in net(kind, **more).model.layers] == windows


def test_biases() -> None:
    def names(made: Any) -> list[bool]:
        attention = made.model.layers[0].self_attn
        return [getattr(attention, f"{n}_proj").bias is not None for n in "qkvo"]

    assert names(net("llama")) == [False] * 4
    assert names(net("llama", attention_bias=True)) == [True] * 4
    assert names(net("qwen2")) == [True, True, True, False]
    assert names(net("qwen3", attention_bias=True)) == [True] * 4


def test_layers_without_positions() -> None:
    made = net("smollm3", no_rope_layers=[1, 0, 1])
    assert [layer.self_attn.rotary is not None for layer in made.model.layers] == [
        True,
        False,
        True,
    ]
    ids = samara.tensor([[3, 4, 5]])
    assert made(ids).shape == (1, 3, 20)
    assert net("smollm3", no_rope_layers=[0, 0, 0])(ids).shape == (1, 3, 20)


def test_settings_that_do_not_fit() -> None:
    with pytest.raises(ModelFormatError, match="hidden_size 8 is no multiple of 3"):
        net("llama", num_attention_heads=3)
    with pytest.raises(ModelFormatError, match="num_attention_heads 2 is no multiple"):
        net("llama", num_key_value_heads=4)
