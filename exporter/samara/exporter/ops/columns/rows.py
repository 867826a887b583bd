# SPDX-License-Identifier: Apache-2.0
"""Columns of windows: taken at displaced points, and added back into an image."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ops.autodiff import inference_only
from samara.exporter.ops.columns import grad as rules
from samara.exporter.ops.facts import Kind
from samara.exporter.ops.numeric import Array, in_f32, wide
from samara.exporter.ops.shape_rules import (
    FLOATS,
    require_lengths,
    require_positive,
    require_rank,
    require_same_dtype,
    require_shape,
    window_size,
)
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, TensorType

Ints = tuple[int, ...]

_STRIDES = Attr("strides", "ints", doc="one per spatial axis")
_DILATIONS = Attr("dilations", "ints", doc="one per spatial axis")
_PADS = Attr("pads", "dims", doc="before each spatial axis, then after each")


def _window_sizes(
    ctx: InferContext, sizes: Sequence[Dim], kernel: Sequence[Any], first_axis: int
) -> tuple[Dim, ...]:
    s = len(sizes)
    require_lengths(ctx, s, "strides", "dilations")
    require_lengths(ctx, 2 * s, "pads")
    require_positive(ctx, "strides", "dilations")
    for p in ctx.pads:
        ctx.require_ge(p, 0, "pads must not be negative")
    return tuple(
        window_size(
            ctx,
            sizes[i],
            kernel[i],
            ctx.strides[i],
            ctx.dilations[i],
            ctx.pads[i] + ctx.pads[s + i],
            first_axis + i,
        )
        for i in range(s)
    )


# ---- deform_columns ----


def _deform_type(ctx: InferContext) -> tuple[TensorType, ...]:
    require_same_dtype(ctx, 0, 1, 2)
    require_rank(ctx, 0, 4)
    require_lengths(ctx, 2, "kernel")
    require_positive(ctx, "kernel", "groups", "offset_groups")
    n, height, width, channels = ctx.x.shape
    out = _window_sizes(ctx, (height, width), ctx.kernel, 1)
    taps = ctx.kernel[0] * ctx.kernel[1]
    for groups in (ctx.groups, ctx.offset_groups):
        ctx.require_eq(channels % groups, 0, f"{groups} groups must divide the channels")
    require_shape(ctx, 1, (n, *out, ctx.offset_groups * taps * 2))
    require_shape(ctx, 2, (n, *out, ctx.offset_groups * taps))
    return (TensorType(ctx.x.dtype, (n, *out, channels * taps)),)


def _deform_columns(
    x: Array,
    offset: Array,
    mask: Array | None = None,
    *,
    kernel: Ints,
    strides: Ints,
    dilations: Ints,
    pads: Ints,
    groups: int,
    offset_groups: int,
) -> Array:
    n, height, width, channels = x.shape
    out, taps = offset.shape[1:3], kernel[0] * kernel[1]
    y = np.zeros((n, *out, groups, taps, channels // groups), np.float64)
    if not y.size:
        return y.reshape(n, *out, channels * taps).astype(x.dtype)
    moved = offset.reshape(n, *out, offset_groups, taps, 2).astype(np.float64)
    batch = np.arange(n)[:, None, None]
    per_offset, per_group = channels // offset_groups, channels // groups
    for g, tap in np.ndindex(offset_groups, taps):
        at = []
        for axis, k in enumerate(divmod(tap, kernel[1])):
            first = np.arange(out[axis]) * strides[axis] - pads[axis] + k * dilations[axis]
            at.append(
                first.reshape((-1, 1) if axis == 0 else (1, -1)) + moved[:, :, :, g, tap, axis]
            )
        own = slice(g * per_offset, (g + 1) * per_offset)
        sampled = np.zeros((n, *out, per_offset), np.float64)
        below = [np.floor(a) for a in at]
        for i, j in itertools.product((0, 1), (0, 1)):
            row, column = below[0] + i, below[1] + j
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            weight = (1 - np.abs(at[0] - row)) * (1 - np.abs(at[1] - column))
            r = np.where(inside, row, 0).astype(np.int64)
            c = np.where(inside, column, 0).astype(np.int64)
            part = x[batch, r, c, own] * weight[..., None]
            sampled += np.where(inside[..., None], part, 0)
        if mask is not None:
            sampled *= mask.reshape(n, *out, offset_groups, taps)[:, :, :, g, tap, None]
        for channel in range(per_offset):
            group, place = divmod(g * per_offset + channel, per_group)
            y[:, :, :, group, tap, place] = sampled[..., channel]
    return y.reshape(n, *out, channels * taps).astype(x.dtype)


def _deform_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    return outputs[0].numel() * 8, bytes_of(inputs, outputs)


def _deform_case(
    x: Ints,
    kernel: Ints,
    *,
    stride: int = 1,
    dilation: int = 1,
    pads: Ints = (0, 0, 0, 0),
    groups: int = 1,
    offset_groups: int = 1,
    masked: bool = True,
    dtype: str = "f32",
    offset: Array | None = None,
) -> Case:
    out = tuple(
        (x[i + 1] + pads[i] + pads[i + 2] - (kernel[i] - 1) * dilation - 1) // stride + 1
        for i in range(2)
    )
    points = offset_groups * kernel[0] * kernel[1]
    moved: Any = (dtype, (x[0], *out, 2 * points)) if offset is None else offset
    mask = ((dtype, (x[0], *out, points)),) if masked else ()
    attrs = {
        "kernel": kernel,
        "strides": (stride, stride),
        "dilations": (dilation, dilation),
        "pads": pads,
        "groups": groups,
        "offset_groups": offset_groups,
    }
    return Case(((dtype, x), moved, *mask), attrs)


_FAR = np.array(
    [0, 0, 1e9, 0, -1e9, -1e9, np.nan, 0, np.inf, 0.5, -1, -1, -0.5, -0.5, 2.5, 2.999], np.float32
).reshape(1, 1, 1, 16)

deform_columns = define(
    OpSpec(
        name="deform_columns",
        code=155,
        since="0.3.0",
        inputs=("x", "offset", "mask?"),
        outputs=("y",),
        infer=_deform_type,
        reference=in_f32(_deform_columns),
        doc="y[n, i, j, (group, tap, channel)] = x [N, H, W, C] at the position of the tap in the window at"
        " (i, j) plus offset[n, i, j, (offset group, tap, axis)], linearly interpolated, 0 outside, times"
        " mask[n, i, j, (offset group, tap)]: a deformable convolution is a convolution of one tap over y;"
        " coordinates and weights in float64",
        dtypes=FLOATS,
        check="deform_columns",
        attrs=(
            Attr("kernel", "ints", doc="height and width of the window"),
            _STRIDES,
            _DILATIONS,
            _PADS,
            Attr("groups", "int", 1, doc="of channels, outermost in y"),
            Attr("offset_groups", "int", 1, doc="of channels with the same offsets"),
        ),
        cost=_deform_cost,
        grad=inference_only("deform_columns"),
        cases=(
            _deform_case((1, 3, 3, 1), (2, 2), masked=False),
            _deform_case((2, 6, 7, 17), (3, 3), pads=(1, 1, 1, 1)),
            _deform_case((1, 7, 8, 12), (3, 2), stride=2, pads=(1, 0, 2, 1), groups=2, offset_groups=3),
            _deform_case((1, 9, 8, 8), (3, 2), dilation=2, groups=4, offset_groups=2),
            _deform_case((1, 5, 6, 6), (2, 3), groups=6, masked=False),
            _deform_case((1, 4, 4, 32), (1, 1), offset_groups=2),
            _deform_case((1, 3, 3, 2), (3, 3), offset=_FAR[..., :2].repeat(9, axis=-1), masked=False),
            _deform_case((1, 2, 4, 3), (2, 4), offset=_FAR, masked=False),
            _deform_case((2, 3, 4, 0), (2, 2)),
            _deform_case((0, 3, 4, 2), (2, 2)),
            _deform_case((1, 4, 5, 9), (2, 2), dtype="f16"),
        ),
        kind=Kind.RESAMPLING,
    )
)  # fmt: skip


# ---- fold ----


def _fold_type(ctx: InferContext) -> tuple[TensorType, ...]:
    require_rank(ctx, 0, 4, 6, 8)
    s = (ctx.x.rank - 2) // 2
    require_lengths(ctx, s, "size")
    shape = ctx.x.shape
    kernel = shape[2 : 2 + s]
    for i in range(s):
        ctx.require_ge(kernel[i], 1, f"the window must not be empty on axis {i}")
        ctx.require_ge(ctx.size[i], 0, "size must not be negative")
    out = _window_sizes(ctx, ctx.size, kernel, 2)
    require_shape(ctx, 0, (*shape[: 2 + s], *out), "as many windows as the image has")
    return (TensorType(ctx.x.dtype, (*shape[:2], *ctx.size)),)


def _fold(x: Array, *, size: Ints, strides: Ints, dilations: Ints, pads: Ints) -> Array:
    s = len(size)
    kernel, out = x.shape[2 : 2 + s], x.shape[2 + s :]
    full = tuple(size[i] + pads[i] + pads[s + i] for i in range(s))
    y = np.zeros((*x.shape[:2], *full), wide(x).dtype)
    for position in itertools.product(*(range(k) for k in kernel)):
        place: Any = [slice(None), slice(None)]
        for p, d, o, by in zip(position, dilations, out, strides, strict=True):
            place.append(slice(p * d, p * d + (o - 1) * by + 1, by) if o else slice(0, 0))
        tap: Any = (slice(None), slice(None), *position)
        y[tuple(place)] += x[tap]
    crop: Any = tuple(slice(pads[i], pads[i] + size[i]) for i in range(s))
    return np.asarray(y[(slice(None), slice(None), *crop)].astype(x.dtype))


def _fold_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    assert inputs[0] is not None
    return inputs[0].numel(), bytes_of(inputs, outputs)


def _fold_case(
    size: Ints,
    kernel: Ints,
    *,
    n: int = 1,
    channels: int = 2,
    strides: Ints | None = None,
    dilations: Ints | None = None,
    pads: Ints | None = None,
    dtype: str = "f32",
) -> Case:
    s = len(size)
    by = (1,) * s if strides is None else strides
    wide_by = (1,) * s if dilations is None else dilations
    around = (0,) * (2 * s) if pads is None else pads
    out = tuple(
        (size[i] + around[i] + around[s + i] - (kernel[i] - 1) * wide_by[i] - 1) // by[i] + 1
        for i in range(s)
    )
    attrs = {"size": size, "strides": by, "dilations": wide_by, "pads": around}
    return Case(((dtype, (n, channels, *kernel, *out)),), attrs)


fold = define(
    OpSpec(
        name="fold",
        code=156,
        since="0.3.0",
        inputs=("x",),
        outputs=("y",),
        infer=_fold_type,
        reference=in_f32(_fold),
        doc="y [N, C, size…] = the windows x [N, C, kernel…, windows…] added at their positions in the padded"
        " image (col2im)",
        dtypes=FLOATS,
        check="fold",
        attrs=(
            Attr("size", "dims", doc="spatial sizes of y"),
            _STRIDES,
            _DILATIONS,
            _PADS,
        ),
        cost=_fold_cost,
        grad=rules.fold,
        cases=(
            _fold_case((5, 5), (1, 5), channels=1),
            _fold_case((5, 6), (2, 3), n=2, channels=3),
            _fold_case((7, 33), (3, 3), pads=(1, 1, 1, 1)),
            _fold_case((8, 20), (3, 2), strides=(2, 3), pads=(0, 1, 1, 0)),
            _fold_case((9, 21), (2, 3), dilations=(3, 2), pads=(1, 2, 0, 1)),
            _fold_case((19,), (4,), n=3, strides=(2,), dilations=(3,)),
            _fold_case((4, 5, 6), (2, 1, 3), strides=(1, 2, 1), pads=(0, 1, 1, 1, 0, 1)),
            _fold_case((3, 3), (2, 2), n=0),
            _fold_case((2, 3), (4, 5), pads=(2, 2, 2, 2)),
            _fold_case((5, 5), (2, 2), dtype="f16"),
        ),
        kind=Kind.WINDOW,
    )
)
