# SPDX-License-Identifier: Apache-2.0
"""Between channels second and channels last."""

from __future__ import annotations

import numpy as np
import pytest

import samara
from samara.exporter.frontend.nn.functional import channel_order as layout
from samara.pybridge.errors import ShapeError


def test_there_and_back() -> None:
    x = samara.randn(2, 3, 4, 5)
    y = layout.channels_last(x)
    assert y.shape == (2, 4, 5, 3)
    assert np.shares_memory(y.numpy(), x.numpy())
    np.testing.assert_array_equal(layout.channels_first(y).numpy(), x.numpy())


def test_numbers_per_axis() -> None:
    assert layout.per_axis(2, 3, "stride") == (2, 2, 2)
    assert layout.per_axis((1,), 2, "stride") == (1, 1)
    assert layout.per_axis([1, 2], 2, "stride") == (1, 2)
    assert layout.both_ends((1, 2)) == (1, 2, 1, 2)
    with pytest.raises(ShapeError, match="stride has 3 values for 2"):
        layout.per_axis((1, 2, 3), 2, "stride")


def test_batches() -> None:
    x, single = layout.batched(samara.zeros(3, 4), 3, "conv1d")
    assert (x.shape, single) == ((1, 3, 4), True)
    assert layout.batched(samara.zeros(2, 3, 4), 3, "conv1d")[1] is False
    with pytest.raises(ShapeError, match=r"conv1d needs 3 \(or 2\) dimensions"):
        layout.batched(samara.zeros(3), 3, "conv1d")
