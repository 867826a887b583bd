# SPDX-License-Identifier: Apache-2.0
"""Regions of interest, aligned and pooled, and non-maximum suppression of boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ops.autodiff import NO_GRAD, inference_only
from samara.exporter.ops.facts import Kind
from samara.exporter.ops.numeric import Array, DataError, in_f32
from samara.exporter.ops.shape_rules import (
    FLOATS,
    INDICES,
    require_dtype,
    require_lengths,
    require_rank,
    require_same_dtype,
    require_shape,
)
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, DType, TensorType

Ints = tuple[int, ...]
MOST_SAMPLES = 4096  # per bin and axis, if the region decides
_FAR = 2.0**30  # beyond any pixel

_SIZE = Attr("size", "dims", doc="height and width of the results")
_SCALE = Attr("scale", "f32", 1.0, doc="from the units of regions to pixels")


def _regions_type(ctx: InferContext, columns: int) -> TensorType:
    """x [N, H, W, C] and regions [R, columns] give [R, *size, C]."""
    require_same_dtype(ctx, 0, 1)
    require_rank(ctx, 0, 4)
    require_rank(ctx, 1, 2)
    require_lengths(ctx, 2, "size")
    regions = ctx.required(1).shape
    ctx.require_eq(regions[1], columns, f"a region has {columns} numbers")
    for axis in (1, 2):
        ctx.require_ge(ctx.x.shape[axis], 1, f"axis {axis} must not be empty")
    for n in ctx.size:
        ctx.require_ge(n, 0, "size must not be negative")
    return TensorType(ctx.x.dtype, (regions[0], *ctx.size, ctx.x.shape[3]))


def _image_of(op: str, index: int, images: int) -> int:
    if not 0 <= index < images:
        raise DataError(f"a region lies in image {index}, there are {images}", op=op)
    return index


# ---- roi_align ----


def _roi_align_type(ctx: InferContext) -> tuple[TensorType, ...]:
    y = _regions_type(ctx, 4)
    require_dtype(ctx, 2, *INDICES)
    require_shape(ctx, 2, y.shape[:1])
    ctx.require(ctx.sampling >= 0, f"sampling is {ctx.sampling}, expected at least 0")
    ctx.require(ctx.sampling <= MOST_SAMPLES, f"sampling is {ctx.sampling}, at most {MOST_SAMPLES}")
    return (y,)


def _samples(length: Any, bins: int, sampling: int) -> int:
    """The number of samples of a bin along an axis."""
    if sampling:
        return sampling
    count = np.ceil(length / length.dtype.type(bins))
    if not count <= MOST_SAMPLES:  # NaN too
        raise DataError(f"a bin of {count} samples is too large", op="roi_align")
    return max(int(count), 0)


def _sampled(start: Any, bin_size: Any, bins: int, count: int, size: int) -> tuple[Array, ...]:
    """Along one axis, per bin and sample: lower pixel, upper pixel, weight of the upper pixel, and whether the sample
    lies inside.
    """
    own = bin_size.dtype.type
    places = np.arange(bins).astype(own)[:, None]
    steps = (np.arange(count).astype(own) + own(0.5)) * bin_size / own(max(count, 1))
    x = start + places * bin_size + steps
    inside = (x >= -1) & (x <= size)
    x = np.where(inside, np.maximum(x, own(0)), own(0))
    low = np.minimum(x.astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    return low, high, np.where(low == high, own(0), x - low.astype(own)), inside


def _roi_align(
    x: Array,
    regions: Array,
    images: Array,
    *,
    mode: str,
    size: Ints,
    sampling: int,
    scale: float,
    half_pixel: bool,
) -> Array:
    own = x.dtype.type
    y = np.zeros((regions.shape[0], *size, x.shape[3]), np.float64)
    if not y.size:
        return y.astype(x.dtype)
    offset = own(0.5 if half_pixel else 0.0)
    for r, region in enumerate(regions):
        image = x[_image_of("roi_align", int(images[r]), x.shape[0])].astype(np.float64)
        ends = region * own(scale) - offset
        lengths = ends[2:] - ends[:2]
        if not half_pixel:
            lengths = np.maximum(lengths, own(1))
        along = []
        for axis in range(2):
            start, length = ends[1 - axis], lengths[1 - axis]
            count = _samples(length, size[axis], sampling)
            bin_size = length / own(size[axis])
            along.append(_sampled(start, bin_size, size[axis], count, x.shape[axis + 1]))
        y[r] = _aligned(image, along, mode)
    return y.astype(x.dtype)


def _aligned(image: Array, along: Sequence[tuple[Array, ...]], mode: str) -> Array:
    """One region: [bins, bins, C]."""
    (y0, y1, wy, iny), (x0, x1, wx, inx) = along
    inside = (iny[:, :, None, None] & inx[None, None])[..., None]
    corners = []
    for rows, wr in ((y0, 1 - wy), (y1, wy)):
        for columns, wc in ((x0, 1 - wx), (x1, wx)):
            weight = (wr[:, :, None, None] * wc[None, None])[..., None]
            corners.append(weight * image[rows[:, :, None, None], columns[None, None]])
    # [bins, samples, bins, samples, C]
    if mode == "avg":
        found = np.where(inside, np.sum(corners, axis=0), 0.0)
        return np.asarray(found.sum(axis=(1, 3)) / max(wy.shape[1] * wx.shape[1], 1))
    if not inside.size:
        return np.zeros((y0.shape[0], x0.shape[0], image.shape[2]))
    return np.asarray(np.where(inside, np.max(corners, axis=0), 0.0).max(axis=(1, 3)))


def _roi_align_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    samples = max(attrs["sampling"], 1)
    return outputs[0].numel() * (8 * samples * samples), bytes_of(inputs, outputs)


def _boxes(count: int, columns: int, reach: float) -> Array:
    """Regions as detectors give them: corners in order, some beyond the image."""
    rng = np.random.default_rng(count * 7 + columns)
    first = rng.uniform(-0.2 * reach, 0.8 * reach, (count, 2))
    last = first + rng.uniform(0.1, 0.7 * reach, (count, 2))
    corners = np.concatenate([first, last], axis=1)
    if columns == 4:
        return corners.astype(np.float32)
    image = (np.arange(count) % 2)[:, None]
    return np.concatenate([image, corners], axis=1).astype(np.float32)


def _align_case(x: Ints, regions: Any, size: Ints, dtype: str = "f32", **attrs: Any) -> Case:
    boxes = _boxes(regions, 4, float(x[1])) if isinstance(regions, int) else regions
    images = (np.arange(len(boxes)) % max(x[0], 1)).astype(np.int64)
    given = boxes if dtype == "f32" else boxes.astype(np.float16)
    return Case(((dtype, x), given, images), {"size": size, **attrs})


# Empty, turned around, outside, just inside the border of -1, whole and half pixels.
_ODD = np.array(
    [[2, 2, 2, 2], [5, 6, 1, 2], [-40, -40, -30, -30], [-1.5, -1.5, 0, 0], [0, 0, 6, 5]],
    np.float32,
)

roi_align = define(
    OpSpec(
        name="roi_align",
        code=152,
        since="0.3.0",
        inputs=("x", "regions", "images"),
        outputs=("y",),
        infer=_roi_align_type,
        reference=in_f32(_roi_align),
        doc="y[r] = x [N, H, W, C] of image images[r], resampled in the bins of regions[r] = (left,"
        " top, right, bottom): the mean (or the largest weighted corner) of bilinear samples; 0"
        " beyond one pixel outside",
        dtypes=FLOATS,
        check="x [N H W C] regions [R 4] images [R] -> y [R size* C]",
        attrs=(
            Attr("mode", "enum", "avg", ("avg", "max"), "how a bin combines its samples"),
            _SIZE,
            Attr("sampling", "int", 0, doc="samples per bin and axis; 0: one per pixel"),
            _SCALE,
            Attr("half_pixel", "bool", True, doc="coordinates are shifted by half a pixel"),
        ),
        cost=_roi_align_cost,
        grad=inference_only("roi_align"),
        cases=(
            _align_case((2, 9, 9, 3), 5, (3, 4)),
            _align_case((1, 9, 8, 17), 3, (2, 2), sampling=2),
            _align_case((1, 9, 8, 16), 3, (2, 3), mode="max", sampling=2),
            _align_case((2, 10, 12, 33), 4, (2, 1), mode="max", half_pixel=False),
            _align_case((1, 6, 7, 2), _ODD, (2, 2)),
            _align_case((1, 6, 7, 2), _ODD, (2, 2), half_pixel=False, sampling=3),
            _align_case((1, 6, 7, 2), _ODD, (2, 2), mode="max", sampling=2),
            _align_case((2, 16, 16, 1), 6, (1, 1), scale=0.5),
            _align_case((1, 40, 40, 8), 2, (2, 2), scale=0.9),
            _align_case((1, 3, 3, 2), 0, (2, 2)),
            _align_case((2, 8, 8, 5), 3, (2, 2), "f16", sampling=2),
            Case((("f32", (2, 4, 4, 2)), _boxes(2, 4, 4.0), np.array([1, 0], np.int32)),
                 {"size": (2, 0)}),
        ),
        kind=Kind.RESAMPLING,
    )
)  # fmt: skip


# ---- roi_pool ----


def _roi_pool_type(ctx: InferContext) -> tuple[TensorType, ...]:
    return (_regions_type(ctx, 5),)


def _whole(value: Any) -> int:
    """The nearest integer, halves away from 0."""
    wide = float(value)
    if not wide == wide:
        raise DataError("a region has a corner that is no number", op="roi_pool")
    return int(np.clip(np.sign(wide) * np.floor(abs(wide) + 0.5), -_FAR, _FAR))


def _bins(first: int, last: int, bins: int, size: int) -> list[slice]:
    """The pixels of each bin along one axis."""
    bin_size = np.float32(max(last - first + 1, 1)) / np.float32(bins)
    found = []
    for b in range(bins):
        begin = int(np.floor(np.float32(b) * bin_size)) + first
        end = int(np.ceil(np.float32(b + 1) * bin_size)) + first
        found.append(slice(min(max(begin, 0), size), min(max(end, 0), size)))
    return found


def _roi_pool(x: Array, regions: Array, *, size: Ints, scale: float) -> Array:
    y = np.zeros((regions.shape[0], *size, x.shape[3]), x.dtype)
    if not y.size:
        return y
    for r, region in enumerate(regions):
        image = x[_image_of("roi_pool", _whole(region[0]), x.shape[0])]
        left, top, right, bottom = (_whole(c * x.dtype.type(scale)) for c in region[1:])
        rows = _bins(top, bottom, size[0], x.shape[1])
        columns = _bins(left, right, size[1], x.shape[2])
        for i, vertical in enumerate(rows):
            for j, horizontal in enumerate(columns):
                part = image[vertical, horizontal]
                if part.shape[0] > 0 and part.shape[1] > 0:
                    y[r, i, j] = part.max(axis=(0, 1))
    return y


_ODD_POOLED = np.array(
    [[0, 2, 2, 2, 2], [1, 5, 6, 1, 2], [0, -40, -40, -30, -30], [1, 0, 0, 1e9, 1e9], [0, 0.5, 1.5, 2.5, 3]],
    np.float32,
)  # fmt: skip

roi_pool = define(
    OpSpec(
        name="roi_pool",
        code=153,
        since="0.3.0",
        inputs=("x", "regions"),
        outputs=("y",),
        infer=_roi_pool_type,
        reference=in_f32(_roi_pool),
        doc="y[r] = the largest elements of x [N, H, W, C] in the bins of regions[r] = (image, left,"
        " top, right, bottom), rounded to pixels; 0 in an empty bin",
        dtypes=FLOATS,
        check="x [N H W C] regions [R 5] -> y [R size* C]",
        attrs=(_SIZE, _SCALE),
        grad=inference_only("roi_pool"),
        cases=(
            Case((("f32", (2, 9, 9, 3)), _boxes(5, 5, 9.0)), {"size": (3, 4)}),
            Case((("f32", (2, 12, 10, 17)), _boxes(4, 5, 20.0)), {"size": (2, 2), "scale": 0.5}),
            Case((("f32", (2, 6, 7, 16)), _ODD_POOLED), {"size": (2, 3)}),
            Case((("f32", (2, 30, 31, 33)), _boxes(3, 5, 30.0)), {"size": (7, 7)}),
            Case((("f32", (2, 3, 3, 2)), np.zeros((0, 5), np.float32)), {"size": (2, 2)}),
            Case((("f16", (2, 8, 8, 5)), _boxes(3, 5, 8.0).astype(np.float16)), {"size": (2, 2)}),
        ),
        kind=Kind.RESAMPLING,
    )
)


# ---- nms ----


def _nms_type(ctx: InferContext) -> tuple[TensorType, ...]:
    require_rank(ctx, 0, 3)
    require_rank(ctx, 1, 3)
    require_dtype(ctx, 1, DType.F32)
    boxes, scores = ctx.x.shape, ctx.required(1).shape
    ctx.require_eq(boxes[2], 4, "a box has 4 numbers")
    ctx.require_eq(scores[0], boxes[0], "boxes and scores must have one batch")
    ctx.require_eq(scores[2], boxes[1], "boxes and scores must be as many")
    for index, dtype in ((2, DType.I64), (3, DType.F32), (4, DType.F32)):
        if ctx.optional(index) is not None:
            require_rank(ctx, index, 0)
            require_dtype(ctx, index, dtype)
    ctx.require_ge(ctx.limit, 0, "limit must not be negative")
    return (TensorType(DType.I64, (*scores[:2], ctx.limit)),)


def _corners(boxes: Array, center: bool) -> Array:
    """[4, B]: low and high ends along both axes."""
    a, b, c, d = boxes.T
    if center:  # x, y, width, height
        half = np.float32(2)
        return np.stack([b - d / half, a - c / half, b + d / half, a + c / half])
    return np.stack([np.minimum(a, c), np.minimum(b, d), np.maximum(a, c), np.maximum(b, d)])


def _overlaps(corners: Array, one: int, others: Sequence[int], threshold: Any) -> bool:
    """Whether box `one` overlaps one of the others by more than the threshold."""
    own, kept = corners[:, one], corners[:, list(others)]
    low, high = np.maximum(own[:2, None], kept[:2]), np.minimum(own[2:, None], kept[2:])
    size = high - low
    inside = (size > 0).all(axis=0)
    both = size[0] * size[1]
    areas = (kept[2] - kept[0]) * (kept[3] - kept[1])
    area = (own[2] - own[0]) * (own[3] - own[1])
    union = area + areas - both
    valid = inside & (both > 0) & (area > 0) & (areas > 0) & (union > 0)
    return bool((valid & (both / np.where(valid, union, 1) > threshold)).any())


def _nms(
    boxes: Array,
    scores: Array,
    count: Array | None = None,
    overlap: Array | None = None,
    score: Array | None = None,
    *,
    limit: int,
    center: bool,
) -> Array:
    kept = np.full((*scores.shape[:2], limit), -1, np.int64)
    most = limit if count is None else min(limit, max(int(count), 0))
    threshold = np.float32(0) if overlap is None else np.float32(overlap)
    for n, c in np.ndindex(scores.shape[:2]):
        own, corners = scores[n, c], _corners(boxes[n], center)
        candidates = ~np.isnan(own) if score is None else own > score
        order = np.lexsort((np.arange(own.size), -own.astype(np.float64)))
        found: list[int] = []
        for i in order.tolist():
            if len(found) >= most:
                break
            if candidates[i] and not (found and _overlaps(corners, i, found, threshold)):
                found.append(i)
        kept[n, c, : len(found)] = found
    return kept


def _nms_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    assert inputs[1] is not None
    return inputs[1].numel() * 16, bytes_of(inputs, outputs)


def _many_boxes(n: int, count: int, center: bool = False) -> Array:
    rng = np.random.default_rng(count)
    first, size = rng.uniform(0, 3, (n, count, 2)), rng.uniform(0.2, 2, (n, count, 2))
    ends = [first, size] if center else [first, first + size]
    return np.concatenate(ends, axis=2).astype(np.float32)


def _nms_case(
    n: int, c: int, count: int, limit: int, *scalars: float | None, center: bool = False
) -> Case:
    """scalars: count, overlap, score."""
    dtypes = (np.int64, np.float32, np.float32)
    given = [None if s is None else np.array(s, d) for s, d in zip(scalars, dtypes, strict=False)]
    inputs = (_many_boxes(n, count, center), ("f32", (n, c, count)), *given)
    return Case(inputs, {"limit": limit, "center": center}, 0.0, 1.0)


# Corners in any order, no area, equal boxes and scores, not-a-number.
_ODD_BOXES = np.array(
    [[[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [3, 3, 3, 3], [3, 3, 3, 3], [5, 5, 6, np.nan], [8, 8, 9, 9]]],
    np.float32,
)  # fmt: skip
_ODD_SCORES = np.array([[[0.5, 0.5, 0.9, 0.2, 0.2, np.nan, -np.inf]]], np.float32)

nms = define(
    OpSpec(
        name="nms",
        code=154,
        since="0.3.0",
        inputs=("boxes", "scores", "count?", "overlap?", "score?"),
        outputs=("y",),
        infer=_nms_type,
        reference=_nms,
        doc="y[n, c] = the boxes [N, B, 4] that class c of scores [N, C, B] keeps, best first (of"
        " equal ones the first), then -1: those above `score` that no box kept before overlaps by"
        " more than `overlap` of their union, at most `limit` and `count`; a score that is no number"
        " is never kept",
        dtypes=("f32",),
        check="boxes [N B 4] scores [N C B] count [] overlap [] score [] -> y [N C limit]",
        attrs=(
            Attr("limit", "dim", doc="the last size of y"),
            Attr("center", "bool", False, doc="boxes are x, y, width, height, not two corners"),
        ),
        cost=_nms_cost,
        grad=NO_GRAD,
        cases=(
            _nms_case(1, 1, 6, 3, 3, 0.5, 0.0),
            _nms_case(2, 3, 40, 10, 8, 0.4, 0.3),
            _nms_case(1, 2, 33, 33, 100, 0.3, center=True),
            _nms_case(1, 2, 17, 17),
            _nms_case(1, 1, 9, 4, None, 0.5),
            _nms_case(1, 2, 9, 9, None, None, 0.5),
            _nms_case(1, 1, 9, 9, 0, 0.5),
            _nms_case(1, 1, 9, 9, -3, 0.5),
            _nms_case(2, 2, 0, 3, 3, 0.5),
            _nms_case(1, 1, 5, 0, 3, 0.5),
            Case((_ODD_BOXES, _ODD_SCORES, None, np.array(0.5, np.float32)), {"limit": 7}),
            Case((_ODD_BOXES, _ODD_SCORES), {"limit": 7, "center": True}),
        ),
        kind=Kind.REDUCING,
    )
)
