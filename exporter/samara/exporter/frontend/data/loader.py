# SPDX-License-Identifier: Apache-2.0
"""DataLoader: batches of a dataset, in this process or by workers; it can be resumed anywhere."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from multiprocessing.context import BaseContext
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypedDict, Unpack, overload

import numpy as np

from samara.exporter.frontend import spans
from samara.exporter.frontend.data._pool import SupersededError, WorkerPool
from samara.exporter.frontend.data._worker import END, Fetcher, Job
from samara.exporter.frontend.data.collate import default_collate, default_convert
from samara.exporter.frontend.data.dataset import IterableDataset, Samples
from samara.exporter.frontend.data.sampler import BatchSampler, RandomSampler, SequentialSampler
from samara.exporter.frontend.multiprocessing import get_all_start_methods, get_context
from samara.exporter.frontend.random import Generator, generator_of
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import UnsupportedError

__all__ = ["DataLoader"]

_SEEDS: Final = 1 << 62
_AHEAD: Final = 2  # tasks per worker at a time

# A checker knows a loader by its batches; DataLoader alone stands for batches of any type.
if TYPE_CHECKING:
    from typing_extensions import TypeVar

    B_co = TypeVar("B_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    B_co = TypeVar("B_co", covariant=True)

Part = Tensor | np.ndarray[Any, Any] | np.generic | float


class _Unknown:
    """No sample has this type, so checkers choose it only for samples of unknown type."""


class _Record(Protocol):
    """A named tuple: its batch is one of that type."""

    def _asdict(self) -> Any: ...


class _Options(TypedDict, total=False):
    """Keyword arguments of all forms of a DataLoader."""

    sampler: Iterable[Any] | None
    batch_sampler: Iterable[Any] | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    worker_init_fn: Callable[[int], None] | None
    multiprocessing_context: BaseContext | str | None
    generator: Generator | None
    prefetch_factor: int | None
    persistent_workers: bool


class DataLoader(Generic[B_co]):
    """Iterates over a dataset in batches; the arguments are PyTorch's.

    `num_workers` processes fetch batches ahead. They start by "forkserver" or "spawn", so the main
    module must be importable: keep its top level under `if __name__ == "__main__"`. Batches come in
    the sampler's order. The random numbers of a batch depend only on the epoch's base seed and the
    batch's number (iterable datasets: base seed + worker), so an epoch repeats bit for bit with any
    number of workers. Without workers, they come from this process's generator. With a
    DistributedSampler that has shards, those of a shard depend on the epoch's base seed, the batch's
    number and the shard's, with workers and without (there samara's alone), so that they repeat with
    any number of ranks.

    `state_dict` and `load_state_dict` stop and resume anywhere in an epoch, bit for bit, without
    fetching again what came before.

    timeout: seconds to wait for a batch, 0: forever. pin_memory and pin_memory_device have no
    effect: there is no device to copy to. in_order has no effect: batches are always in order. Raises
    SamaraError for arguments that exclude each other.

    PyTorch: `torch.utils.data.DataLoader`.

    >>> loader = samara.data.DataLoader([1.0, 2.0, 3.0], batch_size=2)
    >>> [batch.tolist() for batch in loader]
    [[1.0, 2.0], [3.0]]
    """

    if TYPE_CHECKING:
        # The type of a batch is the collate function's result; the default one makes tensors of numbers.

        @overload
        def __init__(
            self,
            dataset: Any,
            batch_size: int | None = 1,
            shuffle: bool | None = None,
            *,
            collate_fn: Callable[[Any], B_co],
            **options: Unpack[_Options],
        ) -> None: ...
        @overload
        def __init__(
            self: DataLoader[Any],
            dataset: Samples[_Unknown | _Record],
            batch_size: int | None = 1,
            shuffle: bool | None = None,
            *,
            collate_fn: None = None,
            **options: Unpack[_Options],
        ) -> None: ...
        @overload
        def __init__(
            self: DataLoader[list[Tensor]],
            dataset: Samples[tuple[Part, ...]],
            batch_size: int = 1,
            shuffle: bool | None = None,
            *,
            collate_fn: None = None,
            **options: Unpack[_Options],
        ) -> None: ...
        @overload
        def __init__(
            self: DataLoader[dict[str, Tensor]],
            dataset: Samples[Mapping[str, Part]],
            batch_size: int = 1,
            shuffle: bool | None = None,
            *,
            collate_fn: None = None,
            **options: Unpack[_Options],
        ) -> None: ...
        @overload
        def __init__(
            self: DataLoader[Tensor],
            dataset: Samples[Part],
            batch_size: int = 1,
            shuffle: bool | None = None,
            *,
            collate_fn: None = None,
            **options: Unpack[_Options],
        ) -> None: ...
        @overload
        def __init__(
            self: DataLoader[Any],
            dataset: Any,
            batch_size: int | None = 1,
            shuffle: bool | None = None,
            sampler: Iterable[Any] | None = None,
            batch_sampler: Iterable[Any] | None = None,
            num_workers: int = 0,
            collate_fn: Callable[[Any], Any] | None = None,
            pin_memory: bool = False,
            drop_last: bool = False,
            timeout: float = 0,
            worker_init_fn: Callable[[int], None] | None = None,
            multiprocessing_context: BaseContext | str | None = None,
            generator: Generator | None = None,
            *,
            prefetch_factor: int | None = None,
            persistent_workers: bool = False,
        ) -> None: ...

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: BaseContext | str | None = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        self._iterable = isinstance(dataset, IterableDataset)
        self._check(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if num_workers < 0 or timeout < 0:
            raise ArgumentError("num_workers and timeout are at least 0")
        if num_workers == 0 and (prefetch_factor is not None or persistent_workers):
            raise ArgumentError("prefetch_factor and persistent_workers need num_workers > 0")
        if prefetch_factor is not None and prefetch_factor < 1:
            raise ArgumentError(f"prefetch_factor is {prefetch_factor}, expected at least 1")
        self.dataset = dataset
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.prefetch_factor = _AHEAD if prefetch_factor is None else prefetch_factor
        self.persistent_workers = persistent_workers
        self.batch_size = None if batch_sampler is not None else batch_size
        self.drop_last = drop_last
        self._batches = batch_sampler is not None or batch_size is not None
        if collate_fn is None:
            collate_fn = default_collate if self._batches else default_convert
        self.collate_fn = collate_fn
        if sampler is None and batch_sampler is None and not self._iterable:
            sampler = (
                RandomSampler(dataset, generator=generator)
                if shuffle
                else SequentialSampler(dataset)
            )
        self.sampler = sampler
        if batch_sampler is None and batch_size is not None and sampler is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler
        self._pool: WorkerPool | None = None
        self._epoch = object()  # of the iterator that state_dict tells about
        self._yielded = 0
        self._base_seed: int | None = None
        self._begun: Any = None  # the sampler's state at the beginning of the epoch
        self._resume: Mapping[str, Any] | None = None

    def _check(
        self, batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool
    ) -> None:
        if self._iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ArgumentError("an IterableDataset has its own order: no shuffle and no sampler")
        if sampler is not None and shuffle:
            raise ArgumentError("sampler and shuffle exclude each other")
        if batch_sampler is not None and (
            batch_size != 1 or shuffle or sampler is not None or drop_last
        ):
            raise ArgumentError("batch_sampler excludes batch_size, shuffle, sampler and drop_last")
        if batch_size is None and drop_last:
            raise ArgumentError("drop_last needs a batch_size")
        if batch_size is not None and batch_size < 1:
            raise ArgumentError(f"batch_size is {batch_size}, expected at least 1")

    def __len__(self) -> int:
        """Batches of an epoch. TypeError for an IterableDataset that has no length."""
        if not self._iterable:
            return len(self._index_sampler)
        n = len(self.dataset)
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    # ---- an epoch

    def __iter__(self) -> Iterator[B_co]:
        tasks, base_seed = self._begin()
        self._epoch = epoch = object()
        if self.num_workers == 0:
            batches = self._run_here(tasks, base_seed)
        else:
            batches = self._run_workers(tasks, base_seed)
        return self._count(batches, epoch)

    def _begin(self) -> tuple[Iterator[tuple[int, Any]], int]:
        """Draw the epoch's seeds, or take those of the state to resume.

        Returns its numbered tasks and its base seed.
        """
        state, self._resume = self._resume, None
        done = 0
        self._base_seed = None
        if state is not None:
            done = int(state["yielded"])
            self._base_seed = state["base_seed"]
        if self._base_seed is None:
            self._base_seed = int(generator_of(self.generator).integers(0, _SEEDS, ()))
        self._yielded = done
        if self._iterable:
            return enumerate(itertools.repeat(self.batch_size)), self._base_seed
        indices = iter(self._index_sampler)
        self._begun = self._sampler_state()
        return itertools.islice(enumerate(indices), done, None), self._base_seed

    def _count(self, batches: Iterator[Any], epoch: object) -> Iterator[Any]:
        for batch in spans.each("data", batches):
            if self._epoch is epoch:
                self._yielded += 1
            yield batch
        if self._epoch is epoch:
            self._yielded, self._base_seed, self._begun = 0, None, None

    def _job(self) -> Job:
        return Job(
            self.dataset,
            self.collate_fn,
            self._batches,
            self.drop_last,
            self.worker_init_fn,
            self.num_workers,
        )

    def _run_here(self, tasks: Iterator[tuple[int, Any]], base_seed: int) -> Iterator[Any]:
        fetcher = Fetcher(self._job())
        for number, task in tasks:
            batch = fetcher.fetch(task, base_seed, number)
            if batch is END:
                return
            yield batch

    def _run_workers(self, tasks: Iterator[tuple[int, Any]], base_seed: int) -> Iterator[Any]:
        pool = self._pool
        if pool is None:
            pool = WorkerPool(self._job(), self._context(), self.timeout)
            if self.persistent_workers:
                self._pool = pool
                weakref.finalize(self, pool.close)
        try:
            yield from pool.run(base_seed, tasks, self.prefetch_factor)
        except (GeneratorExit, SupersededError):
            raise
        except BaseException:
            if self._pool is pool:  # who knows what is on the way: the next epoch starts others
                self._pool = None
            raise
        finally:
            if self._pool is not pool:
                pool.close()

    def _context(self) -> BaseContext:
        given = self.multiprocessing_context
        if isinstance(given, BaseContext):
            return given
        if given is None:
            given = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
        return get_context(given)

    # ---- states

    def state_dict(self) -> dict[str, Any]:
        """Where the iteration is: batches given in this epoch, its seeds, the sampler's state.

        Plain numbers and arrays, which `samara.save` stores. The default generator is not part of
        it (`samara.get_rng_state`). Raises SamaraError if the sampler cannot be stored.
        """
        generator = None if self.generator is None else self.generator.get_state()
        sampler = None
        if not self._iterable:
            sampler = self._sampler_state() if self._begun is None else self._begun
            if sampler is None:
                raise ArgumentError(
                    f"{type(self._index_sampler).__name__} cannot be stored",
                    fix="give the sampler state_dict() and load_state_dict()",
                )
        return {
            "yielded": self._yielded,
            "base_seed": self._base_seed,
            "sampler": sampler,
            "generator": generator,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iteration continues where `state_dict` was called on an equal loader.

        Raises SamaraError for anything else, UnsupportedError for a state in the middle of an iterable dataset,
        which has no indices.
        """
        missing = [
            key for key in ("yielded", "base_seed", "sampler", "generator") if key not in state
        ]
        if missing:
            raise ArgumentError(
                f"this is no state of a DataLoader: {', '.join(missing)} is missing"
            )
        if self._iterable and state["yielded"]:
            raise UnsupportedError(
                "an IterableDataset cannot be resumed in the middle of an epoch",
                fix="use a dataset with indices, or save at the end of an epoch",
            )
        self._restore(state)
        self._yielded = int(state["yielded"])
        self._base_seed = state["base_seed"]
        self._begun = state["sampler"] if self._base_seed is not None else None
        self._epoch = object()
        self._resume = dict(state)

    def _restore(self, state: Mapping[str, Any]) -> None:
        if state["sampler"] is not None:
            self._index_sampler.load_state_dict(state["sampler"])
        if self.generator is not None and state["generator"] is not None:
            self.generator.set_state(state["generator"])

    def _sampler_state(self) -> Any:
        sampler = self._index_sampler
        if isinstance(sampler, BatchSampler):
            sampler = sampler.sampler
        return sampler.state_dict() if hasattr(sampler, "state_dict") else None
