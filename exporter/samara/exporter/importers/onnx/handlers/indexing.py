# SPDX-License-Identifier: Apache-2.0
"""Gather, scatter, one-hot, nonzero."""

from __future__ import annotations

from typing import Any

from samara.exporter.importers.onnx.context import NodeContext, import_dtype
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, as_dim


def _indices(n: NodeContext, index: int) -> Value:
    """An index operand as int32 or int64."""
    v = n.value(index)
    return v if v.type.dtype in (DType.I32, DType.I64) else n.emit("cast", v, to=DType.I64)


@onnx_op("Gather")
def gather(n: NodeContext) -> Any:
    x, indices = n.value(0), _indices(n, 1)
    axis = n.axis(0, x.type.rank)
    known = indices.constant
    if known is not None and known.size == 1 and x.constant is None:
        # One known index is a slice, which needs no copy.
        return _pick(n, x, axis, int(known.reshape(-1)[0]), indices.type.rank)
    return n.final("gather", x, indices, axis=axis)


def _pick(n: NodeContext, x: Value, axis: int, at: int, index_rank: int) -> Any:
    dim = x.type.shape[axis]
    start = as_dim(at) if at >= 0 else dim + at
    begin = [start if i == axis else as_dim(0) for i in range(x.type.rank)]
    end = [start + 1 if i == axis else d for i, d in enumerate(x.type.shape)]
    if dim.is_static and not -dim.as_int() <= at < dim.as_int():
        raise n.wrong(f"index {at} is out of range for axis {axis} of {x.type}")
    shape = [*x.type.shape[:axis], *[1] * index_rank, *x.type.shape[axis + 1 :]]
    return n.final(
        "reshape", n.emit("slice", x, begin=begin, end=end, step=[1] * x.type.rank), shape=shape
    )


@onnx_op("GatherElements")
def gather_elements(n: NodeContext) -> Any:
    x = n.value(0)
    return n.final("gather_elements", x, _indices(n, 1), axis=n.axis(0, x.type.rank))


@onnx_op("GatherND")
def gather_nd(n: NodeContext) -> Any:
    return n.final("gather_nd", n.value(0), _indices(n, 1), batch_dims=n.attr("batch_dims", 0))


@onnx_op("Scatter", "ScatterElements")
def scatter_elements(n: NodeContext) -> Any:
    x = n.value(0)
    return n.final(
        "scatter_elements",
        x,
        _indices(n, 1),
        n.value(2),
        axis=n.axis(0, x.type.rank),
        reduction=n.attr("reduction", "none"),
    )


@onnx_op("ScatterND")
def scatter_nd(n: NodeContext) -> Any:
    return n.final(
        "scatter_nd", n.value(0), _indices(n, 1), n.value(2), reduction=n.attr("reduction", "none")
    )


@onnx_op("NonZero")
def nonzero(n: NodeContext) -> Any:
    return n.final("nonzero", n.value(0))


@onnx_op("OneHot")
def one_hot(n: NodeContext) -> Any:
    indices, values = _indices(n, 0), n.value(2)
    count = n.value(1)
    whole = (
        count if count.type.dtype in (DType.I32, DType.I64) else n.emit("cast", count, to=DType.I64)
    )
    depth = n.builder.read(whole, 0)
    rank = indices.type.rank + 1
    axis = n.axis(-1, rank)
    off, on = (
        n.emit("reshape", n.emit("slice", values, begin=[i], end=[i + 1], step=[1]), shape=())
        for i in (0, 1)
    )
    shape = list(indices.type.shape)
    shape.insert(axis, as_dim(1))
    column = n.emit("reshape", indices, shape=shape)
    negative = n.emit("lt", column, 0)
    length = n.emit("dims", values=[depth], dtype=indices.type.dtype, scalar=True)
    column = n.emit("where", negative, n.emit("add", column, length), column)
    classes = n.emit("iota", length=depth, dtype=indices.type.dtype)
    tail = [depth, *[1] * (rank - 1 - axis)]
    return n.final("where", n.emit("eq", column, n.emit("reshape", classes, shape=tail)), on, off)


@onnx_op("Compress")
def compress(n: NodeContext) -> Any:
    x = n.value(0)
    if not n.has_attr("axis"):
        x, axis = n.emit("reshape", x, shape=(x.type.numel(),)), 0
    else:
        axis = n.axis(0, x.type.rank)
    condition = n.value(1)
    picked = n.emit("nonzero", condition)
    flat = n.emit("reshape", picked, shape=(picked.type.shape[1],))
    return n.final("gather", x, flat, axis=axis)


@onnx_op("EyeLike")
def eye_like(n: NodeContext) -> Any:
    x = n.value(0)
    rows, columns = n.shape(0, 2)
    i = n.emit("reshape", n.emit("iota", length=rows, start=n.attr("k", 0)), shape=(rows, 1))
    same = n.emit("eq", i, n.emit("iota", length=columns))
    to = x.type.dtype
    if n.has_attr("dtype"):
        to = import_dtype(n.attr("dtype"), f"EyeLike {n.label!r}")
    return n.final("cast", same, to=to) if to is not DType.BOOL else same
