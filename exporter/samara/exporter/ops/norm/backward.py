# SPDX-License-Identifier: Apache-2.0
"""Backward operators of the normalisations and of softmax.

Each computes the gradient of its forward operator directly; `grad.py` has the compositions from which their own
gradients follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from samara.exporter.ops import permute_rules
from samara.exporter.ops.autodiff import Rule
from samara.exporter.ops.facts import Eager, Facts, Kind, Tolerance
from samara.exporter.ops.norm import grad as rules
from samara.exporter.ops.numeric import Array, in_f32
from samara.exporter.ops.shape_rules import FLOATS, axis_rule, require_same_dtype, require_shape
from samara.exporter.ops.spec import Attr, Case, Infer, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, TensorType, mod

AXIS = Attr("axis", "int", -1)
FROM = Attr("axis", "int", -1, doc="the first of the axes that are normalised together")
EPS = Attr("eps", "f32", 1e-5, doc="added to the variance")
GROUPS = Attr("groups", "int", doc="how many groups of neighbouring channels; 0: every channel")

Axes = tuple[int, ...]


def require_groups(ctx: InferContext, groups: int, channels: Dim) -> None:
    """`groups` divides the channels, or is 0."""
    ctx.require(groups >= 0, f"groups is {groups}, expected at least 0")
    if groups:
        ctx.require_eq(mod(channels, groups), 0, f"{groups} groups must divide the channels")


def mean_of(x: Array, axes: Axes) -> Array:
    """The mean along the axes, which are kept; NaN for an empty axis, without numpy's warning."""
    count = np.float64(math.prod(x.shape[a] for a in axes))
    return np.asarray(np.add.reduce(x, axis=axes, keepdims=True) / count)


def grouped(shape: Sequence[int], groups: int) -> tuple[int, ...]:
    """The shape [N, spatial…, C] with channels as [groups, C / groups]."""
    count = groups if groups else shape[-1]
    return (*shape[:-1], count, shape[-1] // count if count else 0)


def _cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    return outputs[0].numel() * 14, bytes_of(inputs, outputs)


def _row(
    name: str,
    code: int,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    attrs: tuple[Attr, ...],
    infer: Infer,
    reference: Callable[..., Any],
    rule: Rule,
    doc: str,
    cases: tuple[Case, ...],
    *,
    check: str,
    permute: Any = None,
    **facts: Unpack[Facts],
) -> OpSpec:
    return define(
        OpSpec(
            name=name,
            code=code,
            since="0.2.0",
            inputs=inputs,
            outputs=outputs,
            attrs=attrs,
            infer=infer,
            reference=in_f32(reference),
            grad=rule,
            saves=tuple(n.rstrip("?") for n in inputs),
            doc=doc,
            kind=Kind.NORMALISING,
            dtypes=FLOATS,
            check=check,
            permute=permute,
            cost=_cost,
            flags=frozenset({"training", "inplace"}),
            cases=cases,
            **facts,
        )
    )


# ---- softmax ----


def _softmax_grad_type(ctx: InferContext) -> tuple[TensorType, ...]:
    require_same_dtype(ctx, 0, 1)
    require_shape(ctx, 1, ctx.x.shape, "that of dy")
    return axis_rule(ctx)


def _softmax_grad(dy: Array, y: Array, *, axis: int) -> Array:
    total = (dy.astype(np.float64) * y).sum(axis=axis, keepdims=True)
    return np.asarray((y * (dy - total)).astype(dy.dtype))


def _log_softmax_grad(dy: Array, y: Array, *, axis: int) -> Array:
    total = dy.astype(np.float64).sum(axis=axis, keepdims=True)
    return np.asarray((dy - np.exp(y.astype(np.float64)) * total).astype(dy.dtype))


def _pair_cases(low: float, high: float) -> tuple[Case, ...]:
    def one(shape: Axes, axis: int = -1, dtype: str = "f32") -> Case:
        return Case(((dtype, shape), (dtype, shape)), {"axis": axis}, low, high)

    return (
        *(one(s) for s in ((1,), (7,), (3, 16), (2, 0), (2, 3, 33), (0, 5), (2, 700))),
        *(one((3, 8, 5), a) for a in (0, 1, 2, -2)),
        one((2, 3, 2, 1, 9), 3),
        one((4, 17), dtype="f16"),
        one((4, 3), 0, "f16"),
    )


softmax_grad = _row(
    "softmax_grad",
    211,
    ("dy", "y"),
    ("dx",),
    (AXIS,),
    _softmax_grad_type,
    _softmax_grad,
    rules.softmax_grad,
    "dx = y * (dy - sum of dy * y along `axis`): the gradient of y = softmax(x)",
    _pair_cases(-1, 1),
    check="axis",
    permute=permute_rules.along_axis,
    eager=Eager.KERNEL,
)
log_softmax_grad = _row(
    "log_softmax_grad",
    212,
    ("dy", "y"),
    ("dx",),
    (AXIS,),
    _softmax_grad_type,
    _log_softmax_grad,
    rules.log_softmax_grad,
    "dx = dy - e**y * sum of dy along `axis`: the gradient of y = log_softmax(x)",
    _pair_cases(-2, 0),
    check="axis",
    permute=permute_rules.along_axis,
    eager=Eager.KERNEL,
)


# ---- layer and root mean square ----


def _norm_grad_type(ctx: InferContext) -> tuple[TensorType, ...]:
    ctx.require(ctx.x.rank > 0, "the input needs at least one axis")
    axis = ctx.axis_of(ctx.axis)
    require_same_dtype(ctx, *range(len(ctx.inputs)))
    require_shape(ctx, 1, ctx.x.shape, "that of dy")
    part = ctx.x.shape[axis:]
    require_shape(ctx, 2, part, "the shape of the normalised axes")
    own = TensorType(ctx.x.dtype, part)
    return (ctx.x, *(own for _ in ctx.op.outputs[1:]))


def _norm_grad(
    dy: Array, x: Array, scale: Array | None, axis: int, eps: float, centred: bool
) -> tuple[Array, ...]:
    axis %= x.ndim
    axes, outer = tuple(range(axis, x.ndim)), tuple(range(axis))
    u = x.astype(np.float64)
    u = u - mean_of(u, axes) if centred else u
    r = 1 / np.sqrt(mean_of(u * u, axes) + np.float32(eps))
    unit = u * r
    h = dy * (np.float64(1) if scale is None else scale.astype(np.float64))
    centre = mean_of(h, axes) if centred else np.float64(0)
    dx = r * (h - centre - unit * mean_of(h * unit, axes))
    sums = ((dy * unit).sum(axis=outer), dy.astype(np.float64).sum(axis=outer))
    return tuple(g.astype(x.dtype) for g in (dx, *sums[: 1 + centred]))


def _layer_norm_grad(
    dy: Array, x: Array, scale: Array | None = None, *, axis: int, eps: float
) -> tuple[Array, ...]:
    return _norm_grad(dy, x, scale, axis, eps, True)


def _rms_norm_grad(
    dy: Array, x: Array, scale: Array | None = None, *, axis: int, eps: float
) -> tuple[Array, ...]:
    return _norm_grad(dy, x, scale, axis, eps, False)


def _norm_grad_cases() -> tuple[Case, ...]:
    def one(shape: Axes, scaled: bool = True, dtype: str = "f32", **attrs: Any) -> Case:
        part = (dtype, shape[attrs.get("axis", -1) :])
        given = ((dtype, shape), (dtype, shape), *((part,) if scaled else ()))
        return Case(given, {"eps": 0.1, **attrs})

    return (
        one((7,)),
        one((3, 16), eps=1e-5),
        one((2, 3, 33)),
        one((2, 5, 8), False),
        one((2, 3, 4, 5), axis=2),
        one((2, 3, 4), axis=0),
        one((2, 3, 2, 2, 3), axis=-3),
        one((0, 4)),
        one((3, 0)),
        one((3, 1)),
        one((270, 300), eps=1e-5),
        one((3, 17), dtype="f16"),
        one((3, 17), False, dtype="f16"),
    )


layer_norm_grad = _row(
    "layer_norm_grad",
    207,
    ("dy", "x", "scale?"),
    ("dx", "dscale", "dbias"),
    (FROM, EPS),
    _norm_grad_type,
    _layer_norm_grad,
    rules.layer_norm_grad,
    "the gradients of layer_norm(x, scale, bias); dscale and dbias also if scale and bias are absent",
    _norm_grad_cases(),
    check="norm grad",
    tolerance=Tolerance(1e-05, 1e-05),
    eager=Eager.KERNEL,
)
rms_norm_grad = _row(
    "rms_norm_grad",
    208,
    ("dy", "x", "scale?"),
    ("dx", "dscale"),
    (FROM, EPS),
    _norm_grad_type,
    _rms_norm_grad,
    rules.rms_norm_grad,
    "the gradients of rms_norm(x, scale); dscale also if scale is absent",
    _norm_grad_cases(),
    check="norm grad",
    tolerance=Tolerance(1e-05, 1e-05),
    eager=Eager.KERNEL,
)


# ---- batch ----


def _batch_norm_grad_type(ctx: InferContext) -> tuple[TensorType, ...]:
    ctx.require(ctx.x.rank >= 2, f"rank {ctx.x.rank}, expected [N, …, C]")
    require_same_dtype(ctx, *range(len(ctx.inputs)))
    require_shape(ctx, 1, ctx.x.shape, "that of dy")
    for i in (2, 3, 4):
        require_shape(ctx, i, ctx.x.shape[-1:], "one value per channel")
    per_channel = TensorType(ctx.x.dtype, ctx.x.shape[-1:])
    ctx.required(3)
    return (ctx.x, per_channel, per_channel)


def _batch_norm_grad(
    dy: Array, x: Array, mean: Array, var: Array, scale: Array | None = None, *, eps: float
) -> tuple[Array, ...]:
    axes = tuple(range(x.ndim - 1))
    r = 1 / np.sqrt(var.astype(np.float64) + np.float32(eps))
    unit = (x.astype(np.float64) - mean) * r
    wide = dy.astype(np.float64)
    dx = r * (wide - mean_of(wide, axes) - unit * mean_of(wide * unit, axes))
    dx = dx if scale is None else dx * scale
    sums = (wide * unit).sum(axis=axes), wide.sum(axis=axes)
    return tuple(g.astype(x.dtype) for g in (dx, *sums))


def _batch_case(shape: Axes, scaled: bool = True, dtype: str = "f32", **attrs: Any) -> Case:
    c = (dtype, shape[-1:])
    mean = np.linspace(-1, 1, shape[-1]).astype("f4" if dtype == "f32" else "f2")
    given = ((dtype, shape), (dtype, shape), mean, mean * mean)
    return Case((*given, c) if scaled else given, {"eps": 0.1, **attrs})


batch_norm_grad = _row(
    "batch_norm_grad",
    206,
    ("dy", "x", "mean", "var", "scale?"),
    ("dx", "dscale", "dbias"),
    (EPS,),
    _batch_norm_grad_type,
    _batch_norm_grad,
    rules.batch_norm_grad,
    "the gradients of y = batch_norm(x, scale, bias), whose statistics are `mean` and `var`",
    (
        _batch_case((1, 1)),
        _batch_case((2, 5, 7, 17)),
        _batch_case((3, 16), False, eps=0.5),
        _batch_case((40, 130)),
        _batch_case((3000, 4)),
        _batch_case((1, 33, 8)),
        _batch_case((2, 3, 2, 4, 3)),
        _batch_case((0, 3, 2)),
        _batch_case((2, 3, 0)),
        _batch_case((2, 9, 5), dtype="f16"),
    ),
    check="channels grad",
    tolerance=Tolerance(1e-05, 1e-05),
    eager=Eager.KERNEL,
)


# ---- groups ----


def _group_norm_grad_type(ctx: InferContext) -> tuple[TensorType, ...]:
    ctx.require(ctx.x.rank >= 2, f"rank {ctx.x.rank}, expected [N, …, C]")
    require_same_dtype(ctx, *range(len(ctx.inputs)))
    require_shape(ctx, 1, ctx.x.shape, "that of dy")
    require_shape(ctx, 2, ctx.x.shape[-1:], "one value per channel")
    require_groups(ctx, ctx.groups, ctx.x.shape[-1])
    per_channel = TensorType(ctx.x.dtype, ctx.x.shape[-1:])
    return (ctx.x, per_channel, per_channel)


def _group_norm_grad(
    dy: Array, x: Array, scale: Array | None = None, *, groups: int, eps: float
) -> tuple[Array, ...]:
    shape = grouped(x.shape, groups)
    axes, outer = (*range(1, x.ndim - 1), x.ndim), tuple(range(x.ndim - 1))
    u = x.astype(np.float64).reshape(shape)
    u = u - mean_of(u, axes)
    r = 1 / np.sqrt(mean_of(u * u, axes) + np.float32(eps))
    unit = u * r
    h = (dy * (np.float64(1) if scale is None else scale.astype(np.float64))).reshape(shape)
    dx = r * (h - mean_of(h, axes) - unit * mean_of(h * unit, axes))
    sums = (dy * unit.reshape(x.shape)).sum(axis=outer), dy.astype(np.float64).sum(axis=outer)
    return tuple(g.astype(x.dtype) for g in (dx.reshape(x.shape), *sums))


def _group_case(shape: Axes, groups: int, scaled: bool = True, dtype: str = "f32") -> Case:
    given = ((dtype, shape), (dtype, shape), *(((dtype, shape[-1:]),) if scaled else ()))
    return Case(given, {"groups": groups, "eps": 0.1})


group_norm_grad = _row(
    "group_norm_grad",
    210,
    ("dy", "x", "scale?"),
    ("dx", "dscale", "dbias"),
    (GROUPS, EPS),
    _group_norm_grad_type,
    _group_norm_grad,
    rules.group_norm_grad,
    "the gradients of group_norm(x, scale, bias); dscale and dbias also if scale and bias are absent",
    (
        _group_case((1, 1, 1), 1),
        _group_case((2, 5, 4, 12), 3),
        _group_case((2, 5, 4, 12), 0, False),
        _group_case((1, 700, 6), 2),
        _group_case((2, 300, 130), 13),
        _group_case((4, 8), 2),
        _group_case((1, 2, 3, 2, 4), 4),
        _group_case((0, 3, 4), 2),
        _group_case((2, 0, 4), 2),
        Case((("f32", (2, 35, 16)), ("f32", (2, 35, 16))), {"groups": 1}),
        _group_case((2, 9, 6), 2, dtype="f16"),
    ),
    check="channels grad",
    tolerance=Tolerance(1e-05, 1e-05),
    eager=Eager.KERNEL,
)
