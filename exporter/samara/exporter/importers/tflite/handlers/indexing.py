# SPDX-License-Identifier: Apache-2.0
"""Operators that choose elements by index, or place them."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.common.distinct import distinct
from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.registry import Handler, tflite_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, as_dim


def _indices(ctx: OperatorContext, index: int) -> Value:
    """Indices as int32 or int64."""
    v = ctx.plain(index)
    if v.type.dtype in (DType.I32, DType.I64):
        return v
    made: Value = ctx.emit("cast", v, to=DType.I32)
    return made


@tflite_op("GATHER", newest=8)
def gather(ctx: OperatorContext) -> Any:
    """Along `axis`, for each index of the first `batch_dims` axes apart."""
    x, indices = ctx.value(0), _indices(ctx, 1)
    axis = ctx.axis(ctx.option("axis", 0), x.type.rank)
    batch = int(ctx.option("batch_dims", 0))
    if batch < 0:
        batch += indices.type.rank
    if not 0 <= batch <= min(axis, indices.type.rank):
        raise ctx.wrong(f"batch_dims {batch} does not fit axis {axis} and indices {indices.type}")
    if batch == 0:
        return ctx.final("gather", x, indices, axis=axis, wrap=False)
    # The gathered axis goes behind those of the batch, and what was between them to the end of the result.
    rank = x.type.rank
    between = list(range(batch, axis))
    first = ctx.emit("transpose", x, perm=(*range(batch), axis, *between, *range(axis + 1, rank)))
    column = ctx.emit("reshape", indices, shape=(*indices.type.shape, 1))
    y = ctx.emit("gather_nd", first, column, batch_dims=batch, wrap=False)
    inner = indices.type.rank - batch
    moved = [batch + inner + i for i in range(len(between))]
    places = range(batch, batch + inner)
    tail = range(batch + inner + len(between), y.type.rank)
    return ctx.final("transpose", y, perm=(*range(batch), *moved, *places, *tail))


@tflite_op("GATHER_ND", newest=6)
def gather_nd(ctx: OperatorContext) -> Any:
    return ctx.final("gather_nd", ctx.value(0), _indices(ctx, 1), wrap=False)


@tflite_op("EMBEDDING_LOOKUP", newest=5)
def embedding_lookup(ctx: OperatorContext) -> Any:
    """Rows of a table. Inputs: the indices, the table."""
    return ctx.final("gather", ctx.value(1), _indices(ctx, 0), axis=0, wrap=False)


@tflite_op("SCATTER_ND")
def scatter_nd(ctx: OperatorContext) -> Any:
    """The sum of updates at each index, in zeros; of bools whether one is true. Inputs: indices, updates, the shape."""
    indices, updates = _indices(ctx, 0), ctx.value(1)
    kind = updates.type.dtype
    if kind is DType.BOOL:
        updates = ctx.emit("cast", updates, to=DType.U8)
    zero = ctx.const(np.zeros((), updates.type.dtype.numpy), updates.type.dtype)
    base = ctx.emit("expand", zero, shape=ctx.dims(2, "the shape"))
    if kind is DType.BOOL:
        most = ctx.emit("scatter_nd", base, indices, updates, reduction="max", wrap=False)
        return ctx.final("cast", most, to=DType.BOOL)
    return ctx.final("scatter_nd", base, indices, updates, reduction="add", wrap=False)


@tflite_op("SPARSE_TO_DENSE", newest=3)
def sparse_to_dense(ctx: OperatorContext) -> Any:
    """Inputs: indices (a scalar, a vector or rows), the shape, values, the value elsewhere."""
    indices, values = _indices(ctx, 0), ctx.value(2)
    shape = ctx.dims(1, "the shape")
    if indices.type.rank == 0:
        indices = ctx.emit("reshape", indices, shape=(1, 1))
    elif indices.type.rank == 1:
        indices = ctx.emit("reshape", indices, shape=(indices.type.shape[0], 1))
    count = indices.type.shape[0]
    if values.type.rank == 0:
        values = ctx.emit("expand", values, shape=(count,))
    base = ctx.emit("expand", ctx.emit("reshape", ctx.value(3), shape=()), shape=shape)
    return ctx.final("scatter_nd", base, indices, values, wrap=False)


@tflite_op("ONE_HOT")
def one_hot(ctx: OperatorContext) -> Any:
    """`on` where the new axis has the index, else `off`; an index out of range is nowhere."""
    indices = _indices(ctx, 0)
    on, off = (ctx.emit("reshape", ctx.value(i), shape=()) for i in (2, 3))
    (depth,) = ctx.dims(1, "the depth")
    rank = indices.type.rank + 1
    axis = ctx.axis(ctx.option("axis", -1), rank)
    shape = list(indices.type.shape)
    shape.insert(axis, as_dim(1))
    column = ctx.emit("reshape", indices, shape=shape)
    classes = ctx.emit("iota", length=depth, dtype=indices.type.dtype)
    tail = ctx.emit("reshape", classes, shape=[depth, *[1] * (rank - 1 - axis)])
    return ctx.final("where", ctx.emit("eq", column, tail), on, off)


@tflite_op("TOPK_V2", newest=3)
def top_k(ctx: OperatorContext) -> Any:
    """Along the last axis, best first."""
    (k,) = ctx.dims(1, "k")
    # Integers are chosen as they are, where the result has the same parameters.
    same = ctx.tensor(0).parameters == ctx.output(0).parameters
    values, places = ctx.final("top_k", ctx.plain(0) if same else ctx.value(0), k=k, axis=-1)
    to = ctx.output(1).type
    return values, places if to == "INT64" else ctx.emit("cast", places, to=DType[_SHORT[to]])


_SHORT = {"INT32": "I32", "INT16": "I16"}


@tflite_op("WHERE", newest=2)
def where(ctx: OperatorContext) -> Any:
    """The indices of elements that are not zero, a row each."""
    found = ctx.emit("nonzero", ctx.plain(0))
    return ctx.final("transpose", found, perm=(1, 0))


@tflite_op("UNIQUE")
def unique(ctx: OperatorContext) -> Any:
    """The distinct elements of a vector in the order of their first occurrence, and for each element its place
    among them.
    """
    x = ctx.value(0)
    if x.type.rank != 1:
        raise ctx.wrong(f"needs a vector, got {x.type}")
    found = distinct(ctx, ctx.emit("reshape", x, shape=(x.type.shape[0], 1)), by_appearance=True)
    to = DType.I64 if ctx.option("idx_out_type", "INT32") == "INT64" else DType.I32
    return ctx.final("gather", x, found.first), ctx.emit("cast", found.place, to=to)


def _segments(op: str, first: Any) -> Handler:
    """Rows of x combined by segment: at each index of the second input, in rows of `first`."""

    def convert(ctx: OperatorContext) -> Any:
        x, segments = ctx.value(0), _indices(ctx, 1)
        kind = x.type.dtype
        if ctx.op_type == "SEGMENT_SUM":
            known = ctx.need_constant(1, "the segments")
            count = as_dim(int(known.max()) + 1 if known.size else 0)
        else:
            (count,) = ctx.dims(2, "the number of segments")
        whole = segments.type.rank
        shape = (count, *x.type.shape[whole:])
        base = ctx.emit("expand", ctx.const(_first(first, kind)), shape=shape)
        rows = ctx.emit("reshape", segments, shape=(*segments.type.shape, 1))
        return ctx.final("scatter_nd", base, rows, x, reduction=op, wrap=False)

    return convert


def _first(name: str, kind: DType) -> Any:
    """The number with which a reduction begins."""
    if name in ("0", "1"):
        return np.asarray(int(name), kind.numpy)
    if kind.is_float:
        info: Any = np.finfo(kind.numpy)
    else:
        info = np.iinfo(kind.numpy)
    return np.asarray(info.min if name == "lowest" else info.max, kind.numpy)


tflite_op("SEGMENT_SUM")(_segments("add", "0"))
tflite_op("UNSORTED_SEGMENT_SUM")(_segments("add", "0"))
tflite_op("UNSORTED_SEGMENT_PROD")(_segments("mul", "1"))
tflite_op("UNSORTED_SEGMENT_MAX")(_segments("max", "lowest"))
tflite_op("UNSORTED_SEGMENT_MIN")(_segments("min", "highest"))


@tflite_op("BUCKETIZE")
def bucketize(ctx: OperatorContext) -> Any:
    """For each element how many of the boundaries are not above it."""
    x = ctx.value(0)
    bounds = np.asarray(ctx.option("boundaries", ()), np.float32)
    if x.type.dtype is not DType.F32:
        x = ctx.emit("cast", x, to=DType.F32)
    column = ctx.emit("reshape", x, shape=(*x.type.shape, 1))
    below = ctx.emit("cast", ctx.emit("le", ctx.const(bounds), column), to=DType.I32)
    return ctx.final("reduce_sum", below, axes=[x.type.rank])
