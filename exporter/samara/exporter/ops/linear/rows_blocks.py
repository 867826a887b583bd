# SPDX-License-Identifier: Apache-2.0
"""Weights of 4 or 8 bits with a scale for every block of neighbouring elements: products, and rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ops.autodiff import inference_only
from samara.exporter.ops.facts import Epilogue, Kind, Tolerance, WeightForm
from samara.exporter.ops.indexing.rows import WRAP
from samara.exporter.ops.linear.epilogue import EPILOGUE, POST_CASES, epilogue, exact_tail
from samara.exporter.ops.linear.rows_dynamic import dynamically_quantized, rows_of_every_kind
from samara.exporter.ops.numeric import Array, require_indices
from samara.exporter.ops.quantization.arithmetic import wrapped
from samara.exporter.ops.shape_rules import (
    FLOATS,
    INDICES,
    PACKED,
    require_dtype,
    require_rank,
    require_shape,
)
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import MAX_RANK, Dim, DType, TensorType, as_dim, ceildiv

LEAST_BLOCK = 16
_BLOCK = Attr(
    "block", "int", doc="how many neighbouring elements along w's last axis share a scale"
)
_ACTIVATIONS = Attr(
    "activations",
    "enum",
    "float32",
    ("float32", "int8"),
    since="0.16.0",
    doc="how x is multiplied; int8: every row is rounded to int8 with a scale of its own, sums of"
    " blocks are integers",
)
_NO_TRAINING = inference_only("a product with weights in blocks")
_ZEROS = (DType.I8, DType.U8, DType.I4, DType.U4)


def _weights(ctx: InferContext, w: int, scales: int, zeros: int) -> TensorType:
    """w [N, K] in blocks along K; scales and zero points [N, ceil(K / block)]."""
    require_dtype(ctx, w, DType.I8, *(DType.parse(d) for d in PACKED))
    require_rank(ctx, w, 2)
    block = ctx.block
    if block < LEAST_BLOCK or block & (block - 1) or block > 1 << 30:
        raise ctx.error(f"block is {block}, expected a power of two from {LEAST_BLOCK} on")
    found = ctx.required(w)
    shape = (found.shape[0], ceildiv(found.shape[1], block))
    require_dtype(ctx, scales, *(DType.parse(d) for d in FLOATS))
    require_shape(ctx, scales, shape, "one scale per block of w")
    if ctx.optional(zeros) is not None:
        require_dtype(ctx, zeros, *_ZEROS)
        require_shape(ctx, zeros, shape, "one zero point per block of w")
    return found


def unblocked(w: Array, scales: Array, zero_points: Array | None, block: int) -> Array:
    """(w - zero_points) * scales in float32, row by row."""
    width = w.shape[1]
    scale = np.repeat(scales.astype(np.float32), block, axis=1)[:, :width]
    q = w.astype(np.int32).astype(np.float32)
    if zero_points is not None:
        q = q - np.repeat(zero_points.astype(np.int32), block, axis=1)[:, :width].astype(np.float32)
    return np.asarray(q * scale)


# ---- matmul_blocks ----


def _matmul_type(ctx: InferContext) -> tuple[TensorType, ...]:
    x = ctx.x
    ctx.require(x.rank >= 2, f"x has rank {x.rank}, expected at least 2")
    w = _weights(ctx, 1, 2, 3)
    ctx.require_eq(x.shape[-1], w.shape[1], "the inner sizes of x and w must agree")
    if ctx.optional(4) is not None:
        require_dtype(ctx, 4, DType.F32)
    require_shape(ctx, 4, (w.shape[0],), "one value per row of w")
    return (TensorType(DType.F32, (*x.shape[:-1], w.shape[0])),)


def _matmul(
    x: Array,
    w: Array,
    scales: Array,
    zero_points: Array | None = None,
    bias: Array | None = None,
    *,
    block: int,
    activations: str,
    **tail: Any,
) -> Array:
    if activations == "int8":
        y = _matmul_of_bytes(x, w, scales, zero_points, block)
        return epilogue(y, bias, None, **tail)
    return epilogue(x @ unblocked(w, scales, zero_points, block).T, bias, None, **tail)


def _matmul_of_bytes(
    x: Array, w: Array, scales: Array, zero_points: Array | None, block: int
) -> Array:
    """The product of int8 rows: exact sums per block, then one float32 product and sum per block, in order."""
    q, scale = dynamically_quantized(x, (x.ndim - 1,))
    acc = np.zeros((*x.shape[:-1], w.shape[0]), np.float32)
    with np.errstate(all="ignore"):  # inf and NaN are answers
        for b in range(scales.shape[1]):
            part = slice(b * block, (b + 1) * block)
            whole = w[:, part].astype(np.float64)
            if zero_points is not None:
                whole = whole - zero_points[:, b : b + 1].astype(np.float64)
            total = wrapped(q[..., part].astype(np.float64) @ whole.T)
            acc = acc + total.astype(np.float32) * scales[:, b].astype(np.float32)
        return np.asarray(acc * scale)


def _matmul_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    depth = as_dim(1) if inputs[0] is None else inputs[0].shape[-1]
    return outputs[0].numel() * depth * 2, bytes_of(inputs, outputs)


def _of_rows(
    rows: int, width: int, block: int, kind: str, half: bool = True, zeros: str | None = None
) -> list[Any]:
    """Random weights of that dtype, scales, zero points or None."""
    blocks = -(-width // block)
    rng = np.random.default_rng(rows * 1009 + width)
    scales = rng.uniform(0.01, 0.1, (rows, blocks)).astype(np.float16 if half else np.float32)
    found: list[Any] = [(kind, (rows, width)), scales]
    return [*found, None if zeros is None else (zeros, (rows, blocks))]


def _mm(
    x: tuple[int, ...],
    columns: int,
    block: int,
    kind: str = "i4",
    *,
    half: bool = True,
    zeros: str | None = None,
    bias: bool = False,
    **attrs: Any,
) -> Case:
    given = [("f32", x), *_of_rows(columns, x[-1], block, kind, half, zeros)]
    given += [("f32", (columns,))] if bias else []
    while given[-1] is None:
        given.pop()
    return Case(tuple(given), {"block": block, **attrs})


def _int8_cases() -> Iterator[Case]:
    int8: dict[str, Any] = {"activations": "int8"}
    yield _mm((1, 32), 16, 16, **int8)
    yield _mm((1, 70), 33, 16, zeros="i4", **int8)
    yield _mm((2, 41), 7, 16, "u4", zeros="u4", half=False, **int8)
    yield _mm((1, 64), 48, 32, "u4", zeros="u8", bias=True, **int8)
    yield _mm((5, 96), 100, 32, half=False, **int8)
    yield _mm((9, 128), 17, 64, bias=True, lo=0.0, **int8)
    yield _mm((3, 50), 18, 16, "i8", zeros="i8", **int8)
    yield _mm((1, 130), 5, 128, "i8", half=False, bias=True, **int8)
    yield _mm((2, 3, 40), 20, 64, "u4", **int8)
    yield _mm((70, 300), 90, 32, bias=True, **int8)  # more than one tile of rows and of columns
    yield _mm((0, 32), 16, 16, **int8)
    yield _mm((2, 0), 3, 16, bias=True, **int8)
    yield _mm((3, 32), 18, 16, bias=True, post="gelu", **int8)
    given = _of_rows(5, 9, 16, "i4")
    yield Case((rows_of_every_kind(), *given[:2]), {"block": 16, **int8})


matmul_blocks = define(
    OpSpec(
        name="matmul_blocks",
        code=198,
        since="0.4.0",
        inputs=("x", "w", "scales", "zero_points?", "bias?"),
        outputs=("y",),
        infer=_matmul_type,
        reference=_matmul,
        doc="y = post(clamp(x @ ((w - zero_points) * scales)ᵀ + bias)), w [N, K] of 4 or 8 bits,"
        " scales and zero points [N, ceil(K / block)]; x and y float32. activations=int8:"
        " q = round(clamp(x * (127 / peak), -127, 127)) with the peak max |x| of each row, acc = 0, then"
        " for every block in order acc = acc + float32(sum of q * (w - z_w)) * s_w, each step rounded;"
        " y = post(clamp(acc * (peak / 127) + bias)); a row with inf or NaN gives NaN, one of zeros the"
        " bias",
        dtypes=("f32",),
        check=("x [A* M K] w [N K] scales [N B] zero_points [N B] bias [N] -> y [A* M N]"),
        attrs=(_BLOCK, *EPILOGUE, _ACTIVATIONS),
        cost=_matmul_cost,
        grad=_NO_TRAINING,
        flags=frozenset({"serial_prologue"}),
        cases=(
            _mm((1, 32), 16, 16),
            _mm((1, 70), 33, 16, zeros="i4"),
            _mm((2, 41), 7, 16, "u4", zeros="u4", half=False),
            _mm((1, 64), 48, 32, "u4", zeros="u8", bias=True),
            _mm((5, 96), 100, 32, half=False),
            _mm((9, 128), 17, 64, bias=True, lo=0.0),
            _mm((3, 50), 18, 16, "i8", zeros="i8"),
            _mm((7, 33), 31, 32, "i8"),
            _mm((1, 130), 5, 128, "i8", half=False, bias=True),
            _mm((2, 3, 40), 20, 64),
            _mm((4, 1), 1, 16),
            _mm((0, 32), 16, 16),
            _mm((2, 32), 0, 32),
            _mm((2, 0), 3, 16),
            _mm((6, 80), 19, 16, "u4", zeros="u4"),
            *(_mm((3, 32), 18, 16, bias=True, **a) for a in POST_CASES),
            *_int8_cases(),
        ),
        kind=Kind.PRODUCT,
        exact=exact_tail(_matmul),
        exact_with={"activations": "int8"},
        tolerance=Tolerance(3e-05, 1e-05),
        weights={"w": WeightForm.BLOCKS, "scales": WeightForm.SCALES, "bias": WeightForm.BIAS},
        epilogue=Epilogue.CLAMP | Epilogue.ACTIVATION,
    )
)


# ---- gather_blocks ----


def _gather_type(ctx: InferContext) -> tuple[TensorType, ...]:
    w = _weights(ctx, 0, 1, 3)
    require_dtype(ctx, 2, *INDICES)
    shape = (*ctx.required(2).shape, w.shape[1])
    ctx.require(len(shape) <= MAX_RANK, f"the result would have rank {len(shape)}")
    return (TensorType(DType.F32, shape),)


def _gather(
    w: Array,
    scales: Array,
    indices: Array,
    zero_points: Array | None = None,
    *,
    block: int,
    wrap: bool,
) -> Array:
    picks = require_indices("gather_blocks", indices, w.shape[0], wrap)
    zeros = None if zero_points is None else zero_points[picks.reshape(-1)]
    rows = unblocked(w[picks.reshape(-1)], scales[picks.reshape(-1)], zeros, block)
    return rows.reshape(*picks.shape, w.shape[1])


def _pick(
    rows: int,
    width: int,
    block: int,
    indices: Any,
    kind: str = "i4",
    dtype: Any = np.int64,
    wrap: bool = True,
    **how: Any,
) -> Case:
    w, scales, zeros = _of_rows(rows, width, block, kind, **how)
    given = (w, scales, np.array(indices, dtype), zeros)
    attrs = {"block": block} if wrap else {"block": block, "wrap": False}
    return Case(given if zeros is not None else given[:3], attrs)


gather_blocks = define(
    OpSpec(
        name="gather_blocks",
        code=199,
        since="0.4.0",
        inputs=("w", "scales", "indices", "zero_points?"),
        outputs=("y",),
        infer=_gather_type,
        reference=_gather,
        doc="rows of (w - zero_points) * scales, w [V, D] of 4 or 8 bits, scales and zero points"
        " [V, ceil(D / block)], as float32 [indices…, D]; indices in [-V, V), or in [0, V) where"
        " `wrap` is off",
        dtypes=("i8", *PACKED),
        check="w [V D] scales [V B] indices [I*] zero_points [V B] -> y [I* D]",
        attrs=(_BLOCK, WRAP),
        grad=_NO_TRAINING,
        cases=(
            _pick(5, 32, 16, [0, 4, -1]),
            _pick(7, 33, 16, [[1, 2], [3, -7]], "u4", np.int32, zeros="u4"),
            _pick(6, 48, 32, 3, "i8", zeros="i8", half=False),
            _pick(4, 70, 64, [2, 2], "i8", wrap=False),
            _pick(9, 31, 16, [8, 1, 0], "i4", zeros="i4", half=False),
            _pick(3, 16, 128, [1], "u4", zeros="u8"),
            _pick(3, 17, 16, np.zeros((0,)), "i4"),
            _pick(3, 0, 16, [1, 2], "i8"),
        ),
        kind=Kind.MOVING,
        settled=True,
        picked=("w", "scales", "zero_points"),
        weights={"w": WeightForm.TABLE, "scales": WeightForm.TABLE},
    )
)
