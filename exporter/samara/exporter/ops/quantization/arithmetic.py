# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of quantized operators, as docs/reference/quantized-arithmetic.md describes it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from samara.exporter.ops.autodiff import Rule, inference_only
from samara.exporter.ops.numeric import Array
from samara.exporter.ops.shape_rules import require_dtype
from samara.exporter.ops.spec import Attr, InferContext
from samara.exporter.types import DType, Quant

INTEGER_ONLY: Final[Rule] = inference_only(
    "a quantized operator (train with samara.quantize_aware)"
)

SCALE: Final = Attr("scale", "f32", 1.0, doc="of the output")
ZERO_POINT: Final = Attr("zero_point", "int", 0, doc="of the output")
CLAMP: Final = (
    Attr("lo", "int", -128, doc="lower clamp of the output, in quantized steps"),
    Attr("hi", "int", 127, doc="upper clamp"),
)
OUTPUT: Final = (SCALE, ZERO_POINT, *CLAMP)
LARGEST: Final = 2**31 - 1


def output_quant(ctx: InferContext) -> Quant:
    """The output's parameters from `scale` and `zero_point`; checks `lo` and `hi`."""
    if "lo" in ctx.attrs:
        ctx.require(
            -128 <= ctx.lo <= ctx.hi <= 127,
            f"clamp from {ctx.lo} to {ctx.hi}, expected -128 <= lo <= hi <= 127",
        )
    return Quant.per_tensor(ctx.scale, ctx.zero_point)


def whole(ctx: InferContext, index: int) -> Quant:
    """The parameters of an operand with one scale and zero point."""
    require_dtype(ctx, index, DType.QS8)
    quant = ctx.required(index).quant
    if quant is None or not quant.is_per_tensor:
        raise ctx.error(
            f"operand {index} is quantized along an axis, expected one scale and zero point",
            "quantize activations per tensor",
        )
    return quant


def require_multiplier(ctx: InferContext, value: Any) -> None:
    """Check that products of scales, one or an array of them, are finite in float32."""
    ctx.require(
        bool(np.isfinite(value).all()),
        "the scales of inputs and output are too far apart for one float32 multiplier",
    )


def farthest(quant: Quant) -> int:
    """The largest |q - zero_point| that a tensor with these parameters can hold."""
    return max(127 - min(quant.zero_points), max(quant.zero_points) + 128)


def given(q_in: Sequence[Quant | None], index: int) -> Quant:
    """The parameters of an input while the reference runs."""
    quant = q_in[index]
    if quant is None:
        raise ValueError("a qs8 input needs its quantization parameters")
    return quant


def centred(x: Array, quant: Quant, axis: int = -1) -> Array:
    """x - zero_point in float64, where sums of products of them stay exact (below 2^53)."""
    zero: Any = quant.zero_points[0]
    if quant.axis is not None:
        shape = [1] * x.ndim
        shape[axis] = -1
        zero = quant.zero_point_array().reshape(shape)
    return np.asarray(x.astype(np.float64) - zero)


def wrapped(total: Array) -> Array:
    """Whole numbers in float64 as int32, modulo 2^32."""
    return total.astype(np.int64).astype(np.int32)


def multipliers(x: Quant, w: Quant, scale: float) -> Array:
    """m[c] = (s_x * s_w[c]) / s_y: two float32 operations, in that order."""
    with np.errstate(over="ignore"):
        return np.asarray((np.float32(x.scale) * w.scale_array()) / np.float32(scale))


def requantized(acc: Array, m: Any, zero_point: int, lo: int, hi: int) -> Array:
    """round_half_even(clamp(float32(acc) * m, lo - z, hi - z)) + z as int8.

    The clamp comes before the rounding, the product is rounded on its own.
    """
    return rounded(acc.astype(np.float32) * np.float32(m), zero_point, lo, hi)


def rounded(p: Array, zero_point: int, lo: int, hi: int) -> Array:
    """The second half of `requantized`, of a p in steps of the output's scale; NaN counts as 0."""
    number = np.where(np.isnan(p), np.float32(0), p)
    within = np.clip(number, np.float32(lo - zero_point), np.float32(hi - zero_point))
    return np.asarray((np.rint(within) + np.float32(zero_point)).astype(np.int8))


def power_of_two(shift: int) -> np.float32:
    """2^-shift."""
    return np.float32(math.ldexp(1.0, -shift))
