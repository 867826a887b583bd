# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms, mel filters, determinants and sorted rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ops.autodiff import NO_GRAD, inference_only
from samara.exporter.ops.facts import Kind, Tolerance
from samara.exporter.ops.numeric import Array, DataError, in_f32
from samara.exporter.ops.shape_rules import EVERY_NUMBER, FLOATS, require_dtype, require_rank
from samara.exporter.ops.signal import grad as rules
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, DType, TensorType, as_dim, floordiv

_MAX_LENGTH = 1 << 25  # of a transform, as in check_signal.c

# ---- dft ----


def _dft_type(ctx: InferContext) -> tuple[TensorType, ...]:
    ctx.require(ctx.x.rank >= 2, "the input needs an axis of real or complex numbers")
    axis, last = ctx.axis_of(ctx.axis), ctx.x.rank - 1
    ctx.require(axis != last, "the last axis holds the numbers and cannot be transformed")
    what = "the last axis must be 1 (real) or 2 (complex)"
    ctx.require_ge(ctx.x.shape[last], 1, what)
    ctx.require_ge(2, ctx.x.shape[last], what)
    ctx.require_ge(ctx.length, 1, "the length must be positive")
    ctx.require_ge(_MAX_LENGTH, ctx.length, "the length is beyond what is transformed")
    shape = list(ctx.x.shape)
    half = ctx.onesided and not ctx.inverse
    shape[axis] = floordiv(ctx.length, 2) + 1 if half else ctx.length
    shape[last] = as_dim(1 if ctx.onesided and ctx.inverse else 2)
    return (TensorType(ctx.x.dtype, tuple(shape)),)


def _dft(x: Array, *, length: int, axis: int, inverse: bool, onesided: bool) -> Array:
    axis %= x.ndim
    signal = x[..., 0].astype(np.complex128)
    if x.shape[-1] == 2:
        signal += 1j * x[..., 1]
    if 0 in signal.shape and signal.shape[axis]:
        y = np.zeros((*signal.shape[:axis], length, *signal.shape[axis + 1 :]), np.complex128)
        if onesided and not inverse:
            y = y.take(range(length // 2 + 1), axis)
    elif signal.shape[axis] == 0:
        shape = [*signal.shape]
        shape[axis] = length // 2 + 1 if onesided and not inverse else length
        y = np.zeros(shape, np.complex128)
    elif not inverse:
        y = np.fft.fft(signal, length, axis)
        if onesided:
            y = y.take(range(length // 2 + 1), axis)
    elif onesided:
        y = np.fft.irfft(signal, length, axis).astype(np.complex128)
    else:
        y = np.fft.ifft(signal, length, axis)
    parts = (y.real,) if onesided and inverse else (y.real, y.imag)
    return np.stack(parts, -1).astype(x.dtype)


def _dft_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    # 5 n log2 n by convention; the logarithm of a typical length, because dims may be symbols.
    return outputs[0].numel() * 25, bytes_of(inputs, outputs)


def _dft_case(shape: tuple[int, ...], length: int, dtype: str = "f32", **attrs: Any) -> Case:
    return Case(((dtype, shape),), {"length": length, **attrs})


dft = define(
    OpSpec(
        name="dft",
        code=165,
        since="0.3.0",
        inputs=("x",),
        outputs=("y",),
        infer=_dft_type,
        reference=in_f32(_dft),
        doc="the discrete Fourier transform along `axis` of x [..., 1 (real) or 2 (complex)], cut or"
        " filled with zeros to `length`; the inverse is divided by the length",
        dtypes=FLOATS,
        check="dft",
        attrs=(
            Attr("length", "dim"),
            Attr("axis", "int", -2),
            Attr("inverse", "bool", False),
            Attr(
                "onesided",
                "bool",
                False,
                doc="only elements 0 .. length / 2 of the spectrum; of an inverse these are given,"
                " and the result is real",
            ),
        ),
        cost=_dft_cost,
        flags=frozenset({"serial_prologue"}),
        grad=rules.dft,
        cases=(
            _dft_case((3, 8, 1), 8),
            _dft_case((2, 60, 2), 60, axis=1),
            _dft_case((17, 16, 1), 16, onesided=True),
            _dft_case((5, 7, 3, 2), 7, axis=1, inverse=True),
            _dft_case((2, 5, 2), 9, inverse=True, onesided=True),
            _dft_case((2, 3, 2), 8, inverse=True, onesided=True),
            _dft_case((1, 77, 1), 74, onesided=True),  # 37 is no radix
            _dft_case((3, 90, 2), 101, inverse=True),
            _dft_case((2, 0, 1), 6),
            _dft_case((0, 4, 2), 4),
            _dft_case((1, 2), 1, axis=0),
            _dft_case((2, 24, 1), 20, "f16"),
        ),
        kind=Kind.TRANSFORM,
        tolerance=Tolerance(1e-05, 1e-05),
    )
)


# ---- mel_weights ----


def _mel_type(ctx: InferContext) -> tuple[TensorType, ...]:
    for i in range(4):
        require_rank(ctx, i, 0)
        require_dtype(ctx, i, DType.I64 if i < 2 else DType.F32)
    ctx.require(len(ctx.shape) == 2, "shape is [bins of the spectrum, filters]")
    for d in ctx.shape:
        ctx.require_ge(d, 0, "sizes must not be negative")
    return (TensorType(DType.F32, tuple(ctx.shape)),)


def _mel(length: Array, rate: Array, low: Array, high: Array, *, shape: tuple[int, ...]) -> Array:
    bins, filters = shape
    ends = np.log1p(np.array([low, high], np.float64) / 700)
    steps = ends[0] + (ends[1] - ends[0]) / (filters + 2) * np.arange(filters + 2)
    hertz = 700 * np.expm1(steps)
    edges = np.floor((float(length) + 1) * hertz / float(rate))
    y = np.zeros(shape, np.float32)
    if not y.size:
        return y
    if not (np.all(edges >= 0) and np.all(edges < bins) and np.all(np.diff(edges) >= 0)):
        raise DataError("the edges of a filter do not lie in the spectrum", op="mel_weights")
    at = np.arange(bins)
    for i in range(filters):
        left, middle, right = (int(e) for e in edges[i : i + 3])
        if left == middle:
            y[middle, i] = 1
        else:
            rising = (at >= left) & (at <= middle)
            y[rising, i] = ((at - left) / (middle - left))[rising]
        if right > middle:
            falling = (at >= middle) & (at < right)
            y[falling, i] = ((right - at) / (right - middle))[falling]
    return y


def _mel_case(length: int, rate: int, low: float, high: float, *shape: int) -> Case:
    numbers = (np.array(length), np.array(rate), np.float32(low), np.float32(high))
    return Case(tuple(map(np.asarray, numbers)), {"shape": shape})


mel_weights = define(
    OpSpec(
        name="mel_weights",
        code=168,
        since="0.3.0",
        inputs=("length", "rate", "low", "high"),
        outputs=("y",),
        infer=_mel_type,
        reference=_mel,
        doc="y[k, i]: how much bin k of the spectrum of a transform of `length` samples at `rate`"
        " counts in mel filter i, a triangle; the filters' middles are spread evenly on the mel"
        " scale from `low` to `high` Hz",
        dtypes=("i64",),
        check="length [] rate [] low [] high [] -> y [shape*]",
        grad=NO_GRAD,
        attrs=(Attr("shape", "dims", doc="[bins, filters]"),),
        cases=(
            _mel_case(16, 8192, 0, 8192 / 2, 9, 8),
            _mel_case(400, 16000, 20, 7600, 201, 40),
            _mel_case(512, 16000, 300, 300, 257, 3),
            _mel_case(64, 8000, 0, 4000, 33, 0),
        ),
        kind=Kind.SOURCE,
    )
)


# ---- det ----


def _det_type(ctx: InferContext) -> tuple[TensorType, ...]:
    ctx.require(ctx.x.rank >= 2, f"x has rank {ctx.x.rank}, expected matrices")
    rows, columns = ctx.x.shape[-2:]
    ctx.require_eq(rows, columns, "matrices must be square")
    return (TensorType(ctx.x.dtype, ctx.x.shape[:-2]),)


def _det(x: Array) -> Array:
    return np.asarray(np.linalg.det(x.astype(np.float64))).astype(x.dtype)


def _det_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    (x,) = inputs
    assert x is not None
    return floordiv(x.numel() * x.shape[-1] * 2, 3), bytes_of(inputs, outputs)


# No case is near-singular: the error of an elimination would then come from the condition number.
_DIAGONAL = np.eye(70, dtype=np.float32) + 0.01 * np.cos(np.arange(4900, dtype=np.float32)).reshape(
    70, 70
)

det = define(
    OpSpec(
        name="det",
        code=166,
        since="0.3.0",
        inputs=("x",),
        outputs=("y",),
        infer=_det_type,
        reference=in_f32(_det),
        doc="the determinants of x [..., n, n], by elimination with partial pivoting",
        dtypes=FLOATS,
        check="x [A* N N] -> y [A*]",
        cost=_det_cost,
        grad=inference_only("det"),
        cases=(
            Case((("f32", (1, 1)),)),
            Case((("f32", (4, 2, 3, 3)),)),
            Case((("f32", (5, 4, 4)),)),
            Case((np.roll(_DIAGONAL, 3, 0),)),
            Case((np.array([[1, 2], [2, 4]], np.float32),)),
            Case((np.array([[0, 2], [3, 4]], np.float32),)),
            Case((("f32", (2, 0, 0)),)),
            Case((("f32", (0, 3, 3)),)),
            Case((("f16", (2, 3, 3)),)),
        ),
        kind=Kind.TRANSFORM,
        tolerance=Tolerance(1e-05, 0.0005),
    )
)


# ---- sort_rows ----


def _sort_rows_type(ctx: InferContext) -> tuple[TensorType, ...]:
    require_rank(ctx, 0, 2)
    shape = ctx.x.shape[:1]
    return TensorType(DType.I64, shape), TensorType(DType.BOOL, shape)


def _sort_rows(x: Array) -> tuple[Array, Array]:
    order = np.arange(len(x))
    for column in reversed(range(x.shape[1])):
        keys = x[order, column]
        order = order[np.argsort(keys, kind="stable")]
    rows = x[order]
    same = rows[1:] == rows[:-1]
    if x.dtype.kind == "f":
        same |= np.isnan(rows[1:]) & np.isnan(rows[:-1])
    first = np.ones(len(x), np.bool_)
    first[1:] = ~np.all(same, axis=1)
    return order, first


def _sort_rows_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    # A comparison per row and pass; the passes are the logarithm of a typical number of rows.
    return outputs[0].numel() * 10, bytes_of(inputs, outputs)


sort_rows = define(
    OpSpec(
        name="sort_rows",
        code=167,
        since="0.3.0",
        inputs=("x",),
        outputs=("order", "first"),
        infer=_sort_rows_type,
        reference=_sort_rows,
        doc="the order in which the rows of x [n, width] ascend, equal ones as they stand, and"
        " whether the row at each place of it differs from the one before; NaN comes last and"
        " equals itself",
        dtypes=(*EVERY_NUMBER, "bool"),
        check="x [N W] -> order [N] first [N]",
        cost=_sort_rows_cost,
        grad=NO_GRAD,
        cases=(
            Case((np.array([[3], [1], [3], [-1], [1]], np.float32),)),
            Case((np.array([[0, np.nan], [-0.0, np.nan], [np.nan, 0], [0, 1]], np.float32),)),
            Case((np.array([[1, 0], [0, 2], [1, 0], [0, -2]], np.float16),)),
            *(Case(((d, (33, 2)),)) for d in (*EVERY_NUMBER[2:], "bool")),
            Case((("i32", (0, 3)),)),
            Case((("i32", (3, 0)),)),
        ),
        kind=Kind.REDUCING,
    )
)
