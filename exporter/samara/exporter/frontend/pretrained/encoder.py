# SPDX-License-Identifier: Apache-2.0
"""Encoders of BERT's form: BERT and MiniLM."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import dtypes
from samara.exporter.frontend.nn import functional as F
from samara.exporter.frontend.nn.containers import ModuleList
from samara.exporter.frontend.nn.embeddings import Embedding
from samara.exporter.frontend.nn.layers import Linear
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.nn.norms import LayerNorm
from samara.exporter.frontend.operands import as_tensor
from samara.exporter.frontend.pretrained.config import Config, ConfiguredModule
from samara.exporter.frontend.pretrained.pooling import Pooling
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ModelFormatError, ShapeError

FAMILIES: Final = ("bert",)


# Names are those of the files, of which each part of a path is a module.
class _Part(Module):
    """Modules under their names."""

    def __init__(self, /, **parts: Module) -> None:
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)


def _closing(inside: int, width: int, eps: float) -> _Part:
    """What ends each half of a layer."""
    return _Part(dense=Linear(inside, width), LayerNorm=LayerNorm(width, eps))


class _Layer(Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        width, inside = config.count("hidden_size"), config.count("intermediate_size")
        self.heads, eps = (
            config.count("num_attention_heads"),
            config.number("layer_norm_eps", 1e-12),
        )
        if width % self.heads:
            raise ModelFormatError(
                f"{config.where}: hidden_size {width} is no multiple of "
                f"num_attention_heads {self.heads}"
            )
        maps = {name: Linear(width, width) for name in ("query", "key", "value")}
        self.attention = _Part(self=_Part(**maps), output=_closing(width, width, eps))
        self.intermediate = _Part(dense=Linear(width, inside))
        self.output = _closing(inside, width, eps)

    def forward(self, x: Tensor, hidden: Tensor | None) -> Tensor:
        batch, rows, width = x.shape[0], x.shape[1], x.shape[2]
        maps = self.attention.self
        size = width // self.heads
        q, k, v = (
            made(x).reshape(batch, rows, self.heads, size)
            for made in (maps.query, maps.key, maps.value)
        )
        y = ops.attention(q, k, v, hidden, scale=size**-0.5, layout="bshd")
        x = _closed(self.attention.output, y.reshape(batch, rows, width), x)
        return _closed(self.output, F.gelu(self.intermediate.dense(x)), x)


def _closed(part: Any, x: Tensor, residual: Tensor) -> Tensor:
    out: Tensor = part.LayerNorm(part.dense(x) + residual)
    return out


class TextEncoder(ConfiguredModule):
    """An encoder: a vector for each token, and by `embed` one for each text.

    Parameters have the names of Hugging Face's files. `from_pretrained` makes it; `TextEncoder.of(config)`
    makes one with random weights, whose config has the keys of config.json.

    >>> sizes = {"vocab_size": 50, "hidden_size": 16, "intermediate_size": 32}
    >>> layers = {"num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 8}
    >>> net = samara.TextEncoder.of({"model_type": "bert", **sizes, **layers})
    >>> net(samara.tensor([[1, 2, 3]])).shape
    (1, 3, 16)
    """

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        config.only("hidden_act", "gelu")
        config.only("position_embedding_type", "absolute")
        width, eps = config.count("hidden_size"), config.number("layer_norm_eps", 1e-12)
        self.embeddings = _Part(
            word_embeddings=Embedding(config.count("vocab_size"), width),
            position_embeddings=Embedding(config.count("max_position_embeddings", 512), width),
            token_type_embeddings=Embedding(config.count("type_vocab_size", 2), width),
            LayerNorm=LayerNorm(width, eps),
        )
        self.pooling = Pooling()
        layers = [_Layer(config) for _ in range(config.count("num_hidden_layers"))]
        self.encoder = _Part(layer=ModuleList(layers))

    @property
    def positions(self) -> int:
        """The most tokens of a text."""
        parts: Any = self.embeddings
        return int(parts.position_embeddings.num_embeddings)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
    ) -> Tensor:
        """Token numbers [B, S] give [B, S, hidden_size]. attention_mask [B, S]: 0 where a text has ended."""
        parts: Any = self.embeddings
        rows, most = input_ids.shape[1], self.positions
        if not hasattr(rows, "sole_atom") and rows > most:
            raise ShapeError(
                f"a text of {rows} tokens, and the model knows {most} positions",
                fix=f"cut texts to {most} tokens",
            )
        x = parts.word_embeddings(input_ids)
        x = x + parts.position_embeddings.weight[:rows]
        if token_type_ids is None:
            x = x + parts.token_type_embeddings.weight[0]
        else:
            x = x + parts.token_type_embeddings(token_type_ids)
        x = parts.LayerNorm(x)
        hidden = None if attention_mask is None else _hidden(attention_mask)
        layers: Any = self.encoder
        for layer in layers.layer:
            x = layer(x, hidden)
        out: Tensor = x
        return out

    def embed(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """One vector for each text, [B, hidden_size], by `pooling`: the folder's, else the mean, of length 1.

        Raises UnsupportedError if the folder's modules.json has modules other than Pooling and Normalize.
        """
        return self.pooling.vector(self(input_ids, attention_mask), attention_mask)


def _hidden(mask: Tensor) -> Tensor:
    """What is added to the scores, [B, 1, 1, S]; finite, so that a text without tokens is no NaN."""
    least = as_tensor(np.float32(np.finfo(np.float32).min))
    added: Tensor = (1 - mask.to(dtypes.float32)) * least
    return added.unsqueeze(1).unsqueeze(1)
