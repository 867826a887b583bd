# SPDX-License-Identifier: Apache-2.0
"""A worker process of a loader: it fetches the batches it is asked for."""

from __future__ import annotations

import os
import pickle
import random
import signal
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from samara.exporter.frontend.data import _channel
from samara.exporter.frontend.data.dataset import IterableDataset
from samara.exporter.frontend.data.sampler import Shards
from samara.exporter.frontend.random import Generator, manual_seed, scoped
from samara.pybridge.op import set_num_threads

__all__ = ["WorkerInfo", "get_worker_info"]


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """The identity of a worker: `id` of `num_workers`; `seed` is the epoch's base seed + id."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


@dataclass(frozen=True, slots=True)
class Job:
    """The settings of all workers of a loader."""

    dataset: Any
    collate: Callable[[Any], Any]
    batches: bool  # whether a task is a list of indices (for iterable ones: how many samples)
    drop_last: bool
    init: Callable[[int], None] | None
    num_workers: int


END: Final = object()  # the result of Fetcher.fetch after the last sample
_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The identity of this worker process; None in other processes."""
    return _info


def seed_all(seed: int) -> None:
    """Seed samara's, numpy's and Python's default generators."""
    manual_seed(seed)
    np.random.seed(seed % (1 << 32))
    random.seed(seed)


def batch_seed(base_seed: int, number: int) -> int:
    """The seed of a batch. It does not depend on the worker or on earlier batches."""
    words = np.random.SeedSequence([base_seed, number]).generate_state(1, np.uint64)
    return int(words[0] >> np.uint64(1))


class Fetcher:
    """Makes batches of a dataset; of an iterable one the next batch."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._samples: Iterator[Any] | None = None
        if isinstance(job.dataset, IterableDataset):
            self._samples = iter(job.dataset)

    def fetch(self, task: Any, base_seed: int = 0, number: int = 0) -> Any:
        """A batch, or a sample. END at the end of an iterable dataset.

        The random numbers of a shard follow from the base seed, the batch's number and its own.
        """
        job = self._job
        if self._samples is not None:
            return self._next(task)
        if not job.batches:
            return job.collate(job.dataset[task])
        if not isinstance(task, Shards):
            return job.collate(self._of(task))
        samples: list[Any] = []
        seed = batch_seed(base_seed, number)
        for shard, indices in task.parts():
            own = batch_seed(seed, shard)
            if _info is not None:
                seed_all(own)
                samples += self._of(indices)
            else:  # this process has random numbers of its own, which must go on
                with scoped(Generator(own)):
                    samples += self._of(indices)
        return job.collate(samples)

    def _of(self, indices: list[Any]) -> Any:
        dataset = self._job.dataset
        together = getattr(dataset, "__getitems__", None)
        return [dataset[i] for i in indices] if together is None else together(indices)

    def _next(self, count: int) -> Any:
        assert self._samples is not None
        if not self._job.batches:
            sample = next(self._samples, END)
            return END if sample is END else self._job.collate(sample)
        samples = [sample for _, sample in zip(range(count), self._samples, strict=False)]
        if not samples or (self._job.drop_last and len(samples) < count):
            return END
        return self._job.collate(samples)


def work(connection: Any, parent: int, worker: int) -> None:
    """A worker process: receive a job, then epochs and tasks, until None or until the loader is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the loader handles Ctrl-C
    set_num_threads(1)  # the workers share the processors
    try:
        _work(connection, parent, worker)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the loader is gone
    finally:
        connection.close()


def _work(connection: Any, parent: int, worker: int) -> None:
    job: Job | None = None
    fetcher: Fetcher | None = None
    base_seed = 0
    failure: BaseException | None = None  # of the start, sent as the answer to the first task
    while True:
        try:
            message = _channel.receive(connection, private=True)
        except (EOFError, OSError):
            raise EOFError from None
        except Exception as error:  # noqa: BLE001 (the loader raises it)
            message, failure = ("failed",), error
        if message is None:
            return
        kind = message[0]
        if kind == "job":
            job = message[1]
        elif kind == "epoch" and failure is None:
            base_seed = message[1]
            try:
                assert job is not None
                fetcher = _begin(job, base_seed, worker, message[2])
            except Exception as error:  # noqa: BLE001 (the loader raises it)
                failure = error
        elif kind == "task":
            _channel.send(connection, _answer(fetcher, base_seed, message, failure), parent)


def _begin(job: Job, base_seed: int, worker: int, first: bool) -> Fetcher:
    global _info
    seed = base_seed + worker
    _info = WorkerInfo(worker, job.num_workers, seed, job.dataset)
    seed_all(seed)
    if first and job.init is not None:
        job.init(worker)
    return Fetcher(job)


def _answer(fetcher: Fetcher | None, base_seed: int, message: Any, failure: Any) -> tuple[Any, ...]:
    try:
        if failure is not None:
            raise failure
        assert fetcher is not None
        _kind, number, task = message
        if fetcher._samples is None:
            seed_all(batch_seed(base_seed, number))
        batch = fetcher.fetch(task, base_seed, number)
        return ("end",) if batch is END else ("batch", batch)
    except Exception as error:  # noqa: BLE001 (the loader raises it)
        text = "".join(traceback.format_exception(error))
        return "error", _portable(error), text, os.getpid()


def _portable(error: Exception) -> Exception | None:
    """The exception, if it can be pickled."""
    bare = error.with_traceback(None)
    bare.__cause__ = bare.__context__ = None
    try:
        pickle.loads(pickle.dumps(bare))
    except Exception:  # noqa: BLE001 (whatever a user's class does)
        return None
    return bare
