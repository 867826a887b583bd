# SPDX-License-Identifier: Apache-2.0
"""Softmax and norms on int8 (docs/reference/quantized-arithmetic.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from samara.exporter.ops import permute_rules
from samara.exporter.ops.facts import Kind
from samara.exporter.ops.integer import Form, Given, Plain, build_norm
from samara.exporter.ops.numeric import Array
from samara.exporter.ops.quantization.arithmetic import (
    INTEGER_ONLY,
    OUTPUT,
    given,
    output_quant,
    rounded,
    whole,
)
from samara.exporter.ops.shape_rules import axis_rule, require_dtype, require_shape
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, define
from samara.exporter.types import DType, Quant, TensorType

SOFTMAX_QUANT = Quant.per_tensor(1 / 256, -128)
_EXP_BITS = 24  # exp(0) in softmax's table
_INVERSE_BITS = 55  # 2^55 over the sum of a row is its factor
_MOST = 2**22  # elements of a row of a norm: their sums stay within int64, deviations within int32


def softmax_table(scale: float) -> Array:
    """round(exp(-d * scale) * 2^24) for d = 0…255 steps below the largest, uint32 [256]."""
    steps = np.arange(256, dtype=np.float64)
    return np.rint(np.exp(-steps * float(scale)) * 2.0**_EXP_BITS).astype(np.uint32)


def _qsoftmax_type(ctx: InferContext) -> tuple[TensorType, ...]:
    whole(ctx, 0)
    axis_rule(ctx)
    require_dtype(ctx, 1, DType.U32)
    require_shape(ctx, 1, (256,), "one exponential per step below the largest")
    return (TensorType(DType.QS8, ctx.x.shape, SOFTMAX_QUANT),)


def _qsoftmax(x: Array, table: Array, *, axis: int) -> Array:
    wide = x.astype(np.int32)
    if wide.size == 0:
        return x.copy()
    e = table[wide.max(axis=axis, keepdims=True) - wide].astype(np.uint64)
    total = np.maximum(e.sum(axis=axis, keepdims=True, dtype=np.uint64), np.uint64(1))
    factor = np.uint64(1 << _INVERSE_BITS) // total
    half, down = np.uint64(1 << (_INVERSE_BITS - 9)), np.uint64(_INVERSE_BITS - 8)
    y = np.minimum((e * factor + half) >> down, np.uint64(255))
    return np.asarray((y.astype(np.int32) - 128).astype(np.int8))


_X = Quant.per_tensor(0.05, 3)


def _softmax_case(shape: tuple[int, ...], axis: int = -1, scale: float = 0.05) -> Case:
    return Case((("qs8", shape, Quant.per_tensor(scale, 3)), softmax_table(scale)), {"axis": axis})


def _build_qsoftmax(given: Given, quants: Sequence[Quant], y: Quant, options: Any) -> Form | None:
    """Its results are multiples of 1/256; much finer parameters need the float operator."""
    if y.scale < 0.75 * SOFTMAX_QUANT.scale:
        return None
    table = Plain(softmax_table(quants[0].scale), "exponentials")
    return Form((0, table), dict(given.attrs))


qsoftmax = define(
    OpSpec(
        name="qsoftmax",
        code=193,
        inputs=("x", "table"),
        outputs=("y",),
        infer=_qsoftmax_type,
        reference=_qsoftmax,
        doc="y = softmax along `axis` in qs8 of scale 1/256 and zero point -128; e = table[max - x],"
        " f = 2^55 / sum(e), y = min((e * f + 2^46) >> 47, 255) - 128",
        dtypes=("qs8",),
        check="axis",
        attrs=(Attr("axis", "int"),),
        grad=INTEGER_ONLY,
        since="0.4.0",
        cases=(
            _softmax_case((7,)),
            _softmax_case((3, 33)),
            _softmax_case((3, 33), 0),
            _softmax_case((2, 5, 8), 1, 0.5),
            _softmax_case((1,)),
            _softmax_case((2, 1000), scale=0.001),
            _softmax_case((0, 4)),
            _softmax_case((4, 0)),
            _softmax_case((2, 70), scale=0.9),
        ),
        kind=Kind.NORMALISING,
        build=_build_qsoftmax,
    )
)


def _row_length(ctx: InferContext) -> None:
    axis = ctx.axis_of(ctx.axis)
    length = 1
    for d in ctx.x.shape[axis:]:
        length = length * d.as_int() if d.is_static else length
    ctx.require(length <= _MOST, f"rows of {length} elements, at most {_MOST} are provided")
    ctx.require(ctx.eps > 0, f"eps is {ctx.eps}, expected a positive number")


def _qnorm_type(ctx: InferContext) -> tuple[TensorType, ...]:
    whole(ctx, 0)
    ctx.require(ctx.x.rank > 0, "the input needs at least one axis")
    _row_length(ctx)
    axis = ctx.axis_of(ctx.axis)
    for i in range(1, len(ctx.inputs)):
        if ctx.optional(i) is not None:
            require_dtype(ctx, i, DType.F32)
            require_shape(ctx, i, ctx.x.shape[axis:], "the shape of the normalised axes")
    return (TensorType(DType.QS8, ctx.x.shape, output_quant(ctx)),)


def _finished(
    deviation: Array,
    spread: Array,
    scale: Array,
    bias: Array | None,
    *,
    zero_point: int,
    lo: int,
    hi: int,
) -> Array:
    """deviation / sqrt(spread) * scale + bias in float32, each operation rounded separately."""
    inverse = np.float32(1) / np.sqrt(spread)
    p = (deviation.astype(np.float32) * inverse) * scale
    return rounded(p if bias is None else p + bias, zero_point, lo, hi)


def _qlayer_norm(
    x: Array,
    norm_scale: Array,
    norm_bias: Array | None = None,
    *,
    axis: int,
    eps: float,
    scale: float,
    **tail: Any,
) -> Array:
    axes = tuple(range(axis % x.ndim, x.ndim))
    wide = x.astype(np.int64)
    n = int(np.prod([x.shape[a] for a in axes]))
    total = wide.sum(axis=axes, keepdims=True)
    deviation = wide * n - total
    variance = (wide * wide).sum(axis=axes, keepdims=True) * n - total * total
    rest = (np.float32(eps) * np.float32(n)) * np.float32(n)
    return _finished(deviation, variance.astype(np.float32) + rest, norm_scale, norm_bias, **tail)


def _qrms_norm(
    x: Array,
    norm_scale: Array,
    *,
    axis: int,
    eps: float,
    scale: float,
    q_in: Sequence[Quant | None],
    **tail: Any,
) -> Array:
    axes = tuple(range(axis % x.ndim, x.ndim))
    wide = x.astype(np.int64) - given(q_in, 0).zero_point
    n = int(np.prod([x.shape[a] for a in axes]))
    squares = (wide * wide).sum(axis=axes, keepdims=True)
    rest = np.float32(eps) * np.float32(n)
    return _finished(wide, squares.astype(np.float32) + rest, norm_scale, None, **tail)


_FROM = Attr("axis", "int", -1, doc="the first of the normalised axes")


def _norm_case(shape: tuple[int, ...], extra: int, axis: int = -1, **attrs: Any) -> Case:
    part = ("f32", shape[axis:])
    more = {"eps": 1e-2, "scale": 0.03, **attrs}
    return Case((("qs8", shape, _X), *(part,) * extra), {"axis": axis, **more}, -40, 40)


def _norm_cases(extra: int) -> tuple[Case, ...]:
    return (
        _norm_case((7,), extra),
        _norm_case((3, 16), extra, zero_point=11),
        _norm_case((2, 3, 33), extra),
        _norm_case((2, 5, 9), 1),
        _norm_case((2, 3, 4, 5), extra, 2),
        _norm_case((2, 3, 4), extra, 0),
        _norm_case((2, 3, 2, 2, 3), extra, -3, lo=-100, hi=90),
        _norm_case((4, 15), extra, eps=400.0),
        _norm_case((0, 4), extra),
        _norm_case((3, 1), extra),
        _norm_case((5, 300), extra),
    )


qlayer_norm = define(
    OpSpec(
        name="qlayer_norm",
        code=194,
        inputs=("x", "norm_scale", "norm_bias?"),
        outputs=("y",),
        infer=_qnorm_type,
        reference=_qlayer_norm,
        doc="y = layer norm over the axes from `axis` on in qs8: d = n * x - sum(x),"
        " v = n * sum(x^2) - sum(x)^2, y = round(clamp(d * (1 / sqrt(v + eps * n * n)) * norm_scale"
        " + norm_bias)) + z_y; norm_scale and norm_bias are in steps of the output",
        dtypes=("qs8",),
        check="norm",
        attrs=(_FROM, Attr("eps", "f32", 1e-5, doc="in squared steps of x: eps / s_x^2"), *OUTPUT),
        permute=permute_rules.trailing,
        grad=INTEGER_ONLY,
        since="0.4.0",
        cases=_norm_cases(2),
        kind=Kind.NORMALISING,
        build=build_norm(root_of_sum=False),
        settled=True,
    )
)

qrms_norm = define(
    OpSpec(
        name="qrms_norm",
        code=195,
        inputs=("x", "norm_scale"),
        outputs=("y",),
        infer=_qnorm_type,
        reference=_qrms_norm,
        doc="y = root-mean-square norm over the axes from `axis` on in qs8: d = x - z_x,"
        " y = round(clamp(d * (1 / sqrt(sum(d^2) + eps * n)) * norm_scale)) + z_y; norm_scale is in"
        " steps of the output, times sqrt(n)",
        dtypes=("qs8",),
        check="norm",
        attrs=(_FROM, Attr("eps", "f32", 1e-5, doc="in squared steps of x: eps / s_x^2"), *OUTPUT),
        permute=permute_rules.trailing,
        grad=INTEGER_ONLY,
        since="0.4.0",
        cases=_norm_cases(1),
        kind=Kind.NORMALISING,
        build=build_norm(root_of_sum=True),
        settled=True,
    )
)
