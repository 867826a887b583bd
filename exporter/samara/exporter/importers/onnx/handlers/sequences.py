# SPDX-License-Identifier: Apache-2.0
"""ReverseSequence and TensorScatter: rows of a batch moved by an amount per sequence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.scan import require_same, scalar
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, DType, as_dim


def product(dims: Iterable[Dim]) -> Dim:
    total = as_dim(1)
    for d in dims:
        total = total * d
    return total


@onnx_op("ReverseSequence")
def reverse_sequence(n: NodeContext) -> Any:
    """A gather of rows: step t of a sequence of length k comes from k - 1 - t for t < k."""
    x, lengths = n.value(0), n.value(1)
    if x.type.rank < 2:
        raise n.wrong(f"needs an input of rank 2 or more, got {x.type}")
    time, batch = n.axis(0, x.type.rank, "time_axis"), n.axis(1, x.type.rank, "batch_axis")
    if {time, batch} != {0, 1}:
        raise n.wrong(f"time_axis {time} and batch_axis {batch} must be 0 and 1")
    steps, count = x.type.shape[time], x.type.shape[batch]
    require_same(n, lengths.type.shape[0], count, "one length per sequence")
    along = [steps if a == time else as_dim(1) for a in (0, 1)]
    across = [count if a == batch else as_dim(1) for a in (0, 1)]
    t = n.emit("reshape", n.emit("iota", length=steps), shape=along)
    k = n.emit("reshape", _int64(n, lengths), shape=across)
    turned = n.emit("sub", n.emit("sub", k, 1), t)
    source = n.emit("where", n.emit("lt", t, k), turned, t)
    row = n.emit("reshape", n.emit("iota", length=count), shape=across)
    if time == 0:
        flat = n.emit("add", n.emit("mul", source, scalar(n, count)), row)
    else:
        flat = n.emit("add", n.emit("mul", row, scalar(n, steps)), source)
    rows = n.emit("reshape", x, shape=(steps * count, *x.type.shape[2:]))
    y = n.emit("gather", rows, n.emit("reshape", flat, shape=(steps * count,)), axis=0)
    return n.final("reshape", y, shape=x.type.shape)


def _int64(n: NodeContext, x: Value) -> Value:
    if x.type.dtype is DType.I64:
        return x
    wide: Value = n.emit("cast", x, to=DType.I64)
    return wide


@onnx_op("TensorScatter")
def tensor_scatter(n: NodeContext) -> Any:
    """The cache [B, …, L, …] as rows [B * …, L, …], into which the rows of the update are scattered."""
    cache, update = n.value(0), n.value(1)
    axis = n.axis(-2, cache.type.rank)
    if axis == 0 or update.type.rank != cache.type.rank:
        raise n.wrong(f"axis {axis} of a cache {cache.type} cannot take {update.type}")
    mode = n.attr("mode", "linear")
    if mode not in ("linear", "circular"):
        raise n.wrong(f"mode {mode!r} is neither linear nor circular")
    for a, (d, e) in enumerate(zip(cache.type.shape, update.type.shape, strict=True)):
        if a != axis:
            require_same(n, e, d, f"axis {a} of cache and update")
    shape = cache.type.shape
    batch, length, steps = shape[0], shape[axis], update.type.shape[axis]
    inner, tail = product(shape[1:axis]), shape[axis + 1 :]
    rows = batch * inner
    at = n.emit("reshape", n.emit("iota", length=steps), shape=(1, 1, steps))
    if n.has(2):
        require_same(n, n.type(2).shape[0], batch, "one write index per sample")
        first = n.emit("reshape", _int64(n, n.value(2)), shape=(batch, 1, 1))
        at = n.emit("add", at, first)
    at = n.emit("expand", at, shape=(batch, inner, steps))
    if mode == "circular":
        at = n.emit("mod", at, scalar(n, length))
    row = n.emit("reshape", n.emit("iota", length=rows), shape=(rows, 1, 1))
    where = n.emit(
        "concat",
        n.emit("expand", row, shape=(rows, steps, 1)),
        n.emit("reshape", at, shape=(rows, steps, 1)),
        axis=2,
    )
    y = n.emit(
        "scatter_nd",
        n.emit("reshape", cache, shape=(rows, length, *tail)),
        where,
        n.emit("reshape", update, shape=(rows, steps, *tail)),
    )
    return n.final("reshape", y, shape=shape)
