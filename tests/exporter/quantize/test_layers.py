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
