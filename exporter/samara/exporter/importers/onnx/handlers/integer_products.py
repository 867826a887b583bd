# SPDX-License-Identifier: Apache-2.0
"""Products of 8-bit integers by operators with int32 sums, and the operations on the sums.

The operators take zero points that are constant. With others, known only at run time or one per matrix
row, the product is a sum of products without zero points: (x - a) * (w - b) = x * w - a * (1 * w) - b *
(x * 1) + …, all modulo 2^32 as in an int32 accumulator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.affine import (
    WHOLE_TENSOR,
    Layout,
    as_qs8,
    as_scalar,
    fitting,
    in_float32,
    rounded,
    row_parameters,
    spread,
)
from samara.exporter.ir.program import Value
from samara.exporter.ops.quantization.arithmetic import LARGEST, farthest, multipliers
from samara.exporter.types import Dim, DType, Quant

__all__ = [
    "Operand",
    "Product",
    "integer_sum",
    "multiplier",
    "quantized_product",
    "requantized",
]

_BYTES = (DType.I8, DType.U8)

# The operator over qs8 operands and a bias: (x, w, bias, attributes) -> result.
Product = Callable[..., Value]


@dataclass(frozen=True, slots=True)
class Operand:
    """Bytes, their zero point, and what the zero point applies to.

    ones: the shape of a tensor of ones whose product with the other operand is that of zero point 1.
    per_axis: the operator takes a zero point per index. turned: a matrix whose last axes the operator
    swaps.
    """

    value: Value
    zero: Value | None
    layout: Layout
    ones: Sequence[Dim]
    scale: Value | None = None
    per_axis: bool = True
    turned: bool = False


@dataclass(frozen=True, slots=True)
class _Term:
    """A qs8 tensor, and an int32 factor of its product with another."""

    value: Value
    factor: Value | None = None


def _checked(n: NodeContext, x: Operand) -> None:
    if x.value.type.dtype not in _BYTES:
        raise n.wrong(f"an operand is {x.value.type}, expected int8 or uint8")
    for v in (x.scale, x.zero):
        if v is not None:
            fitting(n, x.value, v, None, x.layout)


def _terms(n: NodeContext, x: Operand) -> list[_Term]:
    """x - zero point as a sum of terms."""
    unit = n.const(np.ones((), np.float32))
    row = row_parameters(n, x.value, unit, x.zero, x.layout, x.value.type.dtype)
    if row is not None and (row["axis"] < 0 or x.per_axis):
        return [_Term(as_qs8(n, x.value, row))]
    assert x.zero is not None
    image = len(x.ones) > 2  # an image or filter of a convolution
    if image and not x.per_axis:
        zero = n.emit("reshape", x.zero, shape=())
    else:
        zero = spread(n, x.zero, x.value, x.layout)
    if image and x.per_axis:  # output channels are the last axis of a result
        zero = n.emit("reshape", zero, shape=(zero.type.numel(),))
    elif x.turned and zero.type.rank > 1:
        zero = n.emit("transpose", zero, perm=(1, 0))
    shift = 128 if x.value.type.dtype is DType.U8 else 0
    plain = {"scales": [1.0], "zero_points": [0], "axis": -1}
    bias = n.const(np.array(shift, np.int32))
    factor = n.emit("sub", bias, n.emit("cast", zero, to=DType.I32))
    one = n.const(np.ones((1,) * len(x.ones), np.int8), DType.QS8, Quant.per_tensor(1.0))
    ones = n.emit("expand", one, shape=tuple(x.ones))
    return [_Term(as_qs8(n, x.value, plain)), _Term(ones, factor)]


def integer_sum(
    n: NodeContext, x: Operand, w: Operand, product: Product, bias: Value | None = None
) -> Value:
    """The product plus an int32 bias along its last axis, as int32."""
    _checked(n, x)
    _checked(n, w)
    total: Value | None = None
    for a in _terms(n, x):
        for b in _terms(n, w):
            part = product(a.value, b.value, None if total is not None else bias, to=DType.I32)
            for factor in (a.factor, b.factor):
                if factor is not None:
                    part = n.emit("mul", part, factor)
            total = part if total is None else n.emit("add", total, part)
    assert total is not None
    return total


def quantized_product(
    n: NodeContext,
    x: Operand,
    w: Operand,
    product: Product,
    depth: Dim,
    bias: Value | None,
    result: tuple[Value, Value | None, DType],
) -> Value | None:
    """The node's result by one operator that also requantizes to bytes; None if parameters are not constant,
    or do not fit it.

    depth: the number of products per sum; result: scale, zero point and dtype.
    """
    _checked(n, x)
    _checked(n, w)
    scale, zero, kind = result
    assert x.scale is not None
    assert w.scale is not None
    rows = [
        row_parameters(n, v.value, s, v.zero, v.layout, v.value.type.dtype)
        for v, s in ((x, x.scale), (w, w.scale))
    ]
    form = row_parameters(n, x.value, scale, zero, WHOLE_TENSOR, kind)
    if rows[0] is None or rows[1] is None or form is None or rows[0]["axis"] >= 0:
        return None
    if form["axis"] >= 0 or not depth.is_static:
        return None
    q_x, q_w = (
        Quant(tuple(r["scales"]), tuple(r["zero_points"]), None if r["axis"] < 0 else r["axis"])
        for r in rows
        if r is not None
    )
    (step,), (offset,) = form["scales"], form["zero_points"]
    if depth.as_int() * farthest(q_x) * farthest(q_w) > LARGEST:
        return None
    if not np.isfinite(multipliers(q_x, q_w, step)).all():
        return None
    operands = (as_qs8(n, v.value, r) for v, r in zip((x, w), rows, strict=True) if r is not None)
    y = product(*operands, bias, scale=step, zero_point=offset)
    made: Value = n.final("reinterpret", y, to=kind, scales=[], zero_points=[], axis=-1)
    return made


def multiplier(n: NodeContext, x_scale: Value, w_scale: Value, y_scale: Value | None) -> Value:
    """(s_x * s_w) / s_y, rounded after each operation; without s_y the value of one step of the sum."""
    m: Value = n.emit(
        "mul", *(in_float32(n, s) for s in (_single(n, x_scale), as_scalar(n, w_scale)))
    )
    if y_scale is not None:
        m = n.emit("div", m, in_float32(n, _single(n, y_scale)))
    return m


def _single(n: NodeContext, scale: Value) -> Value:
    """The scale of a whole tensor as a scalar; one that was expanded over rows unchanged."""
    if scale.type.rank > 1:
        return scale
    count = scale.type.numel()
    if count.is_static and count.as_int() != 1:
        raise n.unsupported(f"{count} scales where a tensor has one", "quantize it per tensor")
    if scale.type.rank:
        scale = n.emit("reshape", scale, shape=())
    return scale


def requantized(n: NodeContext, total: Value, m: Value, zero: Value | None, kind: DType) -> Value:
    """round_half_even(float32(total) * m) + zero, saturated, the node's result; m broadcasts."""
    return rounded(n, n.emit("mul", in_float32(n, total), m), zero, kind)
