# SPDX-License-Identifier: Apache-2.0
"""Rows of the operator benchmark for data movement, gathers, sampling, recurrence and signals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from onnx import TensorProto, helper
from operator_models import (
    BYTES,
    IMAGE,
    Array,
    Operand,
    Row,
    X,
    booleans,
    fed,
    given,
    integers,
    node,
    normal,
    permuted,
    row,
    rows_of,
    sizes,
    uniform,
    weight,
)


def movement() -> Iterator[Row]:
    """Data that moves unchanged."""
    yield row("reshape", "", "Reshape", X, sizes(256, 1024))
    yield row("transpose", "of a matrix", "Transpose", X, perm=[1, 0])
    yield row("transpose", "NCHW to NHWC", "Transpose", IMAGE, perm=[0, 2, 3, 1])
    yield row("transpose", "NHWC to NCHW", "Transpose", normal(1, 64, 64, 64), perm=[0, 3, 1, 2])
    yield row(
        "transpose", "3 channels last", "Transpose", normal(1, 3, 296, 296), perm=[0, 2, 3, 1]
    )
    yield row(
        "transpose", "3 channels first", "Transpose", normal(1, 296, 296, 3), perm=[0, 3, 1, 2]
    )
    yield row("transpose", "heads", "Transpose", normal(1, 512, 8, 64), perm=[0, 2, 1, 3])
    yield row(
        "transpose", "heads for the product", "Transpose", normal(1, 512, 8, 64), perm=[0, 2, 3, 1]
    )
    yield row(
        "transpose",
        "reversed, rank 5",
        "Transpose",
        normal(4, 16, 16, 16, 16),
        perm=[4, 3, 2, 1, 0],
    )
    yield row("transpose", "uint8 matrix", "Transpose", BYTES, perm=[1, 0])
    yield row(
        "transpose", "int64 matrix", "Transpose", integers("int64", 0, 9, 256, 512), perm=[1, 0]
    )
    half = normal(256, 512)
    yield row("concat", "first axis", "Concat", half, half, axis=0)
    yield row("concat", "last axis", "Concat", normal(512, 256), normal(512, 256), axis=1)
    yield row("concat", "of 16, last axis", "Concat", *[normal(512, 32)] * 16, axis=1)
    yield row("split", "first axis", "Split", X, outputs=2, axis=0, num_outputs=2)
    yield row("split", "last axis", "Split", X, outputs=4, axis=1, num_outputs=4)
    yield row("slice", "rows", "Slice", normal(768, 512), sizes(128), sizes(640), sizes(0))
    yield row("slice", "columns", "Slice", normal(512, 768), sizes(128), sizes(640), sizes(1))
    yield row(
        "slice",
        "every second column",
        "Slice",
        normal(512, 1024),
        sizes(0),
        sizes(1024),
        sizes(1),
        sizes(2),
    )
    yield row("slice", "backwards", "Slice", X, sizes(-1), sizes(-600), sizes(1), sizes(-1))
    for mode in ("constant", "reflect", "edge", "wrap"):
        yield row("pad", f"{mode}, H and W", "Pad", IMAGE, sizes(0, 0, 2, 2, 0, 0, 2, 2), mode=mode)
    yield row("pad", "constant, rows", "Pad", X, sizes(4, 0, 4, 0))
    yield row("expand", "rows", "Expand", normal(1, 512), sizes(512, 512))
    yield row("expand", "columns", "Expand", normal(512, 1), sizes(512, 512))
    yield row("expand", "middle", "Expand", normal(64, 1, 64), sizes(64, 64, 64))
    yield row("tile", "rows", "Tile", normal(128, 512), sizes(4, 1))
    yield row("tile", "columns", "Tile", normal(512, 128), sizes(1, 4))
    yield row("tile", "both", "Tile", normal(64, 64), sizes(8, 8))
    blocks = {"blocksize": 2}
    yield row("transpose", "depth to space", "DepthToSpace", IMAGE, **blocks)
    yield row("transpose", "space to depth", "SpaceToDepth", IMAGE, **blocks)


def indexing() -> Iterator[Row]:
    """Gathers, scatters, and operators that make or find indices."""
    picks = integers("int64", 0, 4096, 4096)
    yield row("gather", "rows of 64", "Gather", normal(4096, 64), picks, axis=0)
    yield row(
        "gather",
        "rows of 64, int32 indices",
        "Gather",
        normal(4096, 64),
        integers("int32", 0, 4096, 4096),
        axis=0,
    )
    yield row("gather", "last axis", "Gather", X, integers("int64", 0, 512, 512), axis=1)
    yield row(
        "slice", "one row by Gather", "Gather", normal(4, 512, 512), given(1, "int64"), axis=0
    )
    grid = integers("int64", 0, 512, 512, 512)
    yield row("gather_elements", "first axis", "GatherElements", X, grid, axis=0)
    yield row("gather_elements", "last axis", "GatherElements", X, grid, axis=1)
    yield row(
        "gather_nd", "rows", "GatherND", normal(64, 64, 64), integers("int64", 0, 64, 4096, 2)
    )
    yield row("gather_nd", "elements", "GatherND", X, integers("int64", 0, 512, 262144, 2))
    yield row("scatter_elements", "first axis", "ScatterElements", X, permuted(512, 512), X, axis=0)
    yield row(
        "scatter_elements", "last axis, add", "ScatterElements", X, grid, X, axis=1, reduction="add"
    )
    yield row(
        "scatter_nd", "rows", "ScatterND", normal(4096, 64), permuted(4096, 1), normal(4096, 64)
    )
    yield row(
        "scatter_nd",
        "elements, add",
        "ScatterND",
        X,
        integers("int64", 0, 512, 65536, 2),
        normal(65536),
        reduction="add",
    )
    yield row(
        "where",
        "one-hot",
        "OneHot",
        integers("int64", 0, 512, 512),
        given([512], "int64"),
        given([0.0, 1.0]),
    )
    yield row("nonzero", "half of them", "NonZero", booleans(512, 512))
    yield row("nonzero", "float32, all", "NonZero", X)
    ends = [fed(0.0, "float32"), fed(262144.0, "float32"), fed(1.0, "float32")]
    yield row("range", "float32", "Range", *ends)
    yield row("iota", "int64", "Range", given(0, "int64"), fed(131072, "int64"), given(1, "int64"))


def resampling() -> Iterator[Row]:
    """Resizing and sampling."""
    twice, half = given([1, 1, 2, 2]), given([1, 1, 0.5, 0.5])
    small = normal(1, 64, 32, 32)
    asymmetric = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    yield row("resize", "nearest x2", "Resize", small, None, twice, **asymmetric)
    yield row("resize", "nearest x1/2", "Resize", IMAGE, None, half, **asymmetric)
    yield row("resize", "nearest to 100x100", "Resize", IMAGE, None, None, sizes(1, 64, 100, 100))
    yield row("resize", "linear x2", "Resize", small, None, twice, mode="linear")
    yield row("resize", "linear x1/2", "Resize", IMAGE, None, half, mode="linear")
    yield row(
        "resize",
        "linear x2, 3 channels",
        "Resize",
        normal(1, 3, 148, 148),
        None,
        twice,
        mode="linear",
    )
    yield row("resize", "cubic x2", "Resize", small, None, twice, mode="cubic")
    yield row(
        "resize", "linear x1/2, antialias", "Resize", IMAGE, None, half, mode="linear", antialias=1
    )
    grid = uniform(-1.0, 1.0, 1, 64, 64, 2)
    for mode in ("linear", "nearest", "cubic"):
        yield row("grid_sample", mode, "GridSample", IMAGE, grid, mode=mode)
    points = uniform(-1.0, 1.0, 1, 300, 300, 2)
    yield row(
        "grid_sample",
        "linear, 3 channels",
        "GridSample",
        normal(1, 3, 300, 300),
        points,
        mode="linear",
    )


def regions() -> Iterator[Row]:
    """Regions of interest, and windows that are displaced or summed."""
    first = integers("int64", 0, 1, 100)
    bins = {"output_height": 7, "output_width": 7}
    for form, how in (("mean", {}), ("mean of 2x2", {"sampling_ratio": 2}),
                      ("largest of 2x2", {"sampling_ratio": 2, "mode": "max"})):  # fmt: skip
        aligned = row("roi_align", form, "RoiAlign", IMAGE, boxes(100, 60.0), first, **bins, **how)
        yield replace(aligned, opset=21)  # ONNX Runtime has no newer version
    pooled = boxes(100, 60.0, image=True)
    yield replace(
        row("roi_pool", "7x7", "MaxRoiPool", IMAGE, pooled, pooled_shape=[7, 7]), opset=21
    )
    most, overlap, score = (
        given([v], d) for v, d in ((100, "int64"), (0.5, "float32"), (0.25, "float32"))
    )
    for count, classes in ((8400, 30), (52000, 1)):
        scores = uniform(0.0, 1.0, 1, classes, count)
        candidates = boxes(count, 640.0, batch=True)
        yield row(
            "nms",
            f"{classes} classes",
            "NonMaxSuppression",
            candidates,
            scores,
            most,
            overlap,
            score,
        )
    yield row(
        "max_pool_indices", "3x3", "MaxPool", IMAGE, outputs=2, kernel_shape=[3, 3], strides=[2, 2]
    )
    offset, mask = uniform(-2.0, 2.0, 1, 18, 64, 64), uniform(0.0, 1.0, 1, 9, 64, 64)
    taps = weight(64, 64, 3, 3)
    yield row(
        "deform_columns", "3x3", "DeformConv", IMAGE, taps, offset, None, mask, pads=[1, 1, 1, 1]
    )
    yield row("fold", "3x3", "Col2Im", normal(1, 9 * 8, 62 * 62), sizes(64, 64), sizes(3, 3))
    yield row("fold", "4x4, by 2", "Col2Im", normal(1, 16 * 16, 32 * 32), sizes(64, 64), sizes(4, 4),
              strides=[2, 2], pads=[1, 1, 1, 1])  # fmt: skip


def boxes(count: int, reach: float, *, image: bool = False, batch: bool = False) -> Operand:
    """Boxes as two corners within `reach`, preceded by the number of their image (0)."""

    def drawn(rng: np.random.Generator) -> Array:
        low = rng.uniform(0.0, 0.9 * reach, (count, 2))
        high = low + rng.uniform(0.01, 0.1 if batch else 0.5, (count, 2)) * reach
        found = np.concatenate([low, high], axis=1).astype(np.float32)
        if image:
            found = np.pad(found, ((0, 0), (1, 0)))
        return found[None] if batch else found

    return Operand(drawn)


def recurrent() -> Iterator[Row]:
    """Recurrent layers."""
    for op, kind, gates in (("lstm", "LSTM", 4), ("gru", "GRU", 3)):
        for steps, batch in ((64, 16), (1024, 1)):
            w, r, b = weight(1, gates * 64, 256), weight(1, gates * 64, 64), weight(1, gates * 128)
            operands = [normal(steps, batch, 256), w, r, b]
            yield row(op, f"{steps} steps, batch {batch}", kind, *operands, hidden_size=64)


def control() -> Iterator[Row]:
    """Branches and loops."""
    one = [helper.make_tensor_value_info("y", TensorProto.FLOAT, (512, 512))]
    then = helper.make_graph([node("Add", "i1 i1", "y")], "then", [], one)
    other = helper.make_graph([node("Mul", "i1 i1", "y")], "else", [], one)
    branches = {"then_branch": then, "else_branch": other}
    yield row("if", "a sum", "If", fed(True, "bool"), X, reads="i0", **branches)
    carried = [
        helper.make_tensor_value_info("trip", TensorProto.INT64, ()),
        helper.make_tensor_value_info("more", TensorProto.BOOL, ()),
        helper.make_tensor_value_info("x", TensorProto.FLOAT, (512, 512)),
    ]
    kept = helper.make_tensor_value_info("again", TensorProto.BOOL, ())
    steps = [node("Identity", "more", "again"), node("Add", "x i2", "y")]
    body = helper.make_graph(steps, "body", carried, [kept, *one])
    operands = [given(8, "int64"), X, X]
    yield rows_of("loop", "8 sums", operands, [node("Loop", "i0 - i1", "o0", body=body)])


def quantized() -> Iterator[Row]:
    """Integers that represent floats."""
    scale, zero = given(0.05), given(128, "uint8")
    yield row("quantize", "uint8", "QuantizeLinear", X, scale, zero)
    yield row("dequantize", "uint8", "DequantizeLinear", BYTES, scale, zero)
    channels = given([0.02 + i * 0.001 for i in range(64)])
    signed = integers("int8", -127, 127, 64, 64, 64)
    yield row("dequantize", "int8 by channel", "DequantizeLinear", signed, channels, axis=1)
    zeros = given([0] * 64, "int8")
    real = normal(64, 64, 64)
    yield row("quantize", "int8 by channel", "QuantizeLinear", real, channels, zeros, axis=1)


def signals() -> Iterator[Row]:
    """Transforms, determinants, filters of spectra, distinct values."""
    for form, shape in (("512 points", (256, 512, 1)), ("509 points, complex", (257, 509, 2))):
        transform = row("dft", form, "DFT", normal(*shape), axis=1)
        # Later versions take the axis as an input; ONNX Runtime errs by 2e-4 of the largest answer.
        yield replace(transform, opset=17, slack=4.0)
    yield row("det", "16x16", "Det", normal(1024, 16, 16))
    bands, length = given(64, "int64"), given(8192, "int64")
    edges = [fed(16000, "int64"), fed(20.0, "float32"), fed(8000.0, "float32")]
    yield row("mel_weights", "64 bands", "MelWeightMatrix", bands, length, *edges)
    yield row("sort_rows", "distinct floats", "Unique", normal(262144))
    yield row("sort_rows", "few distinct integers", "Unique", integers("int64", 0, 99, 131072))
