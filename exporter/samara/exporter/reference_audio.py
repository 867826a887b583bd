# SPDX-License-Identifier: Apache-2.0
"""The reference of audio pre-processing: docs/guides/preprocessing-audio.md step by step, in numpy.

It takes a whole signal at once, so it has no streaming logic that could be wrong. Except for the last
step all arithmetic is on int64 and uint64 arrays that do not overflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from samara.exporter import reference_audio_tables as tables
from samara.pybridge.audio_record import AudioRecord
from samara.pybridge.audio_text import DTYPES
from samara.pybridge.errors import ShapeError

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]

SAMPLE_BITS = 40
TRANSFORM_BITS = 42  # bits of the largest sum in a transform
LIMIT = 2 << SAMPLE_BITS  # samples are clamped to -2.0 .. 2.0
LOG_BITS = 22
# Units per log2 with 26 fractional bits: ln 2, log10 2, 10 log10 2.
LOG_UNITS = {"ln": 46516320, "log10": 20201781, "db": 202017810}


def features(record: AudioRecord, samples: Array, rate: int) -> Array:
    """All frames of a signal: [frames, features * parts] in the record's dtype.

    samples: int16 or float32, [n] or [n, channels], at `rate` per second. Integer records must have
    `quant`. ShapeError for other samples.

    >>> record = AudioRecord.parse("samples float32 tf rate=8000 window=2")
    >>> features(record, np.array([0, 16384, -32768, 1], np.int16), 8000)[:, 0].tolist()
    [0.0, -1.0]
    """
    signal = resample(mono(samples), rate, record.rate)
    frames = cut(record, signal)
    if record.kind == "samples":
        return elements(record, _floats(frames, -SAMPLE_BITS + _unit(record)))
    return elements(record, _features(record, *transform(record, frames)))


def tensors(record: AudioRecord, samples: Array, rate: int) -> Array:
    """All tensors of a signal, [tensors, *record.tensor_shape]. A tensor has `frames` frames, and the next
    begins `step` frames later; frames that do not fill a tensor are dropped.

    >>> record = AudioRecord.parse("samples float32 ft rate=8000 window=1 frames=2 step=1")
    >>> (tensors(record, np.arange(3, dtype=np.int16), 8000) * 32768).tolist()
    [[[0.0, 1.0]], [[1.0, 2.0]]]
    """
    made = features(record, samples, rate).reshape(-1, 1, record.features, record.parts)
    starts = range(0, len(made) - record.frames + 1, record.step)
    if not starts:
        return np.zeros((0, *record.tensor_shape), made.dtype)
    chunks = np.stack([made[t : t + record.frames] for t in starts])
    axes = ["tensors", *"tnfc"]
    order = [axes.index(letter) for letter in record.layout]
    left = [i for i in range(1, 5) if i not in order]  # of length 1
    return chunks.transpose(0, *order, *left).reshape(len(chunks), *record.tensor_shape)


def _unit(record: AudioRecord) -> int:
    return record.unit.bit_length() - 1


# ---- 1 to 3: samples ----


def mono(samples: Array) -> Ints:
    """Step 1: the mean of the channels, with 40 fractional bits."""
    array = np.asarray(samples)
    if (
        array.dtype not in (np.int16, np.float32)
        or array.ndim not in (1, 2)
        or 0 in array.shape[1:]
    ):
        raise ShapeError(
            f"samples are {array.dtype} {list(array.shape)}, expected int16 or float32 [n] or"
            " [n, channels]",
            fix="convert them first",
        )
    if array.dtype == np.int16:
        fixed = array.astype(np.int64) << (SAMPLE_BITS - 15)
    else:
        wide = np.nan_to_num(array.astype(np.float64), nan=0.0, posinf=2.0, neginf=-2.0)
        scaled = np.clip(wide, -2.0, 2.0) * 2.0**SAMPLE_BITS
        fixed = (np.sign(scaled) * np.floor(np.abs(scaled) + 0.5)).astype(np.int64)
    if fixed.ndim == 1:
        return fixed
    channels = fixed.shape[1]
    return np.asarray((fixed.sum(axis=1) + channels // 2) // channels, np.int64)


def resample(signal: Ints, rate: int, to: int) -> Ints:
    """Step 2: the signal at `to` samples per second; ceil(n L / M) samples."""
    if rate == to:
        return signal
    up, down, half, table = tables.resampler(rate, to)
    weights = np.array(table, np.int64)
    count = -(-len(signal) * up // down)
    padded = np.concatenate([np.zeros(half, np.int64), signal, np.zeros(half + 1, np.int64)])
    made = np.zeros(count, np.int64)
    for n in range(count):
        place, phase = divmod(n * down, up)
        x = padded[place + 1 : place + 1 + 2 * half]
        high = int(np.sum((x >> 16) * weights[phase]))
        low = int(np.sum((x & 0xFFFF) * weights[phase]))
        made[n] = tables.rounded(high + (low >> 16), 15)
    return np.clip(made, -LIMIT, LIMIT)


def cut(record: AudioRecord, signal: Ints) -> Ints:
    """Step 3: frames of the window's length, [frames, window]."""
    window, hop = record.window, record.hop
    lead = lead_of(record)
    if record.center:
        count = 1 + len(signal) // hop if len(signal) else 0
    else:
        count = max(0, 1 + (lead + len(signal) - window) // hop)
    end = max(0, count - 1) * hop + window
    padded = np.concatenate([np.zeros(lead, np.int64), signal])
    padded = np.concatenate([padded, np.zeros(max(0, end - len(padded)), np.int64)])
    if count == 0:
        return np.zeros((0, window), np.int64)
    return np.stack([padded[t * hop : t * hop + window] for t in range(count)])


def lead_of(record: AudioRecord) -> int:
    """Zeros before the first sample."""
    return record.fft // 2 - (record.fft - record.window) // 2 if record.center else record.lead


# ---- 4 and 5: the spectrum ----


def product(x: Ints, w: Ints | int, bits: int) -> Ints:
    """x * w / 2^bits, to the nearest, halves up; |x| < 2^43, |w| <= 2^40, bits >= 23."""
    high, low = x >> 22, x & 0x3FFFFF
    return (high * w + (low * w >> 22) + (1 << (bits - 23))) >> (bits - 22)


def _complex_product(xr: Ints, xi: Ints, wr: Ints, wi: Ints) -> tuple[Ints, Ints]:
    low = 0x3FFFFF
    hr, hi, lr, li = xr >> 22, xi >> 22, xr & low, xi & low
    real = (hr * wr - hi * wi + (lr * wr - li * wi >> 22) + (1 << 17)) >> 18
    imaginary = (hr * wi + hi * wr + (lr * wi + li * wr >> 22) + (1 << 17)) >> 18
    return real, imaginary


def shaped(record: AudioRecord, frames: Ints) -> tuple[Ints, Ints]:
    """Step 4: mean, pre-emphasis and window: [frames, fft], and the number of fractional bits per frame."""
    x = frames
    if record.dc:
        x = x - (x.sum(axis=1, keepdims=True) + record.window // 2) // record.window
    if record.preemphasis:
        before = np.concatenate([x[:, :1], x[:, :-1]], axis=1)
        x = x - product(before, tables.fixed(record.preemphasis, 40), 40)
    made = np.zeros((len(x), record.fft), np.int64)
    made[:, : record.window] = product(x, np.array(tables.window(record), np.int64), 40)
    largest = bit_length(np.abs(made).max(axis=1, initial=0).astype(np.uint64))
    cut_off = np.maximum(0, largest + record.fft.bit_length() - 1 - TRANSFORM_BITS)
    return _rounded(made, cut_off[:, None]), SAMPLE_BITS - cut_off


def transform(record: AudioRecord, frames: Ints) -> tuple[Ints, Ints, Ints]:
    """Steps 4 and 5: real and imaginary parts of the spectrum, [frames, fft / 2 + 1], and the fractional
    bits per frame. There is one more than before, because the transform computes twice the spectrum.
    """
    x, bits = shaped(record, frames)
    n = record.fft
    half = n // 2
    zr, zi = _fft(x[:, 0::2], x[:, 1::2])
    zr, zi = np.concatenate([zr, zr[:, :1]], axis=1), np.concatenate([zi, zi[:, :1]], axis=1)
    mirror = half - np.arange(half + 1)
    ar, ai = zr + zr[:, mirror], zi - zi[:, mirror]
    br, bi = zr - zr[:, mirror], zi + zi[:, mirror]
    wr, wi = (np.array(t, np.int64) for t in tables.twiddles(n, half + 1))
    tr, ti = _complex_product(br, bi, wr, wi)
    return ar + ti, ai - tr, bits + 1


def _fft(real: Ints, imaginary: Ints) -> tuple[Ints, Ints]:
    n = real.shape[1]
    if n == 1:
        return real, imaginary
    er, ei = _fft(real[:, 0::2], imaginary[:, 0::2])
    odd_r, odd_i = _fft(real[:, 1::2], imaginary[:, 1::2])
    wr, wi = (np.array(t, np.int64) for t in tables.twiddles(n, n // 2))
    tr, ti = _complex_product(odd_r, odd_i, wr, wi)
    return np.concatenate([er + tr, er - tr], 1), np.concatenate([ei + ti, ei - ti], 1)


# ---- 6 to 8: features ----


def bit_length(x: Bits) -> Ints:
    """The number of bits of each value, 0 for 0."""
    count = np.zeros(x.shape, np.int64)
    rest = x.copy()
    for step in (32, 16, 8, 4, 2, 1):
        more = rest >> np.uint64(step) > 0
        count += np.where(more, step, 0)
        rest = np.where(more, rest >> np.uint64(step), rest)
    return count + (rest > 0)


def _shift(x: Bits, left: Ints) -> Bits:
    """x * 2^left, rounded down; it must not overflow."""
    up = np.clip(left, 0, 63).astype(np.uint64)
    down = np.clip(-left, 0, 63).astype(np.uint64)
    return np.where(left <= -64, np.uint64(0), x << up >> down)


def magnitudes(record: AudioRecord, real: Ints, imaginary: Ints, bits: Ints) -> tuple[Bits, Ints]:
    """Step 6: power or magnitude of each bin as m * 2^e. bits: fractional bits per frame."""
    largest = np.maximum(np.abs(real), np.abs(imaginary))
    cut_off = np.maximum(0, bit_length(largest.astype(np.uint64)) - 31)
    r, i = (_rounded(np.abs(part), cut_off).astype(np.uint64) for part in (real, imaginary))
    power = r * r + i * i
    exponent = cut_off - bits[:, None] + _unit(record)
    return (power, 2 * exponent) if record.spectrum == "power" else (_root(power), exponent)


def _rounded(x: Ints, bits: Ints) -> Ints:
    return np.asarray((x + (1 << bits >> 1)) >> bits, np.int64)


def _root(x: Bits) -> Bits:
    """The integer square root, rounded down."""
    root = np.sqrt(x.astype(np.float64)).astype(np.uint64)
    root = np.where(root * root > x, root - np.uint64(1), root)
    return np.where((root + np.uint64(1)) ** 2 <= x, root + np.uint64(1), root)


def normalised(m: Bits, e: Ints) -> tuple[Bits, Ints]:
    """m * 2^e with m reduced to 32 bits; 0 stays (0, 0)."""
    left = 32 - bit_length(m)
    return _shift(m, left), np.where(m > 0, e - left, 0)


def mel_bands(record: AudioRecord, m: Bits, e: Ints) -> tuple[Bits, Ints]:
    """Step 7: weighted sums of bins, each as m * 2^e with m of 32 bits."""
    made = []
    for start, weights, (norm_m, norm_e) in tables.bands(record):
        some = slice(start, start + len(weights))
        sizes = np.where(m[:, some] > 0, bit_length(m[:, some]) + e[:, some], -(1 << 20))
        top = sizes.max(axis=1, initial=-(1 << 20))
        aligned = _shift(m[:, some], e[:, some] - top[:, None] + 31)
        terms = aligned * np.array(weights, np.uint64) >> np.uint64(11)
        total, exponent = normalised(terms.sum(axis=1, dtype=np.uint64), top - 51)
        made.append(normalised(total * np.uint64(norm_m), exponent + norm_e))
    return np.stack([b[0] for b in made], 1), np.stack([b[1] for b in made], 1)


def logarithms(record: AudioRecord, m: Bits, e: Ints) -> Ints:
    """Step 8: the logarithm of max(m * 2^e + offset, floor), with 22 fractional bits."""
    m, e = _add(m, e, *tables.power_of(record.offset))
    floor_m, floor_e = tables.power_of(record.floor)
    below = (m == 0) | (e < floor_e) | ((e == floor_e) & (m < np.uint64(floor_m)))
    m, e = np.where(below, np.uint64(floor_m), m), np.where(below, floor_e, e)
    log = e + 31
    for _ in range(26):
        m = m * m >> np.uint64(32)
        one = m >> np.uint64(31)
        log = 2 * log + one.astype(np.int64)
        m = np.where(one > 0, m, m << np.uint64(1))
    return np.asarray((log * LOG_UNITS[record.log] + (1 << 29)) >> 30, np.int64)


def _add(m: Bits, e: Ints, other_m: int, other_e: int) -> tuple[Bits, Ints]:
    if other_m == 0:
        return m, e
    their_m, their_e = np.full_like(m, other_m), np.full_like(e, other_e)
    larger = (m > 0) & (e >= other_e)
    top_m, top_e = np.where(larger, m, their_m), np.where(larger, e, their_e)
    low_m, low_e = np.where(larger, their_m, m), np.where(larger, their_e, e)
    return normalised(top_m + _shift(low_m, np.minimum(0, low_e - top_e)), top_e)


def _features(record: AudioRecord, real: Ints, imaginary: Ints, bits: Ints) -> Array:
    if record.spectrum == "complex":
        both = np.stack([real, imaginary], axis=2).reshape(len(real), 2 * record.features)
        return _floats(both, _unit(record) - bits[:, None])
    m, e = magnitudes(record, real, imaginary, bits)
    if record.kind == "spectrum":
        return _powers(m, e)
    m, e = mel_bands(record, m, e)
    if record.kind == "mel":
        return _powers(m, e)
    logs = logarithms(record, m, e)
    if record.kind == "logmel":
        return _floats(logs, -LOG_BITS)
    rows = np.array(tables.cosines(record), np.int64)
    return _floats((logs @ rows.T + (1 << 19)) >> 20, -LOG_BITS)


# ---- 9: elements ----


def _floats(x: Ints, exponent: Ints | int) -> Array:
    return np.asarray(np.ldexp(x.astype(np.float32), exponent), np.float32)


def _powers(m: Bits, e: Ints) -> Array:
    """The nearest float32 of m * 2^e; 0 if it is below 2^-126."""
    m, e = normalised(m, e)
    made = np.ldexp(m.astype(np.float32), np.maximum(e, -157).astype(np.int32))
    return np.where(e < -157, np.float32(0), made).astype(np.float32)


def elements(record: AudioRecord, values: Array) -> Array:
    """Step 9: float32 features to elements of the tensor."""
    y = np.asarray(values, np.float32)
    if record.mean:
        y = y - np.array(record.mean, np.float32)
    if record.scale:
        y = y * np.array(record.scale, np.float32)
    ends = DTYPES[record.dtype]
    if ends is None:
        with np.errstate(over="ignore"):
            return np.asarray(y, np.dtype(record.dtype))
    scale, zero = record.quantized().quant or (1.0, 0)
    low, high = np.float32(ends[0] - zero), np.float32(ends[1] - zero)
    steps = np.rint(np.clip(y / np.float32(scale), low, high))
    return np.asarray(steps.astype(np.int32) + zero, np.dtype(record.dtype))
