# SPDX-License-Identifier: Apache-2.0
"""Numeric helpers of the references: float16 in float32, float64 sums, saturating casts."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.exporter.types import DType, Quant, SamaraError
from samara.pybridge.errors import RangeError

Array = npt.NDArray[Any]


class DataError(SamaraError):
    """A value that the operator does not allow: the runtime's status BAD_DATA."""


class IndexDataError(DataError, RangeError):
    """Such a value among indices or classes."""


def in_f32(reference: Callable[..., Any]) -> Callable[..., Any]:
    """Compute float16 in float32 and round the results once."""

    @functools.wraps(reference)
    def run(*inputs: Array | None, **attrs: Any) -> Any:
        if not any(x is not None and x.dtype == np.float16 for x in inputs):
            return reference(*inputs, **attrs)
        wide = [_widened(x) for x in inputs]
        got = reference(*wide, **attrs)
        return tuple(map(_narrowed, got)) if isinstance(got, tuple) else _narrowed(got)

    return run


def _widened(x: Array | None) -> Array | None:
    return x.astype(np.float32) if x is not None and x.dtype == np.float16 else x


def _narrowed(x: Any) -> Array:
    got = np.asarray(x)
    return got.astype(np.float16) if got.dtype == np.float32 else got


def wide(x: Array) -> Array:
    """float32 as float64, for sums that are rounded once."""
    return x.astype(np.float64) if x.dtype == np.float32 else x


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)); overflow gives the right limits."""
    one = x.dtype.type(1)
    return np.asarray(one / (one + np.exp(-x)))


def erf(x: Array) -> Array:
    """The error function, exact to the last bit of float32."""
    flat = [math.erf(v) for v in x.astype(np.float64).ravel().tolist()]
    return np.array(flat, dtype=x.dtype).reshape(x.shape)


def gelu(x: Array) -> Array:
    """x * Phi(x) by the error function."""
    own = x.dtype.type
    return np.asarray(own(0.5) * x * (own(1) + erf(x * own(math.sqrt(0.5)))))


def gelu_tanh(x: Array) -> Array:
    """gelu by its tanh approximation."""
    own = x.dtype.type
    inner = own(math.sqrt(2 / math.pi)) * (x + own(0.044715) * x * x * x)
    return np.asarray(own(0.5) * x * (own(1) + np.tanh(inner)))


def hard_sigmoid(x: Array, alpha: float, beta: float) -> Array:
    """clamp(alpha * x + beta, 0, 1)."""
    return np.asarray(np.clip(x.dtype.type(alpha) * x + x.dtype.type(beta), 0, 1, dtype=x.dtype))


def hard_swish(x: Array) -> Array:
    """x * hard_sigmoid(x) with slope 1/6."""
    return np.asarray(x * hard_sigmoid(x, 1 / 6, 0.5))


def leaky_relu(x: Array, alpha: float) -> Array:
    """x where positive, alpha * x elsewhere."""
    return np.where(x >= 0, x, x.dtype.type(alpha) * x)


def elu(x: Array, alpha: float) -> Array:
    """x where positive, alpha * (exp(x) - 1) elsewhere."""
    return np.where(x > 0, x, x.dtype.type(alpha) * np.expm1(np.minimum(x, x.dtype.type(0))))


def clamp(x: Array, lo: float, hi: float) -> Array:
    """min(max(x, lo), hi); NaN stays NaN."""
    return np.asarray(np.minimum(np.maximum(x, x.dtype.type(lo)), x.dtype.type(hi)))


def quantized(p: Array, zero_point: Array) -> Array:
    """round_half_even(clamp(p, -128 - z, 127 - z)) + z as int8; NaN gives the zero point."""
    z = zero_point.astype(np.float32)
    clamped = np.minimum(np.maximum(p, np.float32(-128) - z), np.float32(127) - z)
    return np.asarray((np.rint(np.nan_to_num(clamped, nan=0.0)) + z).astype(np.int8))


def dequantized(q: Array, quant: Quant) -> Array:
    """(q - zero_point) * scale in float32."""
    shape = [-1 if axis == quant.axis else 1 for axis in range(q.ndim)]
    zero = np.array(quant.zero_points, np.int32).reshape(shape if quant.axis is not None else ())
    scale = np.array(quant.scales, np.float32).reshape(shape if quant.axis is not None else ())
    return np.asarray((q.astype(np.int32) - zero).astype(np.float32) * scale)


def _odd_f64(x: Array) -> Array:
    """x in float64. An integer of more than 53 bits is rounded to odd, so that rounding the result to fewer bits
    equals rounding x once (Boldo and Melquiond, 2008).
    """
    if x.dtype.kind not in "iu" or x.dtype.itemsize < 8:
        return x.astype(np.float64)
    negative = x < 0
    bits = np.where(negative, np.uint64(0) - x.astype(np.uint64), x.astype(np.uint64))
    odd = (bits & ~np.uint64(0x7FF)) | np.where(bits & np.uint64(0x7FF), np.uint64(0x800), 0)
    kept = np.where(bits >> np.uint64(53), odd, bits).astype(np.float64)
    return np.where(negative, -kept, kept)


def _odd_f32(x: Array) -> Array:
    """float64 rounded to odd float32: of the two neighbours of x, the one whose last bit is set."""
    rounded = np.asarray(x.astype(np.float32))
    bits = rounded.reshape(-1).view(np.uint32).reshape(rounded.shape)
    step = np.where(np.abs(rounded) < np.abs(x), 1, -1).astype(np.int64)
    moved = (bits.astype(np.int64) + step).astype(np.uint32)
    inexact = (rounded != x) & ~np.isnan(x) & (bits & 1 == 0)
    found = np.where(inexact, moved, bits)
    return np.asarray(found.reshape(-1).view(np.float32).reshape(rounded.shape))


def cast(x: Array, to: DType) -> Array:
    """C's conversion, defined for all values: floats truncate and saturate, NaN is 0, integers wrap; results are
    rounded once. i4 and u4 take the low four bits of the int64 of x.
    """
    target = to.numpy
    if to is DType.BOOL:
        return np.asarray(x != 0)
    if x.dtype.kind == "V" and not DType.from_numpy(x.dtype).is_float:
        x = x.astype(np.int8)  # i4, u4
    if to.is_packed:
        bits = cast(x, DType.I64) & 15
        return np.asarray(((bits ^ 8) - 8 if to is DType.I4 else bits).astype(target))
    if to is DType.BF16 and x.dtype != target:
        return np.asarray(_odd_f32(_odd_f64(x)).astype(target))
    if x.dtype.kind not in "fV" or to.is_float:
        return x.astype(target)
    info = np.iinfo(target)
    whole = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
    # float64 cannot hold the largest int64, so the ends are set instead of clipped.
    low, high = whole <= float(info.min), whole >= float(info.max)
    out = np.where(low | high, 0.0, whole).astype(target)
    out = np.where(low, target.type(info.min), np.where(high, target.type(info.max), out))
    return np.asarray(out.astype(target))


def require_nonzero(op: str, dividend: Array, divisor: Array) -> None:
    """DataError if an integer is divided by 0."""
    if divisor.dtype.kind in "iu" and dividend.size and np.any(divisor == 0):
        raise DataError("division of an integer by 0", op=op)


def require_indices(op: str, indices: Array, size: int, wrap: bool = True) -> Array:
    """Indices counted from the front, as int64; IndexDataError if one is out of range. Negative ones are in range
    only with `wrap`.
    """
    found = indices.astype(np.int64)
    bad = (found < (-size if wrap else 0)) | (found >= size)
    if np.any(bad):
        at = int(np.flatnonzero(bad)[0])
        raise IndexDataError(
            f"index {found.flat[at]} at position {at} is out of range, expected"
            f" {-size if wrap else 0} to {size - 1}"
            if size
            else f"index {found.flat[at]} at position {at}, but the axis is empty",
            op=op,
        )
    return np.where(found < 0, found + size, found)
