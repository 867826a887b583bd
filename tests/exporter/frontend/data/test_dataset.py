# SPDX-License-Identifier: Apache-2.0
"""Datasets made of others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.frontend.creation import from_numpy
from samara.exporter.frontend.data import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)
from samara.exporter.frontend.random import Generator
from samara.pybridge.errors import SamaraError, ShapeError


class Count(IterableDataset):
    def __iter__(self) -> Iterator[int]:
        return iter(range(3))

    def __len__(self) -> int:
        return 3


def test_tensors_by_row() -> None:
    data = TensorDataset(from_numpy(np.eye(3, dtype=np.float32)), np.arange(3))
    assert len(data) == 3
    row, label = data[1]
    assert row.tolist() == [0, 1, 0]
    assert label == 1
    with pytest.raises(ShapeError, match=r"\[3\], \[4\]"):
        TensorDataset(np.zeros(3), np.zeros(4))


def test_datasets_one_after_another() -> None:
    a, b, c = (TensorDataset(np.arange(n)) for n in (2, 0, 3))
    joined = a + b + c
    assert isinstance(joined, ConcatDataset)
    assert [int(joined[i][0]) for i in range(-5, 5)] == [0, 1, 0, 1, 2, 0, 1, 0, 1, 2]
    for index in (5, -6):
        with pytest.raises(IndexError):
            joined[index]
    assert [int(sample[0]) for sample in Subset(joined, [4, 0])] == [2, 0]
    with pytest.raises(SamaraError, match="at least one"):
        ConcatDataset([])
    with pytest.raises(SamaraError, match="ChainDataset"):
        ConcatDataset([Count()])
    chain = Count() + Count()
    assert isinstance(chain, ChainDataset)
    assert list(chain) == [0, 1, 2, 0, 1, 2]
    assert len(chain) == 6


def test_random_parts() -> None:
    data = TensorDataset(np.arange(10))
    parts = random_split(data, [7, 3], Generator(1))
    assert [len(part) for part in parts] == [7, 3]
    assert sorted(int(x) for part in parts for (x,) in part) == list(range(10))
    assert parts[0].indices == random_split(data, [7, 3], Generator(1))[0].indices
    assert [len(part) for part in random_split(data, [0.5, 0.25, 0.25])] == [6, 2, 2]
    assert [len(part) for part in random_split(data, [1.0, 0.0])] == [10, 0]
    for lengths in ([5, 4], [0.5, 0.4], [11, -1], [1.5, -0.5]):
        with pytest.raises(ShapeError):
            random_split(data, lengths)


def test_the_base_says_what_is_missing() -> None:
    with pytest.raises(NotImplementedError, match="__getitem__"):
        Dataset()[0]
    with pytest.raises(NotImplementedError, match="__iter__"):
        iter(IterableDataset())


def test_stacked_datasets() -> None:
    a, b = TensorDataset(samara.arange(3)), [10, 11, 12]
    both = samara.data.StackDataset(a, b)
    assert len(both) == 3
    assert both[1][0][0].item() == 1
    assert both[1][1] == 11
    named = samara.data.StackDataset(x=b, y=b)
    assert named[2] == {"x": 12, "y": 12}
    for other in ([1], []):
        with pytest.raises(ShapeError, match="one length"):
            samara.data.StackDataset(b, other)
    with pytest.raises(SamaraError, match="by name"):
        samara.data.StackDataset()
    with pytest.raises(SamaraError, match="by name"):
        samara.data.StackDataset(b, x=b)


def test_kinds_may_be_named() -> None:
    data: Any = samara.data

    class Numbers(data.Dataset[int]):  # type: ignore[misc]
        def __len__(self) -> int:
            return 2

    class Order(data.Sampler[int]):  # type: ignore[misc]
        pass

    assert len(Numbers()) == 2
    assert issubclass(Order, samara.data.Sampler)
    assert samara.utils.data.Dataset is samara.data.Dataset
    assert samara.utils.data.distributed.DistributedSampler is samara.data.DistributedSampler
