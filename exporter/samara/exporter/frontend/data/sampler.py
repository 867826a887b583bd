# SPDX-License-Identifier: Apache-2.0
"""Orders of indices: samplers that repeat from a seed and can be resumed at any index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import GenericAlias
from typing import Any, Final

import numpy as np

from samara.exporter.frontend.random import Generator, generator_of
from samara.pybridge.errors import SamaraError, ShapeError

__all__ = [
    "BatchSampler",
    "DistributedSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

_SEEDS: Final = 1 << 62


class Sampler:
    """Base of the samplers: `iter(sampler)` gives the indices of an epoch.

    A subclass defines `__iter__` and `__len__`; samara's own samplers can also be stored and resumed.
    `Sampler[int]` documents the type of the indices.
    """

    __class_getitem__: Any = classmethod(GenericAlias)

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError


class _Resumable(Sampler):
    """A sampler whose epoch is an array of indices that follows from a seed; its position is a number."""

    _generator: Generator | None = None

    def __init__(self) -> None:
        self._seed: int | None = None  # of the current epoch
        self._position = 0  # how many of its indices were given
        self._loaded = False  # whether the next iteration begins at this seed and position

    def _indices(self, seed: int) -> Any:
        """The epoch's indices, as a sequence."""
        raise NotImplementedError

    def _draw(self) -> int:
        """The seed of a new epoch."""
        return int(generator_of(self._generator).integers(0, _SEEDS, ()))

    def __iter__(self) -> Iterator[int]:
        # Draw the seed here, not at the first index: the epoch is fixed when the iterator exists.
        if not self._loaded or self._seed is None:
            self._seed, self._position = self._draw(), 0
        self._loaded = False
        return self._walk(self._indices(self._seed), self._position)

    def _walk(self, indices: Any, start: int) -> Iterator[int]:
        for i in range(start, len(indices)):
            self._position = i + 1
            yield int(indices[i])
        self._seed, self._position = None, 0

    def state_dict(self) -> dict[str, Any]:
        """The current epoch and position, and the generator if the sampler has its own."""
        state: dict[str, Any] = {"seed": self._seed, "position": self._position}
        if self._generator is not None:
            state["generator"] = self._generator.get_state()
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iteration goes on where `state_dict` was called. SamaraError for other states."""
        try:
            seed, position = state["seed"], int(state["position"])
            self._seed = None if seed is None else int(seed)
            self._position = position
            self._loaded = True
            if self._generator is not None:
                self._generator.set_state(state["generator"])
        except (KeyError, TypeError, ValueError) as error:
            raise SamaraError(f"this is no state of a {type(self).__name__}: {error!r}") from None


class SequentialSampler(_Resumable):
    """0, 1, 2, …"""

    def __init__(self, data_source: Any) -> None:
        super().__init__()
        self.data_source = data_source

    def __len__(self) -> int:
        return len(self.data_source)

    def _draw(self) -> int:
        return 0

    def _indices(self, seed: int) -> Any:
        return range(len(self.data_source))


class RandomSampler(_Resumable):
    """Every index once, in random order; with `replacement` independent draws.

    generator: seeds each epoch; by default samara's own (`samara.manual_seed`).
    """

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self._generator = generator
        if num_samples is not None and num_samples < 1:
            raise ShapeError(f"num_samples is {num_samples}, expected at least 1")

    @property
    def num_samples(self) -> int:
        """Indices of an epoch."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __len__(self) -> int:
        return self.num_samples

    def _indices(self, seed: int) -> Any:
        random, n = _numbers(seed), len(self.data_source)
        if self.replacement:
            return random.integers(0, n, self.num_samples)
        rounds = -(-self.num_samples // n) if n else 0
        parts = [random.permutation(n) for _ in range(rounds)]
        return np.concatenate([np.zeros(0, np.int64), *parts])[: self.num_samples]


class SubsetRandomSampler(_Resumable):
    """The given indices, each once, in random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        super().__init__()
        self.indices = indices
        self._generator = generator

    def __len__(self) -> int:
        return len(self.indices)

    def _indices(self, seed: int) -> Any:
        order = _numbers(seed).permutation(len(self.indices))
        return np.asarray(self.indices, np.int64)[order]


class WeightedRandomSampler(_Resumable):
    """Indices drawn with probabilities in proportion to `weights`, which need not add up to 1."""

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        given = np.asarray(weights, np.float64)
        if given.ndim != 1 or not np.isfinite(given).all() or (given < 0).any() or not given.sum():
            raise ShapeError("weights must be finite numbers of at least 0, and not all of them 0")
        if num_samples < 1 or (not replacement and num_samples > np.count_nonzero(given)):
            raise ShapeError(
                f"{num_samples} indices cannot be drawn from {np.count_nonzero(given)} with weights"
            )
        self.weights = given
        self.num_samples = num_samples
        self.replacement = replacement
        self._generator = generator

    def __len__(self) -> int:
        return self.num_samples

    def _indices(self, seed: int) -> Any:
        p = self.weights / self.weights.sum()
        return _numbers(seed).choice(len(p), self.num_samples, self.replacement, p)


class DistributedSampler(_Resumable):
    """The share of one of `num_replicas` processes: all take as many, shuffled alike.

    Call `set_epoch` before each epoch, or every epoch has the same order. Without `drop_last` the
    first indices come twice if the shares would differ in length.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int,
        rank: int,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        super().__init__()
        if not 0 <= rank < num_replicas:
            raise ShapeError(f"rank is {rank}, expected 0 to {num_replicas - 1}")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self.epoch = 0

    def __len__(self) -> int:
        n = len(self.dataset)
        return n // self.num_replicas if self.drop_last else -(-n // self.num_replicas)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration; its order follows from seed and epoch."""
        self.epoch = epoch

    def _draw(self) -> int:
        return self.seed + self.epoch

    def _indices(self, seed: int) -> Any:
        n = len(self.dataset)
        order = _numbers(seed).permutation(n) if self.shuffle else np.arange(n)
        return np.resize(order, len(self) * self.num_replicas)[self.rank :: self.num_replicas]

    def state_dict(self) -> dict[str, Any]:
        """The epoch and the position in it."""
        return {"epoch": self.epoch, **super().state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iteration goes on where `state_dict` was called. SamaraError for other states."""
        super().load_state_dict(state)
        try:
            self.epoch = int(state["epoch"])
        except (KeyError, TypeError, ValueError) as error:
            raise SamaraError(f"this is no state of a DistributedSampler: {error!r}") from None


class BatchSampler(Sampler):
    """Lists of `batch_size` indices of another sampler; the last may be shorter."""

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool = False) -> None:
        if batch_size < 1:
            raise ShapeError(f"batch_size is {batch_size}, expected at least 1")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __len__(self) -> int:
        n = len(self.sampler)  # type: ignore[arg-type]
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def __iter__(self) -> Iterator[list[Any]]:
        return self._walk(iter(self.sampler))

    def _walk(self, indices: Iterator[Any]) -> Iterator[list[Any]]:
        batch: list[Any] = []
        for index in indices:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def state_dict(self) -> dict[str, Any]:
        """The state of the inner sampler."""
        state: dict[str, Any] = _method(self.sampler, "state_dict")()
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of the inner sampler, which is at the end of a batch."""
        _method(self.sampler, "load_state_dict")(state)


def _method(sampler: Any, name: str) -> Callable[..., Any]:
    method: Callable[..., Any] | None = getattr(sampler, name, None)
    if method is None:
        raise SamaraError(
            f"{type(sampler).__name__} cannot be stored",
            fix="give the sampler state_dict() and load_state_dict()",
        )
    return method


def _numbers(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))
