# SPDX-License-Identifier: Apache-2.0
"""Functions of several tensors, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import samara
from samara.pybridge.errors import ShapeError


def test_distances() -> None:
    a, b = samara.tensor([[0.0, 0.0], [3.0, 4.0]]), samara.tensor([[0.0, 0.0]])
    assert samara.cdist(a, b).tolist() == [[0], [5]]
    with pytest.raises(ShapeError, match="cdist"):
        samara.cdist(a, samara.ones(1, 3))


def test_joining() -> None:
    v = samara.tensor([1, 2])
    assert samara.column_stack((v, v)).tolist() == [[1, 1], [2, 2]]
    assert samara.dstack((v, v)).shape == (1, 2, 2)
    assert samara.block_diag(v, v).tolist() == [[1, 2, 0, 0], [0, 0, 1, 2]]
    assert samara.cartesian_prod(v, v).tolist() == [[1, 1], [1, 2], [2, 1], [2, 2]]
    assert samara.combinations(v).tolist() == [[1, 2]]


def test_indices_and_searching() -> None:
    assert samara.tril_indices(2, 2).tolist() == [[0, 1, 1], [0, 0, 1]]
    assert samara.triu_indices(2, 2, 1).tolist() == [[0], [1]]
    edges = samara.tensor([1.0, 3.0, 5.0])
    assert samara.searchsorted(edges, samara.tensor([0.0, 3.0])).tolist() == [0, 1]
    assert samara.bucketize(samara.tensor([3.0]), edges, right=True).tolist() == [2]
    assert samara.isin(samara.tensor([1, 2]), samara.tensor([2])).tolist() == [False, True]
    assert samara.histc(edges, 2, 0, 6).tolist() == [1, 2]
    np.testing.assert_allclose(samara.logspace(0, 2, 3).numpy(), [1, 10, 100], rtol=1e-6)


def test_moments_and_limits() -> None:
    std, mean = samara.std_mean(samara.tensor([1.0, 3.0]))
    assert mean.item() == 2
    assert abs(std.item() - 2**0.5) < 1e-6
    assert samara.finfo(samara.float32).max == float(np.finfo(np.float32).max)
    assert samara.iinfo(samara.int8).min == -128
