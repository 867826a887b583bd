# SPDX-License-Identifier: Apache-2.0
"""Datasets, the source of a loader's samples."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, overload

import numpy as np

from samara.exporter.frontend.random import Generator, generator_of
from samara.exporter.types import ArgumentError, RangeError
from samara.pybridge.errors import ShapeError

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

# A checker knows a dataset by its samples; Dataset alone stands for samples of any type.
if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from samara.exporter.frontend.tensor import Tensor

    S_co = TypeVar("S_co", covariant=True, default=Any)
    P = TypeVar("P", default=Tensor)
else:
    from typing import TypeVar

    S_co = TypeVar("S_co", covariant=True)
    P = TypeVar("P")


class Samples(Protocol[S_co]):
    """The type of a dataset with indices: a Dataset, a list, an array."""

    def __getitem__(self, index: Any, /) -> S_co: ...


class Dataset(Generic[S_co]):
    """Samples by index. A subclass writes `__getitem__` and `__len__`.

    With `__getitems__(indices)` it returns the samples of a batch together. `Dataset[T]` documents the type of the
    samples.
    """

    def __getitem__(self, index: Any) -> S_co:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__")

    def __add__(self, other: Dataset[S_co]) -> ConcatDataset[S_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[S_co]):
    """Samples one after another. A subclass writes `__iter__`.

    Each worker process has a copy: `get_worker_info()` says which share of the samples it should give.
    """

    def __iter__(self) -> Iterator[S_co]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")

    def __add__(  # type: ignore[override]
        self, other: IterableDataset[S_co]
    ) -> ChainDataset[S_co]:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[P, ...]], Generic[P]):
    """Sample i is row i of every tensor (or array). ShapeError if they differ in length."""

    @overload
    def __init__(self: TensorDataset[Tensor], *tensors: Tensor) -> None: ...
    @overload
    def __init__(self: TensorDataset[Any], *tensors: Any) -> None: ...
    def __init__(self, *tensors: Any) -> None:
        if len({len(t) for t in tensors}) != 1:
            sizes = ", ".join(str(list(t.shape)) for t in tensors)
            raise ShapeError(f"tensors of one length are expected, the shapes are {sizes}")
        self.tensors: tuple[P, ...] = tensors

    def __getitem__(self, index: Any) -> tuple[P, ...]:
        rows: tuple[Any, ...] = self.tensors
        return tuple(t[index] for t in rows)

    def __len__(self) -> int:
        first: Any = self.tensors[0]
        return len(first)


class StackDataset(Dataset[Any]):
    """Sample i is sample i of each dataset: a tuple, or a dict of those given by name.

    ShapeError if they differ in length.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ArgumentError("StackDataset takes datasets, or datasets by name")
        self.datasets: Any = dict(kwargs) if kwargs else args
        lengths = [len(d) for d in (kwargs.values() if kwargs else args)]
        if len(set(lengths)) != 1:
            raise ShapeError(f"datasets of one length are expected, the lengths are {lengths}")
        self._length = lengths[0]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self) -> int:
        return self._length


class Subset(Dataset[S_co]):
    """The samples of a dataset at `indices`."""

    def __init__(self, dataset: Samples[S_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> S_co:
        return self.dataset[self.indices[index]]

    def __iter__(self) -> Iterator[S_co]:
        return (self.dataset[i] for i in self.indices)

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset[S_co]):
    """Several datasets one after another."""

    def __init__(self, datasets: Iterable[Samples[S_co]]) -> None:
        self.datasets: list[Any] = list(datasets)
        if not self.datasets:
            raise ArgumentError("ConcatDataset needs at least one dataset")
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                raise ArgumentError(
                    "ConcatDataset needs datasets with indices", fix="use ChainDataset"
                )
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> S_co:
        if not -len(self) <= index < len(self):
            raise RangeError(f"index {index} of a dataset of {len(self)}")
        index = index + len(self) if index < 0 else index
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset[S_co]):
    """Several iterable datasets one after another."""

    def __init__(self, datasets: Iterable[Iterable[S_co]]) -> None:
        self.datasets: list[Any] = list(datasets)

    def __iter__(self) -> Iterator[S_co]:
        return itertools.chain.from_iterable(self.datasets)

    def __len__(self) -> int:
        return sum(len(d) for d in self.datasets)


def random_split(
    dataset: Samples[S_co],
    lengths: Sequence[int | float],
    generator: Generator | None = None,
) -> list[Subset[S_co]]:
    """Split a dataset into disjoint random parts of the given lengths.

    lengths: numbers that add up to the dataset's length, or fractions that add up to 1 (the remainder of
    rounding goes to the parts in turn). ShapeError otherwise.
    """
    n = len(dataset)  # type: ignore[arg-type]  # a subclass has a length
    counts = [int(length) for length in lengths]
    if any(isinstance(length, float) for length in lengths) and np.isclose(sum(lengths), 1.0):
        if any(not 0 <= length <= 1 for length in lengths):
            raise ShapeError(f"fractions lie between 0 and 1, given: {list(lengths)}")
        counts = [int(n * length) for length in lengths]
        for i in range(n - sum(counts)):
            counts[i % len(counts)] += 1
    if sum(counts) != n or any(count < 0 for count in counts):
        raise ShapeError(f"lengths {list(lengths)} do not add up to the {n} samples")
    order = generator_of(generator).permutation(n).tolist()
    ends = itertools.accumulate(counts)
    return [
        Subset(dataset, order[end - count : end]) for end, count in zip(ends, counts, strict=True)
    ]
