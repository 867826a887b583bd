# SPDX-License-Identifier: Apache-2.0
"""Operators that read images at given points: grids, regions, displaced windows; also Col2Im and
NonMaxSuppression.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.layout import channels_first, channels_last
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, DType, as_dim, dmin, floordiv

_MODES = {"bilinear": "linear", "bicubic": "cubic"}  # names in opset 16


def _lower(n: NodeContext, name: str, default: str) -> str:
    return str(n.attr(name, default)).lower()


@onnx_op("GridSample")
def grid_sample(n: NodeContext) -> Any:
    x, grid = n.value(0), n.value(1)
    if x.type.rank not in (4, 5):
        raise n.unsupported(
            f"sampling an input of rank {x.type.rank}",
            "images and volumes (rank 4, 5) can be sampled",
        )
    if not (x.type.dtype.is_float and grid.type.dtype.is_float):
        raise n.unsupported(
            f"sampling {x.type.dtype.public_name} at points of {grid.type.dtype.public_name}",
            "cast the input to float32 before, and the samples back behind",
        )
    # With two dtypes compute in float32, which loses nothing of either.
    common = x.type.dtype if x.type.dtype is grid.type.dtype else DType.F32
    mode = _lower(n, "mode", "linear")
    y = n.emit(
        "grid_sample",
        channels_last(n, _as(n, x, common)),
        _as(n, grid, common),
        mode=_MODES.get(mode, mode),
        padding=_lower(n, "padding_mode", "zeros"),
        align_corners=bool(n.attr("align_corners", 0)),
    )
    return channels_first(n, _as(n, y, x.type.dtype))


def _as(n: NodeContext, v: Value, dtype: DType) -> Value:
    return v if v.type.dtype is dtype else n.emit("cast", v, to=dtype)


# ---- regions ----


@onnx_op("RoiAlign")
def roi_align(n: NodeContext) -> Any:
    x = n.value(0)
    n.shape(0, 4)
    n.shape(1, 2)
    images = n.value(2)
    # Before opset 16 pixels are not shifted by a half.
    default = "half_pixel" if n.opset >= 16 else "output_half_pixel"
    shift = _lower(n, "coordinate_transformation_mode", default)
    if shift not in ("half_pixel", "output_half_pixel"):
        raise n.unsupported(
            f"coordinate_transformation_mode {shift!r}",
            "half_pixel and output_half_pixel are provided",
        )
    y = n.emit(
        "roi_align",
        channels_last(n, x),
        _as(n, n.value(1), x.type.dtype),
        images if images.type.dtype is DType.I32 else _as(n, images, DType.I64),
        mode=_lower(n, "mode", "avg"),
        size=(n.attr("output_height", 1), n.attr("output_width", 1)),
        sampling=n.attr("sampling_ratio", 0),
        scale=n.attr("spatial_scale", 1.0),
        half_pixel=shift == "half_pixel",
    )
    return channels_first(n, y)


@onnx_op("MaxRoiPool")
def max_roi_pool(n: NodeContext) -> Any:
    x = n.value(0)
    n.shape(0, 4)
    n.shape(1, 2)
    size = list(n.attr("pooled_shape", []))
    if len(size) != 2:
        raise n.wrong(f"pooled_shape {size} must have 2 elements")
    y = n.emit(
        "roi_pool",
        channels_last(n, x),
        _as(n, n.value(1), x.type.dtype),
        size=size,
        scale=n.attr("spatial_scale", 1.0),
    )
    return channels_first(n, y)


@onnx_op("NonMaxSuppression")
def non_max_suppression(n: NodeContext) -> Any:
    """The boxes that each class keeps, padded with -1, and the positions of the others."""
    boxes, scores = n.value(0), n.value(1)
    n.shape(0, 3)
    limit = _limit(n, n.shape(1, 3)[2])
    kept = n.emit(
        "nms",
        boxes,
        scores,
        _scalar(n, 2, DType.I64) if n.has(2) else None,
        _scalar(n, 3, DType.F32) if n.has(3) else None,
        _scalar(n, 4, DType.F32) if n.has(4) else None,
        limit=limit,
        center=bool(n.attr("center_point_box", 0)),
    )
    places = n.emit("nonzero", n.emit("le", n.const(np.int64(0)), kept))
    found = places.type.shape[1]
    tuples = n.emit("transpose", places, perm=(1, 0))
    index = n.emit("reshape", n.emit("gather_nd", kept, tuples), shape=(found, 1))
    pairs = n.emit("slice", tuples, begin=(0, 0), end=(found, 2), step=(1, 1))
    return n.final("concat", pairs, index, axis=1)


def _limit(n: NodeContext, count: Dim) -> Dim:
    """The maximum number of boxes per class: none without the operand, all if it is symbolic."""
    if not n.has(2):
        return as_dim(0)
    known = n.constant(2)
    if known is None:
        return count
    most = max(int(known.reshape(-1)[0]), 0)
    return dmin(count, min(most, 2**31 - 1))


def _scalar(n: NodeContext, index: int, dtype: DType) -> Value:
    v = n.value(index)
    if v.type.rank:
        v = n.emit("reshape", v, shape=())
    return _as(n, v, dtype)


# ---- windows ----


@onnx_op("DeformConv")
def deform_conv(n: NodeContext) -> Any:
    """The columns at the displaced points, then a convolution of one tap."""
    x, w, offset = n.value(0), n.value(1), n.value(2)
    if x.type.rank != 4:
        raise n.unsupported(
            f"a deformable convolution of rank {x.type.rank}",
            "deformable convolutions of images (rank 4) are provided",
        )
    n.shape(1, 4)
    outputs, depth, *sizes = w.type.shape
    if not all(d.is_static for d in sizes):
        raise n.unsupported("weights with a symbolic kernel size")
    kernel = [d.as_int() for d in sizes]
    if list(n.attr("kernel_shape", kernel)) != kernel:
        raise n.wrong(f"kernel_shape {n.attr('kernel_shape')} does not fit the weights {w.type}")
    groups = n.attr("group", 1)
    # With one channel per group the taps lie side by side, as a depthwise convolution over them needs it.
    depthwise = groups > 1 and depth == 1 and outputs == groups
    mask = n.optional(4)
    columns = n.emit(
        "deform_columns",
        channels_last(n, x),
        channels_last(n, offset),
        None if mask is None else channels_last(n, mask),
        kernel=kernel,
        strides=n.attr("strides", [1, 1]),
        dilations=n.attr("dilations", [1, 1]),
        pads=n.attr("pads", [0] * 4),
        groups=1 if depthwise else groups,
        offset_groups=n.attr("offset_group", 1),
    )
    taps = kernel[0] * kernel[1]
    rows = n.emit("transpose", w, perm=(0, 2, 3, 1))
    if not depthwise:
        flat = n.emit("reshape", rows, shape=(outputs, 1, 1, depth * taps))
        return channels_first(n, _pointwise(n, columns, flat, 2, groups))
    batch, height, width, _ = columns.type.shape
    along = n.emit("reshape", columns, shape=(batch * height * width, taps, outputs))
    y = _pointwise(n, along, n.emit("reshape", rows, shape=(outputs, taps, 1)), 1, groups)
    y = n.emit("reshape", y, shape=(batch, height, width, outputs))
    return channels_first(n, y)


def _pointwise(n: NodeContext, x: Value, w: Value, axes: int, groups: int) -> Value:
    """The node's weights applied to columns, with a window that does not move along the spatial axes."""
    y: Value = n.emit(
        "conv",
        x,
        w,
        n.optional(3),
        strides=[1] * axes,
        dilations=[1] * axes,
        pads=[0] * (2 * axes),
        groups=groups,
    )
    return y


@onnx_op("Col2Im")
def col2im(n: NodeContext) -> Any:
    batch, rows, _ = n.shape(0, 3)
    size, kernel = n.dims(1, "image_shape"), n.dims(2, "block_shape")
    s = len(size)
    if not 1 <= s <= 3 or len(kernel) != s:
        raise n.unsupported(
            f"an image of {s} axes and a block of {len(kernel)}", "1 to 3 axes are provided"
        )
    strides = list(n.attr("strides", [1] * s))
    dilations = list(n.attr("dilations", [1] * s))
    pads = list(n.attr("pads", [0] * (2 * s)))
    if (len(strides), len(dilations), len(pads)) != (s, s, 2 * s):
        raise n.wrong(
            f"strides {strides}, dilations {dilations} or pads {pads} do not fit {s} axes"
        )
    taps = as_dim(1)
    windows = []
    for i in range(s):
        taps = taps * kernel[i]
        reach = (kernel[i] - 1) * dilations[i] + 1
        windows.append(floordiv(size[i] + (pads[i] + pads[s + i]) - reach, strides[i]) + 1)
    channels = floordiv(rows, taps)
    x = n.emit("reshape", n.value(0), shape=(batch, channels, *kernel, *windows))
    return n.final("fold", x, size=size, strides=strides, dilations=dilations, pads=pads)
