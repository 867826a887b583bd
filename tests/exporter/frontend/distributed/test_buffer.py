# SPDX-License-Identifier: Apache-2.0
"""A contiguous tensor is its own buffer; another one is copied and written back."""

from __future__ import annotations

import numpy as np
import pytest

import samara
from samara.exporter.frontend.distributed._buffer import Buffer
from samara.exporter.types import ArgumentError


def test_memory() -> None:
    t = samara.ones(2, 3)
    assert np.shares_memory(Buffer(t).flat, t.numpy())
    buffer = Buffer(t.t(), out=True)
    buffer.flat[:] = np.arange(6)
    version = t._version[0]
    buffer.store()
    assert t.tolist() == [[0, 2, 4], [1, 3, 5]]
    assert t._version[0] == version + 1
    assert buffer.text == "float32 [3, 2]"
    scalar = Buffer(samara.tensor(True))
    assert (scalar.text, scalar.flat.shape) == ("bool []", (1,))


def test_errors() -> None:
    with pytest.raises(ArgumentError, match="x is list, expected a Tensor"):
        Buffer([1], "x")
    shared = samara.ones(1).expand(4)
    assert Buffer(shared).flat.tolist() == [1] * 4
    with pytest.raises(ArgumentError, match="x cannot be written"):
        Buffer(shared, "x", out=True)
