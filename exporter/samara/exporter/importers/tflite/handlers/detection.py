# SPDX-License-Identifier: Apache-2.0
"""Non-maximum suppression, and the decoding of boxes before it."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.tflite.context import OperatorContext, need_static
from samara.exporter.importers.tflite.flexible import options_of
from samara.exporter.importers.tflite.registry import tflite_op
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, DType, as_dim


def _below(ctx: OperatorContext, threshold: float) -> Value:
    """The float32 before a number: what is above it is not below the number."""
    return ctx.const(np.nextafter(np.float32(threshold), np.float32(-np.inf)))


def _flat(ctx: OperatorContext, x: Value) -> Value:
    made: Value = ctx.emit("reshape", x, shape=(x.type.numel(),))
    return made


def _scalar(ctx: OperatorContext, index: int) -> Value:
    made: Value = ctx.emit("reshape", ctx.value(index), shape=())
    return made


def _kept(ctx: OperatorContext, index: Value) -> tuple[Value, Value, Value]:
    """(whether a place of nms' result holds a box, the box or 0, how many there are)."""
    zero = ctx.const(np.int64(0))
    is_box = ctx.emit("le", zero, index)
    count = ctx.emit("reduce_sum", ctx.emit("cast", is_box, to=DType.I32), axes=[0])
    return is_box, ctx.emit("max", index, zero), count


@tflite_op("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5")
def non_max_suppression(ctx: OperatorContext) -> Any:
    """Inputs: boxes [N, 4], scores [N], the most boxes, thresholds of overlap and of score, in V5 sigma.

    Results: the indices, 0 behind the last, in V5 their scores, and how many there are.
    """
    boxes, scores = ctx.value(0), ctx.value(1)
    if ctx.op_type.endswith("V5"):
        sigma = ctx.need_constant(5, "sigma")
        if np.any(sigma != 0):
            raise ctx.unsupported(
                "a sigma other than 0 (scores that fall with the overlap) is not supported",
                "convert the model with soft_nms_sigma=0",
            )
    (limit,) = ctx.dims(2, "the number of boxes")
    overlap = ctx.need_constant(3, "the threshold of overlap").reshape(-1)[0]
    index = ctx.emit(
        "nms",
        ctx.emit("reshape", boxes, shape=(1, *boxes.type.shape)),
        ctx.emit("reshape", scores, shape=(1, 1, *scores.type.shape)),
        None,
        _below(ctx, float(overlap)),  # a box goes whose overlap reaches the threshold
        _scalar(ctx, 4),
        limit=limit,
    )
    is_box, safe, count = _kept(ctx, _flat(ctx, index))
    chosen = ctx.emit("cast", safe, to=DType.I32)
    if not ctx.op_type.endswith("V5"):
        return chosen, count
    found = ctx.emit("gather", scores, safe)
    return chosen, ctx.emit("where", is_box, found, ctx.const(np.float32(0))), count


@tflite_op("TFLite_Detection_PostProcess", custom=True)
def detection_post_process(ctx: OperatorContext) -> Any:
    """Inputs: encoded boxes [1, N, 4 or more], scores [1, N, classes, with one of the background before them or
    not], anchors [N, 4].

    Results: boxes [1, D, 4] as (top, left, bottom, right), their classes and scores [1, D], their number [1].
    """
    options = options_of(ctx)
    scores = ctx.value(1)
    classes = int(options.get("num_classes", 0))
    (columns,) = need_static(ctx, [scores.type.shape[-1]], "the number of classes")
    background = columns - classes
    if background not in (0, 1) or scores.type.rank != 3:
        raise ctx.wrong(f"scores {scores.type} do not fit {classes} classes")
    count = scores.type.shape[1]
    scores = ctx.emit(
        "slice", scores, begin=(0, 0, background), end=(1, count, columns), step=(1, 1, 1)
    )
    boxes = _decoded(ctx, options, count)
    if options.get("use_regular_nms", False):
        return _regular(ctx, options, boxes, scores)
    return _fast(ctx, options, boxes, scores)


def _decoded(ctx: OperatorContext, options: dict[str, Any], count: Dim) -> Value:
    """Corners [N, 4] from distances to the anchors' centers and logarithms of ratios to their sizes."""
    encoded, anchors = ctx.value(0), ctx.value(2)
    if encoded.type.rank != 3 or anchors.type.rank != 2:
        raise ctx.wrong(f"boxes {encoded.type} and anchors {anchors.type}")
    encoded = ctx.emit("slice", encoded, begin=(0, 0, 0), end=(1, count, 4), step=(1, 1, 1))
    encoded = ctx.emit("reshape", encoded, shape=(count, 4))
    scales = [float(options.get(f"{axis}_scale", 1.0)) for axis in "yxhw"]
    encoded = ctx.emit("div", encoded, ctx.const(np.array(scales, np.float32)))
    offset, ratio = _halves(ctx, encoded, count)
    center, size = _halves(ctx, anchors, count)
    center = ctx.emit("add", ctx.emit("mul", offset, size), center)
    half = ctx.emit(
        "mul", ctx.emit("mul", ctx.emit("exp", ratio), size), ctx.const(np.float32(0.5))
    )
    low, high = ctx.emit("sub", center, half), ctx.emit("add", center, half)
    made: Value = ctx.emit("concat", low, high, axis=1)
    return made


def _halves(ctx: OperatorContext, x: Value, count: Dim) -> list[Value]:
    """Columns 0 and 1, columns 2 and 3 of [N, 4]."""
    return [ctx.emit("slice", x, begin=(0, at), end=(count, at + 2), step=(1, 1)) for at in (0, 2)]


def _suppressed(
    ctx: OperatorContext, options: dict[str, Any], boxes: Value, scores: Value, limit: int
) -> Value:
    """nms of [C, N] scores, flat [C * limit]."""
    count = boxes.type.shape[0]
    found = ctx.emit(
        "nms",
        ctx.emit("reshape", boxes, shape=(1, count, 4)),
        ctx.emit("reshape", scores, shape=(1, *scores.type.shape)),
        None,
        ctx.const(np.float32(options.get("nms_iou_threshold", 0.0))),
        _below(ctx, float(options.get("nms_score_threshold", 0.0))),
        limit=as_dim(limit),
    )
    return _flat(ctx, found)


def _fast(ctx: OperatorContext, options: dict[str, Any], boxes: Value, scores: Value) -> Any:
    """Suppression by each anchor's best score; every anchor that stays gives its best classes."""
    limit = int(options.get("max_detections", 0))
    classes = scores.type.shape[-1].as_int()
    wanted = int(options.get("max_classes_per_detection", 1))
    each = min(wanted, classes)
    if limit < 1 or each < 1:
        raise ctx.wrong(f"{limit} detections of {each} classes")
    count = boxes.type.shape[0]
    best, which = ctx.emit("top_k", ctx.emit("reshape", scores, shape=(count, classes)), k=each)
    first = ctx.emit("slice", best, begin=(0, 0), end=(count, 1), step=(1, 1))
    index = _suppressed(ctx, options, boxes, ctx.emit("reshape", first, shape=(1, count)), limit)
    is_box, safe, total = _kept(ctx, index)
    column = ctx.emit("reshape", is_box, shape=(limit, 1))
    zero = ctx.const(np.float32(0))

    def taken(x: Value) -> Value:
        """The rows that stay, [limit, wanted columns]."""
        rows = ctx.emit("where", column, ctx.emit("gather", x, safe), zero)
        if wanted > each:
            rows = ctx.emit("pad", rows, pads=[0, 0, 0, wanted - each])
        made: Value = ctx.emit("reshape", rows, shape=(1, limit * wanted))
        return made

    corners = ctx.emit("where", column, ctx.emit("gather", boxes, safe), zero)
    corners = ctx.emit("reshape", corners, shape=(limit, 1, 4))
    corners = ctx.emit("expand", corners, shape=(limit, wanted, 4))
    return (
        ctx.emit("reshape", corners, shape=(1, limit * wanted, 4)),
        taken(ctx.emit("cast", which, to=DType.F32)),
        taken(best),
        _counted(ctx, total),
    )


def _counted(ctx: OperatorContext, total: Value) -> Value:
    made: Value = ctx.emit("reshape", ctx.emit("cast", total, to=DType.F32), shape=(1,))
    return made


def _regular(ctx: OperatorContext, options: dict[str, Any], boxes: Value, scores: Value) -> Any:
    """Suppression for each class on its own; the best of all classes stay."""
    limit = int(options.get("max_detections", 0))
    each = min(int(options.get("detections_per_class", 100)), limit)
    classes = scores.type.shape[-1].as_int()
    if each < 1:
        raise ctx.wrong(f"{each} detections of each class")
    count = boxes.type.shape[0]
    matrix = ctx.emit("reshape", scores, shape=(count, classes))
    matrix = ctx.emit("transpose", matrix, perm=(1, 0))
    index = _suppressed(ctx, options, boxes, matrix, each)
    zero = ctx.const(np.int64(0))
    classes_of = np.repeat(np.arange(classes, dtype=np.int64), each)
    places = ctx.emit(
        "add", ctx.emit("mul", ctx.const(classes_of), ctx.emit("dims", values=[count])), index
    )
    safe = ctx.emit("max", places, zero)
    found = ctx.emit("gather", _flat(ctx, matrix), safe)
    lowest = ctx.const(np.float32(-np.inf))
    found = ctx.emit("where", ctx.emit("le", zero, index), found, lowest)
    # Candidates that no class has fill the result up to its size.
    total = classes * each
    if total < limit:
        found = ctx.emit("pad", found, lowest, pads=[0, limit - total])
        index = ctx.emit("pad", index, ctx.const(np.int64(-1)), pads=[0, limit - total])
        classes_of = np.pad(classes_of, (0, limit - total))
    best, order = ctx.emit("top_k", found, k=limit)
    is_box, chosen, kept = _kept(ctx, ctx.emit("gather", index, order))
    none = ctx.const(np.float32(0))
    column = ctx.emit("reshape", is_box, shape=(limit, 1))
    corners = ctx.emit("where", column, ctx.emit("gather", boxes, chosen), none)
    of_class = ctx.emit("cast", ctx.emit("gather", ctx.const(classes_of), order), to=DType.F32)
    return (
        ctx.emit("reshape", corners, shape=(1, limit, 4)),
        ctx.emit("reshape", ctx.emit("where", is_box, of_class, none), shape=(1, limit)),
        ctx.emit("reshape", ctx.emit("where", is_box, best, none), shape=(1, limit)),
        _counted(ctx, kept),
    )
