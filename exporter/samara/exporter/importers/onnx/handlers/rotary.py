# SPDX-License-Identifier: Apache-2.0
"""RotaryEmbedding: pairs of features rotated by angles that depend on their position (Su et al. 2021)."""

from __future__ import annotations

from typing import Any

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, floordiv


@onnx_op("RotaryEmbedding")
def rotary_embedding(n: NodeContext) -> Any:
    x, given = _by_heads(n)
    heads_first = given.type.rank == 4
    size = x.type.shape[-1]
    turned = int(n.attr("rotary_embedding_dim", 0))
    if not turned:
        if not size.is_static:
            raise n.unsupported("heads of a symbolic size", "give rotary_embedding_dim")
        turned = size.as_int()
    if turned % 2:
        raise n.wrong(f"{turned} features is an odd number: they are rotated in pairs")
    half = turned // 2
    cos, sin = (_angles(n, i, half, heads_first) for i in (1, 2))
    part = x if size == turned else _features(n, x, 0, turned)
    paired = bool(n.attr("interleaved", 0))
    a, b = _pairs(n, part, half, paired)
    real = n.emit("sub", n.emit("mul", cos, a), n.emit("mul", sin, b))
    imag = n.emit("add", n.emit("mul", sin, a), n.emit("mul", cos, b))
    if paired:
        shape = (*real.type.shape, 1)
        both = [n.emit("reshape", v, shape=shape) for v in (real, imag)]
        y = n.emit("reshape", n.emit("concat", *both, axis=4), shape=part.type.shape)
        parts = [y]
    else:
        parts = [real, imag]
    if part is not x:
        parts.append(_features(n, x, turned, size))
    y = parts[0] if len(parts) == 1 else n.emit("concat", *parts, axis=3)
    return n.final("reshape", y, shape=given.type.shape)


def _by_heads(n: NodeContext) -> tuple[Value, Value]:
    """(the input as [B, H, S, D], or as [B, S, H, D] if it is flat; the input)."""
    x = n.value(0)
    if x.type.rank == 4:
        return x, x
    heads = int(n.attr("num_heads", 0))
    if x.type.rank != 3 or heads < 1:
        raise n.wrong(f"input 0 is {x.type}: heads need rank 4 or the attribute num_heads")
    batch, steps, width = x.type.shape
    return n.emit("reshape", x, shape=(batch, steps, heads, floordiv(width, heads))), x


def _angles(n: NodeContext, index: int, half: int, heads_first: bool) -> Value:
    """Cosines or sines of each position, in a shape that broadcasts over heads: selected from [positions, half]
    by input 3, or given as [B, S, half].
    """
    cache = n.value(index)
    if n.has(3):
        ids = n.value(3)
        if ids.type.dtype not in (DType.I32, DType.I64):
            ids = n.emit("cast", ids, to=DType.I64)
        cache = n.emit("gather", cache, ids, axis=0)
    if cache.type.rank != 3 or (cache.type.shape[2].is_static and cache.type.shape[2] != half):
        raise n.wrong(f"input {index} gives {cache.type}, expected {half} angles per position")
    batch, steps, width = cache.type.shape
    shape = (batch, 1, steps, width) if heads_first else (batch, steps, 1, width)
    made: Value = n.emit("reshape", cache, shape=shape)
    return made


def _features(n: NodeContext, x: Value, start: Any, stop: Any) -> Value:
    taken: Value = n.emit(
        "slice", x, begin=[0, 0, 0, start], end=[*x.type.shape[:3], stop], step=[1, 1, 1, 1]
    )
    return taken


def _pairs(n: NodeContext, x: Value, half: int, paired: bool) -> tuple[Value, Value]:
    """First and second features of the pairs: adjacent features, or one from each half."""
    if not paired:
        a, b = n.emit("split", x, axis=3, sizes=[half, half])
        return a, b
    split = n.emit("reshape", x, shape=(*x.type.shape[:3], half, 2))
    a, b = n.emit("split", split, axis=4, sizes=[1, 1])
    shape = (*x.type.shape[:3], half)
    return n.emit("reshape", a, shape=shape), n.emit("reshape", b, shape=shape)
