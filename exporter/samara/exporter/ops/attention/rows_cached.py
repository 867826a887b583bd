# SPDX-License-Identifier: Apache-2.0
"""Steps of a decoder: rotary positions, writing rows into a cache, and attention over the rows in use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from samara.exporter.ops import exact_float
from samara.exporter.ops.attention import grad as _grad
from samara.exporter.ops.autodiff import inference_only
from samara.exporter.ops.facts import ROUNDED, UNCHANGED, Eager, Ends, Kind
from samara.exporter.ops.numeric import Array, DataError
from samara.exporter.ops.shape_rules import WHOLE, require_dtype, require_rank, require_shape
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, DType, TensorType, as_dim

_RING: Final = "row r of the cache is position r, and every position a multiple of its rows later"


def _number(value: int) -> Array:
    return np.array(value, np.int64)


def _require_number(ctx: InferContext, index: int, name: str) -> None:
    """An int64 scalar."""
    require_dtype(ctx, index, DType.I64)
    ctx.require(ctx.required(index).rank == 0, f"{name} must be a scalar")


# ---- write_rows ----


def _write_type(ctx: InferContext) -> tuple[TensorType, ...]:
    x, rows = ctx.x, ctx.required(1)
    ctx.require(x.rank >= 2, f"x has rank {x.rank}, expected at least 2: batch and rows")
    require_dtype(ctx, 1, x.dtype)
    require_rank(ctx, 1, x.rank)
    for axis in range(x.rank):
        if axis != 1:
            ctx.require_eq(x.shape[axis], rows.shape[axis], f"axis {axis} of x and rows differ")
    ctx.require_ge(x.shape[1], rows.shape[1], "x has fewer rows than are written")
    _require_number(ctx, 2, "start")
    return (TensorType(x.dtype, x.shape),)


def _write_rows(x: Array, rows: Array, start: Array, *, ring: bool) -> Array:
    first, count, room = int(start), rows.shape[1], x.shape[1]
    y = x.copy()
    if y.size == 0:
        return y  # an empty result reads no number
    if first < 0 or (not ring and first + count > room):
        raise DataError(
            f"rows {first} to {first + count} do not fit into the {room} rows of the cache",
            op="write_rows",
        )
    if count:
        y[:, (first + np.arange(count)) % room] = rows
    return y


def _write_case(
    shape: tuple[int, ...], count: int, start: int, dtype: str = "f32", **attrs: Any
) -> Case:
    rows = (shape[0], count, *shape[2:])
    return Case(((dtype, shape), (dtype, rows), _number(start)), attrs)


write_rows = define(
    OpSpec(
        name="write_rows",
        code=233,
        since="0.16.0",
        inputs=("x", "rows", "start"),
        outputs=("y",),
        infer=_write_type,
        reference=_write_rows,
        doc="y = x with its rows start to start + S - 1 along axis 1 replaced by `rows`, which has S; rows outside of"
        " x are an error. Where x is the value of a variable that grows and y its next value, only these rows are"
        " written",
        dtypes=WHOLE,
        check="x [B T R*] rows [B S R*] start [] -> y [B T R*]",
        attrs=(Attr("ring", "bool", False, doc=_RING),),
        grad=_grad.write_rows,
        saves=("start",),
        cases=(
            _write_case((1, 7), 1, 0),
            _write_case((1, 9, 3, 2), 4, 5),
            _write_case((2, 5, 16), 5, 0),
            _write_case((3, 40, 33), 7, 11),
            _write_case((1, 6, 4), 3, 5, ring=True),
            _write_case((2, 6, 4), 6, 1_000_000_007, ring=True),
            _write_case((1, 6, 4), 0, 6),
            _write_case((0, 6, 4), 2, 3),
            _write_case((1, 6, 0), 2, 3),
            *(_write_case((1, 5, 3), 2, 1, d) for d in WHOLE[1:]),
        ),
        kind=Kind.MOVING,
        tolerance=UNCHANGED,
        copies=True,
        eager=Eager.KERNEL,
        ends=Ends.ALWAYS,
        onnx="TensorScatter has a start for every batch entry, and is younger than the reference of the tests",
    )
)


# ---- rotary ----


def _rotary_type(ctx: InferContext) -> tuple[TensorType, ...]:
    x, half = ctx.x, ctx.required(1)
    require_rank(ctx, 0, 4)
    require_rank(ctx, 1, 2)
    ctx.require_eq(x.shape[3], half.shape[1] * 2, "an angle turns a pair of the last axis of x")
    for index in (1, 2):
        require_dtype(ctx, index, x.dtype)
        require_shape(ctx, index, (x.shape[1], half.shape[1]), "one row per row of x")
    return (TensorType(x.dtype, x.shape),)


def _rotary(x: Array, cosines: Array, sines: Array) -> Array:
    c, s = cosines[:, None], sines[:, None]
    low, high = np.split(x, 2, axis=-1)
    return np.concatenate([low * c - high * s, high * c + low * s], axis=-1)


def _rotary_case(batch: int, rows: int, heads: int, size: int) -> Case:
    angles = ("f32", (rows, size // 2))
    return Case((("f32", (batch, rows, heads, size)), angles, angles))


rotary = define(
    OpSpec(
        name="rotary",
        code=235,
        since="0.16.0",
        inputs=("x", "cosines", "sines"),
        outputs=("y",),
        infer=_rotary_type,
        reference=_rotary,
        doc="Rotary positions (arXiv:2104.09864): x is [B, S, H, D], cosines and sines are [S, D / 2]; elements i and"
        " i + D / 2 of a head are a pair, y_i = x_i c_i - x_j s_i and y_j = x_j c_i + x_i s_i, each product and sum"
        " rounded",
        dtypes=("f32",),
        check="same",
        grad=_grad.rotary,
        saves=("x", "cosines", "sines"),
        cases=(
            _rotary_case(1, 1, 1, 2),
            _rotary_case(1, 5, 3, 64),
            _rotary_case(2, 33, 2, 18),
            _rotary_case(1, 0, 2, 8),
            _rotary_case(1, 3, 0, 8),
            _rotary_case(1, 3, 2, 0),
        ),
        kind=Kind.TRANSFORM,
        tolerance=ROUNDED,
        eager=Eager.KERNEL,
        settled=True,
        onnx="RotaryEmbedding is younger than the reference of the tests",
    )
)


# ---- attention_cached ----


def _cached_type(ctx: InferContext) -> tuple[TensorType, ...]:
    q, k, v = (ctx.required(i) for i in range(3))
    for index in range(3):
        require_rank(ctx, index, 4)
        require_dtype(ctx, index, DType.F32)
    heads, shared = as_dim(q.shape[2]), as_dim(k.shape[2])
    ctx.require_ge(shared, 1, "k has no heads")
    ctx.require_eq(heads % shared, 0, f"{heads} heads of q do not share {shared} of k evenly")
    ctx.require_eq(q.shape[0], k.shape[0], "q and k differ in their batch")
    ctx.require_eq(q.shape[3], k.shape[3], "q and k must have rows of one length")
    require_shape(ctx, 2, (*k.shape[:3], v.shape[3]), "the batch, rows and heads of k")
    _require_number(ctx, 3, "length")
    ctx.require(ctx.window >= 0, f"window {ctx.window} is negative")
    return (TensorType(DType.F32, (*q.shape[:3], v.shape[3])),)


def _cached(
    q: Array, k: Array, v: Array, length: Array, *, scale: float, window: int, ring: bool
) -> Array:
    count, rows, room = int(length), q.shape[1], k.shape[1]
    shape = (*q.shape[:3], v.shape[3])
    if 0 in shape:
        return np.empty(shape, np.float32)  # an empty result reads no number
    least = max(0, count - room)
    first = max(0, count - rows - window + 1) if window else 0
    if count < rows or (count > room and not ring) or least > first:
        raise DataError(
            f"the last {rows} of {count} positions cannot see theirs in {room} rows",
            op="attention_cached",
        )
    group = q.shape[2] // k.shape[2]
    y = np.empty(shape, np.float32)
    for row in range(rows):
        end = count - rows + row + 1
        begin = max(0, end - window) if window else 0
        slots = np.arange(begin, end) % room
        for head in range(q.shape[2]):
            keys, values = k[:, slots, head // group], v[:, slots, head // group]
            scores = exact_float.dot(q[:, row, head, None], keys) * np.float32(scale)
            y[:, row, head] = _mixed(scores, values)
    return y


def _mixed(scores: Array, values: Array) -> Array:
    """softmax(scores [B, T]) @ values [B, T, E], every operation rounded and T in order."""
    weights = exact_float.exp(scores - exact_float.largest(scores)[:, None])
    weights = weights * (np.float32(1) / exact_float.total(weights))[:, None]
    y = np.zeros((values.shape[0], values.shape[2]), np.float32)
    for t in range(values.shape[1]):
        y = y + weights[:, t, None] * values[:, t]
    return y


def _cached_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    q, k = inputs[0], inputs[1]
    if q is None or k is None:
        return as_dim(0), bytes_of(inputs, outputs)
    per_key = (q.numel() + outputs[0].numel()) * 2 + q.shape[0] * q.shape[1] * q.shape[2] * 12
    return per_key * k.shape[1], bytes_of(inputs, outputs)


def _cached_case(
    batch: int,
    rows: int,
    heads: int,
    shared: int,
    room: int,
    length: int,
    d: int,
    e: int,
    **attrs: Any,
) -> Case:
    shapes = ((batch, rows, heads, d), (batch, room, shared, d), (batch, room, shared, e))
    return Case((*(("f32", x) for x in shapes), _number(length)), {"scale": 0.25, **attrs})


attention_cached = define(
    OpSpec(
        name="attention_cached",
        code=234,
        since="0.16.0",
        inputs=("q", "k", "v", "length"),
        outputs=("y",),
        infer=_cached_type,
        reference=_cached,
        doc="y = softmax(scale * q @ kᵀ) @ v over a cache: q is [B, S, H, D], k [B, T, G, D], v [B, T, G, E], y [B, S,"
        " H, E], with H / G heads of q to one of k and v. The first `length` rows of k and v are in use; row i of q is"
        " position length - S + i and sees the positions up to its own. The arithmetic is that of exact models"
        " (docs/reference/numerics.md): the same bits on every machine, for any split of a text into calls",
        dtypes=("f32",),
        check="q [B S H D] k [B T G D] v [B T G E] length [] -> y [B S H E]",
        attrs=(
            Attr("scale", "f32", doc="factor of q @ kᵀ, often 1 / sqrt(D)"),
            Attr("window", "int", 0, doc="if not 0, a row sees the last `window` of its positions"),
            Attr("ring", "bool", False, doc=f"{_RING}; a row must find all positions that it sees"),
        ),
        cost=_cached_cost,
        grad=inference_only("attention over a cache"),
        cases=(
            _cached_case(1, 1, 1, 1, 1, 1, 1, 1, scale=1.0),
            _cached_case(1, 1, 6, 2, 40, 33, 16, 16),
            _cached_case(2, 5, 4, 4, 20, 20, 9, 7),
            _cached_case(1, 7, 9, 3, 70, 60, 64, 64, scale=0.125),
            _cached_case(1, 3, 2, 1, 300, 257, 33, 5),
            _cached_case(1, 4, 2, 1, 16, 9, 8, 8, window=3),
            _cached_case(1, 4, 2, 1, 16, 45, 8, 8, window=13, ring=True),
            _cached_case(1, 2, 2, 2, 8, 8, 8, 8, ring=True),
            _cached_case(1, 0, 2, 1, 8, 5, 8, 8),
            _cached_case(1, 2, 2, 1, 8, 5, 0, 8),
            _cached_case(1, 2, 2, 1, 8, 5, 8, 0),
            _cached_case(0, 2, 2, 1, 8, 5, 8, 8),
        ),
        kind=Kind.PRODUCT,
        tolerance=ROUNDED,
        settled=True,
        eager=Eager.KERNEL,
        ends=Ends.ALWAYS,
        onnx="attention with a cache and positions has no twin: Attention's mask says what counts",
    )
)
