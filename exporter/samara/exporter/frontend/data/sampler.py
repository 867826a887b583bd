# SPDX-License-Identifier: Apache-2.0
"""Orders of indices: samplers that repeat from a seed and can be resumed at any index."""

from __future__ import annotations

import importlib
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
        return self._walk(self._begin(), self._position)

    def _begin(self) -> Any:
        """The indices of a new epoch, whose position is 0, or of the loaded one."""
        if not self._loaded or self._seed is None:
            self._seed, self._position = self._draw(), 0
        self._loaded = False
        return self._indices(self._seed)

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

    num_replicas, rank: by default those of the process group (`samara.distributed`); SamaraError
    where there is none.

    shards: deal whole micro-shards, so that the batches of all ranks together are the same for any
    number of ranks, which divides it. A global batch has batch_size * num_replicas samples, a multiple
    of `shards`. It is the next slice of the epoch's order, and each rank takes its part of the slice.
    A last global batch that is too short is filled up to a multiple of `shards` with the first indices,
    or cut down to one with `drop_last`. Iterate such a sampler by a DataLoader with a batch_size, or
    by a BatchSampler. Its state can be loaded with another number of ranks. Raises ShapeError for
    counts that do not divide.

    PyTorch: `torch.utils.data.DistributedSampler`; `shards` is samara's own.

    >>> from samara.data import DataLoader, DistributedSampler
    >>> sampler = DistributedSampler(range(24), 2, 1, shuffle=False, shards=4)
    >>> [batch.tolist() for batch in DataLoader(range(24), 6, sampler=sampler)]
    [[6, 7, 8, 9, 10, 11], [18, 19, 20, 21, 22, 23]]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
        *,
        shards: int | None = None,
    ) -> None:
        super().__init__()
        if num_replicas is None or rank is None:
            size, own = _process_group()
            num_replicas = size if num_replicas is None else num_replicas
            rank = own if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ShapeError(f"rank is {rank}, expected 0 to {num_replicas - 1}")
        if shards is not None and (shards < 1 or shards % num_replicas):
            counts = ", ".join(str(n) for n in range(1, shards + 1) if shards % n == 0)
            raise ShapeError(
                f"{shards} shards cannot be dealt to {num_replicas} ranks",
                fix=f"use {counts} ranks, or another number of shards"
                if counts
                else "use 12 shards",
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self.shards = shards
        self.epoch = 0
        self._global_batch: int | None = None  # samples of a batch of all ranks, with shards

    def __len__(self) -> int:
        return self._total() // self.num_replicas

    def _total(self) -> int:
        """Indices of all ranks together: the samples, filled up or cut down to equal shares."""
        n, equal = len(self.dataset), self.shards or self.num_replicas
        return (n if self.drop_last else n + equal - 1) // equal * equal

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration; its order follows from seed and epoch."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        if self.shards is not None:
            raise SamaraError(
                "a DistributedSampler with shards deals batches, not single indices",
                fix="pass it to a DataLoader with a batch_size",
            )
        return super().__iter__()

    def deal_batches(self, batch_size: int, drop_last: bool) -> Sampler | None:
        """With shards, this rank's batches; `drop_last` leaves out a last global batch that has too
        few samples. ShapeError for a batch_size that does not give whole shards. Without shards None.
        """
        return None if self.shards is None else _ShardBatches(self, batch_size, drop_last)

    def _draw(self) -> int:
        return self.seed + self.epoch

    def _indices(self, seed: int) -> Any:
        n = len(self.dataset)
        order = _numbers(seed).permutation(n) if self.shuffle else np.arange(n)
        order = np.resize(order, self._total())
        return order[self.rank :: self.num_replicas] if self.shards is None else order

    def state_dict(self) -> dict[str, Any]:
        """The epoch and the position in it; with shards that of all ranks together."""
        state = {"epoch": self.epoch, **super().state_dict()}
        return state if self.shards is None else {**state, "global_batch": self._global_batch}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iteration goes on where `state_dict` was called. SamaraError for other states,
        and where only one of the two samplers has shards."""
        super().load_state_dict(state)
        try:
            self.epoch = int(state["epoch"])
            if self.shards is not None:
                size = state["global_batch"]
                self._global_batch = None if size is None else int(size)
        except (KeyError, TypeError, ValueError) as error:
            raise SamaraError(f"this is no state of a DistributedSampler: {error!r}") from None
        if self.shards is None and "global_batch" in state:
            raise SamaraError(
                "this is the state of a DistributedSampler with shards",
                fix="pass `shards` to this one as well",
            )


def _process_group() -> tuple[int, int]:
    """World size and rank of the default process group."""
    try:
        distributed = importlib.import_module("samara.exporter.frontend.distributed")
        return distributed.get_world_size(), distributed.get_rank()
    except (ImportError, SamaraError) as error:
        raise SamaraError(
            f"a DistributedSampler without num_replicas and rank needs a process group: {error}",
            fix="call samara.distributed.init_process_group() first, or pass num_replicas and rank",
        ) from None


class Shards(list[int]):
    """The indices of a rank's shards of one global batch."""

    def __init__(self, indices: Iterable[int], first: int, shards: int) -> None:
        """Indices of `shards` equal shards; `first` is the number of the first one in the global batch."""
        super().__init__(indices)
        self.first = first
        self.shards = shards

    def parts(self) -> Iterator[tuple[int, list[int]]]:
        """(number, indices) of each shard."""
        size = len(self) // self.shards
        for i in range(self.shards):
            yield self.first + i, self[i * size : (i + 1) * size]

    def __reduce__(self) -> Any:
        return Shards, (list(self), self.first, self.shards)


class _ShardBatches(Sampler):
    """This rank's part of each global batch of a DistributedSampler with shards."""

    def __init__(self, sampler: DistributedSampler, batch_size: int, drop_last: bool) -> None:
        assert sampler.shards is not None
        own = sampler.shards // sampler.num_replicas
        if batch_size % own:
            raise ShapeError(
                f"batch_size is {batch_size}; each of {sampler.num_replicas} ranks has {own} of "
                f"{sampler.shards} equal shards",
                fix=f"use a multiple of {own}",
            )
        self._sampler = sampler
        self._shards = own
        self._size = batch_size * sampler.num_replicas
        self._drop_last = drop_last

    def __len__(self) -> int:
        return -(-self._end() // self._size)

    def _end(self) -> int:
        """How many indices of the epoch's order are dealt."""
        n = len(self._sampler.dataset)
        return n // self._size * self._size if self._drop_last else self._sampler._total()

    def __iter__(self) -> Iterator[Shards]:
        sampler, stored = self._sampler, self._sampler._global_batch
        if sampler._loaded and sampler._seed is not None and stored != self._size:
            raise SamaraError(
                f"the stored epoch has global batches of {stored} samples, this loader "
                f"{self._size // sampler.num_replicas} on each of {sampler.num_replicas} ranks",
                fix="keep batch_size times the number of ranks as it was",
            )
        sampler._global_batch = self._size
        return self._walk(sampler._begin(), sampler._position)

    def _walk(self, order: Any, start: int) -> Iterator[Shards]:
        sampler, end = self._sampler, self._end()
        for begin in range(start, end, self._size):
            sampler._position = min(begin + self._size, end)
            part = (sampler._position - begin) // sampler.num_replicas
            first = begin + sampler.rank * part
            indices = order[first : first + part].tolist()
            yield Shards(indices, sampler.rank * self._shards, self._shards)
        sampler._seed, sampler._position = None, 0


class BatchSampler(Sampler):
    """Lists of `batch_size` indices of another sampler; the last may be shorter.

    A sampler may have a method `deal_batches(batch_size, drop_last)`. The Sampler that it returns then
    gives the lists, unless it is None.
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool = False) -> None:
        if batch_size < 1:
            raise ShapeError(f"batch_size is {batch_size}, expected at least 1")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last
        self._dealt()  # what it refuses is refused here already

    def _dealt(self) -> Sampler | None:
        deal: Callable[..., Sampler | None] | None = getattr(self.sampler, "deal_batches", None)
        return None if deal is None else deal(self.batch_size, self.drop_last)

    def __len__(self) -> int:
        if (dealt := self._dealt()) is not None:
            return len(dealt)
        n = len(self.sampler)  # type: ignore[arg-type]
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def __iter__(self) -> Iterator[list[Any]]:
        if (dealt := self._dealt()) is not None:
            return iter(dealt)
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
