# SPDX-License-Identifier: Apache-2.0
"""Softmax and normalisations; their backward operators are in backward.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from samara.exporter.ops import exact_float, permute_rules
from samara.exporter.ops.autodiff import Rule
from samara.exporter.ops.facts import UNCHANGED, Eager, Facts, Kind, Tolerance
from samara.exporter.ops.grad_tools import flat
from samara.exporter.ops.integer import Integer, Role, normalises
from samara.exporter.ops.norm import grad as rules
from samara.exporter.ops.norm.backward import (
    AXIS,
    EPS,
    FROM,
    GROUPS,
    grouped,
    mean_of,
    require_groups,
)
from samara.exporter.ops.norm.rows_int8 import SOFTMAX_QUANT
from samara.exporter.ops.numeric import Array, in_f32
from samara.exporter.ops.shape_rules import (
    EVERY_FLOAT,
    FLOATS,
    axis_rule,
    require_positive,
    require_same_dtype,
    require_shape,
)
from samara.exporter.ops.spec import (
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
    reference: Callable[..., Any],
    doc: str,
    attrs: tuple[Attr, ...],
    cases: tuple[Case, ...],
    *,
    grad: Rule,
    saves: tuple[str, ...],
    outputs: tuple[str, ...] = ("y",),
    check: str = "axis",
    permute: Permute | None = None,
    flops: int = 8,
    inplace: bool = True,
    training: bool = False,
    since: str = "0.1.0",
    dtypes: tuple[str, ...] = FLOATS,
    kind: Kind = Kind.NORMALISING,
    **facts: Unpack[Facts],
) -> OpSpec:
    return define(
        OpSpec(
            name=name,
            code=code,
            inputs=inputs,
            outputs=outputs,
            infer=infer,
            reference=in_f32(reference),
            doc=doc,
            kind=kind,
            dtypes=dtypes,
            check=check,
            attrs=attrs,
            permute=permute,
            cost=_flops(flops),
            grad=grad,
            saves=saves,
            flags=frozenset(["inplace"] * inplace + ["training"] * training),
            since=since,
            cases=cases,
            **facts,
        )
    )


def _shifted(x: Array, axis: int) -> Array:
    wide = x.astype(np.float64)
    return np.asarray(wide - wide.max(axis=axis, keepdims=True, initial=-np.inf))


def _softmax(x: Array, *, axis: int) -> Array:
    e = np.exp(_shifted(x, axis))
    return np.asarray((e / e.sum(axis=axis, keepdims=True)).astype(x.dtype))


def _log_softmax(x: Array, *, axis: int) -> Array:
    s = _shifted(x, axis)
    return np.asarray((s - np.log(np.exp(s).sum(axis=axis, keepdims=True))).astype(x.dtype))


def _exact_softmax(*, logarithm: bool) -> Callable[..., Array]:
    def reference(x: Array, *, axis: int) -> Array:
        rows = np.moveaxis(x, axis, -1)
        return np.moveaxis(exact_float.softmax(rows, logarithm), -1, axis)

    return reference


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
        Case((("f64", (3, 9)),), low=-9, high=9),
        Case((("f64", (3, 4, 2)),), {"axis": 1}),
    )


softmax = _row(
    "softmax",
    100,
    ("x",),
    axis_rule,
    _softmax,
    "y = e**x / (sum of e**x along `axis`)",
    (AXIS,),
    _axis_cases(),
    grad=rules.softmax,
    saves=("y",),
    permute=permute_rules.along_axis,
    exact=_exact_softmax(logarithm=False),
    flops=12,
    dtypes=EVERY_FLOAT,
    eager=Eager.KERNEL,
    integer=Integer(Role.COMPUTED, "qsoftmax", late=True, result=SOFTMAX_QUANT),
)
log_softmax = _row(
    "log_softmax",
    101,
    ("x",),
    axis_rule,
    _log_softmax,
    "y = ln softmax(x)",
    (AXIS,),
    _axis_cases(),
    grad=rules.log_softmax,
    saves=("y",),
    permute=permute_rules.along_axis,
    exact=_exact_softmax(logarithm=True),
    flops=14,
    dtypes=EVERY_FLOAT,
    eager=Eager.KERNEL,
)


def _trailing_type(ctx: InferContext) -> tuple[TensorType, ...]:
    ctx.require(ctx.x.rank > 0, "the input needs at least one axis")
    axis = ctx.axis_of(ctx.axis)
    others = range(1, len(ctx.inputs))
    require_same_dtype(ctx, 0, *others)
    for i in others:
        require_shape(ctx, i, ctx.x.shape[axis:], "the shape of the normalised axes")
    return (ctx.x,)


def _layer_norm(
    x: Array, scale: Array | None = None, bias: Array | None = None, *, axis: int, eps: float
) -> Array:
    axes = tuple(range(axis % x.ndim, x.ndim))
    wide = x.astype(np.float64)
    centred = wide - mean_of(wide, axes)
    y = centred / np.sqrt(mean_of(centred * centred, axes) + np.float32(eps))
    y = y if scale is None else y * scale
    return np.asarray((y if bias is None else y + bias).astype(x.dtype))


def _rms_norm(x: Array, scale: Array | None = None, *, axis: int, eps: float) -> Array:
    axes = tuple(range(axis % x.ndim, x.ndim))
    wide = x.astype(np.float64)
    y = wide / np.sqrt(mean_of(wide * wide, axes) + np.float32(eps))
    return np.asarray((y if scale is None else y * scale).astype(x.dtype))


def _exact_rows(x: Array, axis: int, *parts: Array | None) -> list[Array | None]:
    """The groups of a norm as rows, and its parameters as one row each."""
    width = int(np.prod(x.shape[axis % x.ndim :]))
    rows = (
        x.reshape(-1, width) if x.size else x.reshape(int(np.prod(x.shape[: axis % x.ndim])), width)
    )
    return [rows, *(None if p is None else p.reshape(width) for p in parts)]


def _exact_layer_norm(
    x: Array, scale: Array | None = None, bias: Array | None = None, *, axis: int, eps: float
) -> Array:
    rows, scale, bias = _exact_rows(x, axis, scale, bias)
    assert rows is not None
    return exact_float.normalize(rows, scale, bias, eps, centred=True).reshape(x.shape)


def _exact_rms_norm(x: Array, scale: Array | None = None, *, axis: int, eps: float) -> Array:
    rows, scale = _exact_rows(x, axis, scale)
    assert rows is not None
    return exact_float.normalize(rows, scale, None, eps, centred=False).reshape(x.shape)


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
    (FROM, EPS),
    (
        *_norm_cases(2),
        Case((("f32", (3, 8)), None, ("f32", (8,)))),
    ),
    grad=rules.layer_norm,
    saves=("x", "scale"),
    check="norm",
    permute=permute_rules.trailing,
    tolerance=Tolerance(1e-05, 1e-05),
    eager=Eager.KERNEL,
    parameters=("scale", "bias"),
    integer=Integer(Role.COMPUTED, "qlayer_norm", fits=normalises, late=True),
    exact=_exact_layer_norm,
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
    centred = wide - mean_of(wide, axes)
    y = centred / np.sqrt(mean_of(centred * centred, axes) + np.float32(eps))
    return np.asarray((y * scale + bias).astype(x.dtype))


def _channel_case(shape: tuple[int, ...], dtype: str = "f32", **attrs: Any) -> Case:
    return Case(((dtype, shape), (dtype, shape[-1:]), (dtype, shape[-1:])), attrs)


instance_norm = _row(
    "instance_norm",
    103,
    ("x", "scale", "bias"),
    _instance_norm_type,
    _instance_norm,
    "y = (x - mean) / sqrt(variance + eps) * scale + bias over the spatial axes; [N, …, C]",
    (EPS,),
    (
        _channel_case((1, 1, 1, 1)),
        _channel_case((2, 5, 7, 17)),
        _channel_case((1, 33, 8)),
        _channel_case((1, 3, 2, 4, 3)),
        _channel_case((0, 3, 2)),
        _channel_case((2, 3, 3, 16), eps=0.25),
        _channel_case((2, 4, 3, 5), "f16"),
    ),
    grad=rules.instance_norm,
    saves=("x", "scale"),
    check="channels",
    tolerance=Tolerance(1e-05, 1e-05),
    eager=Eager.KERNEL,
)
rms_norm = _row(
    "rms_norm",
    104,
    ("x", "scale?"),
    _trailing_type,
    _rms_norm,
    "y = x / sqrt(mean of squares + eps) * scale over the axes from `axis` on",
    (FROM, EPS),
    _norm_cases(1),
    grad=rules.rms_norm,
    saves=("x", "scale"),
    check="norm",
    permute=permute_rules.trailing,
    flops=5,
    tolerance=Tolerance(2e-06, 1e-05),
    eager=Eager.KERNEL,
    parameters=("scale",),
    integer=Integer(Role.COMPUTED, "qrms_norm", fits=normalises, late=True),
    exact=_exact_rms_norm,
)


# ---- groups and batches ----


def _group_norm_type(ctx: InferContext) -> tuple[TensorType, ...]:
    ctx.require(ctx.x.rank >= 2, f"rank {ctx.x.rank}, expected [N, …, C]")
    require_same_dtype(ctx, *range(len(ctx.inputs)))
    for i in (1, 2):
        require_shape(ctx, i, ctx.x.shape[-1:], "one value per channel")
    require_groups(ctx, ctx.groups, ctx.x.shape[-1])
    return (ctx.x,)


def _group_norm(
    x: Array, scale: Array | None = None, bias: Array | None = None, *, groups: int, eps: float
) -> Array:
    axes = (*range(1, x.ndim - 1), x.ndim)
    wide = x.astype(np.float64).reshape(grouped(x.shape, groups))
    centred = wide - mean_of(wide, axes)
    y = centred / np.sqrt(mean_of(centred * centred, axes) + np.float32(eps))
    y = y.reshape(x.shape)
    y = y if scale is None else y * scale
    return np.asarray((y if bias is None else y + bias).astype(x.dtype))


group_norm = _row(
    "group_norm",
    209,
    ("x", "scale?", "bias?"),
    _group_norm_type,
    _group_norm,
    "y = (x - mean) / sqrt(variance + eps) * scale + bias over the spatial axes and C / groups"
    " neighbouring channels; [N, …, C]",
    (GROUPS, EPS),
    (
        _channel_case((1, 1, 1, 1), groups=1, eps=0.1),
        _channel_case((2, 5, 4, 12), groups=3),
        _channel_case((2, 5, 4, 12), groups=0),
        _channel_case((1, 700, 6), groups=2),
        _channel_case((2, 300, 130), groups=13),
        _channel_case((4, 8), groups=2, eps=0.5),
        _channel_case((1, 2, 3, 2, 4), groups=4),
        _channel_case((0, 3, 4), groups=2),
        _channel_case((2, 0, 4), groups=2),
        Case((("f32", (2, 35, 16)),), {"groups": 1}),
        Case((("f32", (2, 35, 6)), None, ("f32", (6,))), {"groups": 2}),
        _channel_case((2, 9, 6), "f16", groups=2),
    ),
    grad=rules.group_norm,
    saves=("x", "scale"),
    check="channels",
    since="0.2.0",
    tolerance=Tolerance(1e-05, 1e-05),
    eager=Eager.KERNEL,
)


def _batch_norm_type(ctx: InferContext) -> tuple[TensorType, ...]:
    ctx.require(ctx.x.rank >= 2, f"rank {ctx.x.rank}, expected [N, …, C]")
    require_same_dtype(ctx, *range(len(ctx.inputs)))
    for i in (1, 2):
        require_shape(ctx, i, ctx.x.shape[-1:], "one value per channel")
    per_channel = TensorType(ctx.x.dtype, ctx.x.shape[-1:])
    return (ctx.x, per_channel, per_channel)


def _batch_norm(
    x: Array, scale: Array | None = None, bias: Array | None = None, *, eps: float
) -> tuple[Array, ...]:
    axes = tuple(range(x.ndim - 1))
    wide = x.astype(np.float64)
    mean = mean_of(wide, axes) if x.size else np.zeros(x.shape[-1])
    centred = wide - mean
    var = mean_of(centred * centred, axes) if x.size else mean
    y = centred / np.sqrt(var + np.float32(eps))
    y = y if scale is None else y * scale
    y = y if bias is None else y + bias
    return tuple(v.astype(x.dtype) for v in (y, mean.reshape(-1), var.reshape(-1)))


batch_norm = _row(
    "batch_norm",
    205,
    ("x", "scale?", "bias?"),
    _batch_norm_type,
    _batch_norm,
    "y = (x - mean) / sqrt(var + eps) * scale + bias with mean and (biased) variance over all axes"
    " but the last (0 of nothing): batch normalisation while training",
    (EPS,),
    (
        _channel_case((1, 1), eps=0.1),
        _channel_case((2, 5, 7, 17)),
        _channel_case((3, 16), eps=0.5),
        _channel_case((40, 130)),
        _channel_case((200, 130)),
        _channel_case((3000, 4)),
        _channel_case((1, 33, 8)),
        _channel_case((2, 3, 2, 4, 3)),
        _channel_case((0, 3, 2)),
        _channel_case((2, 3, 0)),
        Case((("f32", (9, 3, 5)),)),
        Case((("f32", (9, 5)), ("f32", (5,)))),
        Case((("f32", (9, 5)), None, ("f32", (5,)))),
        Case((("f32", (500, 6)),), low=30, high=31),
        _channel_case((2, 9, 5), "f16"),
    ),
    outputs=("y", "mean", "var"),
    grad=rules.batch_norm,
    saves=("x", "scale", "mean", "var"),
    check="channels",
    since="0.2.0",
    training=True,
    tolerance=Tolerance(1e-05, 1e-05),
    eager=Eager.KERNEL,
)


# ---- across channels ----


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
    return np.asarray(y.astype(x.dtype))


lrn = _row(
    "lrn",
    105,
    ("x",),
    _lrn_type,
    _lrn,
    "y = x / (bias + alpha / size * sum of squares of `size` neighbouring channels) ** beta;"
    " (size - 1) // 2 of them come before",
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
    grad=rules.lrn,
    saves=("x",),
    check="same",
    flops=24,
    inplace=False,
    tolerance=Tolerance(2e-06, 1e-05),
    eager=Eager.KERNEL,
)
hardmax = _row(
    "hardmax",
    106,
    ("x",),
    axis_rule,
    _hardmax,
    "y = 1 at the first largest element along `axis`, else 0",
    (AXIS,),
    (
        *(Case((("f32", s),)) for s in ((1,), (7,), (3, 16), (0, 5), (3, 0))),
        *(Case((("f32", (3, 8, 5)),), {"axis": a}) for a in (0, 1)),
        Case((("f16", (4, 17)),)),
        Case((np.array([[2, 2, 1], [0, 3, 3]], np.float32),)),
        Case((("f64", (4, 9)),)),
    ),
    grad=flat,
    saves=(),
    permute=permute_rules.along_axis,
    inplace=False,
    dtypes=EVERY_FLOAT,
    kind=Kind.REDUCING,
    tolerance=UNCHANGED,
)
