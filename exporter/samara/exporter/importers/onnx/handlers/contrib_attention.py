# SPDX-License-Identifier: Apache-2.0
"""Attention of com.microsoft: masks of every form, past keys and values, rotary embedding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.affine import Layout, dequantized
from samara.exporter.importers.onnx.handlers.quantize import MICROSOFT
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, DType, as_dim, floordiv

_FILTER = -10000.0


def by_heads(n: NodeContext, x: Value, count: int) -> Value:
    """[B, S, N * H] as [B, N, S, H]."""
    batch, rows, width = x.type.shape
    if width.is_static and width.as_int() % count:
        raise n.wrong(f"{width} channels do not divide into {count} heads")
    split = n.emit("reshape", x, shape=(batch, rows, count, floordiv(width, count)))
    moved: Value = n.emit("transpose", split, perm=(0, 2, 1, 3))
    return moved


def places(
    n: NodeContext, length: Dim, shape: tuple[int, ...], start: Value | None = None
) -> Value:
    """0, 1, … as int64 in a shape with one axis of -1."""
    v = n.emit("iota", length=length)
    v = n.emit("reshape", v, shape=[length if s == -1 else s for s in shape])
    made: Value = v if start is None else n.emit("add", v, start)
    return made


def _joined(n: NodeContext, past: Value | None, x: Value) -> Value:
    """Past and new rows of [B, N, S, H]."""
    if past is None:
        return x
    both: Value = n.emit("concat", past, x, axis=2)
    return both


def added(n: NodeContext, *masks: Value | None) -> Value | None:
    total = None
    for mask in masks:
        if mask is not None:
            total = mask if total is None else n.emit("add", total, mask)
    return total


def scores(n: NodeContext, keep: Value, value: float) -> Value:
    """0 where keys are seen, `value` where they are not."""
    yes, no = n.const(np.zeros((), np.float32)), n.const(np.array(value, np.float32))
    mask: Value = n.emit("where", keep, yes, no)
    return mask


def _padding(n: NodeContext, mask: Value, batch: Dim, rows: Dim, keys: Dim, value: float) -> Value:
    """The addend to the scores from a mask input, as [B, 1, 1 or S, T].

    The mask is [B] (number of keys), [2 * B] (ends, then starts), [B, T] or [B, S, T] (visible keys).
    """
    if mask.type.rank == 1:
        at = places(n, keys, (1, 1, 1, -1))
        count = mask.type.shape[0]
        mask = n.emit("cast", mask, to=DType.I64)
        ends, starts = mask, None
        if count == batch * 2:
            ends, starts = n.emit("split", mask, axis=0, sizes=[batch, batch])
        elif count != batch and (count - batch).is_static:
            raise n.unsupported(f"a mask index {mask.type}", "give the mask as [batch, keys]")
        keep = n.emit("lt", at, n.emit("reshape", ends, shape=(batch, 1, 1, 1)))
        if starts is not None:
            first = n.emit("reshape", starts, shape=(batch, 1, 1, 1))
            keep = n.emit("logical_and", keep, n.emit("le", first, at))
        return scores(n, keep, value)
    keep = n.emit("lt", n.const(np.zeros((), np.int32)), n.emit("cast", mask, to=DType.I32))
    if mask.type.rank == 2:
        keep = n.emit("reshape", keep, shape=(mask.type.shape[0], 1, 1, keys))
    elif mask.type.rank == 3:
        keep = n.emit("reshape", keep, shape=(mask.type.shape[0], 1, rows, keys))
    else:
        raise n.unsupported(f"a mask of rank {mask.type.rank}", "give it as [batch, rows, keys]")
    return scores(n, keep, value)


def attended(
    n: NodeContext,
    q: Value,
    k: Value,
    v: Value,
    mask: Value | None,
    causal: bool,
    scale: float | None,
    groups: int = 1,
    window: int = 0,
) -> Value:
    """softmax(scale * q @ kᵀ + mask) @ v of q [B, N, …], k and v [B, N / groups, …], as the node's result
    [B, S, N * H]. If causal, row i of S sees the keys up to T - S + i, the last `window` of them if that is not 0.
    """
    if not scale:
        if not q.type.shape[-1].is_static:
            raise n.unsupported("heads of a symbolic size", "give the attribute scale")
        scale = 1 / math.sqrt(q.type.shape[-1].as_int())
    if mask is not None and mask.type.dtype is not q.type.dtype:
        mask = n.emit("cast", mask, to=q.type.dtype)
    align = "end" if causal else "start"
    y = n.emit(
        "attention",
        q,
        k,
        v,
        mask,
        scale=scale,
        causal=causal,
        align=align,
        groups=groups,
        window=window,
    )
    batch, heads, rows, size = y.type.shape
    y = n.emit("transpose", y, perm=(0, 2, 1, 3))
    made: Value = n.final("reshape", y, shape=(batch, rows, heads * size))
    return made


def _projected(n: NodeContext, x: Value, weight: Value, bias: Value | None) -> Value:
    y: Value = n.emit("matmul", x, weight, bias)
    return y


def _self_attention(
    n: NodeContext, x: Value, weight: Value, bias: Value | None, mask: Value | None, past: Value | None,
    more: Value | None,
) -> Any:  # fmt: skip
    """Attention of x with weights [channels of x, q | k | v]; outputs are the result and `present`."""
    heads = n.attr("num_heads")
    if n.attr("do_rotary", 0) or n.attr("past_present_share_buffer", 0):
        raise n.unsupported("do_rotary or past_present_share_buffer", "use MultiHeadAttention")
    batch, rows, _ = x.type.shape
    width = weight.type.shape[1]
    third = floordiv(width, 3)
    sizes = [as_dim(s) for s in n.attr("qkv_hidden_sizes", [])] or [third, third, third]
    parts = n.emit("split", _projected(n, x, weight, bias), axis=2, sizes=sizes)
    q, k, v = (by_heads(n, p, heads) for p in parts)
    if past is not None:
        old = n.emit("split", past, axis=0, sizes=[1, 1])
        old_k, old_v = (n.emit("reshape", o, shape=o.type.shape[1:]) for o in old)
        k, v = _joined(n, old_k, k), _joined(n, old_v, v)
    keys = k.type.shape[2]
    value = n.attr("mask_filter_value", _FILTER)
    hidden = None if mask is None else _padding(n, mask, batch, rows, keys, value)
    y = attended(
        n, q, k, v, added(n, hidden, more), bool(n.attr("unidirectional", 0)), n.attr("scale")
    )
    if len(n.node.output) < 2 or not n.node.output[1]:
        return y
    stacked = [n.emit("reshape", p, shape=(1, *p.type.shape)) for p in (k, v)]
    return y, n.emit("concat", *stacked, axis=0)


@onnx_op("Attention", domain=MICROSOFT)
def attention(n: NodeContext) -> Any:
    if n.has(6):
        raise n.unsupported("past_sequence_length", "give past as long as it is")
    return _self_attention(
        n, n.value(0), n.value(1), n.optional(2), n.optional(3), n.optional(4), n.optional(5)
    )


@onnx_op("QAttention", domain=MICROSOFT)
def quantized_attention(n: NodeContext) -> Any:
    """Attention of dequantized operands: x, weight, bias, s_x, s_w, mask, z_x, z_w, past."""
    x = dequantized(n.inner, n.value(0), n.value(3), n.optional(6))
    weight = dequantized(n.inner, n.value(1), n.value(4), n.optional(7), Layout(1))
    return _self_attention(n, x, weight, n.value(2), n.optional(5), n.optional(8), None)


@onnx_op("MultiHeadAttention", domain=MICROSOFT)
def multi_head_attention(n: NodeContext) -> Any:
    """Inputs: query, key?, value?, bias?, key_padding_mask?, attention_bias?, past_key?, past_value?."""
    heads = n.attr("num_heads")
    if n.has(8) or n.has(9) or len(n.node.output) > 3:
        raise n.unsupported("past_sequence_length, cache_indirection or qk", "leave them out")
    query = n.value(0)
    if query.type.rank != 3 or (n.has(1) and n.type(1).rank == 5):
        raise n.unsupported("packed operands", "give query, key and value apart")
    bias = n.optional(3)
    operands = [query, n.optional(1), n.optional(2)]
    if any(v is None for v in operands):
        raise n.unsupported("packed operands", "give query, key and value apart")
    widths = [v.type.shape[2] if v.type.rank == 3 else v.type.shape[1] * v.type.shape[3]
              for v in operands if v is not None]  # fmt: skip
    biases = [None] * 3 if bias is None else list(n.emit("split", bias, axis=0, sizes=widths))
    parts = []
    for v, b in zip(operands, biases, strict=True):
        assert v is not None
        if v.type.rank == 4:  # keys and values of another sequence, [B, N, T, H], get no bias
            parts.append(v)
            continue
        parts.append(by_heads(n, v if b is None else n.emit("add", v, b), heads))
    q, k, v = parts
    k, v = _joined(n, n.optional(6), k), _joined(n, n.optional(7), v)
    value = n.attr("mask_filter_value", _FILTER)
    mask = n.optional(4)
    batch, rows, keys = q.type.shape[0], q.type.shape[2], k.type.shape[2]
    hidden = None if mask is None else _padding(n, mask, batch, rows, keys, value)
    y = attended(
        n,
        q,
        k,
        v,
        added(n, hidden, n.optional(5)),
        bool(n.attr("unidirectional", 0)),
        n.attr("scale"),
    )
    return [y, k, v][: len(n.node.output)]


# ---- rotary embedding


def rotated(
    n: NodeContext, x: Value, cos: Value, sin: Value, interleaved: bool, size: int
) -> Value:
    """x [B, N, S, H] with its first `size` channels rotated by angles [B or 1, 1, S, size / 2]."""
    head = x.type.shape[-1]
    rest = None
    if head != as_dim(size):
        x, rest = n.emit("split", x, axis=3, sizes=[as_dim(size), head - size])
    lead, half = x.type.shape[:-1], size // 2
    if interleaved:
        pairs = n.emit("reshape", x, shape=(*lead, half, 2))
        a, b = n.emit("split", pairs, axis=4, sizes=[1, 1])
        a, b = (n.emit("reshape", p, shape=(*lead, half)) for p in (a, b))
    else:
        a, b = n.emit("split", x, axis=3, sizes=[half, half])
    real = n.emit("sub", n.emit("mul", a, cos), n.emit("mul", b, sin))
    imaginary = n.emit("add", n.emit("mul", a, sin), n.emit("mul", b, cos))
    y: Value
    if interleaved:
        turned = [n.emit("reshape", p, shape=(*lead, half, 1)) for p in (real, imaginary)]
        y = n.emit("reshape", n.emit("concat", *turned, axis=4), shape=(*lead, size))
    else:
        y = n.emit("concat", real, imaginary, axis=3)
    return y if rest is None else n.emit("concat", y, rest, axis=3)


def angles(n: NodeContext, cache: Value, positions: Value) -> Value:
    """Rows of a cache [positions, H / 2] at [B, S], as [B, 1, S, H / 2]."""
    picked = n.emit("gather", cache, positions, axis=0)
    batch, rows, half = picked.type.shape
    made: Value = n.emit("reshape", picked, shape=(batch, 1, rows, half))
    return made


@onnx_op("RotaryEmbedding", domain=MICROSOFT)
def rotary_embedding(n: NodeContext) -> Any:
    """Inputs: x [B, S, N * H] or [B, N, S, H], position_ids [1] or [B, S], cos and sin caches."""
    x, at, cos = n.value(0), n.value(1), n.value(2)
    if n.attr("is_packed_batching", 0) or n.attr("scale", 1.0) != 1.0:
        raise n.unsupported("is_packed_batching or scale", "leave them at their defaults")
    half = cos.type.shape[1]
    size = n.attr("rotary_embedding_dim", 0)
    if not half.is_static:
        raise n.unsupported("caches of a symbolic width")
    flat = x.type.rank == 3
    heads = n.attr("num_heads", 0)
    if flat and size and not heads:
        raise n.unsupported("rotary_embedding_dim without num_heads", "give num_heads")
    if flat and not heads:
        width = x.type.shape[2]
        if not width.is_static:
            raise n.unsupported("a symbolic number of heads", "give num_heads")
        heads = width.as_int() // (half.as_int() * 2)
    by_head = by_heads(n, x, heads) if flat else x
    rows = by_head.type.shape[2]
    if at.type.rank == 1:  # an offset
        first = n.emit("reshape", n.emit("cast", at, to=DType.I64), shape=(1, 1))
        at = places(n, rows, (1, -1), first)
    turned = rotated(
        n, by_head, angles(n, cos, at), angles(n, n.value(3), at),
        bool(n.attr("interleaved", 0)), half.as_int() * 2,
    )  # fmt: skip
    if not flat:
        return turned
    return n.final("reshape", n.emit("transpose", turned, perm=(0, 2, 1, 3)), shape=x.type.shape)
