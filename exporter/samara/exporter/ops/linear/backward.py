# SPDX-License-Identifier: Apache-2.0
"""Gradients of convolutions with respect to their input and their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from samara.exporter.ops import windows
from samara.exporter.ops.facts import Eager, Kind, Tolerance
from samara.exporter.ops.linear import grad as grads
from samara.exporter.ops.numeric import in_f32
from samara.exporter.ops.shape_rules import (
    FLOATS,
    require_lengths,
    require_positive,
    require_rank,
    require_same_dtype,
    spatial_rank,
    window_size,
)
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, DimLike, TensorType, as_dim, floordiv, mod

_MOVES = (
    Attr("strides", "ints", doc="as in conv"),
    Attr("dilations", "ints", doc="as in conv"),
    Attr("pads", "dims", doc="as in conv"),
    Attr("groups", "int", 1, doc="as in conv"),
)


def _moves(ctx: InferContext) -> int:
    """The spatial rank, which is the length of a convolution's attributes."""
    s = spatial_rank(ctx)
    require_rank(ctx, 1, s + 2)
    require_same_dtype(ctx, 0, 1)
    require_lengths(ctx, s, "strides", "dilations")
    require_lengths(ctx, 2 * s, "pads")
    require_positive(ctx, "strides", "dilations", "groups")
    for p in ctx.pads:
        ctx.require_ge(p, 0, "pads must not be negative")
    return s


def _require_out(
    ctx: InferContext, s: int, sizes: Sequence[DimLike], kernel: Sequence[DimLike]
) -> None:
    """dy has the sizes that a convolution of `kernel` over `sizes` gives."""
    for i in range(s):
        pads = ctx.pads[i] + ctx.pads[s + i]
        size = as_dim(sizes[i])
        out = window_size(ctx, size, kernel[i], ctx.strides[i], ctx.dilations[i], pads, i + 1)
        ctx.require_eq(ctx.x.shape[i + 1], out, f"axis {i + 1} of dy must be conv's output")


def _grad_input_type(ctx: InferContext) -> tuple[TensorType, ...]:
    s = _moves(ctx)
    require_lengths(ctx, s, "size")
    dy, w = ctx.x, ctx.required(1)
    ctx.require_eq(dy.shape[-1], w.shape[0], "channels of dy must be outputs of w")
    ctx.require_eq(mod(w.shape[0], ctx.groups), 0, "output channels must be a multiple of groups")
    for k in w.shape[1:-1]:
        ctx.require_ge(k, 1, "the kernel must not be empty")
    _require_out(ctx, s, ctx.size, w.shape[1:-1])
    channels = w.shape[-1] * ctx.groups
    return (TensorType(dy.dtype, (dy.shape[0], *(as_dim(d) for d in ctx.size), channels)),)


def _grad_weight_type(ctx: InferContext) -> tuple[TensorType, ...]:
    s = _moves(ctx)
    require_lengths(ctx, s, "kernel")
    dy, x = ctx.x, ctx.required(1)
    ctx.require_eq(dy.shape[0], x.shape[0], "dy and x must be one batch")
    ctx.require_eq(mod(dy.shape[-1], ctx.groups), 0, "channels of dy must be a multiple of groups")
    ctx.require_eq(mod(x.shape[-1], ctx.groups), 0, "channels of x must be a multiple of groups")
    for k in ctx.kernel:
        ctx.require_ge(k, 1, "the kernel must not be empty")
    _require_out(ctx, s, x.shape[1:-1], ctx.kernel)
    channels = floordiv(x.shape[-1], ctx.groups)
    shape = (dy.shape[-1], *(as_dim(k) for k in ctx.kernel), channels)
    return (TensorType(dy.dtype, shape),)


def _grad_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    """Two operations for each weight at each pixel of dy, as the convolution itself."""
    dy, w = inputs[0], outputs[0] if "kernel" in attrs else inputs[1]
    if dy is None or w is None:
        return as_dim(0), as_dim(0)
    pixels = TensorType(dy.dtype, dy.shape[:-1]).numel()
    return pixels * w.numel() * 2, bytes_of(inputs, outputs)


# (sizes of x, its channels, kernel, outputs, and what differs from conv's plainest form)
_SHAPES: tuple[tuple[Any, ...], ...] = (
    ((1, 1), 1, (1, 1), 1, {}),
    ((6, 5), 16, (1, 1), 33, {"n": 2}),
    ((7, 5), 16, (1, 1), 8, {"stride": 2}),
    ((8, 9), 3, (3, 3), 16, {"stride": 2, "pads": (1, 1, 1, 1)}),
    ((7, 7), 8, (3, 3), 15, {"pads": (1, 1, 1, 1), "n": 3}),
    ((9, 8), 5, (3, 2), 7, {"pads": (0, 1, 2, 0), "n": 2}),
    ((10, 11), 16, (3, 3), 17, {"pads": (1, 1, 1, 1)}),
    ((4, 3), 33, (3, 3), 48, {"pads": (1, 1, 1, 1)}),
    ((15, 16), 3, (7, 7), 9, {"stride": 2, "pads": (3, 3, 3, 3)}),
    ((9, 9), 4, (3, 3), 4, {"dilation": 2, "pads": (2, 2, 2, 2)}),
    ((9, 9), 4, (3, 3), 6, {"dilation": 3}),
    ((9, 10), 4, (3, 2), 6, {"stride": 2, "dilation": 2, "pads": (1, 0, 2, 1)}),
    ((10, 9), 4, (2, 2), 5, {"stride": 3}),
    ((6, 6), 8, (3, 3), 12, {"groups": 4, "pads": (1, 1, 1, 1)}),
    ((6, 6), 6, (1, 1), 9, {"groups": 3}),
    ((7, 8), 16, (3, 3), 16, {"groups": 16, "pads": (1, 1, 1, 1), "n": 2}),
    ((7, 8), 33, (3, 3), 33, {"groups": 33, "stride": 2, "pads": (1, 1, 1, 1)}),
    ((9, 9), 7, (5, 5), 7, {"groups": 7, "pads": (2, 2, 2, 2)}),
    ((9, 9), 24, (3, 4), 24, {"groups": 24, "dilation": 2}),
    ((6, 6), 4, (3, 3), 8, {"groups": 4, "pads": (1, 1, 1, 1)}),
    ((17,), 3, (5,), 8, {"pads": (2, 2)}),
    ((16,), 4, (4,), 7, {"stride": 3, "dilation": 2}),
    ((9,), 8, (3,), 8, {"groups": 8, "pads": (2, 0)}),
    ((4, 5, 6), 2, (3, 2, 3), 5, {"pads": (1, 0, 1, 1, 1, 1), "n": 2}),
    ((5, 4, 5), 4, (2, 2, 2), 4, {"stride": 2, "groups": 2}),
    ((4, 4, 4), 3, (3, 3, 3), 3, {"groups": 3, "pads": (1,) * 6}),
    ((5, 5), 3, (3, 3), 4, {"pads": (4, 4, 4, 4)}),
    ((5, 5), 3, (3, 3), 4, {"n": 0}),
    ((3, 3), 2, (3, 3), 0, {}),
    ((5, 5), 0, (3, 3), 2, {}),
    ((20, 33), 16, (3, 3), 16, {"pads": (1, 1, 1, 1), "n": 2, "high": 0.7}),
    ((20, 33), 24, (3, 3), 24, {"groups": 24, "pads": (1, 1, 1, 1), "n": 3, "high": 0.7}),
    ((6, 7), 3, (3, 3), 8, {"dtype": "f16", "pads": (1, 1, 1, 1)}),
    ((6, 7), 8, (3, 3), 8, {"dtype": "f16", "groups": 8, "stride": 2}),
)


def _cases(weight: bool) -> tuple[Case, ...]:
    return tuple(_case(weight, *shape) for shape in _SHAPES)


def _case(
    weight: bool,
    sizes: tuple[int, ...],
    channels: int,
    kernel: tuple[int, ...],
    outputs: int,
    form: dict[str, Any],
) -> Case:
    s = len(sizes)
    n, dtype, groups = form.get("n", 1), form.get("dtype", "f32"), form.get("groups", 1)
    strides, dilations = (form.get("stride", 1),) * s, (form.get("dilation", 1),) * s
    pads = form.get("pads", (0,) * (2 * s))
    out = windows.out_sizes(sizes, kernel, strides, dilations, pads)
    attrs = {"strides": strides, "dilations": dilations, "pads": pads, "groups": groups}
    dy = (dtype, (n, *out, outputs))
    if weight:
        other, more = (n, *sizes, channels), {"kernel": kernel}
    else:
        other, more = (outputs, *kernel, channels // groups), {"size": sizes}
    high = form.get("high", 2.0)
    return Case((dy, (dtype, other)), {**attrs, **more}, -high, high)


conv_grad_input = define(
    OpSpec(
        name="conv_grad_input",
        code=200,
        since="0.2.0",
        inputs=("dy", "w"),
        outputs=("dx",),
        infer=_grad_input_type,
        reference=in_f32(windows.conv_grad_input),
        doc="dx [N, size…, C] = the gradient of the input of conv(·, w [O, k…, C/groups]) for"
        " dy [N, out…, O]",
        dtypes=FLOATS,
        check="conv_grad_input",
        attrs=(*_MOVES, Attr("size", "dims", doc="spatial sizes of dx")),
        cost=_grad_cost,
        flags=frozenset({"serial_prologue", "training"}),
        grad=grads.conv_grad_input,
        saves=("dy", "w"),
        cases=_cases(weight=False),
        kind=Kind.PRODUCT,
        tolerance=Tolerance(3e-05, 1e-05),
        eager=Eager.KERNEL,
    )
)

conv_grad_weight = define(
    OpSpec(
        name="conv_grad_weight",
        code=201,
        since="0.2.0",
        inputs=("dy", "x"),
        outputs=("dw",),
        infer=_grad_weight_type,
        reference=in_f32(windows.conv_grad_weight),
        doc="dw [O, k…, C/groups] = the gradient of the weights of conv(x) for dy [N, out…, O]",
        dtypes=FLOATS,
        check="conv_grad_weight",
        attrs=(*_MOVES, Attr("kernel", "dims", doc="sizes of the kernel")),
        cost=_grad_cost,
        flags=frozenset({"training"}),
        grad=grads.conv_grad_weight,
        saves=("dy", "x"),
        cases=_cases(weight=True),
        kind=Kind.PRODUCT,
        tolerance=Tolerance(3e-05, 1e-05),
        eager=Eager.KERNEL,
    )
)
