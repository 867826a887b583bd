# SPDX-License-Identifier: Apache-2.0
"""Tables of the audio reference as integers: docs/guides/preprocessing-audio.md, "Tables".

The numbers are Python's, so nothing overflows, and `//` and `>>` round down as on the page.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Sequence

from samara.pybridge.audio_record import AudioRecord
from samara.pybridge.errors import ShapeError

ONE = 1 << 62  # 1.0 while tables are computed
PI = 0xC90FDAA22168C234  # pi * 2^62
INVERSE_PI = 0x145F306DC9C882A5  # 2^62 / pi
LN2 = 0x2C5C85FDF473DE6A  # ln 2 * 2^62
LOG_BITS = 48
MAX_WEIGHTS = 1 << 18  # of one resampling filter: 1 MiB
ZEROS = 16  # zero crossings of the resampling filter on each side


def mul(a: int, b: int) -> int:
    """a * b of two numbers >= 0 with 62 fractional bits.

    >>> mul(ONE // 2, ONE // 2) == ONE // 4
    True
    """
    return a * b >> 62


def rounded(value: int, bits: int) -> int:
    """value / 2^bits, to the nearest whole number, halves up.

    >>> rounded(3, 1), rounded(-3, 1)
    (2, -1)
    """
    return value + (1 << bits >> 1) >> bits


# ---- functions ----


def _octant(series_of_sine: bool, angle: int) -> int:
    square = mul(angle, angle)
    acc = ONE
    for n in range(20 if series_of_sine else 19, 0, -2):
        acc = ONE - mul(square, acc) // (n * (n + 1))
    return mul(angle, acc) if series_of_sine else acc


def sine(a: int, b: int) -> int:
    """sin(2 pi a / b) with 62 fractional bits, a >= 0, 0 < b < 2^30.

    >>> sine(1, 12) / ONE, sine(3, 4) / ONE
    (0.5, -1.0)
    """
    quarter, rest = divmod(4 * (a % b), b)
    if quarter % 2 == 1:
        rest = b - rest
    if 2 * rest > b:
        value = _octant(False, PI // (2 * b) * (b - rest))
    else:
        value = _octant(True, PI // (2 * b) * rest)
    return -value if quarter >= 2 else value


def cosine(a: int, b: int) -> int:
    """cos(2 pi a / b) with 62 fractional bits.

    >>> cosine(0, 8) == ONE
    True
    """
    return sine(4 * a + b, 4 * b)


def log2(n: int) -> int:
    """The binary logarithm of 1 <= n < 2^64, with 48 fractional bits.

    >>> log2(8) == 3 << 48
    True
    """
    m = n << 64 - n.bit_length()
    log = n.bit_length() - 1
    for _ in range(LOG_BITS):
        m = m * m >> 64
        log = 2 * log + (m >> 63)
        m = m if m >> 63 else m << 1
    return log


def exp2(fraction: int) -> int:
    """2^(fraction / 2^48) for 0 <= fraction < 2^48, with 62 fractional bits.

    >>> exp2(0) == ONE
    True
    """
    t = mul(fraction << 14, LN2)
    acc = ONE
    for n in range(20, 0, -1):
        acc = ONE + mul(t, acc) // n
    return acc


def fixed(value: float, bits: int) -> int:
    """A float32 with `bits` fractional bits, halves away from zero.

    >>> fixed(0.375, 2), fixed(-0.375, 2)
    (2, -2)
    """
    (held,) = struct.unpack("<f", struct.pack("<f", value))
    numerator, denominator = float(held).as_integer_ratio()
    magnitude = (2 * abs(numerator) * (1 << bits) + denominator) // (2 * denominator)
    return -magnitude if numerator < 0 else magnitude


def power_of(value: float) -> tuple[int, int]:
    """A float32 >= 0 as (m, e), m * 2^e, m of 32 bits, or (0, 0).

    >>> power_of(1.0)
    (2147483648, -31)
    """
    (held,) = struct.unpack("<f", struct.pack("<f", value))
    if held == 0:
        return (0, 0)
    mantissa, exponent = math.frexp(held)
    return (int(mantissa * (1 << 32)), exponent - 32)


# ---- tables of a record ----


def window(record: AudioRecord) -> list[int]:
    """The window's values, 40 fractional bits."""
    size = record.window
    period = size - 1 if record.symmetric else size
    return [_window_value(record.shape, n, max(1, period)) for n in range(size)]


def _window_value(shape: str, n: int, period: int) -> int:
    if shape == "none":
        return 1 << 40
    if shape == "sine":
        return rounded(abs(sine(n, 2 * period)), 22)
    if shape == "hamming":
        return rounded((27 * (1 << 56) - 23 * (cosine(n, period) >> 6)) // 50, 16)
    hann = ONE - cosine(n, period)  # twice its value
    if shape == "hann":
        return rounded(hann, 23)
    if hann >> 1 == 0:
        return 0
    down = ((62 << LOG_BITS) - log2(hann >> 1)) * 17 // 20  # povey: hann^0.85
    whole = -(-down >> LOG_BITS)
    return rounded(exp2((whole << LOG_BITS) - down), 22 + whole) if whole < 40 else 0


@functools.lru_cache(maxsize=64)
def twiddles(n: int, count: int) -> tuple[list[int], list[int]]:
    """cos and -sin of 2 pi k / n for k < count, 40 fractional bits."""
    real = [rounded(cosine(k, n), 22) for k in range(count)]
    imaginary = [rounded(-sine(k, n), 22) for k in range(count)]
    return real, imaginary


def _muldiv(a: int, b: int, c: int) -> int:
    return a * b // c


class _Scale:
    """A mel scale: converts hertz with 32 fractional bits to mels with 48, and back."""

    def __init__(self, slaney: bool) -> None:
        self.slaney = slaney
        self.octaves = (6 << LOG_BITS) - log2(10)  # log2(6.4)

    def mel(self, hertz: int) -> int:
        if not self.slaney:
            return log2((700 << 32) + hertz) - log2(700 << 32)
        if hertz < 1000 << 32:
            return hertz * 3 * (1 << 16) // 200
        above = log2(hertz) - log2(1000 << 32)
        return (15 << LOG_BITS) + _muldiv(27 * above, 1 << LOG_BITS, self.octaves)

    def hertz(self, mel: int) -> int:
        if self.slaney and mel < 15 << LOG_BITS:
            return _muldiv(mel, 200 << 32, 3 << LOG_BITS)
        if self.slaney:
            mel = _muldiv(mel - (15 << LOG_BITS), self.octaves, 27 << LOG_BITS)
        grown = exp2(mel & (1 << LOG_BITS) - 1) >> 12 << (mel >> LOG_BITS)
        if self.slaney:
            return _muldiv(grown, 1000 << 32, 1 << 50)
        return _muldiv(grown - (1 << 50), 700 << 32, 1 << 50)


def bands(record: AudioRecord) -> list[tuple[int, list[int], tuple[int, int]]]:
    """Each mel band as (first bin, weights with 31 fractional bits, its norm as m * 2^e)."""
    scale = _Scale(record.mel == "slaney")
    low, high = scale.mel(fixed(record.low, 32)), scale.mel(fixed(record.high, 32))
    count = record.bins
    mels = [low + _muldiv(j, high - low, count + 1) for j in range(count + 2)]
    hertz = [scale.hertz(m) for m in mels]
    edges = hertz if record.triangles == "hz" else mels
    places = [(k * record.rate << 32) // record.fft for k in range(record.fft // 2 + 1)]
    if record.triangles == "mel":
        places = [scale.mel(place) for place in places]
    made = []
    for j in range(count):
        weights = [
            0 if k < record.first else _triangle(place, *edges[j : j + 3])
            for k, place in enumerate(places)
        ]
        kept = [k for k, weight in enumerate(weights) if weight > 0]
        start, end = (kept[0], kept[-1] + 1) if kept else (0, 0)
        norm = _reciprocal(hertz[j + 2] - hertz[j]) if record.norm == "slaney" else (1 << 31, -31)
        made.append((start, weights[start:end], norm))
    return made


def _triangle(place: int, low: int, middle: int, high: int) -> int:
    if low < place <= middle:
        return _muldiv(place - low, 1 << 31, middle - low)
    if middle < place < high:
        return _muldiv(high - place, 1 << 31, high - middle)
    return 0


def _reciprocal(width: int) -> tuple[int, int]:
    """2 / width in hertz as m * 2^e; width has 32 fractional bits."""
    bits = width.bit_length()
    m = _muldiv(1 << bits - 1, 1 << 32, width)
    return (1 << 31, 3 - bits) if m >> 32 else (m, 2 - bits)


def cosines(record: AudioRecord) -> list[list[int]]:
    """The rows of the cosine transform, one per coefficient, 20 fractional bits."""
    count, lifter = record.bins, record.lifter
    rows = []
    for k in range(record.coefficients):
        norm = math.isqrt((ONE >> (2 if record.dct == "ortho" and k == 0 else 1)) // count)
        row = [(cosine(k * (2 * b + 1), 4 * count) >> 30) * norm for b in range(count)]
        if lifter:
            lift = (1 << 24) + (lifter * rounded(sine(k, 2 * lifter), 22) >> 17)
            rows.append([rounded((value >> 32) * lift, 34) for value in row])
        else:
            rows.append([rounded(value, 42) for value in row])
    return rows


@functools.lru_cache(maxsize=64)
def resampler(rate: int, to: int) -> tuple[int, int, int, Sequence[Sequence[int]]]:
    """(L, M, W, weights[L][2 W]) that turn samples of `rate` per second into `to` per second.

    Output n is the sum over q of weights[n M % L][q] * x[n M // L - W + 1 + q], 31 fractional bits.

    >>> up, down, half, weights = resampler(48000, 16000)
    >>> up, down, half, round(sum(weights[0]) / 2**31, 4)
    (1, 3, 51, 1.0)
    """
    least, most = 1000, 192000
    shared = math.gcd(rate, to)
    up, down = to // shared, rate // shared
    unit = 20 * max(up, down)  # j / L input samples are 19 j / unit zero crossings
    half = -(-ZEROS * unit // (19 * up))
    if not least <= rate <= most or up * 2 * half > MAX_WEIGHTS:
        raise ShapeError(
            f"samples of {rate} per second do not become {to} per second: {up * 2 * half} weights,"
            f" expected at most {MAX_WEIGHTS}, and a rate of {least}..{most}",
            fix="record at a rate that shares a large factor with the model's, for example 48000",
        )
    table = [
        [_weight(abs(p - q * up), unit, up, down) for q in range(-half + 1, half + 1)]
        for p in range(up)
    ]
    return up, down, half, table


def _weight(j: int, unit: int, up: int, down: int) -> int:
    if 19 * j >= ZEROS * unit:
        return 0
    if j == 0:
        sinc = ONE
    else:
        wave = sine(19 * j, 2 * unit)
        sinc = mul(abs(wave), INVERSE_PI) * unit // (19 * j)
        sinc = -sinc if wave < 0 else sinc
    taper = ONE + cosine(19 * j, 2 * ZEROS * unit) >> 1
    value = mul(abs(sinc), taper) // (20 * down) * (19 * min(up, down))
    return -rounded(value, 31) if sinc < 0 else rounded(value, 31)
