# SPDX-License-Identifier: Apache-2.0
"""Operators that only move data."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.common.slicing import stepped_bounds
from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.axes import flags, spread, with_ones, without
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.ops import Guard
from samara.exporter.types import (
    Dim,
    DimLike,
    DType,
    Read,
    Tri,
    as_dim,
    ceildiv,
    compare,
    deq,
    dlt,
    dmax,
    floordiv,
    select,
)


@onnx_op("Reshape")
def reshape(n: NodeContext) -> Any:
    x = n.value(0)
    target = [as_dim(d) for d in n.attr("shape")] if n.has_attr("shape") else list(n.dims(1))
    if not n.attr("allowzero", 0):
        target = [_keep_zero(n, x, i, d) for i, d in enumerate(target)]
    unknown = [i for i, d in enumerate(target) if d == as_dim(-1)]
    if len(unknown) > 1:
        raise n.wrong("more than one -1 in the target shape")
    if unknown:
        known = as_dim(1)
        for d in target:
            if d != as_dim(-1):
                known = known * d
        total = x.type.numel()
        if known.is_static and known.as_int() == 0:
            raise n.wrong("-1 cannot be derived beside a dim of 0")
        target[unknown[0]] = floordiv(total, known)
    elif any(not d.is_static for d in target):
        target = _runtime_wildcard(x, target, bool(n.attr("allowzero", 0)))
    return n.final("reshape", x, shape=target)


def _keep_zero(n: NodeContext, x: Value, i: int, d: Dim) -> Dim:
    """0 copies the input's dim."""
    if d.is_static:
        if d.as_int() != 0:
            return d
        if i >= x.type.rank:
            raise n.wrong(f"0 at position {i} copies a dim that {x.type} does not have")
        return x.type.shape[i]
    return d


def _runtime_wildcard(x: Value, target: list[Dim], allow_zero: bool) -> list[Dim]:
    """Dims read at run time may be 0, which copies the input's dim, or -1, which is derived from the others."""

    def is_read(d: Dim) -> bool:
        return any(isinstance(a, Read) for a in d.all_atoms())

    if not any(is_read(d) for d in target):
        return target
    if not allow_zero:
        own = x.type.shape
        target = [
            select(deq(d, 0), own[i], d) if is_read(d) and i < len(own) else d
            for i, d in enumerate(target)
        ]
    total = x.type.numel()
    out = []
    for i, d in enumerate(target):
        if not is_read(d):
            out.append(d)
            continue
        others = as_dim(1)
        for j, e in enumerate(target):
            if j != i:
                others = others * e
        out.append(select(dlt(d, 0), floordiv(total, dmax(others, 1)), d))
    return out


@onnx_op("Flatten")
def flatten(n: NodeContext) -> Any:
    x = n.value(0)
    axis = n.attr("axis", 1)
    if not -x.type.rank <= axis <= x.type.rank:
        raise n.wrong(f"axis {axis} is out of range for rank {x.type.rank}")
    axis = axis + x.type.rank if axis < 0 else axis
    rows, columns = as_dim(1), as_dim(1)
    for i, d in enumerate(x.type.shape):
        rows, columns = (rows * d, columns) if i < axis else (rows, columns * d)
    return n.final("reshape", x, shape=(rows, columns))


@onnx_op("Squeeze")
def squeeze(n: NodeContext) -> Any:
    x = n.value(0)
    axes = n.axes(1)
    if axes is None:
        axes = _unit_axes(n, x)
    drop = n.static_axes(axes, x.type.rank)
    if drop is None:
        return n.final(
            "reshape",
            x,
            shape=without(x.type.shape, flags(axes, x.type.rank), x.type.rank - len(axes)),
        )
    for i in drop:
        d = x.type.shape[i]
        if d.is_static and d.as_int() != 1:
            raise n.wrong(f"axis {i} of {x.type} is not 1")
    return n.final("reshape", x, shape=[d for i, d in enumerate(x.type.shape) if i not in drop])


def _unit_axes(n: NodeContext, x: Value) -> list[Dim]:
    """The axes of size 1. An axis that may be 1 at run time is kept, and a guard requires another size, because
    the result has one rank.
    """
    axes = []
    for i, d in enumerate(x.type.shape):
        found = compare(d, 1)
        if found is Tri.YES:
            axes.append(as_dim(i))
        elif found is Tri.UNKNOWN:
            message = (
                f"Squeeze: axis {i} of size {d} must not be 1 at run time, where no axes are given"
            )
            n.builder.guards.append(Guard("eq", deq(d, 1), as_dim(0), message, n.label))
    return axes


@onnx_op("Unsqueeze")
def unsqueeze(n: NodeContext) -> Any:
    x = n.value(0)
    axes = n.axes(1)
    if axes is None:
        raise n.wrong("axes are missing")
    rank = x.type.rank + len(axes)
    new = n.static_axes(axes, rank)
    if new is None:
        return n.final("reshape", x, shape=with_ones(x.type.shape, flags(axes, rank)))
    if len(set(new)) != len(axes):
        raise n.wrong(f"axes {new} repeat")
    old = iter(x.type.shape)
    return n.final("reshape", x, shape=[1 if i in new else next(old) for i in range(rank)])


@onnx_op("Transpose")
def transpose(n: NodeContext) -> Any:
    x = n.value(0)
    return n.final("transpose", x, perm=n.attr("perm", list(range(x.type.rank))[::-1]))


@onnx_op("Concat")
def concat(n: NodeContext) -> Any:
    values = n.values()
    if len(values) == 1:
        return values[0]
    return n.final("concat", *values, axis=n.axis(1, values[0].type.rank))


@onnx_op("Split")
def split(n: NodeContext) -> Any:
    x = n.value(0)
    axis = n.axis(0, x.type.rank)
    count = len(n.node.output)
    dim = x.type.shape[axis]
    if n.has_attr("split"):
        sizes: list[DimLike] = list(n.attr("split"))
    elif n.has(1):
        sizes = list(_whole(n, 1, "split"))
    else:
        if n.attr("num_outputs", count) != count:
            raise n.wrong(f"num_outputs is {n.attr('num_outputs')}, there are {count} outputs")
        chunk = ceildiv(dim, count)
        sizes = [*[chunk] * (count - 1), dim - chunk * (count - 1)]
    if len(sizes) != len(n.node.output):
        raise n.wrong(f"{len(sizes)} sizes for {len(n.node.output)} outputs")
    return n.final("split", x, axis=axis, sizes=sizes)


@onnx_op("Slice")
def slice_(n: NodeContext) -> Any:
    x = n.value(0)
    rank = x.type.rank
    if n.has_attr("starts"):
        starts = [as_dim(v) for v in n.attr("starts")]
        ends = [as_dim(v) for v in n.attr("ends")]
        axes = [as_dim(a) for a in n.attr("axes", range(len(starts)))]
    else:
        starts, ends = list(n.dims(1, "starts")), list(n.dims(2, "ends"))
        axes = list(n.dims(3, "axes")) if n.has(3) else [as_dim(a) for a in range(len(starts))]
    steps = list(n.dims(4, "steps")) if n.has(4) else [as_dim(1)] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise n.wrong(
            f"{len(starts)} starts, {len(ends)} ends, {len(axes)} axes and {len(steps)} steps"
        )
    if any(s == as_dim(0) for s in steps):
        raise n.wrong("a step of 0")
    zero, one = as_dim(0), as_dim(1)
    begin, end, step = [zero] * rank, list(x.type.shape), [one] * rank
    static = n.static_axes(axes, rank)
    if static is None:
        begin, end = spread(starts, axes, begin), spread(ends, axes, end)
        step = spread(steps, axes, step)
        for i, d in enumerate(x.type.shape):
            begin[i], end[i] = stepped_bounds(d, begin[i], end[i], step[i])
    else:
        for i, s, e, k in zip(static, starts, ends, steps, strict=True):
            begin[i], end[i] = stepped_bounds(x.type.shape[i], s, e, k)
            step[i] = k
    return n.final("slice", x, begin=begin, end=end, step=step)


@onnx_op("Pad")
def pad(n: NodeContext) -> Any:
    x = n.value(0)
    rank = x.type.rank
    mode = n.attr("mode", "constant")
    named = "pads" if n.has_attr("pads") else "paddings"  # the name in opset 1
    given = [as_dim(p) for p in n.attr(named)] if n.has_attr(named) else list(n.dims(1, "pads"))
    axes = list(n.dims(3, "axes")) if n.has(3) else [as_dim(a) for a in range(rank)]
    if len(given) != 2 * len(axes):
        raise n.wrong(f"{len(given)} pads for {len(axes)} axes")
    none = [as_dim(0)] * rank
    pads = [*spread(given[: len(axes)], axes, none), *spread(given[len(axes) :], axes, none)]
    value: Value | None = None
    if mode == "constant":
        if n.has(2):
            value = n.value(2)
            if value.type.rank != 0:
                value = n.emit("reshape", value, shape=())
            if value.constant is not None and not np.any(value.constant):
                value = None
        elif n.attr("value", 0.0) != 0.0:
            value = n.const(np.asarray(n.attr("value"), x.type.dtype.numpy))
    return n.final("pad", x, value, pads=pads, mode=mode)


@onnx_op("Expand")
def expand(n: NodeContext) -> Any:
    x = n.value(0)
    want = list(n.dims(1))
    rank = max(len(want), x.type.rank)
    one = as_dim(1)
    have = [one] * (rank - x.type.rank) + list(x.type.shape)
    want = [one] * (rank - len(want)) + want
    shape = []
    for h, w in zip(have, want, strict=True):
        if w == one or h == w:
            shape.append(h)
        elif h == one:
            shape.append(w)
        elif w.is_static and h.is_static:
            raise n.wrong(f"{x.type} does not broadcast to {[str(d) for d in want]}")
        else:  # one of the two is 1, or they are equal
            shape.append(dmax(h, w))
    if tuple(shape) == x.type.shape:
        return x
    return n.final("expand", x, shape=shape)


def _whole(n: NodeContext, index: int, what: str) -> tuple[Dim, ...]:
    """dims() of an operand that has the dtype of the data in opset 1."""
    v = n.value(index)
    if v.type.dtype in (DType.I32, DType.I64):
        return n.dims(index, what)
    if v.type.rank > 1 or not v.type.is_static:
        raise n.unsupported(f"{what} must have a static length, got {v.type}")
    whole = n.emit("cast", v, to=DType.I64)
    return tuple(n.builder.read(whole, k) for k in range(v.type.numel().as_int()))


@onnx_op("Tile")
def tile(n: NodeContext) -> Any:
    if n.opset < 6:  # (number of copies, axis), each of one element
        (count,), (axis,) = _whole(n, 1, "tiles"), _whole(n, 2, "axis")
        ones = [as_dim(1)] * n.type(0).rank
        return n.final("tile", n.value(0), repeats=spread([count], [axis], ones))
    return n.final("tile", n.value(0), repeats=n.dims(1, "repeats"))


@onnx_op("DepthToSpace")
def depth_to_space(n: NodeContext) -> Any:
    x, k = n.value(0), n.attr("blocksize")
    batch, c, h, w = n.shape(0, 4)
    inner = floordiv(c, k * k)
    if n.attr("mode", "DCR") == "DCR":
        y = n.emit("reshape", x, shape=(batch, k, k, inner, h, w))
        y = n.emit("transpose", y, perm=(0, 3, 4, 1, 5, 2))
    else:
        y = n.emit("reshape", x, shape=(batch, inner, k, k, h, w))
        y = n.emit("transpose", y, perm=(0, 1, 4, 2, 5, 3))
    return n.final("reshape", y, shape=(batch, inner, h * k, w * k))


@onnx_op("SpaceToDepth")
def space_to_depth(n: NodeContext) -> Any:
    x, k = n.value(0), n.attr("blocksize")
    batch, c, h, w = n.shape(0, 4)
    y = n.emit("reshape", x, shape=(batch, c, floordiv(h, k), k, floordiv(w, k), k))
    crd = n.attr("mode", "DCR") == "CRD"
    y = n.emit("transpose", y, perm=(0, 1, 3, 5, 2, 4) if crd else (0, 3, 5, 1, 2, 4))
    return n.final("reshape", y, shape=(batch, c * (k * k), floordiv(h, k), floordiv(w, k)))


@onnx_op("Trilu")
def trilu(n: NodeContext) -> Any:
    x = n.value(0)
    k = n.scalar_dim(1, "k") if n.has(1) else as_dim(0)
    if x.type.rank < 2:
        raise n.wrong(f"needs a matrix, got {x.type}")
    rows, columns = x.type.shape[-2:]
    i = n.emit("reshape", n.emit("iota", length=rows, start=k), shape=(rows, 1))
    j = n.emit("iota", length=columns)
    keep = n.emit("le", i, j) if n.attr("upper", 1) else n.emit("le", j, i)
    return n.final("where", keep, x, n.const(np.zeros((), x.type.dtype.numpy)))
