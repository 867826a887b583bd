# SPDX-License-Identifier: Apache-2.0
"""Settings are checked where they are read, and errors name them."""

from __future__ import annotations

from typing import Any

import pytest

import samara
from samara.exporter.frontend.pretrained import CausalLM, TextEncoder
from samara.exporter.frontend.pretrained.config import Config
from samara.pybridge.errors import ModelFormatError, UnsupportedError


def test_values_and_defaults() -> None:
    config = Config({"a": 3, "b": None, "c": 1e-6, "d": True, "e": {"x": 1}, "f": [1, 2]}, "here")
    assert config.count("a") == 3
    assert config.count("b", 7) == config.count("absent", 7) == 7
    assert config.number("c", 1.0) == 1e-6
    assert config.number("b", 1.5) == 1.5
    assert config.flag("d")
    assert not config.flag("absent")
    assert config.table("e") == {"x": 1}
    assert config.table("b") == config.table("absent") == {}
    assert config.index("a", 0) == 3
    assert config.index("b", 0) == config.index("absent", 0) == 0
    assert config.inside("e").count("x") == 1
    with pytest.raises(ModelFormatError, match="here: e: x is 1, expected true or false"):
        config.inside("e").flag("x")
    with pytest.raises(ModelFormatError, match="c is 1e-06, expected an integer of at least 0"):
        config.index("c", 0)
    assert config.entries("f", 2) == [1, 2]
    assert config.entries("b", 2) is None
    config.only("a", 3, 4)
    config.only("b", 3)


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2", None, [], 1 << 40])
def test_counts(value: object) -> None:
    with pytest.raises(ModelFormatError, match=r"here: a is .*, expected a positive integer"):
        Config({"a": value}, "here").count("a")


@pytest.mark.parametrize("value", [0, -1.0, True, "2", float("inf"), float("nan")])
def test_numbers(value: object) -> None:
    with pytest.raises(ModelFormatError, match="expected a positive number"):
        Config({"a": value}, "here").number("a", 1.0)


def test_other_kinds() -> None:
    config = Config({"a": 3}, "here")
    with pytest.raises(ModelFormatError, match="a is 3, expected true or false"):
        config.flag("a")
    with pytest.raises(ModelFormatError, match="a is 3, expected an object"):
        config.table("a")
    with pytest.raises(ModelFormatError, match="a is 3, expected a list of 2 entries"):
        config.entries("a", 2)
    with pytest.raises(ModelFormatError, match="a is 3, expected a text"):
        config.text("a")
    with pytest.raises(UnsupportedError, match="a is 3, and only 4 or 5 is supported"):
        config.only("a", 4, 5)


@pytest.mark.parametrize(("more", "std"), [({}, 0.02), ({"initializer_range": 0.1}, 0.1)])
@pytest.mark.parametrize("kind", ["qwen2", "bert"])
def test_initial_weights(kind: str, more: dict[str, Any], std: float) -> None:
    """Normal matrices, biases of 0, norms that change nothing."""
    sizes = {"vocab_size": 200, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "tie_word_embeddings": True}
    made: type[CausalLM] | type[TextEncoder] = TextEncoder if kind == "bert" else CausalLM
    samara.manual_seed(1)
    config = {"model_type": kind, **sizes, **heads, **more}
    if kind == "bert":
        config["max_position_embeddings"] = 50
    net = made.of(config)
    assert net.config == config
    seen = {"matrix": 0, "bias": 0, "norm": 0}
    for name, tensor in net.state_dict().items():
        values = tensor.numpy()
        if values.ndim > 1:
            seen["matrix"] += 1
            five_sigma = 5 / values.size**0.5
            assert values.std() == pytest.approx(std, rel=five_sigma), name
            assert abs(values.mean()) < five_sigma * std, name
        elif name.endswith("bias"):
            seen["bias"] += 1
            assert not values.any(), name
        else:
            seen["norm"] += 1
            assert (values == 1).all(), name
    assert min(seen.values()) >= 5
