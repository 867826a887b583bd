# SPDX-License-Identifier: Apache-2.0
"""Decoders of Llama's form: Llama, Mistral, SmolLM, Qwen 2 and 3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from samara.exporter.frontend import creation
from samara.exporter.frontend.nn.containers import ModuleList
from samara.exporter.frontend.nn.decoder import (
    GroupedQueryAttention,
    KeyValueCache,
    RotaryEmbedding,
    SwiGLU,
)
from samara.exporter.frontend.nn.embeddings import Embedding
from samara.exporter.frontend.nn.layers import Linear
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.nn.norms import RMSNorm
from samara.exporter.frontend.pretrained.config import Config, ConfiguredModule
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ModelFormatError, SamaraError

Angles = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class _Family:
    """What the settings of a `model_type` mean where config.json does not say it."""

    bias: bool | None = None  # of q, k and v; None: as `attention_bias` says
    norms: bool = False  # over each head of q and k
    windowed: bool = True  # whether `sliding_window` holds where nothing else decides


FAMILIES: Final = {
    "llama": _Family(windowed=False),
    "smollm3": _Family(windowed=False),
    "mistral": _Family(bias=False),
    "qwen2": _Family(bias=True),
    "qwen3": _Family(norms=True),
}


class _Layer(Module):
    def __init__(self, config: Config, family: _Family, index: int, base: float) -> None:
        super().__init__()
        width, heads = config.count("hidden_size"), config.count("num_attention_heads")
        kv_heads = config.count("num_key_value_heads", heads)
        if width % heads and config.values.get("head_dim") is None:
            raise ModelFormatError(f"{config.where}: hidden_size {width} is no multiple of {heads}")
        if heads % kv_heads:
            raise ModelFormatError(
                f"{config.where}: num_attention_heads {heads} is no multiple of "
                f"num_key_value_heads {kv_heads}"
            )
        size = config.count("head_dim", max(width // heads, 1))
        eps = config.number("rms_norm_eps", 1e-6)
        attention_bias = config.flag("attention_bias")
        self.self_attn = GroupedQueryAttention(
            width, heads, kv_heads, size,
            bias=attention_bias if family.bias is None else family.bias,
            out_bias=attention_bias and family.bias is None,
            rotary=_rotary(config, size, base) if _is_turned(config, index) else None,
            norm_eps=eps if family.norms else None,
            window=_window(config, family, index),
        )  # fmt: skip
        self.mlp = SwiGLU(width, config.count("intermediate_size"), config.flag("mlp_bias"))
        self.input_layernorm = RMSNorm(width, eps)
        self.post_attention_layernorm = RMSNorm(width, eps)

    def forward(
        self,
        x: Tensor,
        angles: Angles | None,
        cache: KeyValueCache | None = None,
        length: Tensor | None = None,
    ) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), angles, cache, length)
        out: Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return out


def _rotary(config: Config, size: int, base: float) -> RotaryEmbedding:
    scaling = config.table("rope_parameters") or config.table("rope_scaling")
    try:
        return RotaryEmbedding(size, base, scaling)
    except SamaraError as error:
        raise type(error)(f"{config.where}: {error.message}", fix=error.fix) from None


def _is_turned(config: Config, index: int) -> bool:
    """Whether a layer has rotary positions: SmolLM 3 has layers without."""
    layers = config.entries("no_rope_layers", config.count("num_hidden_layers"))
    return layers is None or bool(layers[index])


def _window(config: Config, family: _Family, index: int) -> int | None:
    """The keys that rows of a layer see; None: all."""
    if config.values.get("sliding_window") is None:
        return None
    size, layers = config.count("sliding_window"), config.count("num_hidden_layers")
    kinds = config.entries("layer_types", layers)
    if kinds is not None:
        kind = kinds[index]
        if kind not in ("full_attention", "sliding_attention"):
            raise ModelFormatError(
                f"{config.where}: layer_types has {kind!r}, expected full_attention or sliding_attention"
            )
        return size if kind == "sliding_attention" else None
    if "use_sliding_window" in config.values or not family.windowed:
        first = config.index("max_window_layers", 0)
        windowed = config.flag("use_sliding_window") and index >= first
        return size if windowed else None
    return size


class _Body(Module):
    def __init__(self, config: Config, family: _Family) -> None:
        super().__init__()
        inside = config.inside("rope_parameters")
        base = inside.number("rope_theta", config.number("rope_theta", 10000.0))
        self.embed_tokens = Embedding(config.count("vocab_size"), config.count("hidden_size"))
        count = config.count("num_hidden_layers")
        self.layers = ModuleList([_Layer(config, family, i, base) for i in range(count)])
        self.norm = RMSNorm(config.count("hidden_size"), config.number("rms_norm_eps", 1e-6))

    @property
    def rotary(self) -> RotaryEmbedding | None:
        """That of all layers which have one."""
        turned = (layer.self_attn.rotary for layer in self.layers)
        return next((r for r in turned if r is not None), None)

    def forward(self, input_ids: Tensor) -> Tensor:
        x = self.embed_tokens(input_ids)
        rotary = self.rotary
        angles = rotary.angles(creation.arange(input_ids.shape[1])) if rotary else None
        for layer in self.layers:
            x = layer(x, angles)
        out: Tensor = self.norm(x)
        return out


class CausalLM(ConfiguredModule):
    """A decoder: the logits of the next token after each token.

    Parameters have the names of Hugging Face's files. `from_pretrained` makes it; `CausalLM.of(config)`
    makes one with random weights, whose config has the keys of config.json.

    >>> sizes = {"vocab_size": 50, "hidden_size": 16, "intermediate_size": 32}
    >>> layers = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    >>> net = samara.CausalLM.of({"model_type": "llama", **sizes, **layers})
    >>> net(samara.tensor([[1, 2, 3]])).shape
    (1, 3, 50)
    """

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        family = FAMILIES[config.text("model_type")]
        config.only("hidden_act", "silu", "swish")
        config.only("partial_rotary_factor", 1.0)
        self.model = _Body(config, family)
        self.lm_head = Linear(config.count("hidden_size"), config.count("vocab_size"), bias=False)
        self.is_tied = config.flag("tie_word_embeddings")
        if self.is_tied:
            self.lm_head.weight = self.model.embed_tokens.weight

    def forward(self, input_ids: Tensor) -> Tensor:
        """Token numbers [B, S] give logits [B, S, vocab_size]."""
        out: Tensor = self.lm_head(self.model(input_ids))
        return out
