# SPDX-License-Identifier: Apache-2.0
"""Attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import dtypes
from samara.exporter.frontend.nn.functional.activation import dropout
from samara.exporter.frontend.operands import as_tensor
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import ShapeError


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(scale * q kᵀ + mask) v, over query [..., S, D], key [..., T, D], value [..., T, Dv].

    A bool mask shows what may be attended to; a float one is added. The scale is 1 / sqrt(D)
    unless stated. Without dropout it runs as one operator (Vaswani et al. 2017, arXiv:1706.03762).

    enable_gqa: each head, along the third axis from the end, of key and value serves equally many of
    query (grouped-query attention, Ainslie et al. 2023, arXiv:2305.13245). ShapeError unless the heads
    of query are a multiple of them.

    PyTorch: `torch.nn.functional.scaled_dot_product_attention`.

    >>> q, kv = samara.zeros(1, 8, 5, 4), samara.ones(1, 2, 6, 4)
    >>> nn.functional.scaled_dot_product_attention(q, kv, kv, enable_gqa=True).shape
    (1, 8, 5, 4)
    """
    groups = _groups(query, key, value) if enable_gqa else 1
    if enable_gqa and (dropout_p > 0 or key.shape[-3] != value.shape[-3]):
        key, value = (_repeated_heads(query, t) for t in (key, value))
        groups = 1
    depth = query.shape[-1]
    factor = 1.0 / math.sqrt(int(depth)) if scale is None else scale
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ShapeError(
            f"attention of query {list(query.shape)}, key {list(key.shape)}, value "
            f"{list(value.shape)}: the last sizes of query and key, and the rows of key and value, "
            "must agree"
        )
    mask = _additive(attn_mask, query.dtype)
    if dropout_p == 0:
        lead = tuple(query.shape[:-2])
        if groups > 1:
            lead = (*lead[:-1], key.shape[-3])
        key, value = (_expanded(t, lead) for t in (key, value))
        return ops.attention(query, key, value, mask, scale=factor, causal=is_causal, groups=groups)
    scores = query.matmul(key.transpose(-2, -1)) * factor
    if is_causal:
        causal = _causal_mask(int(query.shape[-2]), int(key.shape[-2]), query.dtype)
        scores = scores + causal
    if mask is not None:
        scores = scores + mask
    return dropout(scores.softmax(-1), dropout_p).matmul(value)


def _groups(query: Any, key: Any, value: Any) -> int:
    """How many heads of `query` share one head of `key`."""
    for t, name in ((key, "key"), (value, "value")):
        if query.ndim < 3 or t.ndim < 3:
            raise ShapeError(
                f"enable_gqa needs heads: query {list(query.shape)}, {name} {list(t.shape)}",
                fix="pass tensors [..., heads, rows, size]",
            )
        wanted, heads = int(query.shape[-3]), int(t.shape[-3])
        if heads == 0 or wanted % heads:
            raise ShapeError(
                f"{wanted} heads of query are no multiple of the {heads} heads of {name}",
                fix="with enable_gqa each head of key and value serves equally many of query",
            )
    return int(query.shape[-3]) // int(key.shape[-3])


def _repeated_heads(query: Any, t: Any) -> Any:
    """`t` [..., H, T, D] with each of its heads repeated, so that it has the heads of `query`."""
    wanted, heads = int(query.shape[-3]), int(t.shape[-3])
    return t if heads == wanted else t.repeat_interleave(wanted // heads, -3)


def _expanded(t: Any, lead: tuple[Any, ...]) -> Any:
    if tuple(t.shape[:-2]) == lead:
        return t
    return t.expand((*lead, *t.shape[-2:]))


def _additive(mask: Any, dtype: Any) -> Any:
    if mask is None or mask.dtype != dtypes.bool_:
        return mask
    zero, hidden = (as_tensor(np.asarray(v, dtype)) for v in (0.0, -math.inf))
    return ops.where(mask, zero, hidden)


def _causal_mask(rows: int, columns: int, dtype: Any) -> Any:
    hidden = np.where(np.tri(rows, columns, dtype=bool), 0.0, -np.inf)
    return as_tensor(hidden.astype(dtype))
