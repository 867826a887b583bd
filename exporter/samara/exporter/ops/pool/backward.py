# SPDX-License-Identifier: Apache-2.0
"""Gradients of pools, and the positions of the largest elements under windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ops import windows
from samara.exporter.ops.autodiff import NO_GRAD
from samara.exporter.ops.facts import Eager, Kind
from samara.exporter.ops.numeric import Array, in_f32
from samara.exporter.ops.pool import grad as grads
from samara.exporter.ops.pool.rows import DILATIONS, KERNEL, STRIDES, counted, pool_cost, pool_type
from samara.exporter.ops.shape_rules import FLOATS, require_lengths, require_shape, spatial_rank
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, DType, TensorType, as_dim

Ints = tuple[int, ...]

_PADS = Attr("pads", "dims", doc="as of the pool")


class _Forward(InferContext):
    """The pool whose gradient an operator computes, as the pool's shape rule sees it."""

    def __init__(self, ctx: InferContext, x: TensorType) -> None:
        super().__init__(ctx.op, (x,), ctx.attrs, ctx.node)
        self.guards = ctx.guards


def _max_pool_grad_type(ctx: InferContext) -> tuple[TensorType, ...]:
    x = ctx.required(1)
    if x.dtype is not ctx.x.dtype:
        raise ctx.error("dy and x must have one dtype", "cast one of them")
    _require_forward(ctx, x)
    return (x,)


def _avg_pool_grad_type(ctx: InferContext) -> tuple[TensorType, ...]:
    s = spatial_rank(ctx)
    require_lengths(ctx, s, "size")
    dy = ctx.x
    dx = TensorType(dy.dtype, (dy.shape[0], *(as_dim(n) for n in ctx.size), dy.shape[-1]))
    for i, n in enumerate(dx.shape[1:-1]):
        ctx.require_ge(n, 0, f"size {i} must not be negative")
    _require_forward(ctx, dx)
    return (dx,)


def _require_forward(ctx: InferContext, x: TensorType) -> None:
    """dy has the shape that the pool gives from x."""
    (y,) = pool_type(_Forward(ctx, x))
    require_shape(ctx, 0, y.shape, "the pool's output")


def _max_pool_indices_type(ctx: InferContext) -> tuple[TensorType, ...]:
    (y,) = pool_type(ctx)
    return (TensorType(DType.I64, y.shape),)


def _grad_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    dy = inputs[0]
    assert dy is not None
    return pool_cost(attrs, inputs, (dy,))[0] * 2, bytes_of(inputs, outputs)


def _avg_pool_grad(
    dy: Array,
    *,
    kernel: Ints,
    strides: Ints,
    dilations: Ints,
    pads: Ints,
    extend: Ints,
    count_include_pad: bool,
    size: Ints,
) -> Array:
    move: Any = {
        "kernel": kernel,
        "strides": strides,
        "dilations": dilations,
        "pads": pads,
        "extend": extend,
    }
    count = counted(size, **move, include_pad=count_include_pad)
    return np.asarray(windows.spread_mean(dy, count, **move, size=size).astype(dy.dtype))


# (sizes of x, kernel, channels, what differs from the plainest form)
_SHAPES: tuple[tuple[Any, ...], ...] = (
    ((1, 1), (1, 1), 1, {}),
    ((6, 8), (2, 2), 16, {"stride": 2}),
    ((7, 9), (3, 3), 17, {"stride": 2, "pads": (1, 1, 1, 1), "n": 2}),
    ((5, 5), (3, 3), 33, {"pads": (1, 0, 0, 1)}),
    ((8, 8), (3, 2), 8, {"dilation": 2}),
    ((17,), (3,), 7, {"stride": 2, "pads": (1, 1)}),
    ((4, 5, 6), (2, 3, 2), 2, {"stride": 2, "pads": (0, 1, 0, 1, 1, 1)}),
    ((9, 8), (2, 2), 5, {"stride": 3, "n": 2}),
    ((4, 4), (4, 4), 15, {}),
    ((80, 21), (3, 3), 20, {"stride": 2, "pads": (1, 1, 1, 1)}),
    ((500,), (4,), 40, {"n": 2}),
    ((4, 4), (2, 2), 5, {"pads": (2, 2, 2, 2)}),
    ((3, 3), (2, 2), 0, {}),
    ((3, 3), (2, 2), 3, {"n": 0}),
    ((6, 6), (3, 3), 9, {"stride": 3, "dtype": "f16"}),
    ((6, 5), (3, 3), 9, {"dtype": "f16"}),
)


def _attrs(sizes: Ints, kernel: Ints, form: dict[str, Any]) -> dict[str, Any]:
    s = len(sizes)
    return {
        "kernel": kernel,
        "strides": (form.get("stride", 1),) * s,
        "dilations": (form.get("dilation", 1),) * s,
        "pads": form.get("pads", (0,) * (2 * s)),
    }


def _case(kind: str, sizes: Ints, kernel: Ints, channels: int, form: dict[str, Any]) -> Case:
    """kind: "max", "indices", or "avg" whose form may have extend and count_include_pad."""
    attrs = _attrs(sizes, kernel, form)
    n, dtype = form.get("n", 1), form.get("dtype", "f32")
    x = (dtype, (n, *sizes, channels))
    if kind == "indices":
        return Case((x,), attrs)
    s = len(sizes)
    extend = form.get("extend", (0,) * s)
    pads = (*attrs["pads"][:s], *(attrs["pads"][s + i] + extend[i] for i in range(s)))
    out = windows.out_sizes(sizes, kernel, attrs["strides"], attrs["dilations"], pads)
    dy = (dtype, (n, *out, channels))
    if kind == "max":
        return Case((dy, x), attrs)
    more = {"extend": extend, "count_include_pad": form.get("include", False), "size": sizes}
    return Case((dy,), {**attrs, **more})


# Equal elements, infinities and NaNs under one window.
_ODD = np.array(
    [3, 3, 1, -np.inf, -np.inf, -np.inf, np.nan, 1, np.nan, 2, np.inf, np.inf], np.float32
).reshape(1, 12, 1)
_ODD_ATTRS = {"kernel": (3,), "strides": (1,), "dilations": (1,), "pads": (1, 1)}
_ODD_DY = np.arange(1, 13, dtype=np.float32).reshape(1, 12, 1)

max_pool_grad = define(
    OpSpec(
        name="max_pool_grad",
        code=202,
        since="0.2.0",
        inputs=("dy", "x"),
        outputs=("dx",),
        infer=_max_pool_grad_type,
        reference=in_f32(windows.max_pool_grad),
        doc="dx = the gradient of max_pool's x: dy at the first of the largest elements under each"
        " window (the last NaN)",
        dtypes=FLOATS,
        check="pool_grad",
        attrs=(KERNEL, STRIDES, DILATIONS, _PADS),
        cost=_grad_cost,
        flags=frozenset({"training"}),
        grad=grads.max_pool_grad,
        saves=("x",),
        cases=(
            *(_case("max", *shape) for shape in _SHAPES),
            Case((_ODD_DY, _ODD), _ODD_ATTRS),
        ),
        kind=Kind.WINDOW,
        eager=Eager.KERNEL,
    )
)

avg_pool_grad = define(
    OpSpec(
        name="avg_pool_grad",
        code=203,
        since="0.2.0",
        inputs=("dy",),
        outputs=("dx",),
        infer=_avg_pool_grad_type,
        reference=in_f32(_avg_pool_grad),
        doc="dx = the gradient of avg_pool's x: dy divided evenly among the elements of its mean",
        dtypes=FLOATS,
        check="pool_grad extend",
        attrs=(
            KERNEL,
            STRIDES,
            DILATIONS,
            _PADS,
            Attr("extend", "dims", doc="as of the pool"),
            Attr("count_include_pad", "bool", False, doc="as of the pool"),
            Attr("size", "dims", doc="spatial sizes of dx"),
        ),
        cost=_grad_cost,
        flags=frozenset({"training"}),
        grad=grads.avg_pool_grad,
        cases=(
            *(_case("avg", *shape) for shape in _SHAPES),
            _case("avg", (5, 5), (3, 3), 3, {"pads": (1,) * 4, "include": True}),
            _case("avg", (6, 6), (3, 3), 3, {"stride": 2, "pads": (1,) * 4, "extend": (1, 0)}),
            _case(
                "avg",
                (6, 7),
                (3, 3),
                8,
                {"stride": 2, "pads": (1, 1, 0, 0), "extend": (1, 2), "include": True},
            ),
        ),
        kind=Kind.WINDOW,
        eager=Eager.KERNEL,
    )
)

max_pool_indices = define(
    OpSpec(
        name="max_pool_indices",
        code=204,
        since="0.2.0",
        inputs=("x",),
        outputs=("indices",),
        infer=_max_pool_indices_type,
        reference=windows.max_pool_indices,
        doc="indices = the flat spatial index in x of the element that max_pool takes; -1 for a window of"
        " padding only",
        dtypes=FLOATS,
        check="pool",
        attrs=(KERNEL, STRIDES, DILATIONS, _PADS),
        cost=pool_cost,
        grad=NO_GRAD,
        cases=(
            *(_case("indices", *shape) for shape in _SHAPES),
            Case((_ODD,), _ODD_ATTRS),
        ),
        kind=Kind.WINDOW,
    )
)
