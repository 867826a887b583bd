# SPDX-License-Identifier: Apache-2.0
"""The helpers of transports."""

from __future__ import annotations

import numpy as np

from samara.exporter.frontend.distributed._transport import Done, as_bytes, starts_of


def test_starts() -> None:
    assert starts_of([]) == []
    assert starts_of([3, 0, 2]) == [0, 3, 3]


def test_bytes_are_a_view() -> None:
    for array in (np.zeros((2, 3), np.float32), np.zeros((), np.int64), np.zeros(0, bool)):
        flat = as_bytes(array)
        assert flat.shape == (array.nbytes,)
        flat[...] = 1
        assert array.size == 0 or array.any()


def test_done() -> None:
    assert Done().test()
