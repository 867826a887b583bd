# SPDX-License-Identifier: Apache-2.0
"""GroupQueryAttention: fewer heads of keys than of queries, a cache of keys and values, rotary
embedding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.common.elements import element
from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.contrib_attention import (
    added,
    angles,
    attended,
    by_heads,
    places,
    rotated,
    scores,
)
from samara.exporter.importers.onnx.handlers.quantize import MICROSOFT
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.ops import Guard
from samara.exporter.types import Dim, DType, dmax, floordiv


def _refuse_forms(n: NodeContext) -> None:
    for name, usual in (("softcap", 0.0), ("smooth_softmax", 0), ("qk_output", 0)):
        if n.attr(name, usual) != usual:
            raise n.unsupported(f"the attribute {name}", "export the model without it")
    if n.attr("k_quant_type", "NONE") != "NONE" or n.attr("v_quant_type", "NONE") != "NONE":
        raise n.unsupported("a quantized cache", "keep the cache in float")
    if any(n.has(i) for i in range(11, n.input_count)) or len(n.node.output) > 3:
        raise n.unsupported("head_sink, scales of the cache, or scores as output", "leave them out")


def _operands(n: NodeContext, heads: int, kv_heads: int) -> list[Value]:
    """q [B, N, S, H], k and v [B, Nkv, S, H], given separately or in one tensor."""
    counts = (heads, kv_heads, kv_heads)
    if n.has(1) and n.has(2):
        return [by_heads(n, n.value(i), c) for i, c in enumerate(counts)]
    size = floordiv(n.value(0).type.shape[2], heads + 2 * kv_heads)
    parts = n.emit("split", n.value(0), axis=2, sizes=[size * c for c in counts])
    return [by_heads(n, p, c) for p, c in zip(parts, counts, strict=True)]


def _number(n: NodeContext, d: Dim) -> Value:
    """A dim as an int64 scalar."""
    made: Value = n.emit("dims", values=[d], dtype=DType.I64, scalar=True)
    return made


def _present(n: NodeContext, past: Value | None, new: Value, rows: Value | None) -> Value:
    """The cache after this step: rows [B, L, 1] select from the past's and the new rows."""
    if past is None or rows is None:
        return new
    both = n.emit("concat", past, new, axis=2)
    turned = n.emit("transpose", both, perm=(0, 2, 1, 3))
    picked = n.emit("gather_nd", turned, rows, batch_dims=1)
    made: Value = n.emit("transpose", picked, perm=(0, 2, 1, 3))
    return made


def _rows(n: NodeContext, past: Value, new: Value, seen: Value, length: Dim) -> Value:
    """For each place of the cache the row of (past, new) that it holds, [B, L, 1]: first the past rows, then
    the new rows, then whatever the past holds there.
    """
    old, step = past.type.shape[2], new.type.shape[2]
    at = places(n, length, (1, -1))
    since = n.emit("sub", at, seen)
    is_new = n.emit("lt", since, _number(n, step))
    is_new = n.emit("logical_and", n.emit("le", seen, at), is_new)
    # Values beyond both are undefined, so any existing row will do.
    beyond = n.emit("lt", at, _number(n, old))
    rest = n.emit("where", beyond, at, _number(n, old + step - 1))
    picked = n.emit("where", is_new, n.emit("add", since, _number(n, old)), rest)
    batch = new.type.shape[0]
    made: Value = n.emit("reshape", picked, shape=(batch, length, 1))
    return made


@onnx_op("GroupQueryAttention", domain=MICROSOFT)
def group_query_attention(n: NodeContext) -> Any:
    """Inputs: query, key?, value?, past_key?, past_value?, seqlens_k (keys of each sequence less 1),
    total_sequence_length, cos and sin caches?, position_ids?, attention_bias?. The cache is copied in
    each step, unless it is state. A past that is a buffer of the maximum length keeps that length.
    """
    _refuse_forms(n)
    heads, kv_heads = n.attr("num_heads"), n.attr("kv_num_heads")
    if not kv_heads or heads % kv_heads:
        raise n.wrong(f"{heads} heads do not divide into groups of {kv_heads}")
    q, k, v = _operands(n, heads, kv_heads)
    batch, _, step, _ = q.type.shape
    past_k, past_v = n.optional(3), n.optional(4)
    if past_k is not None and past_v is not None and n.scope.is_cache(past_k):
        return _over_caches(n, (q, k, v), past_k, past_v, heads // kv_heads)
    counts = n.emit("cast", n.value(5), to=DType.I64)
    if counts.type.rank != 1:
        counts = n.emit("reshape", counts, shape=(batch,))
    # Keys before this step. In the first step there are none, though padding makes the count negative.
    behind = n.emit("sub", n.emit("add", counts, n.const(np.int64(1))), _number(n, step))
    behind = n.emit("max", behind, n.const(np.int64(0)))
    behind = n.emit("reshape", behind, shape=(batch, 1))
    if n.attr("do_rotary", 0):
        where = n.value(9) if n.has(9) else n.emit("add", places(n, step, (1, -1)), behind)
        q, k = _turned(n, q, k, where)
    rows, length = None, step
    if past_k is not None:
        length = dmax(past_k.type.shape[2], n.scalar_dim(6, "total_sequence_length"))
        rows = _rows(n, past_k, k, behind, length)
    k, v = _present(n, past_k, k, rows), _present(n, past_v, v, rows)
    mask = _seen(n, behind, batch, step, length)
    bias = n.optional(10)
    y = attended(n, q, k, v, added(n, mask, bias), False, n.attr("scale"), heads // kv_heads)
    return [y, k, v][: len(n.node.output)]


def _over_caches(
    n: NodeContext, operands: tuple[Value, Value, Value], past_k: Value, past_v: Value, share: int
) -> Any:
    """The node over caches that are state: they hold the rows before this step and nothing else, so that new rows
    are put behind them. A run with other counts is refused.
    """
    q, k, v = operands
    past, step = past_k.type.shape[2], q.type.shape[2]
    for index in range(n.type(5).numel().as_int()):
        count = element(n.builder, n.value(5), index)
        message = "the cache is state: seqlens_k must count its rows and the new ones, less 1"
        n.builder.guards.append(Guard("eq", count + 1, past + step, message, n.label))
    if n.attr("do_rotary", 0):
        where = n.value(9) if n.has(9) else places(n, step, (1, -1), _number(n, past))
        q, k = _turned(n, q, k, where)
    k, v = n.emit("concat", past_k, k, axis=2), n.emit("concat", past_v, v, axis=2)
    window = max(0, n.attr("local_window_size", -1))
    y = attended(n, q, k, v, n.optional(10), True, n.attr("scale"), share, window)
    return [y, k, v][: len(n.node.output)]


def _turned(n: NodeContext, q: Value, k: Value, where: Value) -> tuple[Value, Value]:
    cos, sin = (angles(n, n.value(i), where) for i in (7, 8))
    half = n.value(7).type.shape[1]
    if not half.is_static:
        raise n.unsupported("caches of a symbolic width")
    paired = bool(n.attr("rotary_interleaved", 0))
    size = half.as_int() * 2
    return rotated(n, q, cos, sin, paired, size), rotated(n, k, cos, sin, paired, size)


def _seen(n: NodeContext, behind: Value, batch: Dim, step: Dim, length: Dim) -> Value:
    """The addend to the scores, [B, 1, S, L]: row i sees the keys up to its own position, within the window
    if there is one.
    """
    own = n.emit("add", places(n, step, (1, -1)), behind)
    own = n.emit("reshape", own, shape=(batch, 1, step, 1))
    keys = places(n, length, (1, 1, 1, -1))
    keep = n.emit("le", keys, own)
    window = n.attr("local_window_size", -1)
    if window > 0:
        first = n.emit("sub", own, n.const(np.int64(window)))
        keep = n.emit("logical_and", keep, n.emit("lt", first, keys))
    return scores(n, keep, float(np.finfo(np.float32).min))
