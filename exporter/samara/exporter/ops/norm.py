# SPDX-License-Identifier: Apache-2.0
"""Softmax and normalisations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ops import _permute
from samara.exporter.ops._numeric import Array, in_f32
from samara.exporter.ops._rules import (
    FLOATS,
    axis_rule,
    require_positive,
    require_same_dtype,
    require_shape,
)
from samara.exporter.ops._spec import (
    Attr,
    Case,
    Cost,
    Infer,
    InferContext,
    OpSpec,
    Permute,
    bytes_of,
    define,
)
from samara.exporter.types import Dim, TensorType

_AXIS = Attr("axis", "int", -1)
_FROM = Attr("axis", "int", -1, doc="the first of the axes that are normalised together")
_EPS = Attr("eps", "f32", 1e-5, doc="added to the variance")


def _flops(per_element: int) -> Cost:
    def cost(
        attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> tuple[Dim, Dim]:
        return outputs[0].numel() * per_element, bytes_of(inputs, outputs)

    return cost


def _row(
    name: str,
    code: int,
    inputs: tuple[str, ...],
    infer: Infer,
    reference: Callable[..., Array],
    doc: str,
    attrs: tuple[Attr, ...],
    cases: tuple[Case, ...],
    *,
    check: str = "axis",
    permute: Permute | None = None,
    flops: int = 8,
    inplace: bool = True,
) -> OpSpec:
    return define(
        OpSpec(
            name=name,
            code=code,
            inputs=inputs,
            outputs=("y",),
            infer=infer,
            reference=in_f32(reference),
            doc=doc,
            dtypes=FLOATS,
            check=check,
            attrs=attrs,
            permute=permute,
            cost=_flops(flops),
            flags=frozenset({"inplace"} if inplace else ()),
            cases=cases,
        )
    )


def _shifted(x: Array, axis: int) -> Array:
    wide = x.astype(np.float64)
    return np.asarray(wide - wide.max(axis=axis, keepdims=True, initial=-np.inf))


def _softmax(x: Array, *, axis: int) -> Array:
    e = np.exp(_shifted(x, axis))
    return np.asarray((e / e.sum(axis=axis, keepdims=True)).astype(np.float32))


def _log_softmax(x: Array, *, axis: int) -> Array:
    s = _shifted(x, axis)
    return np.asarray((s - np.log(np.exp(s).sum(axis=axis, keepdims=True))).astype(np.float32))


def _hardmax(x: Array, *, axis: int) -> Array:
    y = np.zeros_like(x)
    if x.size:
        np.put_along_axis(y, np.expand_dims(x.argmax(axis=axis), axis), 1, axis)
    return y


def _axis_cases() -> tuple[Case, ...]:
    return (
        *(Case((("f32", s),)) for s in ((1,), (7,), (3, 16), (2, 0), (2, 3, 33), (0, 5))),
        *(Case((("f32", (3, 8, 5)),), {"axis": a}, -9, 9) for a in (0, 1, 2, -2)),
        Case((("f32", (2, 3, 2, 1, 9)),), {"axis": 3}),
        Case((("f16", (4, 17)),)),
        Case((("f16", (4, 3)),), {"axis": 0}),
        Case((np.array([[100, -100, 3e38], [-np.inf, 0, -1]], np.float32),)),
    )


softmax = _row(
    "softmax",
    100,
    ("x",),
    axis_rule,
    _softmax,
    "y = e**x / (sum of e**x along `axis`)",
    (_AXIS,),
    _axis_cases(),
    permute=_permute.along_axis,
    flops=12,
)
log_softmax = _row(
    "log_softmax",
    101,
    ("x",),
    axis_rule,
    _log_softmax,
    "y = ln softmax(x)",
    (_AXIS,),
    _axis_cases(),
    permute=_permute.along_axis,
    flops=14,
)


def _trailing_type(ctx: InferContext) -> tuple[TensorType, ...]:
    ctx.require(ctx.x.rank > 0, "the input needs at least one axis")
    axis = ctx.axis_of(ctx.axis)
    others = range(1, len(ctx.inputs))
    require_same_dtype(ctx, 0, *others)
    for i in others:
        require_shape(ctx, i, ctx.x.shape[axis:], "the shape of the normalised axes")
    return (ctx.x,)


def _mean(x: Array, axes: tuple[int, ...]) -> Array:
    """The mean along the axes, which stay; NaN of nothing, without numpy's warning."""
    count = np.float64(math.prod(x.shape[a] for a in axes))
    return np.asarray(np.add.reduce(x, axis=axes, keepdims=True) / count)


def _layer_norm(
    x: Array, scale: Array | None = None, bias: Array | None = None, *, axis: int, eps: float
) -> Array:
    axes = tuple(range(axis % x.ndim, x.ndim))
    wide = x.astype(np.float64)
    centred = wide - _mean(wide, axes)
    y = centred / np.sqrt(_mean(centred * centred, axes) + np.float32(eps))
    y = y if scale is None else y * scale
    return np.asarray((y if bias is None else y + bias).astype(np.float32))


def _rms_norm(x: Array, scale: Array | None = None, *, axis: int, eps: float) -> Array:
    axes = tuple(range(axis % x.ndim, x.ndim))
    wide = x.astype(np.float64)
    y = wide / np.sqrt(_mean(wide * wide, axes) + np.float32(eps))
    return np.asarray((y if scale is None else y * scale).astype(np.float32))


def _norm_cases(extra: int) -> tuple[Case, ...]:
    def one(shape: tuple[int, ...], count: int = extra, dtype: str = "f32", **attrs: Any) -> Case:
        part = (dtype, shape[attrs.get("axis", -1) :])
        return Case(((dtype, shape), *(part,) * count), attrs)

    return (
        one((7,)),
        one((3, 16)),
        one((2, 3, 33)),
        one((2, 5, 8), 0),
        one((2, 5, 9), 1),
        one((2, 3, 4, 5), axis=2),
        one((2, 3, 4), axis=0),
        one((2, 3, 2, 2, 3), axis=-3),
        one((4, 15), eps=0.5),
        one((0, 4)),
        one((3, 1)),
        one((3, 17), dtype="f16"),
    )


layer_norm = _row(
    "layer_norm",
    102,
    ("x", "scale?", "bias?"),
    _trailing_type,
    _layer_norm,
    "y = (x - mean) / sqrt(variance + eps) * scale + bias over the axes from `axis` on",
    (_FROM, _EPS),
    (
        *_norm_cases(2),
        Case((("f32", (3, 8)), None, ("f32", (8,)))),
    ),
    check="norm",
    permute=_permute.trailing,
)


def _instance_norm_type(ctx: InferContext) -> tuple[TensorType, ...]:
    ctx.require(ctx.x.rank >= 3, f"rank {ctx.x.rank}, expected [N, spatial…, C]")
    require_same_dtype(ctx, 0, 1, 2)
    for i in (1, 2):
        require_shape(ctx, i, ctx.x.shape[-1:], "one value per channel")
    return (ctx.x,)


def _instance_norm(x: Array, scale: Array, bias: Array, *, eps: float) -> Array:
    axes = tuple(range(1, x.ndim - 1))
    wide = x.astype(np.float64)
    centred = wide - _mean(wide, axes)
    y = centred / np.sqrt(_mean(centred * centred, axes) + np.float32(eps))
    return np.asarray((y * scale + bias).astype(np.float32))


def _channel_case(shape: tuple[int, ...], dtype: str = "f32", **attrs: Any) -> Case:
    return Case(((dtype, shape), (dtype, shape[-1:]), (dtype, shape[-1:])), attrs)


instance_norm = _row(
    "instance_norm",
    103,
    ("x", "scale", "bias"),
    _instance_norm_type,
    _instance_norm,
    "y = (x - mean) / sqrt(variance + eps) * scale + bias over the spatial axes; [N, …, C]",
    (_EPS,),
    (
        _channel_case((1, 1, 1, 1)),
        _channel_case((2, 5, 7, 17)),
        _channel_case((1, 33, 8)),
        _channel_case((1, 3, 2, 4, 3)),
        _channel_case((0, 3, 2)),
        _channel_case((2, 3, 3, 16), eps=0.25),
        _channel_case((2, 4, 3, 5), "f16"),
    ),
    check="channel_norm",
)
rms_norm = _row(
    "rms_norm",
    104,
    ("x", "scale?"),
    _trailing_type,
    _rms_norm,
    "y = x / sqrt(mean of squares + eps) * scale over the axes from `axis` on",
    (_FROM, _EPS),
    _norm_cases(1),
    check="norm",
    permute=_permute.trailing,
    flops=5,
)


def _lrn_type(ctx: InferContext) -> tuple[TensorType, ...]:
    ctx.require(ctx.x.rank > 0, "the input needs at least one axis")
    require_positive(ctx, "size")
    return (ctx.x,)


def _lrn(x: Array, *, size: int, alpha: float, beta: float, bias: float) -> Array:
    squares = x.astype(np.float64) ** 2
    channels = x.shape[-1]
    before = (size - 1) // 2
    width = [(0, 0)] * (x.ndim - 1) + [(before, size - 1 - before)]
    wide = np.pad(squares, width)
    total = np.zeros_like(squares)
    for i in range(size):
        total += wide[..., i : i + channels]
    y = x / (bias + alpha / size * total) ** beta
    return np.asarray(y.astype(np.float32))


lrn = _row(
    "lrn",
    105,
    ("x",),
    _lrn_type,
    _lrn,
    "y = x / (bias + alpha / size * sum of squares of `size` neighbouring channels) ** beta;"
    " (size - 1) // 2 of them lie before",
    (
        Attr("size", "int"),
        Attr("alpha", "f32", 1e-4),
        Attr("beta", "f32", 0.75),
        Attr("bias", "f32", 1.0),
    ),
    (
        Case((("f32", (1, 2, 3, 17)),), {"size": 5, "alpha": 0.5}),
        Case((("f32", (2, 3, 8)),), {"size": 4, "alpha": 1.0, "beta": 0.5}),
        Case((("f32", (2, 2, 2, 3)),), {"size": 3, "bias": 2.0, "alpha": 2.0}),
        Case((("f32", (3, 1)),), {"size": 1, "alpha": 1.0}),
        Case((("f32", (2, 0)),), {"size": 3}),
        Case((("f16", (2, 3, 3, 16)),), {"size": 5, "alpha": 0.5}),
        Case((("f32", (1, 2, 2, 1, 9)),), {"size": 5}),
    ),
    check="same",
    flops=24,
    inplace=False,
)
hardmax = _row(
    "hardmax",
    106,
    ("x",),
    axis_rule,
    _hardmax,
    "y = 1 at the first largest element along `axis`, else 0",
    (_AXIS,),
    (
        *(Case((("f32", s),)) for s in ((1,), (7,), (3, 16), (0, 5), (3, 0))),
        *(Case((("f32", (3, 8, 5)),), {"axis": a}) for a in (0, 1)),
        Case((("f16", (4, 17)),)),
        Case((np.array([[2, 2, 1], [0, 3, 3]], np.float32),)),
    ),
    permute=_permute.along_axis,
    inplace=False,
)
