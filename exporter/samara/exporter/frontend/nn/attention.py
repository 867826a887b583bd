# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention."""

from __future__ import annotations

import math
from typing import Any

from samara.exporter import ops
from samara.exporter.frontend import creation, dtypes
from samara.exporter.frontend.nn import functional as F
from samara.exporter.frontend.nn import init
from samara.exporter.frontend.nn.layers import Linear
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.nn.parameter import Parameter
from samara.exporter.frontend.operands import as_tensor
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import ShapeError, UnsupportedError


class MultiheadAttention(Module):
    """Attention in several heads between linear maps (Vaswani et al. 2017, arXiv:1706.03762).

    Parameters are in_proj_weight [3 E, E] (q_, k_ and v_proj_weight where `kdim` or `vdim` differ
    from E), in_proj_bias [3 E] and out_proj.

    >>> x = samara.ones(5, 1, 8)  # time, batch, features
    >>> nn.MultiheadAttention(8, 2)(x, x, x)[0].shape
    (5, 1, 8)
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ShapeError(f"{embed_dim} elements cannot be cut into {num_heads} heads")
        if add_bias_kv or add_zero_attn:
            raise UnsupportedError(
                "MultiheadAttention has no add_bias_kv and add_zero_attn",
                fix="concatenate the further key and value to its inputs",
            )
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim

        def made(*shape: int) -> Parameter:
            return Parameter(creation.empty(*shape, dtype=dtype, device=device))

        if self.kdim == self.vdim == embed_dim:
            self.in_proj_weight: Any = made(3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight = made(embed_dim, embed_dim)
            self.k_proj_weight = made(embed_dim, self.kdim)
            self.v_proj_weight = made(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", made(3 * embed_dim) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """PyTorch's: Xavier's uniform weights, biases 0."""
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            weight = self._parameters.get(name)
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)  # type: ignore[arg-type]

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """(output, weights): query [L, N, E], key [S, N, kdim], value [S, N, vdim].

        With `batch_first` N comes first; without a batch N is left out. Bool masks are true where
        nothing may be attended to, float masks are added: key_padding_mask [N, S], attn_mask
        [L, S] or [N * heads, L, S]. The weights, [N, L, S] or [N, heads, L, S], are None unless
        `need_weights`; without them attention runs as one operator.
        """
        if is_causal and attn_mask is None:
            raise ShapeError("is_causal is a hint about attn_mask, which is missing")
        single = query.ndim == 2
        same = key is query, value is key
        query, key, value = (self._batched(t, single) for t in (query, key, value))  # now [N, L, E]
        q, k, v = self._projected(query, key, value, *same)
        if key_padding_mask is not None and single:
            key_padding_mask = key_padding_mask.unsqueeze(0)
        mask = _merged(attn_mask, key_padding_mask, query.shape[0], self.num_heads, query.dtype)
        rate = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            scores = q.matmul(k.transpose(-2, -1)) * (1.0 / math.sqrt(self.head_dim))
            weights = (scores if mask is None else scores + mask).softmax(-1)
            weights = F.dropout(weights, rate, rate > 0)
            heads = weights.matmul(v)
        else:
            heads = F.scaled_dot_product_attention(q, k, v, mask, rate)
        n, length = query.shape[0], query.shape[1]
        joined = heads.transpose(1, 2).reshape((n, length, self.embed_dim))
        out = self.out_proj(joined)
        if weights is not None and average_attn_weights:
            weights = weights.mean(1)
        if single:
            return out.squeeze(0), None if weights is None else weights.squeeze(0)
        return (out if self.batch_first else out.transpose(0, 1)), weights

    def _batched(self, t: Any, single: bool) -> Any:
        if t.ndim != (2 if single else 3):
            raise ShapeError(
                f"MultiheadAttention needs query, key and value of 3 dimensions (or 2), got "
                f"{list(t.shape)}"
            )
        if single:
            return t.unsqueeze(0)
        return t if self.batch_first else t.transpose(0, 1)

    def _projected(
        self, query: Any, key: Any, value: Any, key_same: bool, value_same: bool
    ) -> list[Any]:
        """Queries, keys and values as [N, heads, L, head_dim]."""
        e, bias, weight = self.embed_dim, self.in_proj_bias, self.in_proj_weight
        if weight is not None and key_same and value_same:
            joint = F.linear(query, weight, bias)
            return [self._heads(t) for t in joint.chunk(3, -1)]
        if weight is None:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        else:
            weights = weight.chunk(3, 0)
        biases = (None, None, None) if bias is None else bias.split(e)
        triples = zip((query, key, value), weights, biases, strict=True)
        return [self._heads(F.linear(t, w, b)) for t, w, b in triples]

    def _heads(self, t: Any) -> Any:
        n, length, _ = t.shape
        return t.reshape((n, length, self.num_heads, self.head_dim)).transpose(1, 2)

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, {self.num_heads}"


def _merged(attn: Any, padding: Any, n: Any, heads: int, dtype: Any) -> Any:
    """Both masks as one that is added to scores [N, heads, L, S]; None where there is neither."""
    mask = None if attn is None else _additive(attn, dtype)
    if mask is not None and mask.ndim == 3:
        mask = mask.reshape((n, heads, *mask.shape[1:]))
    if padding is None:
        return mask
    hidden = _additive(padding, dtype)
    hidden = hidden.reshape((hidden.shape[0], 1, 1, hidden.shape[1]))
    return hidden if mask is None else mask + hidden


def _additive(mask: Any, dtype: Any) -> Any:
    if mask.dtype != dtypes.bool_:
        return mask if mask.dtype == dtype else mask.type(dtype)
    return ops.where(mask, as_tensor(dtype.type(-math.inf)), as_tensor(dtype.type(0)))
