# SPDX-License-Identifier: Apache-2.0
"""Observers: they read a tensor's values chunk by chunk and choose the range that its 8-bit form covers.

All are streaming with bounded memory. Their result depends on the values only, not on their order or on
how they were split; the exception is the moving average, which depends on the order by design.
"""

from __future__ import annotations

import copy
import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from samara.exporter.types import Quant, QuantizationError

Array = npt.NDArray[np.generic]
Floats = npt.NDArray[np.float64]
Range = tuple[float, float]

_BINS: Final = 4096
_EXACT_F32: Final = 1 << 23  # bin indices below this are exact in float32
# A larger chunk is read with a prime stride, which avoids the periods of images and channels.
_LARGEST_PIECE: Final = 1 << 18
_STRIDES: Final = (1, 3, 7, 13, 29, 61, 127, 251, 509, 1021, 2039, 4093)
_LEVELS: Final = 256
_CANDIDATES: Final = 100
# m = (s_a * s_w) / s_y must be a normal float32 for any combination, so scales stay within these.
_SMALLEST_SCALE: Final = 2.0**-60
_LARGEST_SCALE: Final = 2.0**60


class Observer(Protocol):
    """Reads arrays, then gives the range (lo, hi) to cover."""

    def update(self, array: Array) -> None:
        """Read another chunk; NaN and infinities are skipped."""

    def range(self) -> Range:
        """The chosen range; QuantizationError if no finite value was read."""


def choose_parameters(lo: float, hi: float, symmetric: bool = False) -> Quant:
    """Per-tensor parameters for values in lo..hi, widened to contain 0, which is exact.

    Asymmetric: -128..127 spans the range. Symmetric: -127..127, zero point 0. A range of only 0 gets
    scale 1.
    """
    if not (math.isfinite(lo) and math.isfinite(hi)) or lo > hi:
        raise QuantizationError(
            f"{lo} to {hi} is not a range", fix="calibrate with data that is finite"
        )
    lo, hi = min(lo, 0.0), max(hi, 0.0)
    if symmetric:
        return Quant.per_tensor(_scale(max(-lo, hi) / 127))
    scale = float(np.float32(_scale((hi - lo) / 255)))
    zero_point = int(np.clip(np.rint(-128 - lo / scale), -128, 127))
    return Quant.per_tensor(scale, zero_point)


def _scale(value: float) -> float:
    return min(max(value, _SMALLEST_SCALE), _LARGEST_SCALE) if value > 0 else 1.0


def channel_scales(weights: Array, axis: int | None, levels: int = 127) -> npt.NDArray[np.float32]:
    """Symmetric scales of weights per index of `axis` (None: one), so that the largest magnitude
    is `levels` steps. A channel of zeros takes the largest scale of the others.
    """
    flat = np.abs(weights.astype(np.float64))
    others = tuple(a for a in range(weights.ndim) if a != axis)
    largest = np.atleast_1d(flat.max(axis=others if axis is not None else None, initial=0.0))
    if not np.isfinite(largest).all():
        raise QuantizationError("weights hold NaN or infinity", fix="train or convert them again")
    top = float(largest.max(initial=0.0))
    scales = np.where(largest > 0, largest, top if top > 0 else levels) / levels
    return np.clip(scales, _SMALLEST_SCALE, _LARGEST_SCALE).astype(np.float32)


class Histogram:
    """Counts in at most 4096 bins whose width, a power of two, doubles when the range grows.

    Edges are multiples of the width, so doubling merges neighbours exactly, and 0 is an edge.
    """

    def __init__(self) -> None:
        self.exponent = 0  # the width is 2 to this
        self.first = 0  # the index of the first bin: it begins at first * width
        self.counts: npt.NDArray[np.int64] = np.zeros(0, np.int64)

    @property
    def width(self) -> float:
        return math.ldexp(1.0, self.exponent)

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def edges(self) -> Floats:
        """The bin edges, one more than bins."""
        return np.asarray((self.first + np.arange(len(self.counts) + 1)) * self.width)

    def centres(self) -> Floats:
        return np.asarray((self.first + np.arange(len(self.counts)) + 0.5) * self.width)

    def add(self, values: Array) -> None:
        """Count finite values."""
        data = values.reshape(-1)
        if data.size == 0:
            return
        self._cover(float(data.min()), float(data.max()))
        self.counts += np.bincount(self._bins(data), minlength=len(self.counts))

    def merge(self, other: Histogram) -> None:
        """Add the counts of another histogram."""
        if not len(other.counts):
            return
        if not len(self.counts):
            self.exponent, self.first = other.exponent, other.first
            self.counts = other.counts.copy()
            return
        rest = copy.copy(other)
        while self.exponent != rest.exponent or not self._reaches(rest):
            (rest if rest.exponent < self.exponent else self)._double()
        low = min(self.first, rest.first)
        high = max(self.first + len(self.counts), rest.first + len(rest.counts))
        counts = np.zeros(high - low, np.int64)
        for part in (self, rest):
            counts[part.first - low : part.first - low + len(part.counts)] += part.counts
        self.first, self.counts = low, counts

    def outside(self, lo: float, hi: float) -> float:
        """The fraction of values below lo or above hi; bins count at their centres."""
        centres = self.centres()
        beyond = int(self.counts[(centres < lo) | (centres > hi)].sum())
        return beyond / max(1, self.total)

    def _bins(self, data: Array) -> npt.NDArray[np.intp]:
        """The index of each value's bin."""
        narrow = data.dtype == np.float32 and max(-self.first, self.first + _BINS) < _EXACT_F32
        kind = np.float32 if narrow and abs(self.exponent) < 126 else np.float64
        scaled: npt.NDArray[Any] = data.astype(kind)
        scaled *= kind(math.ldexp(1.0, -self.exponent))
        np.floor(scaled, out=scaled)
        scaled -= self.first
        return scaled.astype(np.intp)

    def _reaches(self, other: Histogram) -> bool:
        """Whether the bins of both, of one width, are few enough."""
        low = min(self.first, other.first)
        high = max(self.first + len(self.counts), other.first + len(other.counts))
        return high - low <= _BINS

    def _cover(self, lo: float, hi: float) -> None:
        """Extend the bins over lo..hi."""
        if not len(self.counts):
            span = max(hi - lo, max(abs(lo), abs(hi)) * 2.0**-20, 2.0**-100)
            self.exponent = math.frexp(span / _BINS)[1]
            self.first = self._index(lo)
            self.counts = np.zeros(1, np.int64)
        while True:
            low = min(self.first, self._index(lo))
            high = max(self.first + len(self.counts) - 1, self._index(hi))
            if high - low < _BINS:
                break
            self._double()
        counts = np.zeros(high - low + 1, np.int64)
        start = self.first - low
        counts[start : start + len(self.counts)] = self.counts
        self.first, self.counts = low, counts

    def _double(self) -> None:
        merged = (self.first + np.arange(len(self.counts))) // 2
        self.first = int(merged[0])
        self.counts = np.bincount(merged - self.first, weights=self.counts).astype(np.int64)
        self.exponent += 1

    def _index(self, value: float) -> int:
        return math.floor(math.ldexp(value, -self.exponent))


def finite(array: Array) -> Array:
    """The finite values, flat."""
    flat = np.ascontiguousarray(array).reshape(-1)
    good = np.isfinite(flat)
    return flat if good.all() else flat[good]


def thinned(flat: Array) -> Array:
    """At most about a quarter of a million values, at regular distances."""
    wanted = -(-flat.size // _LARGEST_PIECE)
    stride = next((s for s in _STRIDES if s >= wanted), wanted | 1)
    return flat[::stride]


class MinMax:
    """From the smallest to the largest value seen."""

    def __init__(self) -> None:
        self.lo, self.hi = math.inf, -math.inf

    def update(self, array: Array) -> None:
        seen = finite(array)
        if seen.size:
            self.lo = min(self.lo, float(seen.min()))
            self.hi = max(self.hi, float(seen.max()))

    def range(self) -> Range:
        return _seen(self.lo, self.hi)


class MovingAverage:
    """The smallest and largest value of each chunk, averaged over chunks with a decaying weight."""

    def __init__(self, momentum: float = 0.1) -> None:
        if not 0 < momentum <= 1:
            raise QuantizationError(f"momentum {momentum} is not in 0..1", fix="0.1 is common")
        self.momentum = momentum
        self.lo, self.hi = math.inf, -math.inf
        self.first: Range = (math.inf, -math.inf)
        self.count = 0

    def update(self, array: Array) -> None:
        seen = finite(array)
        if seen.size:
            self.add(float(seen.min()), float(seen.max()))

    def add(self, lo: float, hi: float) -> None:
        """Add a chunk with these extremes."""
        self.count += 1
        if self.lo > self.hi:
            self.lo, self.hi = self.first = lo, hi
        else:
            self.lo += self.momentum * (lo - self.lo)
            self.hi += self.momentum * (hi - self.hi)

    def merge(self, other: MovingAverage) -> None:
        """Add the chunks of another average of this momentum, as if they came after those of this one.

        An average that starts with x and sees n chunks is (1 - momentum)^n x plus a sum that does not depend on x.
        """
        if not self.count:
            self.lo, self.hi, self.first = other.lo, other.hi, other.first
        elif other.count:
            kept = (1 - self.momentum) ** other.count
            self.lo = other.lo + kept * (self.lo - other.first[0])
            self.hi = other.hi + kept * (self.hi - other.first[1])
        self.count += other.count

    def range(self) -> Range:
        return _seen(self.lo, self.hi)


class _FromHistogram:
    """Counts values in a histogram and chooses at the end."""

    def __init__(self) -> None:
        self.histogram = Histogram()
        self.extremes = MinMax()

    def update(self, array: Array) -> None:
        seen = finite(array)
        self.extremes.update(seen)
        self.histogram.add(thinned(seen))


class Percentile(_FromHistogram):
    """The range after cutting off the same number of values at both ends: 99.99 cuts off one in 20,000
    above, and below.
    """

    def __init__(self, percentile: float = 99.99) -> None:
        super().__init__()
        self.percentile = _checked_percentile(percentile)

    def range(self) -> Range:
        return percentile_range(self.histogram, self.extremes.range(), self.percentile)


class Entropy(_FromHistogram):
    """The range whose 256 levels lose the least information about the distribution (Kullback-Leibler;
    Migacz, "8-bit Inference with TensorRT", 2017).
    """

    def range(self) -> Range:
        return entropy_range(self.histogram, self.extremes.range())


class Mse(_FromHistogram):
    """The range with the least mean squared error of rounding and clipping."""

    def range(self) -> Range:
        return mse_range(self.histogram, self.extremes.range())


def percentile_range(histogram: Histogram, extremes: Range, percentile: float) -> Range:
    """Percentile's choice from counts. Values are assumed to be evenly distributed within a bin."""
    cumulative = np.concatenate(([0.0], np.cumsum(histogram.counts))) / max(1, histogram.total)
    edges, tail = histogram.edges(), (1 - percentile / 100) / 2
    lo = float(np.interp(tail, cumulative, edges))
    hi = float(np.interp(1 - tail, cumulative[1:], edges[1:]))
    lo, hi = max(lo, extremes[0]), min(hi, extremes[1])
    return (lo, hi) if lo <= hi else extremes


def entropy_range(histogram: Histogram, extremes: Range) -> Range:
    """Entropy's choice from counts."""
    return _best(extremes, lambda lo, hi: _divergence(histogram, lo, hi))


def mse_range(histogram: Histogram, extremes: Range) -> Range:
    """Mse's choice from counts."""
    used = histogram.counts > 0
    counts, centres = histogram.counts[used].astype(np.float64), histogram.centres()[used]
    return _best(extremes, lambda lo, hi: _squared_error(counts, centres, histogram.width, lo, hi))


Loss = Callable[[float, float], float]


def _best(extremes: Range, loss: Loss) -> Range:
    """The range with the least loss among smaller ranges: both ends scaled alike, then each separately."""
    lo, hi = min(extremes[0], 0.0), max(extremes[1], 0.0)
    if lo == hi:
        return extremes
    factors = [i / _CANDIDATES for i in range(1, _CANDIDATES + 1)]

    def pick(pairs: list[Range]) -> Range:
        # Of equal losses the wider range wins, which comes last.
        losses = [loss(a, b) for a, b in pairs]
        return min(reversed(list(zip(losses, pairs, strict=True))), key=lambda p: p[0])[1]

    a, b = pick([(lo * f, hi * f) for f in factors])
    if a < 0 < b:
        a, b = pick([(lo * f, b) for f in factors] + [(a, b)])
        a, b = pick([(a, hi * f) for f in factors] + [(a, b)])
    return a, b


def _squared_error(counts: Floats, centres: Floats, width: float, lo: float, hi: float) -> float:
    """Mean squared error of values in bins of this width under the parameters of lo..hi."""
    scale = (hi - lo) / (_LEVELS - 1)
    steps = np.rint(centres / scale)
    np.clip(steps, np.rint(lo / scale), np.rint(hi / scale), out=steps)
    error = centres - steps * scale
    error *= error
    # Bins wider than a step hide rounding errors, so add those of a uniform distribution.
    first, last = np.searchsorted(centres, lo, "left"), np.searchsorted(centres, hi, "right")
    spread = min(width, scale) ** 2 / 12 * float(counts[first:last].sum())
    return (float(counts @ error) + spread) / max(1.0, float(counts.sum()))


def _divergence(histogram: Histogram, lo: float, hi: float) -> float:
    """Kullback-Leibler divergence of the 256-level distribution from the clipped one.

    Values beyond the range are added to its ends in the reference distribution only. If they were in
    both, a range of one bin would be perfect after normalization.
    """
    edges = histogram.edges()
    first = int(np.clip(np.searchsorted(edges, lo, "right") - 1, 0, len(histogram.counts) - 1))
    last = int(np.clip(np.searchsorted(edges, hi, "left"), first + 1, len(histogram.counts)))
    inside = histogram.counts[first:last].astype(np.float64)
    reference = inside.copy()
    reference[0] += histogram.counts[:first].sum()
    reference[-1] += histogram.counts[last:].sum()
    groups = np.arange(len(inside)) * min(_LEVELS, len(inside)) // len(inside)
    zero = -histogram.first - first
    if 0 <= zero < len(inside):
        # Zeros, which are frequent behind a relu, are exact, so they form their own group.
        groups[zero] = groups[-1] + 1
    used = (inside > 0).astype(np.float64)
    mass = np.bincount(groups, weights=inside)
    share = np.bincount(groups, weights=used)
    spread = used * (mass / np.maximum(share, 1))[groups]
    total = max(reference.sum(), 1)
    p, q = reference / total, spread / total
    seen = p > 0
    # A bin that only clipped values fill has no counterpart; it counts as nearly impossible.
    return float((p[seen] * np.log(p[seen] / np.maximum(q[seen], 1e-9))).sum())


def _seen(lo: float, hi: float) -> Range:
    if lo > hi:
        raise QuantizationError(
            "an observer saw no finite value", fix="calibrate with at least one sample"
        )
    return lo, hi


def _checked_percentile(value: float) -> float:
    if not 50 < value <= 100:
        raise QuantizationError(f"percentile {value} is not in 50..100", fix="99.99 is common")
    return value


@dataclass(frozen=True, slots=True)
class ObserverName:
    """An observer as recipes spell it: "mse", "percentile:99.9"."""

    kind: str
    value: float | None = None

    def __str__(self) -> str:
        return self.kind if self.value is None else f"{self.kind}:{self.value!r}"


_KINDS: Final[dict[str, Callable[..., Observer]]] = {
    "minmax": MinMax,
    "moving-average": MovingAverage,
    "percentile": Percentile,
    "entropy": Entropy,
    "mse": Mse,
}
OBSERVERS: Final = tuple(_KINDS)


def parse_observer(text: str) -> ObserverName:
    """An observer's name with its number, if any; QuantizationError for an unknown observer."""
    kind, colon, number = text.partition(":")
    if kind not in _KINDS or (colon and kind != "percentile"):
        near = difflib.get_close_matches(kind, OBSERVERS, n=1)
        raise QuantizationError(
            f"there is no observer {text!r}",
            fix=(f"did you mean {near[0]!r}? " if near and not colon else "")
            + f"observers are {', '.join(OBSERVERS)}; percentile alone takes a number, as in"
            " percentile:99.9",
        )
    if not colon:
        return ObserverName(kind)
    try:
        name = ObserverName(kind, float(number))
    except ValueError:
        raise QuantizationError(
            f"observer {text!r}: {number!r} is not a number", fix="write percentile:99.9"
        ) from None
    make_observer(name)
    return name


def make_observer(name: ObserverName | str) -> Observer:
    """A fresh observer."""
    known = parse_observer(name) if isinstance(name, str) else name
    return _KINDS[known.kind](*(() if known.value is None else (known.value,)))


def range_of(name: ObserverName, histogram: Histogram, extremes: Range, moving: Range) -> Range:
    """The range that an observer would choose from the stored statistics of a tensor."""
    if name.kind == "minmax":
        return extremes
    if name.kind == "moving-average":
        return moving
    if name.kind == "percentile":
        return percentile_range(histogram, extremes, 99.99 if name.value is None else name.value)
    return (entropy_range if name.kind == "entropy" else mse_range)(histogram, extremes)
