# SPDX-License-Identifier: Apache-2.0
"""A decoder with a cache: each call continues the text of the calls before."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import creation, dtypes
from samara.exporter.frontend.nn.containers import ModuleList
from samara.exporter.frontend.nn.decoder import KeyValueCache, RotaryEmbedding
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.operands import as_tensor
from samara.exporter.frontend.pretrained.decoder import Angles, CausalLM
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import ArgumentError

CHUNK: Final = 128  # tokens of a call, if the context has room
_TURN: Final = 256  # positions of the finer table of angles


class CachedLM(Module):
    """A decoder that holds the keys and values of the tokens it has seen.

    A call takes the next tokens, [1, S], and gives the logits of the token after them, [1, vocab_size]. `length`
    counts the tokens so far; `reset()` begins a new text.

    net: the decoder, whose parameters this module shares. context: the most tokens, where a layer sees all of
    them. chunk: the most tokens of a call, 128 if the context has room. Layers with a window keep
    `window + chunk - 1` tokens: where all layers have one, a text may have any number.

    Angles of rotary positions come from two tables, whose turns are added, so that no cosine is computed in a run.

    Raises ArgumentError for sizes that do not go together.

    >>> from samara.exporter.frontend.pretrained import CachedLM, CausalLM
    >>> sizes = {"vocab_size": 50, "hidden_size": 16, "intermediate_size": 32}
    >>> layers = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    >>> net = CachedLM(CausalLM.of({"model_type": "llama", **sizes, **layers}), context=100)
    >>> net(samara.tensor([[1, 2, 3]])).shape, net(samara.tensor([[4]])).shape, net.length.item()
    ((1, 50), (1, 50), 4)
    """

    def __init__(self, net: CausalLM, context: int = 2048, chunk: int | None = None) -> None:
        super().__init__()
        chunk = min(CHUNK, context) if chunk is None else chunk
        if not 0 < chunk <= context:
            raise ArgumentError(
                f"calls of {chunk} tokens in a context of {context}",
                fix="give a context of at least a chunk, and a chunk of at least 1",
            )
        self.net = net
        self.context, self.chunk = context, chunk
        self.register_buffer("length", creation.zeros((), dtype=dtypes.int64), persistent=False)
        self.caches = ModuleList([self._cache(layer.self_attn) for layer in net.model.layers])
        self.is_bounded = not all(cache.ring for cache in self.caches)
        rotary = net.model.rotary
        if rotary is not None:
            most = context if self.is_bounded else 1 << 20
            self.fine = _turns(rotary, np.arange(_TURN))
            # One more, so that a text that is too long is an error of the cache, which says so.
            self.coarse = _turns(rotary, np.arange(0, most + _TURN, _TURN))
        self.eval()

    def _cache(self, attention: Any) -> KeyValueCache:
        window = attention.window
        ring = window is not None and window + self.chunk - 1 < self.context
        room = window + self.chunk - 1 if ring else self.context
        return KeyValueCache(self.length, room, attention.kv_heads, attention.head_dim, ring=ring)

    def reset(self) -> None:
        """Begin a new text."""
        self.length.zero_()

    def _angles(self, rows: Any) -> Angles:
        """Cosines and sines of the next positions, [S, dim / 2]."""
        positions = self.length + creation.arange(rows)
        (c, s), (d, t) = (
            tuple(ops.gather(table, at, axis=0) for table in tables)
            for tables, at in (
                (self.coarse, positions // _TURN),
                (self.fine, positions % _TURN),
            )
        )
        return c * d - s * t, s * d + c * t

    def forward(self, input_ids: Tensor) -> Tensor:
        """The next token numbers, [1, S], give logits [1, vocab_size]."""
        rows = input_ids.shape[1]
        angles = self._angles(rows) if self.net.model.rotary is not None else None
        length = self.length + rows
        x = self.net.model.embed_tokens(input_ids)
        for layer, cache in zip(self.net.model.layers, self.caches, strict=True):
            x = layer(x, angles, cache, length)
        self.length.copy_(length)
        out: Tensor = self.net.lm_head(self.net.model.norm(x[:, -1]))
        return out


def _turns(rotary: RotaryEmbedding, positions: np.ndarray[Any, Any]) -> tuple[Tensor, Tensor]:
    """Cosines and sines of positions, [positions, dim / 2], each rounded once."""
    turns = positions.astype(np.float64)[:, None] * rotary.frequencies.astype(np.float64)
    return as_tensor(np.cos(turns).astype(np.float32)), as_tensor(np.sin(turns).astype(np.float32))
