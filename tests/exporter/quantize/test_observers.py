# SPDX-License-Identifier: Apache-2.0
"""Observers: ranges, histograms, parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter.quantize.observers import (
    OBSERVERS,
    Entropy,
    Histogram,
    MinMax,
    MovingAverage,
    Mse,
    Percentile,
    channel_scales,
    choose_parameters,
    make_observer,
    parse_observer,
    range_of,
    thinned,
)
from samara.exporter.types import QuantizationError


def histogram(*arrays: Any) -> Histogram:
    h = Histogram()
    for a in arrays:
        h.add(a)
    return h


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


# ---- parameters


@pytest.mark.parametrize(
    ("lo", "hi", "scale", "zero_point"),
    [
        (0.0, 255.0, 1.0, -128),
        (-128.0, 127.0, 1.0, 0),
        (-255.0, 0.0, 1.0, 127),
        (51.0, 255.0, 1.0, -128),  # widened to 0
        (-255.0, -1.0, 1.0, 127),
        (-1.0, 1.0, 2 / 255, -1),  # float32(2 / 255) is a little more
    ],
)
def test_asymmetric_parameters_span_the_range(
    lo: float, hi: float, scale: float, zero_point: int
) -> None:
    q = choose_parameters(lo, hi)
    assert q.scale == np.float32(scale)
    assert q.zero_point == zero_point


def test_zero_is_exact_and_the_range_is_covered_to_half_a_step() -> None:
    for lo, hi in rng().normal(0, 100, (200, 2)):
        lo, hi = min(lo, hi), max(lo, hi)
        q = choose_parameters(lo, hi)
        assert -128 <= q.zero_point <= 127
        assert (-128 - q.zero_point) * q.scale <= min(lo, 0) + q.scale * 0.501
        assert (127 - q.zero_point) * q.scale >= max(hi, 0) - q.scale * 0.501


def test_symmetric_parameters_have_no_zero_point() -> None:
    q = choose_parameters(-3.0, 12.7, symmetric=True)
    assert (q.scale, q.zero_point) == (float(np.float32(0.1)), 0)


@pytest.mark.parametrize("value", [0.0, 1e-40, -1e-40, 1e300, 5.0, -5.0])
def test_a_range_of_one_value_has_a_valid_scale(value: float) -> None:
    q = choose_parameters(value, value)
    assert np.finfo(np.float32).smallest_normal <= q.scale < np.inf
    assert q.scale == 1.0 or value != 0


@pytest.mark.parametrize(("lo", "hi"), [(np.nan, 1.0), (0.0, np.inf), (2.0, 1.0)])
def test_no_range_is_refused(lo: float, hi: float) -> None:
    with pytest.raises(QuantizationError, match="not a range"):
        choose_parameters(lo, hi)


def test_scales_per_channel() -> None:
    w = np.array([[1.27, -0.5], [0.0, 0.0], [-2.54, 1.0]], np.float32)
    assert channel_scales(w, 0).tolist() == pytest.approx([0.01, 0.02, 0.02])
    assert channel_scales(w, 1).tolist() == pytest.approx([0.02, 1 / 127])
    assert channel_scales(w, None).tolist() == pytest.approx([0.02])
    assert channel_scales(np.zeros((2, 2)), 0).tolist() == [1.0, 1.0]
    with pytest.raises(QuantizationError, match="NaN"):
        channel_scales(np.array([np.nan]), None)


# ---- histogram


def test_pieces_and_their_order_do_not_matter() -> None:
    data = rng().normal(0, 1, 5000) * np.exp(rng().normal(0, 3, 5000))
    whole, pieces = histogram(data), histogram(*np.array_split(data[::-1], 37))
    assert whole.total == pieces.total == 5000
    assert whole.exponent == pieces.exponent
    assert whole.first == pieces.first
    assert np.array_equal(whole.counts, pieces.counts)


def test_memory_is_bounded_and_the_range_may_grow() -> None:
    h = Histogram()
    for k in range(60):
        h.add(np.array([2.0**k, -(3.0**k)]))
        assert 0 < len(h.counts) <= 4096
    assert h.total == 120
    assert h.edges()[0] <= -(3.0**59)
    assert h.edges()[-1] > 2.0**59


def test_every_value_lies_in_its_bin() -> None:
    data = rng().normal(5, 2, 1000)
    h = histogram(data)
    counts, _ = np.histogram(data, h.edges())
    assert np.array_equal(h.counts, counts)


@pytest.mark.parametrize("value", [0.0, 1e-30, -7.25, 1e30])
def test_a_constant(value: float) -> None:
    h = histogram(np.full(10, value))
    assert h.counts.sum() == 10
    assert np.count_nonzero(h.counts) == 1


def test_outside() -> None:
    h = histogram(np.linspace(0, 1, 1001)[:-1])
    assert h.outside(0.1, 0.8) == pytest.approx(0.3, abs=0.01)
    assert h.outside(-1, 2) == 0


def test_thinning_keeps_small_tensors_and_bounds_large_ones() -> None:
    assert thinned(np.arange(1000)).size == 1000
    assert thinned(np.zeros(3_000_000)).size <= 1 << 18


# ---- observers


@pytest.mark.parametrize("name", OBSERVERS)
def test_every_observer_gives_a_range_within_what_it_saw(name: str) -> None:
    data = rng().normal(1, 2, (4, 3000)).astype(np.float32)
    observer = make_observer(name)
    observer.update(np.array([np.nan, np.inf]))
    with pytest.raises(QuantizationError, match="saw no finite value"):
        observer.range()
    for piece in data:
        observer.update(piece)
    lo, hi = observer.range()
    assert data.min() <= lo < 0 < hi <= data.max()


@pytest.mark.parametrize("name", OBSERVERS)
def test_every_observer_takes_a_constant_and_what_is_not_finite(name: str) -> None:
    observer = make_observer(name)
    observer.update(np.array([3.0, np.nan, 3.0, -np.inf], np.float32))
    lo, hi = observer.range()
    choose_parameters(lo, hi)
    assert lo <= hi
    assert hi == pytest.approx(3.0, rel=0.02)


@pytest.mark.parametrize("name", OBSERVERS)
def test_what_was_kept_gives_the_same_range(name: str) -> None:
    data = rng().normal(0, 1, (3, 2000))
    observer, moving = make_observer(name), MovingAverage()
    for piece in data:
        observer.update(piece)
        moving.update(piece)
    extremes = (float(data.min()), float(data.max()))
    found = range_of(parse_observer(name), histogram(*data), extremes, moving.range())
    assert found == pytest.approx(observer.range())


def test_minmax_and_moving_average() -> None:
    exact, moving = MinMax(), MovingAverage(0.5)
    for piece in ([0.0, 1.0], [-1.0, 3.0]):
        exact.update(np.array(piece))
        moving.update(np.array(piece))
    assert exact.range() == (-1.0, 3.0)
    assert moving.range() == (-0.5, 2.0)
    with pytest.raises(QuantizationError, match="momentum"):
        MovingAverage(0.0)


def test_percentile_cuts_both_tails() -> None:
    observer = Percentile(90)
    observer.update(np.linspace(-1, 1, 100_001))
    assert observer.range() == pytest.approx((-0.9, 0.9), abs=0.002)
    with pytest.raises(QuantizationError, match="percentile"):
        Percentile(30)


def error(data: np.ndarray[tuple[int], np.dtype[np.float64]], lo: float, hi: float) -> float:
    q = choose_parameters(lo, hi)
    steps = np.clip(np.rint(data / q.scale) + q.zero_point, -128, 127)
    return float(np.mean(((steps - q.zero_point) * q.scale - data) ** 2))


@pytest.mark.parametrize("outlier", [1.0, 8.0, 100.0])
def test_mse_has_less_error_than_the_whole_range(outlier: float) -> None:
    data = np.append(rng().laplace(0, 1, 50_000), outlier)
    best, whole = Mse(), MinMax()
    best.update(data)
    whole.update(data)
    tries = [error(data, -k, k) for k in np.linspace(1, 15, 60)]
    assert error(data, *best.range()) <= error(data, *whole.range())
    assert error(data, *best.range()) <= 1.1 * min(tries)


def test_entropy_drops_outliers_and_keeps_the_body() -> None:
    data = np.append(np.maximum(rng().normal(0, 1, 100_000), 0), [400.0])
    observer = Entropy()
    observer.update(data)
    lo, hi = observer.range()
    assert lo == 0
    assert 2 < hi < 100


def test_entropy_keeps_a_narrow_cluster_far_from_zero() -> None:
    observer = Entropy()
    observer.update(rng().normal(40, 1, 5000))
    assert observer.range()[1] > 38


@pytest.mark.parametrize(
    "text", ["mze", "minmax:3", "percentile:x", "percentile:12", "", "percentile:"]
)
def test_unknown_observers_are_refused(text: str) -> None:
    with pytest.raises(QuantizationError):
        parse_observer(text)


def test_names_round_trip() -> None:
    assert str(parse_observer("percentile:99.9")) == "percentile:99.9"
    assert str(parse_observer("mse")) == "mse"


# ---- two in one


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (rng().normal(size=999), rng().normal(size=77) * 1e-3),
        (rng().normal(size=77) * 1e-3, rng().normal(size=999)),
        (rng().uniform(1, 2, 500), rng().uniform(-9, -8, 500)),
        (np.zeros(3), rng().normal(size=50)),
        (np.zeros(0), rng().normal(size=50)),
        (rng().normal(size=50), np.zeros(0)),
    ],
)
def test_merged_histograms_count_what_one_would(a: Any, b: Any) -> None:
    a, b = a.astype(np.float32), b.astype(np.float32)
    merged, other, one = histogram(a), histogram(b), histogram(a, b)
    before = other.counts.copy()
    merged.merge(other)
    assert np.array_equal(other.counts, before)
    assert len(merged.counts) <= 4096
    assert 0.5 <= merged.width / one.width <= 2
    while merged.exponent < one.exponent:
        merged._double()
    while one.exponent < merged.exponent:
        one._double()
    counts: list[dict[int, int]] = [
        {h.first + int(i): int(h.counts[i]) for i in np.flatnonzero(h.counts)}
        for h in (merged, one)
    ]
    assert counts[0] == counts[1]


def test_merged_moving_averages_are_those_of_all_chunks() -> None:
    chunks = rng().normal(size=(7, 5))
    for cut in range(8):
        one, first, rest = MovingAverage(), MovingAverage(), MovingAverage()
        for i, chunk in enumerate(chunks):
            one.update(chunk)
            (first if i < cut else rest).update(chunk)
        first.merge(rest)
        assert first.range() == pytest.approx(one.range(), rel=1e-12)
        first.update(chunks[0])
        one.update(chunks[0])
        assert first.range() == pytest.approx(one.range(), rel=1e-12)


def test_float32_values_fall_into_the_bins_of_float64() -> None:
    for scale in (1e-30, 1.0, 1e30):
        x = (rng().normal(size=4000) * scale).astype(np.float32)
        assert np.array_equal(histogram(x).counts, histogram(x.astype(np.float64)).counts)
