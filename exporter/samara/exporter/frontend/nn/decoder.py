# SPDX-License-Identifier: Apache-2.0
"""Parts of decoders that write text: rotary positions, grouped-query attention, gated layers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import creation, dtypes
from samara.exporter.frontend.creation import cat
from samara.exporter.frontend.nn import functional as F
from samara.exporter.frontend.nn.layers import Linear
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.nn.norms import RMSNorm
from samara.exporter.frontend.operands import as_tensor
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import ArgumentError, ShapeError, UnsupportedError

Array = np.ndarray[Any, Any]

_SCALINGS: Final = ("default", "linear", "llama3")


class RotaryEmbedding(Module):
    """Turns pairs of elements by angles that grow with the position (Su et al. 2021, arXiv:2104.09864).

    Element i of a head of `dim` elements is paired with element i + dim / 2, as in the files of Hugging
    Face; their angle is position / base^(2 i / dim).

    scaling: how frequencies are changed for longer texts, in the form of config.json: {"rope_type":
    "default"}, {"rope_type": "linear", "factor": 2.0}, or {"rope_type": "llama3", "factor": 8.0,
    "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}.

    Raises ShapeError if `dim` is odd, UnsupportedError for another rope_type, ArgumentError for a
    scaling that lacks a number.

    >>> nn.RotaryEmbedding(8)(samara.ones(1, 5, 2, 8)).shape
    (1, 5, 2, 8)
    """

    def __init__(
        self, dim: int, base: float = 10000.0, scaling: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__()
        if dim <= 0 or dim % 2:
            raise ShapeError(f"heads of {dim} elements cannot be cut into pairs")
        self.dim = dim
        self.base = base
        self.scaling = dict(scaling or {})
        frequencies = 1.0 / base ** (np.arange(0, dim, 2, dtype=np.float64) / dim)
        self.frequencies = _scaled(frequencies, self.scaling).astype(np.float32)

    def angles(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines, [S, 1, dim / 2], for positions [S]."""
        turns = positions.to(dtypes.float32).reshape(-1, 1, 1) * as_tensor(self.frequencies)
        return turns.cos(), turns.sin()

    def forward(self, input: Tensor, positions: Tensor | None = None) -> Tensor:
        """Rows before heads, [..., S, H, dim]; positions [S], 0 to S - 1 unless given."""
        if positions is None:
            positions = creation.arange(input.shape[-3])
        return rotated(input, *self.angles(positions))

    def extra_repr(self) -> str:
        return f"{self.dim}, base={self.base}"


def rotated(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """x [..., S, H, D], each pair of its elements turned by the angles [S, 1, D / 2]."""
    low, high = x.chunk(2, -1)
    return cat([low * cosines - high * sines, high * cosines + low * sines], -1)


def _scaled(frequencies: Array, scaling: Mapping[str, Any]) -> Array:
    """Frequencies for longer texts."""
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind not in _SCALINGS:
        raise UnsupportedError(
            f"rotary embedding of rope_type {kind!r}", fix=f"use one of {', '.join(_SCALINGS)}"
        )
    if kind == "default":
        return frequencies
    factor = _number(scaling, "factor")
    if kind == "linear":
        return frequencies / factor
    low, high = _number(scaling, "low_freq_factor"), _number(scaling, "high_freq_factor")
    context = _number(scaling, "original_max_position_embeddings")
    if not low < high:
        raise ArgumentError(f"low_freq_factor {low} is not below high_freq_factor {high}")
    # Turns that fit into the original context: many stay, few are slowed, between them a mixture.
    turns = context * frequencies / (2 * math.pi)
    share = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return frequencies * (share + (1 - share) / factor)


def _number(scaling: Mapping[str, Any], name: str) -> float:
    value = scaling.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise ArgumentError(
            f"the scaling of a rotary embedding has {name} = {value!r}, expected a positive number"
        )
    return float(value)


class KeyValueCache(Module):
    """The keys and values of the tokens so far, [1, room, heads, size] each, of which the first rows are in use.

    length: int64 [], the number of tokens so far, which caches of several layers share. Its owner adds to it when
    all caches have taken their rows. ring: rows are used again from the first on, so that the newest `room` tokens
    are there; else more than `room` tokens are an error.

    In a session of an exported model, memory is taken for the rows that are in use, and rows are written where
    they stay.

    >>> length = samara.zeros((), dtype=samara.int64)
    >>> cache = nn.KeyValueCache(length, 100, 2, 8)
    >>> keys, values = cache.add(samara.ones(1, 3, 2, 8), samara.ones(1, 3, 2, 8))
    >>> keys.shape
    (1, 100, 2, 8)
    """

    def __init__(
        self, length: Tensor, room: int, heads: int, size: int, *, ring: bool = False
    ) -> None:
        super().__init__()
        if min(room, heads, size) <= 0:
            raise ShapeError(f"a cache of {room} rows with {heads} heads of {size} elements")
        self.__dict__["_count"] = length  # no buffer of this module: its owner has it
        self.room, self.ring = room, ring
        for name in ("keys", "values"):
            rows = creation.zeros(1, room, heads, size)
            self.register_buffer(name, rows, persistent=False, length=length)

    def add(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """The cache with these rows, [1, S, heads, size], behind those in use; the length is still as before.

        Raises the error of `ops.write_rows` where they do not fit.
        """
        start = self.__dict__["_count"]
        for name, rows in (("keys", keys), ("values", values)):
            held = getattr(self, name)
            held.copy_(ops.write_rows(held, rows, start, ring=self.ring))
        return self.keys, self.values

    def extra_repr(self) -> str:
        return f"room={self.room}, ring={self.ring}"


class GroupedQueryAttention(Module):
    """Causal self-attention in which several query heads share keys (arXiv:2305.13245).

    Parameters have the names of Llama's files: q_proj, k_proj, v_proj, o_proj, and, with `norm_eps`,
    q_norm and k_norm over each head.

    kv_heads: heads of keys and values; `heads` is a multiple. head_dim: elements of a head, by default
    embed_dim / heads. window: keys that a row sees, itself included; None: all before it.

    Raises ShapeError for heads that do not fit.

    >>> x = samara.ones(1, 5, 16)  # batch, time, features
    >>> nn.GroupedQueryAttention(16, 4, 2, rotary=nn.RotaryEmbedding(4))(x).shape
    (1, 5, 16)
    """

    def __init__(
        self,
        embed_dim: int,
        heads: int,
        kv_heads: int | None = None,
        head_dim: int | None = None,
        *,
        bias: bool = False,
        out_bias: bool | None = None,
        rotary: RotaryEmbedding | None = None,
        norm_eps: float | None = None,
        window: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kv_heads = heads if kv_heads is None else kv_heads
        if kv_heads <= 0 or heads % kv_heads:
            raise ShapeError(
                f"{heads} heads of queries do not share {kv_heads} heads of keys evenly"
            )
        if head_dim is None and embed_dim % heads:
            raise ShapeError(f"{embed_dim} elements cannot be cut into {heads} heads")
        if window is not None and window <= 0:
            raise ShapeError(f"a window of {window} keys", fix="give None for all keys")
        self.heads, self.kv_heads = heads, kv_heads
        self.head_dim = embed_dim // heads if head_dim is None else head_dim
        self.window = window
        place: Any = {"device": device, "dtype": dtype}
        width, kv_width = heads * self.head_dim, kv_heads * self.head_dim
        self.q_proj = Linear(embed_dim, width, bias, **place)
        self.k_proj = Linear(embed_dim, kv_width, bias, **place)
        self.v_proj = Linear(embed_dim, kv_width, bias, **place)
        self.o_proj = Linear(width, embed_dim, bias if out_bias is None else out_bias, **place)
        if norm_eps is not None:
            self.q_norm = RMSNorm(self.head_dim, norm_eps, **place)
            self.k_norm = RMSNorm(self.head_dim, norm_eps, **place)
        self.normed = norm_eps is not None
        self.rotary = rotary

    def forward(
        self,
        input: Tensor,
        angles: tuple[Tensor, Tensor] | None = None,
        cache: KeyValueCache | None = None,
        length: Tensor | None = None,
    ) -> Tensor:
        """input [B, S, embed_dim]. angles: of `RotaryEmbedding.angles`, where layers share them; by
        default those of the positions 0 to S - 1. cache: takes the keys of these tokens and holds those before
        them; B is then 1, length the number of tokens with these, and angles are [S, head_dim / 2].
        """
        batch, rows = input.shape[0], input.shape[1]
        q = self.q_proj(input).reshape(batch, rows, self.heads, self.head_dim)
        k, v = (
            made(input).reshape(batch, rows, self.kv_heads, self.head_dim)
            for made in (self.k_proj, self.v_proj)
        )
        if self.normed:
            q, k = self.q_norm(q), self.k_norm(k)
        if self.rotary is not None:
            if angles is None:
                angles = self.rotary.angles(creation.arange(rows))
            turn = rotated if cache is None else ops.rotary
            q, k = turn(q, *angles), turn(k, *angles)
        scale, window = 1.0 / math.sqrt(self.head_dim), self.window or 0
        if cache is not None:
            y = ops.attention_cached(
                q, *cache.add(k, v), length, scale=scale, window=window, ring=cache.ring
            )
        else:
            y = ops.attention(
                q, k, v, scale=scale, causal=True, layout="bshd", align="end", window=window,
                groups=self.heads // self.kv_heads,
            )  # fmt: skip
        out: Tensor = self.o_proj(y.reshape(batch, rows, self.heads * self.head_dim))
        return out

    def extra_repr(self) -> str:
        return f"heads={self.heads}, kv_heads={self.kv_heads}, head_dim={self.head_dim}"


class SwiGLU(Module):
    """down_proj(silu(gate_proj(x)) * up_proj(x)) (Shazeer 2020, arXiv:2002.05202).

    >>> nn.SwiGLU(8, 24)(samara.ones(2, 8)).shape
    (2, 8)
    """

    def __init__(
        self, embed_dim: int, hidden: int, bias: bool = False, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.gate_proj = Linear(embed_dim, hidden, bias, device, dtype)
        self.up_proj = Linear(embed_dim, hidden, bias, device, dtype)
        self.down_proj = Linear(hidden, embed_dim, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        out: Tensor = self.down_proj(F.silu(self.gate_proj(input)) * self.up_proj(input))
        return out
