# SPDX-License-Identifier: Apache-2.0
"""Weights in fewer bits: int8 per channel or tensor, 4 bits in blocks, float16."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.exporter.ir import Array, Value
from samara.exporter.quantize._layers import WeightRecord
from samara.exporter.quantize.observers import channel_scales
from samara.exporter.types import DType, Quant, QuantizationError, TensorType

Floats = npt.NDArray[np.float64]

_PIECE: Final = 1 << 20

# Steps that are tried for 4-bit blocks, as fractions of the one that covers the largest value.
_SHRUNK: Final = (1.0, 0.95, 0.9, 0.875, 0.85, 0.8, 0.75)


@dataclass(frozen=True, slots=True)
class Rounded:
    """An int8 constant, the values that it stands for, and its record."""

    value: Value
    back: Floats
    record: WeightRecord


def int8_weights(
    w: Value, name: str, axis: int | None, least: npt.NDArray[np.float64] | None = None
) -> Rounded:
    """Symmetric int8 in [-127, 127], with a scale per index of `axis` (None: one scale).

    least: the smallest allowed scale per index, which keeps biases within int32.
    """
    data = _finite(w)
    scales = channel_scales(data, axis)
    if least is not None:
        floor = least if axis is not None else np.atleast_1d(least.max(initial=0.0))
        scales = np.maximum(scales, floor.astype(np.float32))
    shaped = along(scales.astype(np.float64), axis, data.ndim)
    steps = np.clip(np.rint(data / shaped), -127, 127)
    quant = Quant.per_tensor(float(scales[0])) if axis is None else Quant.per_axis(scales, axis)
    stored = _constant(name, steps.astype(np.int8), DType.QS8, quant)
    back = steps * shaped
    kind = "int8 per tensor" if axis is None else "int8 per channel"
    dead = dead_channels(data, axis)
    size = data.size + 4 * len(scales)
    return Rounded(stored, back, _record(w, stored.name, "int8", kind, size, data, back, dead))


def _finite(w: Value) -> Floats:
    assert w.constant is not None
    if not np.isfinite(w.constant).all():
        raise QuantizationError(
            f"constant {w.name!r} holds NaN or infinity", fix="train or convert the model again"
        )
    return w.constant.astype(np.float64)


def along(values: Floats, axis: int | None, rank: int) -> Floats:
    """Values in the shape that broadcasts along an axis."""
    if axis is None:
        return values.reshape(())
    return values.reshape([-1 if a == axis else 1 for a in range(rank)])


def dead_channels(data: Array, axis: int | None) -> tuple[int, ...]:
    """The indices of `axis` whose weights are all zero."""
    if axis is None or not data.size:
        return ()
    others = tuple(a for a in range(data.ndim) if a != axis)
    return tuple(int(i) for i in np.flatnonzero(~np.any(data, axis=others)))


@dataclass(frozen=True, slots=True)
class Blocks:
    """Rows [N, K] in blocks along K: low-bit values, scales, zero points if any, and the values that they
    stand for.
    """

    values: Value
    scales: Value
    zero_points: Value | None
    back: Floats
    record: WeightRecord


def block_weights(
    source: Value, rows: Array, name: str, block: int, bits: int, zero_points: bool
) -> Blocks:
    """4- or 8-bit values of rows [N, K], with a float16 scale per `block` neighbours.

    Symmetric (int4: [-8, 7], int8: [-127, 127]) or, for 4 bits, unsigned with a zero point out of the
    16 values. If one scale exceeds float16, all scales are float32.
    """
    _finite(source)
    data = rows.astype(np.float64)
    n, k = data.shape
    count = -(-k // block)
    padded = np.zeros((n, count * block))
    padded[:, :k] = data
    blocks = padded.reshape(n, count, block)
    steps, scales, zeros = _in_pieces(blocks, bits, zero_points and bits == 4)
    wide = scales.astype(np.float64)[..., None]
    back = ((steps - (0 if zeros is None else zeros[..., None])) * wide).reshape(n, -1)[:, :k]
    flat = steps.reshape(n, -1)[:, :k]
    dtype = DType.I8 if bits == 8 else DType.I4 if zeros is None else DType.U4
    values = _constant(name, np.ascontiguousarray(flat.astype(dtype.numpy)), dtype)
    made = _constant(f"{name}.scales", scales, DType.from_numpy(scales.dtype))
    zero = None
    if zeros is not None:
        zero = _constant(f"{name}.zero_points", zeros.astype(DType.U4.numpy), DType.U4)
    size = dtype.bytes_of(n * k) + scales.nbytes
    size += 0 if zeros is None else DType.U4.bytes_of(zeros.size)
    kind = f"{dtype.public_name} in blocks of {block}"
    record = _record(source, name, dtype.public_name, kind, size, data, back, ())
    return Blocks(values, made, zero, back, record)


def _in_pieces(blocks: Floats, bits: int, shifted: bool) -> tuple[Floats, Array, Floats | None]:
    """_least_error over some rows at a time, which bounds its memory."""
    each = max(1, _PIECE // max(1, blocks[:1].size))
    found = [
        _least_error(blocks[i : i + each], bits, shifted)
        for i in range(0, max(1, len(blocks)), each)
    ]
    # All scales of a tensor have one type: float32 if one of them needs it.
    steps, scales = (np.concatenate([f[k] for f in found]) for k in (0, 1))
    zeros = [z for _, _, z in found if z is not None]
    return steps, scales, np.concatenate(zeros) if zeros else None


def _least_error(blocks: Floats, bits: int, shifted: bool) -> tuple[Floats, Array, Floats | None]:
    """Steps, scales and zero points of blocks along the last axis. With 4 bits the largest values may be
    clipped if the finer steps reduce the total error.
    """
    tries = _SHRUNK if bits == 4 else (1.0,)
    found = [_steps(blocks, bits, shifted, f) for f in tries]
    errors = []
    for steps, scales, zeros in found:
        offset = 0.0 if zeros is None else zeros[..., None]
        back = (steps - offset) * scales.astype(np.float64)[..., None]
        errors.append(np.square(back - blocks).sum(axis=2))
    best = np.argmin(errors, axis=0)
    steps = np.choose(best[..., None], [s for s, _, _ in found])
    scales = np.choose(best, [s for _, s, _ in found])
    offsets = [z for _, _, z in found if z is not None]
    return steps, scales, np.choose(best, offsets) if offsets else None


def _steps(
    blocks: Floats, bits: int, shifted: bool, factor: float
) -> tuple[Floats, Array, Floats | None]:
    """The same for steps of `factor` times the one that covers all values."""
    if not shifted:
        top = 7 if bits == 4 else 127
        scales = _storable(np.abs(blocks).max(axis=2) * (factor / top))
        steps = np.rint(blocks / scales[..., None].astype(np.float64))
        # -8 is available too, +8 is not.
        return np.clip(steps, -top - (bits == 4), top), scales, None
    lo = np.minimum(blocks.min(axis=2), 0.0) * factor
    hi = np.maximum(blocks.max(axis=2), 0.0) * factor
    scales = _storable((hi - lo) / 15)
    wide = scales.astype(np.float64)
    zeros = np.clip(np.rint(-lo / wide), 0, 15)
    return np.clip(np.rint(blocks / wide[..., None]) + zeros[..., None], 0, 15), scales, zeros


def _storable(scales: Floats) -> Array:
    """Scales in float16 if each is exact enough there, else in float32; zeros become 1."""
    filled = np.where(scales > 0, scales, 1.0)
    half = np.finfo(np.float16)
    if filled.max(initial=1.0) < float(half.max) and filled.min(initial=1.0) >= float(
        half.smallest_normal
    ):
        return filled.astype(np.float16)
    return np.maximum(filled, float(np.finfo(np.float32).smallest_normal)).astype(np.float32)


def half_weights(w: Value, name: str) -> Rounded | None:
    """A float16 constant; None if a value would become infinite."""
    assert w.constant is not None
    with np.errstate(over="ignore"):
        half = w.constant.astype(np.float16)
    if not np.isfinite(half).all():
        return None
    stored = _constant(name, half, DType.F16)
    back = half.astype(np.float64)
    data = w.constant.astype(np.float64)
    return Rounded(
        stored, back, _record(w, name, "float16", "float16", half.nbytes, data, back, ())
    )


def constant_operand(v: Value, name: str, quant: Quant) -> Value:
    """A constant operand of a sum or product, under per-tensor parameters."""
    assert v.constant is not None
    data = np.rint(v.constant.astype(np.float64) / quant.scale) + quant.zero_point
    return _constant(name, np.clip(data, -128, 127).astype(np.int8), DType.QS8, quant)


def sqnr_db(signal: Array, back: Array) -> float:
    """Signal-to-noise ratio in decibels; infinite when equal."""
    a = signal.astype(np.float64)
    noise = float(np.square(a - back.astype(np.float64)).sum())
    power = float(np.square(a).sum())
    if noise == 0:
        return math.inf
    return 10 * math.log10(power / noise) if power > 0 else -math.inf


def _constant(name: str, array: Array, dtype: DType, quant: Quant | None = None) -> Value:
    data: npt.NDArray[Any] = np.ascontiguousarray(array).reshape(array.shape)
    data.flags.writeable = False
    return Value(name, TensorType.of(dtype, data.shape, quant), data)


def _record(
    source: Value,
    name: str,
    dtype: str,
    kind: str,
    size: int,
    data: Array,
    back: Array,
    dead: tuple[int, ...],
) -> WeightRecord:
    assert source.constant is not None
    return WeightRecord(
        source.name,
        name,
        kind,
        tuple(source.constant.shape),
        dtype,
        int(source.constant.nbytes),
        size,
        sqnr_db(data, back),
        dead,
    )
