# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms, mel filters, determinants, unique elements."""

from __future__ import annotations

from typing import Any

from samara.exporter.importers.common.distinct import distinct
from samara.exporter.importers.onnx.context import NodeContext, import_dtype
from samara.exporter.importers.onnx.handlers.axes import around, from_front, named
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.ops import Guard
from samara.exporter.types import Dim, DType, as_dim, dmax, floordiv, select

# ---- Fourier transforms ----


@onnx_op("DFT")
def dft(n: NodeContext) -> Any:
    x = n.value(0)
    rank = x.type.rank
    if rank < 2:
        raise n.wrong(f"the input is {x.type}, expected an axis of real or complex numbers")
    if n.opset >= 20:
        axis = n.scalar_dim(2, "axis") if n.has(2) else as_dim(-2)
    else:
        axis = as_dim(int(n.attr("axis", 1)))
    inverse, onesided = bool(n.attr("inverse", 0)), bool(n.attr("onesided", 0))
    static = n.static_axes([axis], rank)
    if static is not None and static[0] == rank - 1:
        raise n.wrong(f"axis {axis} holds the numbers and cannot be transformed")
    length: Dim
    if n.has(1):
        length = n.scalar_dim(1, "dft_length")
    else:
        length = around(x.type.shape, axis)[1] if static is None else x.type.shape[static[0]]
        if inverse and onesided:
            length = (length - 1) * 2
    how = {"length": length, "inverse": inverse, "onesided": onesided}
    if static is not None:
        return n.final("dft", x, axis=static[0], **how)
    # The axis is known only at run time: merge all axes before it, and all between it and the numbers.
    _require_axis(n, axis, rank)
    before, at, after = around(x.type.shape[:-1], from_front(axis, rank))
    parts = x.type.shape[-1]
    y = n.emit("dft", n.emit("reshape", x, shape=(before, at, after, parts)), axis=1, **how)
    shape = [
        select(named(axis, a, rank), y.type.shape[1], d) for a, d in enumerate(x.type.shape[:-1])
    ]
    return n.final("reshape", y, shape=[*shape, y.type.shape[3]])


def _require_axis(n: NodeContext, axis: Dim, rank: int) -> None:
    """Guards: the axis exists, and is not the one of real and imaginary parts."""
    message = f"{n.op_type}: the axis must be in -{rank}..{rank - 1} and not the last"
    n.builder.guards.append(Guard("le", as_dim(-rank), axis, message, n.label))
    n.builder.guards.append(Guard("le", from_front(axis, rank), as_dim(rank - 2), message, n.label))


@onnx_op("STFT")
def stft(n: NodeContext) -> Any:
    """Frames gathered from the signal, multiplied by the window, transformed."""
    x = n.value(0)
    if x.type.rank == 2:  # ONNX Runtime accepts a real signal without its last axis
        x = n.emit("reshape", x, shape=(*x.type.shape, 1))
    if x.type.rank != 3:
        raise n.wrong(f"the signal is {x.type}, expected [batch, samples, 1 or 2]")
    step = n.scalar_dim(1, "frame_step")
    window = n.optional(2)
    if n.has(3):
        length = n.scalar_dim(3, "frame_length")
    elif window is not None:
        length = window.type.shape[0]
    else:
        raise n.wrong("either a window or a frame_length must be given")
    message = f"{n.op_type}: frame_step must be positive, and a frame no longer than the signal"
    n.builder.guards.append(Guard("le", as_dim(1), step, message, n.label))
    n.builder.guards.append(Guard("le", length, x.type.shape[1], message, n.label))
    frames = dmax(floordiv(x.type.shape[1] - length, step) + 1, 0)
    starts = n.emit("reshape", n.emit("iota", length=frames, step=step), shape=(frames, 1))
    places = n.emit("add", starts, n.emit("iota", length=length))
    framed = n.emit("gather", x, places, axis=1)
    if window is not None:
        if window.type.rank != 1:
            raise n.wrong(f"the window is {window.type}, expected one axis")
        framed = n.emit("mul", framed, n.emit("reshape", window, shape=(length, 1)))
    onesided = bool(n.attr("onesided", 1))
    return n.final("dft", framed, length=length, axis=2, onesided=onesided)


@onnx_op("MelWeightMatrix")
def mel_weight_matrix(n: NodeContext) -> Any:
    filters, length = n.scalar_dim(0, "num_mel_bins"), n.scalar_dim(1, "dft_length")
    numbers = [_number(n, i, DType.I64) for i in (1, 2)] + [
        _number(n, i, DType.F32) for i in (3, 4)
    ]
    to = DType.F32
    if n.has_attr("output_datatype"):
        to = import_dtype(n.attr("output_datatype"), f"MelWeightMatrix {n.label!r}")
    shape = (floordiv(length, 2) + 1, filters)
    if to is DType.F32:
        return n.final("mel_weights", *numbers, shape=shape)
    return n.final("cast", n.emit("mel_weights", *numbers, shape=shape), to=to)


def _number(n: NodeContext, index: int, dtype: DType) -> Value:
    """A one-element operand as a scalar of this dtype."""
    v = n.value(index)
    if v.type.rank:
        v = n.emit("reshape", v, shape=())
    return v if v.type.dtype is dtype else n.emit("cast", v, to=dtype)


# ---- determinants ----


@onnx_op("Det")
def det(n: NodeContext) -> Any:
    return n.final("det", n.value(0))


# ---- unique elements ----


@onnx_op("Unique")
def unique(n: NodeContext) -> Any:
    """Sorted rows are unique where they differ from the previous one; the rest is index arithmetic."""
    x = n.value(0)
    axis = n.axis(0, x.type.rank) if n.has_attr("axis") else None
    rows, tail, back = _rows(n, x, axis)
    found = distinct(n, rows, by_appearance=not n.attr("sorted", 1))
    indices, inverse, counts = found.first, found.place, found.count
    total = indices.type.shape[0]
    y = n.emit("reshape", n.emit("gather", rows, indices), shape=(total, *tail))
    if back is not None:
        y = n.emit("transpose", y, perm=back)
    return (y, indices, inverse, counts)[: len(n.node.output)]


def _rows(
    n: NodeContext, x: Value, axis: int | None
) -> tuple[Value, tuple[Dim, ...], list[int] | None]:
    """x as [items to compare, elements], the shape of one item, and the permutation that moves the items back
    to their axis.
    """
    if axis is None:
        return n.emit("reshape", x, shape=(x.type.numel(), 1)), (), None
    perm = [axis, *(a for a in range(x.type.rank) if a != axis)]
    moved = x if axis == 0 else n.emit("transpose", x, perm=perm)
    tail = moved.type.shape[1:]
    width = as_dim(1)
    for d in tail:
        width = width * d
    rows = n.emit("reshape", moved, shape=(moved.type.shape[0], width))
    return rows, tail, None if axis == 0 else [perm.index(a) for a in range(x.type.rank)]
