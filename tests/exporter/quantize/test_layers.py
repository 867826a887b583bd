# SPDX-License-Identifier: Apache-2.0
"""Records of what was seen."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.quantize.programs import seen

from samara.exporter.quantize.calibration import observe
from samara.exporter.types import Quant, QuantizationError


def test_saturation_is_the_share_beyond_the_range() -> None:
    stats = seen(np.linspace(-1, 1, 20001, dtype=np.float32))
    assert stats.saturation(Quant.per_tensor(2 / 254)) == 0
    assert stats.saturation(Quant.per_tensor(0.5 / 127)) == pytest.approx(0.5, abs=0.01)
    assert stats.saturation(Quant.per_tensor(1 / 255, -128)) == pytest.approx(0.5, abs=0.01)


def test_means_per_channel() -> None:
    a = np.array([[1, 2], [3, 6]], np.float32)
    stats = seen(a, a + 1)
    assert stats.channel_mean.tolist() == [2.5, 4.5]
    assert stats.rows == 4


def test_nothing_seen() -> None:
    stats = seen()
    assert stats.channel_mean.size == 0
    assert stats.saturation(Quant.per_tensor(1.0)) == 0


def test_ranges_follow_what_was_seen() -> None:
    stats = seen(np.array([1, -2], np.float32))
    assert stats.range_by("minmax") == (-2.0, 1.0)
    assert stats.range_by("minmax") == (-2.0, 1.0)
    observe(stats, np.array([5], np.float32))
    assert stats.range_by("minmax") == (-2.0, 5.0)
    assert stats.range_by("moving-average")[1] < 5
    with pytest.raises(QuantizationError, match="no observer"):
        stats.range_by("nothing")


def test_statistics_of_two_sets_are_those_of_all_samples() -> None:
    arrays = [np.random.default_rng(i).normal(i, 1, (6, 4)).astype(np.float32) for i in range(5)]
    first, rest, whole = seen(*arrays[:2]), seen(*arrays[2:]), seen(*arrays)
    both = first.followed_by(rest)
    assert (first.samples, rest.samples) == (2, 3)
    for name in ("samples", "count", "nonfinite", "minimum", "maximum", "rows"):
        assert getattr(both, name) == getattr(whole, name)
    for name in ("minimum", "maximum", "sum", "squares"):
        got, want = (getattr(s, f"channel_{name}") for s in (both, whole))
        assert got == pytest.approx(want, rel=1e-6)
    for observer in ("minmax", "moving-average", "mse", "percentile:90"):
        assert both.range_by(observer) == pytest.approx(whole.range_by(observer), rel=1e-3)
    other = seen(np.zeros((2, 3), np.float32))
    assert first.followed_by(other).channel_sum.size == 0
