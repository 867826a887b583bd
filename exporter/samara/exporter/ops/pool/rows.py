# SPDX-License-Identifier: Apache-2.0
"""Pools over sliding windows, NHWC with 1 to 3 spatial axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ops import integer, windows
from samara.exporter.ops.facts import UNCHANGED, Eager, Kind, Tolerance
from samara.exporter.ops.integer import Integer, Role
from samara.exporter.ops.numeric import Array, in_f32
from samara.exporter.ops.pool import grad as grads
from samara.exporter.ops.shape_rules import (
    FLOATS,
    per_tensor,
    require_lengths,
    require_positive,
    spatial_rank,
    window_size,
)
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, Quant, TensorType

Ints = tuple[int, ...]

KERNEL = Attr("kernel", "ints", doc="window size per spatial axis")
STRIDES = Attr("strides", "ints", doc="one per spatial axis")
DILATIONS = Attr("dilations", "ints", doc="one per spatial axis")


def pool_type(ctx: InferContext) -> tuple[TensorType, ...]:
    s = spatial_rank(ctx)
    require_lengths(ctx, s, "kernel", "strides", "dilations")
    require_lengths(ctx, 2 * s, "pads")
    require_positive(ctx, "kernel", "strides", "dilations")
    for p in ctx.pads:
        ctx.require_ge(p, 0, "pads must not be negative")
    extend = ctx.attrs.get("extend")
    if extend is not None:
        require_lengths(ctx, s, "extend")
        for e in extend:
            ctx.require_ge(e, 0, "extend must not be negative")
    sizes = [
        window_size(
            ctx,
            ctx.x.shape[i + 1],
            ctx.kernel[i],
            ctx.strides[i],
            ctx.dilations[i],
            ctx.pads[i] + ctx.pads[s + i] + (0 if extend is None else extend[i]),
            i + 1,
        )
        for i in range(s)
    ]
    shape = (ctx.x.shape[0], *sizes, ctx.x.shape[-1])
    return (TensorType(ctx.x.dtype, shape, per_tensor(ctx, ctx.x.quant)),)


def pool_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    window = 1
    for k in attrs["kernel"]:
        window *= k
    return outputs[0].numel() * window, bytes_of(inputs, outputs)


def _avg_pool(
    x: Array,
    *,
    kernel: Ints,
    strides: Ints,
    dilations: Ints,
    pads: Ints,
    extend: Ints,
    count_include_pad: bool,
) -> Array:
    move: Any = {"kernel": kernel, "strides": strides, "dilations": dilations}
    total = windows.sum_pool(x, **move, pads=pads, extend=extend)
    count = counted(x.shape[1:-1], **move, pads=pads, extend=extend, include_pad=count_include_pad)
    return np.asarray((total / np.maximum(count, 1)).astype(x.dtype))


def counted(
    sizes: Ints,
    *,
    kernel: Ints,
    strides: Ints,
    dilations: Ints,
    pads: Ints,
    extend: Ints,
    include_pad: bool,
) -> Array:
    """The number of elements in each mean, [1, out…, 1]."""
    inside = np.ones((1, *sizes, 1), np.float64)
    if include_pad:
        inside = windows.padded(inside, pads, 1.0)
        pads = (0,) * len(pads)
    return windows.sum_pool(
        inside, kernel=kernel, strides=strides, dilations=dilations, pads=pads, extend=extend
    )


def _lp_pool(
    x: Array, *, kernel: Ints, strides: Ints, dilations: Ints, pads: Ints, p: int
) -> Array:
    powers = np.abs(x.astype(np.float64)) ** p
    total = windows.sum_pool(powers, kernel=kernel, strides=strides, dilations=dilations, pads=pads)
    return np.asarray((total ** (1.0 / p)).astype(x.dtype))


def _case(
    sizes: Ints,
    kernel: Ints,
    channels: int = 3,
    *,
    n: int = 1,
    dtype: Any = ("f32",),
    stride: int = 1,
    dilation: int = 1,
    pads: Ints | None = None,
    **more: Any,
) -> Case:
    s = len(sizes)
    attrs = {
        "kernel": kernel,
        "strides": (stride,) * s,
        "dilations": (dilation,) * s,
        "pads": (0,) * (2 * s) if pads is None else pads,
        **more,
    }
    return Case(((dtype[0], (n, *sizes, channels), *dtype[1:]),), attrs)


def _cases(**more: Any) -> tuple[Case, ...]:
    """Windows of all ranks; `more` gives the attributes that depend on the rank as functions."""

    def one(sizes: Ints, kernel: Ints, channels: int = 3, **kw: Any) -> Case:
        extra = {k: (v(len(sizes)) if callable(v) else v) for k, v in more.items()}
        return _case(sizes, kernel, channels, **{**extra, **kw})

    return (
        one((1, 1), (1, 1), 1),
        one((6, 8), (2, 2), 16, stride=2),
        one((7, 9), (3, 3), 17, stride=2, pads=(1, 1, 1, 1), n=2),
        one((5, 5), (3, 3), 33, pads=(1, 0, 0, 1)),
        one((8, 8), (3, 2), 8, dilation=2),
        one((17,), (3,), 7, stride=2, pads=(1, 1)),
        one((4, 5, 6), (2, 3, 2), 2, stride=2, pads=(0, 1, 0, 1, 1, 1)),
        one((4, 4), (4, 4), 15),
        one((3, 3), (2, 2), 0),
        one((3, 3), (2, 2), 3, n=0),
        one((6, 6), (3, 3), 9, dtype=("f16",), stride=3),
    )


max_pool = define(
    OpSpec(
        name="max_pool",
        code=90,
        inputs=("x",),
        outputs=("y",),
        infer=pool_type,
        reference=windows.max_pool,
        doc="y = the largest element under the window; padding never counts, and a window of padding only gives"
        " the dtype's lowest value",
        dtypes=("f32", "f16", "i8", "u8", "qs8"),
        check="pool",
        attrs=(
            KERNEL,
            STRIDES,
            DILATIONS,
            Attr("pads", "dims", doc="before each spatial axis, then after each"),
        ),
        cost=pool_cost,
        flags=frozenset({"strided_out"}),
        grad=grads.max_pool,
        saves=("x",),
        cases=(
            *_cases(),
            _case((4, 4), (2, 2), 5, pads=(2, 2, 2, 2)),
            _case((5, 5), (3, 3), 16, dtype=("i8",), pads=(1, 1, 1, 1)),
            _case((5, 5), (3, 3), 17, dtype=("u8",), stride=2),
            _case((5, 5), (3, 3), 33, dtype=("qs8", Quant.per_tensor(0.1, 5)), pads=(1,) * 4),
        ),
        kind=Kind.WINDOW,
        tolerance=UNCHANGED,
        eager=Eager.KERNEL,
        strided=("x",),
        integer=integer.MOVED,
        homogeneous=True,
    )
)

avg_pool = define(
    OpSpec(
        name="avg_pool",
        code=91,
        inputs=("x",),
        outputs=("y",),
        infer=pool_type,
        reference=in_f32(_avg_pool),
        doc="y = the mean under the window, of what lies in x (or in x and pads); 0 where that is"
        " nothing",
        dtypes=FLOATS,
        check="pool extend",
        attrs=(
            KERNEL,
            STRIDES,
            DILATIONS,
            Attr("pads", "dims", doc="before each spatial axis, then after each"),
            Attr("extend", "dims", doc="further elements after each spatial axis, never counted"),
            Attr("count_include_pad", "bool", False, doc="pads count as zeros"),
        ),
        cost=pool_cost,
        flags=frozenset({"strided_out"}),
        grad=grads.avg_pool,
        cases=(
            *_cases(extend=lambda s: (0,) * s),
            _case((5, 5), (3, 3), pads=(1,) * 4, extend=(0, 0), count_include_pad=True),
            _case((6, 6), (3, 3), stride=2, pads=(1,) * 4, extend=(1, 0)),
            _case((6, 7), (3, 3), 8, stride=2, pads=(1, 1, 0, 0), extend=(1, 2),
                  count_include_pad=True),
            _case((4, 4), (2, 2), 5, pads=(2, 2, 2, 2), extend=(0, 0)),
        ),
        kind=Kind.WINDOW,
        tolerance=Tolerance(2e-06, 2e-06),
        eager=Eager.KERNEL,
        strided=("x",), integer=Integer(Role.COMPUTED, "qavg_pool"), homogeneous=True,
    )
)  # fmt: skip

lp_pool = define(
    OpSpec(
        name="lp_pool",
        code=92,
        inputs=("x",),
        outputs=("y",),
        infer=pool_type,
        reference=in_f32(_lp_pool),
        doc="y = (sum of |x| ** p under the window) ** (1 / p)",
        dtypes=FLOATS,
        check="pool",
        attrs=(
            KERNEL,
            STRIDES,
            DILATIONS,
            Attr("pads", "dims", doc="zeros before each spatial axis, then after each"),
            Attr("p", "int", 2, doc="at least 1"),
        ),
        cost=pool_cost,
        flags=frozenset({"strided_out"}),
        grad=grads.lp_pool,
        saves=("x", "y"),
        cases=(*_cases(), _case((6, 6), (2, 3), 7, p=1), _case((6, 6), (3, 3), 4, p=3)),
        kind=Kind.WINDOW,
        tolerance=Tolerance(2e-06, 1e-05),
        eager=Eager.KERNEL,
        strided=("x",),
    )
)
