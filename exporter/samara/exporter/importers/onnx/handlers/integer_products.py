# SPDX-License-Identifier: Apache-2.0
"""Exact products of integers by the float32 kernels, and what follows them.

A float32 sum of whole numbers is exact, whatever its order, while no partial sum leaves ±2^24. With
weights w, an operand x and their zero points, the largest one is at most
max |x - z_x| * max over outputs of the sum of |w - z_w|. Where that is more than 2^24 the weights are
cut into balanced digits of 4, 3 or 2 bits, each of whose products is exact, and the products are
summed as int32, modulo 2^32 as an int32 accumulator is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.affine import (
    WHOLE_TENSOR,
    Layout,
    as_scalar,
    in_float32,
    limits_of,
    rounded,
    spread,
)
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, DType

__all__ = ["EXACT", "Whole", "exact_product", "requantized", "whole"]

# Beyond it float32 does not hold every whole number.
EXACT = 1 << 24

# (bits per digit, digits) of weights in ±255, fewest digits first.
_CUTS = ((0, 1), (4, 2), (3, 3), (2, 5))

# A product over float32 operands: weights and an optional bias in, the result out. It has to bound
# its result by ±EXACT: that states the rule, and keeps passes from folding what follows into the
# weights, which would then no longer be whole.
Product = Callable[[Value, Value | None], Value]


@dataclass(frozen=True, slots=True)
class Whole:
    """x - zero point, as float32; `data` where it is constant, `most` the largest absolute value."""

    value: Value
    most: int
    data: npt.NDArray[np.int64] | None = None


def whole(n: NodeContext, x: Value, zero: Value | None, layout: Layout = WHOLE_TENSOR) -> Whole:
    """An 8-bit operand less its zero point."""
    if x.type.dtype not in (DType.I8, DType.U8):
        raise n.wrong(f"an operand is {x.type}, expected int8 or uint8")
    lo, hi = limits_of(n, x.type.dtype)
    known = np.zeros((), np.int64) if zero is None else zero.constant
    if x.constant is not None and known is not None:
        data = x.constant.astype(np.int64)
        if zero is not None:
            along = spread(n, zero, x, layout).constant
            assert along is not None
            data = data - along.astype(np.int64)
        most = int(np.abs(data).max(initial=0))
        return Whole(n.const(data.astype(np.float32)), most, data)
    if known is not None and known.size and np.all(known == known.reshape(-1)[0]):
        if zero is not None:
            spread(n, zero, x, layout)
        z = int(known.reshape(-1)[0])
        shift = 128 if x.type.dtype is DType.U8 else 0
        q = n.emit("reinterpret", x, to=DType.QS8, scales=[1.0], zero_points=[z - shift], axis=-1)
        return Whole(n.emit("dequantize", q), max(hi - z, z - lo))
    assert zero is not None
    zeros = in_float32(n, spread(n, zero, x, layout))
    return Whole(n.emit("sub", n.emit("cast", x, to=DType.F32), zeros), hi - lo)


def _digits(data: npt.NDArray[np.int64], bits: int, count: int) -> list[npt.NDArray[np.int64]]:
    """Balanced digits, lowest first: data = sum of digit[i] * 2^(bits * i)."""
    digits = []
    for _ in range(count - 1):
        rest = (data + (1 << bits >> 1)) >> bits
        digits.append(data - (rest << bits))
        data = rest
    return [*digits, data]


def _digit_values(n: NodeContext, w: Value, bits: int, count: int) -> list[Value]:
    """The same of weights that are known at run time only."""
    digits = []
    for _ in range(count - 1):
        scaled = n.emit("mul", n.emit("add", w, float(1 << bits >> 1)), 2.0**-bits)
        rest = n.emit("floor", scaled)
        digits.append(n.emit("sub", w, n.emit("mul", rest, float(1 << bits))))
        w = rest
    return [*digits, w]


def _cut(
    n: NodeContext, x: Whole, w: Whole, summed: Sequence[int], depth: Dim
) -> tuple[int, list[Value], int] | None:
    """(bits, digits of w, bound of a product's sums) of the fewest digits that are exact; None
    where none are, or the number of summands is not known.
    """
    for bits, count in _CUTS:
        if w.data is not None:
            parts = _digits(w.data, bits, count)
            most = max(int(np.abs(p).sum(axis=tuple(summed)).max(initial=0)) for p in parts)
        elif depth.is_static:
            largest = max(1 << bits >> 1, (w.most >> bits * (count - 1)) + 1) if bits else w.most
            most = largest * depth.as_int()
        else:
            return None
        if x.most * most > EXACT:
            continue
        if count == 1:
            return bits, [w.value], x.most * most
        if w.data is None:
            return bits, _digit_values(n, w.value, bits, count), x.most * most
        return bits, [n.const(p.astype(np.float32)) for p in parts], x.most * most
    return None


def exact_product(
    n: NodeContext,
    x: Whole,
    w: Whole,
    summed: Sequence[int],
    depth: Dim,
    product: Product,
    bias: Value | None = None,
    fallback: Callable[[], Value] | None = None,
) -> Value:
    """The product plus an int32 bias along its last axis: as float32 where its sums allow that,
    else as int32.

    summed: axes of w that a result sums over; depth: how many summands that are; fallback: the
    product by other means, as int32, where it has too many summands.
    """
    cut = _cut(n, x, w, summed, depth)
    if cut is None:
        if fallback is None:
            raise n.unsupported(f"a sum of {depth} products of bytes", "split the channels")
        return _plus(n, fallback(), bias)
    bits, digits, bound = cut
    if len(digits) == 1:
        known = None if bias is None else bias.constant
        room = EXACT - bound
        if bias is None or (
            known is not None and np.abs(known.astype(np.int64)).max(initial=0) <= room
        ):
            return product(digits[0], None if bias is None else in_float32(n, bias))
    total: Value = n.emit("cast", product(digits[0], None), to=DType.I32)
    for i, digit in enumerate(digits[1:], 1):
        part = n.emit("cast", product(digit, None), to=DType.I32)
        unit = n.const(np.array(1 << bits * i, np.int32))
        total = n.emit("add", total, n.emit("mul", part, unit))
    return _plus(n, total, bias)


def _plus(n: NodeContext, total: Value, bias: Value | None) -> Value:
    if bias is not None:
        total = n.emit("add", total, bias)
    return total


def multiplier(n: NodeContext, x_scale: Value, w_scale: Value, y_scale: Value | None) -> Value:
    """(s_x * s_w) / s_y, rounded after each operation; without s_y what a step of the sum means."""
    m: Value = n.emit(
        "mul", *(in_float32(n, s) for s in (_single(n, x_scale), as_scalar(n, w_scale)))
    )
    if y_scale is not None:
        m = n.emit("div", m, in_float32(n, _single(n, y_scale)))
    return m


def _single(n: NodeContext, scale: Value) -> Value:
    """The scale of a whole tensor as a scalar; one that has been spread over rows as it is."""
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
