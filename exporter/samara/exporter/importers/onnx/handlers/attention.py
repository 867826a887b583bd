# SPDX-License-Identifier: Apache-2.0
"""Attention over whole sequences: as many heads of keys as of queries, no cache.

Other forms go through the function body that ONNX gives.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, DType, floordiv

# softmax_precision: it is always float32 here. qk_matmul_output_mode: of an output that is not asked for.
_KNOWN = (
    "is_causal",
    "kv_num_heads",
    "q_num_heads",
    "qk_matmul_output_mode",
    "scale",
    "softcap",
    "softmax_precision",
)


@onnx_op("Attention")
def attention(n: NodeContext) -> Any:
    if any(n.has(i) for i in range(4, n.input_count)) or any(n.node.output[1:]):
        return NotImplemented
    if any(a.name not in _KNOWN for a in n.node.attribute):
        return NotImplemented
    if n.attr("softcap", 0.0):
        return NotImplemented
    flat = n.value(0).type.rank == 3
    q, k, v = (_by_heads(n, i) for i in range(3))
    rows, heads = (1, 2) if flat else (2, 1)
    if q.type.shape[heads] != k.type.shape[heads]:
        return NotImplemented
    scale = n.attr("scale")
    if scale is None:
        if not q.type.shape[-1].is_static:
            raise n.unsupported("heads of a symbolic size", "give the attribute scale")
        scale = 1 / math.sqrt(q.type.shape[-1].as_int())
    mask = _mask(n, q.type.shape[rows], k.type.shape[rows]) if n.has(3) else None
    attrs = {
        "scale": scale,
        "causal": mask is None and bool(n.attr("is_causal", 0)),
        "layout": "bshd" if flat else "bhsd",
    }
    hidden = None if mask is None else _hidden_rows(n, mask)
    if not flat and hidden is None:
        return n.final("attention", q, k, v, mask, **attrs)
    y = n.emit("attention", q, k, v, mask, **attrs)
    if hidden is not None:
        # A row that sees no key is NaN by softmax, and 0 in ONNX.
        zero = n.const(np.zeros((), y.type.dtype.numpy))
        if not flat:
            return n.final("where", hidden, zero, y)
        shape = (*(1,) * (4 - hidden.type.rank), *hidden.type.shape)
        hidden = n.emit("transpose", n.emit("reshape", hidden, shape=shape), perm=(0, 2, 1, 3))
        y = n.emit("where", hidden, zero, y)
    batch, count, of, size = y.type.shape
    return n.final("reshape", y, shape=(batch, count, of * size))


def _by_heads(n: NodeContext, index: int) -> Value:
    """Input `index` as [B, H, S, D], or as [B, S, H, D] where it is [B, S, H * D]."""
    x = n.value(index)
    if x.type.rank == 4:
        return x
    heads = n.attr("kv_num_heads" if index else "q_num_heads")
    if x.type.rank != 3 or not heads:
        raise n.wrong(f"input {index} has type {x.type}; heads need rank 4 or the number of heads")
    batch, rows, width = x.type.shape
    split: Value = n.emit("reshape", x, shape=(batch, rows, heads, floordiv(width, heads)))
    return split


def _mask(n: NodeContext, rows: Dim, keys: Dim) -> Value:
    """What is added to the scores, causality included."""
    mask = n.value(3)
    dtype = n.value(0).type.dtype.numpy
    never = n.const(np.array(-np.inf, dtype))
    if mask.type.dtype is DType.BOOL:
        mask = n.emit("where", mask, n.const(np.zeros((), dtype)), never)
    if n.attr("is_causal", 0):
        last = n.emit("reshape", n.emit("iota", length=rows), shape=(rows, 1))
        seen = n.emit("le", n.emit("iota", length=keys), last)
        mask = n.emit("where", seen, mask, never)
    return mask


def _hidden_rows(n: NodeContext, mask: Value) -> Value | None:
    """Which rows the mask hides as a whole, [..., S, 1]; None where it is known that none is."""
    if mask.constant is not None and not np.isneginf(mask.constant).all(axis=-1).any():
        return None
    largest = n.emit("reduce_max", mask, axes=(mask.type.rank - 1,), keepdims=True)
    hidden: Value = n.emit("eq", largest, n.const(np.array(-np.inf, mask.type.dtype.numpy)))
    return hidden
