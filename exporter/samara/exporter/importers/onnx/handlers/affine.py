# SPDX-License-Identifier: Apache-2.0
"""Conversion between numbers and their quantized form, with parameters per tensor, axis or block."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, Quant, as_dim, ceildiv

__all__ = [
    "WHOLE_TENSOR",
    "Layout",
    "as_qs8",
    "as_scalar",
    "dequantized",
    "fitting",
    "in_float32",
    "limits_of",
    "quantized",
    "rounded",
    "row_parameters",
    "spread",
]

_TINY = float(np.finfo(np.float32).tiny)
_BYTES = (DType.I8, DType.U8)
_LIMITS = {
    DType.I8: (-128, 127),
    DType.U8: (0, 255),
    DType.I16: (-32768, 32767),
    DType.U16: (0, 65535),
    DType.I4: (-8, 7),
    DType.U4: (0, 15),
}


@dataclass(frozen=True, slots=True)
class Layout:
    """What a tensor's parameters apply to: indices of `axis`, in blocks of `block` if that is not 0."""

    axis: int = -1
    block: int = 0


WHOLE_TENSOR = Layout()


def limits_of(n: NodeContext, kind: DType) -> tuple[int, int]:
    """The smallest and largest number in a quantized tensor of this dtype."""
    if kind not in _LIMITS:
        known = ", ".join(d.public_name for d in _LIMITS)
        raise n.unsupported(f"quantization to {kind.public_name}", f"{known} are provided")
    return _LIMITS[kind]


def as_scalar(n: NodeContext, v: Value) -> Value:
    """A vector of one element as a scalar; others as they are."""
    if v.type.rank and all(d == as_dim(1) for d in v.type.shape):
        v = n.emit("reshape", v, shape=())
    return v


def in_float32(n: NodeContext, v: Value) -> Value:
    if v.type.dtype is not DType.F32:
        v = n.emit("cast", v, to=DType.F32)
    return v


def spread(n: NodeContext, v: Value, like: Value, layout: Layout) -> Value:
    """Parameters in the shape that broadcasts to `like`: a scalar, a vector along an axis, or one per block.
    ShapeError if they do not fit.
    """
    shape, rank = like.type.shape, like.type.rank
    if layout.block:
        return _unblocked(n, v, like, layout)
    if v.type.rank == 0 or (v.type.rank == 1 and v.type.shape[0] == as_dim(1)):
        return as_scalar(n, v)
    if v.type.rank != 1:
        return v  # one per matrix row, as in QLinearMatMul
    if not -rank <= layout.axis < rank:
        raise n.wrong(f"axis {layout.axis} is out of range for rank {rank}")
    axis = layout.axis % rank
    if v.type.shape[0].is_static and shape[axis].is_static and v.type.shape[0] != shape[axis]:
        raise n.wrong(f"{v.type.shape[0]} scales or zero points for {shape[axis]} indices")
    if not v.type.shape[0].is_static and v.type.shape[0] != shape[axis]:
        v = n.emit("expand", v, shape=(shape[axis],))  # at run time it may have a single element
    shaped: Value = n.emit(
        "reshape", v, shape=[v.type.shape[0] if i == axis else 1 for i in range(rank)]
    )
    return shaped


def _unblocked(n: NodeContext, v: Value, like: Value, layout: Layout) -> Value:
    """One parameter per element: those of blocks are repeated along the axis."""
    rank = like.type.rank
    if v.type.rank != rank or not -rank <= layout.axis < rank:
        raise n.wrong(f"blocked parameters {v.type} do not fit {like.type}")
    axis = layout.axis % rank
    size = like.type.shape[axis]
    blocks = ceildiv(size, layout.block)
    for i, (have, want) in enumerate(zip(v.type.shape, like.type.shape, strict=True)):
        wanted = blocks if i == axis else want
        if have.is_static and wanted.is_static and have != wanted:
            raise n.wrong(f"blocked parameters {v.type} do not fit {like.type}")
    before, after = v.type.shape[:axis], v.type.shape[axis + 1 :]
    y: Value = n.emit("reshape", v, shape=(*before, v.type.shape[axis], 1, *after))
    y = n.emit("expand", y, shape=(*before, v.type.shape[axis], layout.block, *after))
    y = n.emit("reshape", y, shape=(*before, v.type.shape[axis] * layout.block, *after))
    if y.type.shape[axis] != size:
        y = n.emit("slice", y, begin=[0] * rank, end=like.type.shape, step=[1] * rank)
    return y


def _in_blocks(
    n: NodeContext, x: Value, s: Value, z: Value | None, layout: Layout
) -> tuple[Value, Value, Value | None] | None:
    """x with its axis split into [blocks, block], and parameters that broadcast to it; None without blocks, or
    if the last block is incomplete.
    """
    rank = x.type.rank
    if not layout.block or s.type.rank != rank or not -rank <= layout.axis < rank:
        return None
    axis = layout.axis % rank
    size = x.type.shape[axis]
    if not size.is_static or size.as_int() % layout.block or rank == 8:
        return None
    for v in (s, z):  # check that they fit
        if v is not None and v.type.shape[axis] != size // layout.block:
            return None

    def cut(v: Value, inner: int) -> Value:
        shape = v.type.shape
        made: Value = n.emit(
            "reshape",
            v,
            shape=(*shape[:axis], size // layout.block, inner, *shape[axis + 1 :]),
        )
        return made

    return cut(x, layout.block), cut(s, 1), None if z is None else cut(z, 1)


def row_parameters(
    n: NodeContext, x: Value, s: Value, z: Value | None, layout: Layout, kind: DType
) -> dict[str, Any] | None:
    """Attributes of the operators between float32 and qs8, if these apply: bytes, constants."""
    if kind not in _BYTES or layout.block or s.constant is None:
        return None
    zeros = np.zeros(1) if z is None else z.constant
    if zeros is None:
        return None
    scales, zeros = s.constant.astype(np.float32).reshape(-1), zeros.reshape(-1)
    if not all(_TINY <= scale < math.inf for scale in scales.tolist()):
        return None
    count = max(scales.size, zeros.size)
    if count > 1 and (s.type.rank > 1 or (z is not None and z.type.rank > 1)):
        return None
    if count == 0 or (count > 1 and not 0 <= layout.axis % max(x.type.rank, 1) < x.type.rank):
        return None
    if min(scales.size, zeros.size) not in (1, count):
        raise n.wrong(f"{zeros.size} zero points for {scales.size} scales")
    shift = 128 if kind is DType.U8 else 0
    numbers = (zeros.astype(np.int64) - shift).tolist()
    return {
        "scales": scales.tolist() * (count // scales.size),
        "zero_points": numbers * (count // zeros.size),
        "axis": -1 if count == 1 else layout.axis % x.type.rank,
    }


def fitting(n: NodeContext, x: Value, s: Value, z: Value | None, layout: Layout) -> None:
    """ShapeError if constants along an axis are not as many as it has indices."""
    for v in (s, z):
        if v is not None:
            spread(n, v, x, layout)


def as_qs8(n: NodeContext, x: Value, row: dict[str, Any]) -> Value:
    """Bytes as qs8 with these parameters."""
    if x.constant is None:
        q: Value = n.emit("reinterpret", x, to=DType.QS8, **row)
        return q
    data = x.constant
    if x.type.dtype is DType.U8:
        data = data.view(np.uint8) ^ np.uint8(0x80)
    axis = row["axis"]
    quant = Quant(tuple(row["scales"]), tuple(row["zero_points"]), None if axis < 0 else axis)
    return n.const(data.view(np.int8), DType.QS8, quant)


def dequantized(
    n: NodeContext, x: Value, scale: Value, zero: Value | None, layout: Layout = WHOLE_TENSOR
) -> Value:
    """(x - zero) * scale as float32, the node's result."""
    cut = _in_blocks(n, x, scale, zero, layout)
    if cut is not None:
        whole: Value = n.final("reshape", dequantized(n.inner, *cut), shape=x.type.shape)
        return whole
    one = (
        x.constant is not None and x.constant.size == 1
    )  # keep it visible as a constant for converters
    row = None if one else row_parameters(n, x, scale, zero, layout, x.type.dtype)
    if row is not None:
        fitting(n, x, scale, zero, layout)
        y: Value = n.final("dequantize", as_qs8(n, x, row))
        return y
    y = n.emit("cast", x, to=DType.F32)
    if zero is not None and (zero.constant is None or np.any(zero.constant)):
        y = n.emit("sub", y, n.emit("cast", spread(n, zero, x, layout), to=DType.F32))
    scaled: Value = n.final("mul", y, in_float32(n, spread(n, scale, x, layout)))
    return scaled


def quantized(
    n: NodeContext,
    x: Value,
    scale: Value,
    zero: Value | None,
    kind: DType,
    layout: Layout = WHOLE_TENSOR,
) -> Value:
    """round_half_even(x / scale) + zero, saturated, as the node's result. The division is in float32, or in
    float16 if x and scale are.
    """
    limits_of(n, kind)
    cut = _in_blocks(n, x, scale, zero, layout)
    if cut is not None:
        whole: Value = n.final("reshape", quantized(n.inner, *cut, kind), shape=x.type.shape)
        return whole
    halves = x.type.dtype is DType.F16 and scale.type.dtype is DType.F16
    row = None if halves else row_parameters(n, x, scale, zero, layout, kind)
    if row is not None:
        fitting(n, x, scale, zero, layout)
        q = n.emit("quantize", in_float32(n, x), **row)
        y: Value = n.final("reinterpret", q, to=kind, scales=[], zero_points=[], axis=-1)
        return y
    by = spread(n, scale, x, layout)
    if halves:
        ratio = in_float32(n, n.emit("div", x, by))
    else:
        ratio = n.emit("div", in_float32(n, x), in_float32(n, by))
    return rounded(n, ratio, zero, kind, layout)


def rounded(
    n: NodeContext, p: Value, zero: Value | None, kind: DType, layout: Layout = WHOLE_TENSOR
) -> Value:
    """round_half_even(p) + zero, saturated, of a float32 p that has been scaled; the node's result."""
    lo, hi = limits_of(n, kind)
    unit = n.const(np.ones((), np.float32))
    row = row_parameters(n, p, unit, zero, layout, kind)
    if row is not None:
        q = n.emit("quantize", p, **row)
        y: Value = n.final("reinterpret", q, to=kind, scales=[], zero_points=[], axis=-1)
        return y
    y = n.emit("round", p)
    if zero is not None and (zero.constant is None or np.any(zero.constant)):
        y = n.emit("add", y, n.emit("cast", spread(n, zero, p, layout), to=DType.F32))
    held: Value = n.final("cast", n.emit("clamp", y, lo=float(lo), hi=float(hi)), to=kind)
    return held
