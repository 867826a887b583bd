# SPDX-License-Identifier: Apache-2.0
"""The work of a worker, run in this process: fetching, seeds, answers to errors."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from samara.exporter.frontend.data import Dataset, IterableDataset, _worker, get_worker_info
from samara.exporter.frontend.random import default_generator


class Together(Dataset):
    def __getitems__(self, indices: list[int]) -> list[int]:
        return [10 * i for i in indices]


class Stream(IterableDataset):
    def __iter__(self) -> Iterator[int]:
        return iter(range(5))


def job(dataset: Any, batches: bool = True, drop_last: bool = False) -> _worker.Job:
    return _worker.Job(dataset, list if batches else str, batches, drop_last, None, 1)


def test_fetching() -> None:
    assert _worker.Fetcher(job([5, 6, 7])).fetch([2, 0]) == [7, 5]
    assert _worker.Fetcher(job([5, 6, 7], batches=False)).fetch(1) == "6"
    assert _worker.Fetcher(job(Together())).fetch([1, 2]) == [10, 20]
    stream = _worker.Fetcher(job(Stream()))
    assert [stream.fetch(2) for _ in range(4)] == [[0, 1], [2, 3], [4], _worker.END]
    stream = _worker.Fetcher(job(Stream(), drop_last=True))
    assert [stream.fetch(2) for _ in range(3)] == [[0, 1], [2, 3], _worker.END]
    stream = _worker.Fetcher(job(Stream(), batches=False))
    assert [stream.fetch(None) for _ in range(6)] == ["0", "1", "2", "3", "4", _worker.END]


def test_seeds() -> None:
    assert get_worker_info() is None

    def drawn() -> list[Any]:
        return [default_generator.uniform((2,)).tolist(), np.random.rand(), random.random()]

    _worker.seed_all(7)
    first = drawn()
    _worker.seed_all(7)
    assert drawn() == first
    seeds = {_worker.batch_seed(base, number) for base in range(5) for number in range(50)}
    assert len(seeds) == 250
    assert all(0 <= seed < 1 << 63 for seed in seeds)


def test_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    fetcher = _worker.Fetcher(job([5]))
    assert _worker._answer(fetcher, 1, ("task", 0, [0]), None) == ("batch", [5])
    kind, error, text, _pid = _worker._answer(fetcher, 1, ("task", 1, [1]), None)
    assert kind == "error"
    assert isinstance(error, IndexError)
    assert error.__traceback__ is None
    assert "[dataset[i] for i in" in text

    class Here(Exception):
        pass

    _kind, error, text, _pid = _worker._answer(fetcher, 1, ("task", 2, [0]), Here("only"))
    assert error is None
    assert "only" in text
    stream = _worker.Fetcher(job(Stream()))
    stream.fetch(9)
    assert _worker._answer(stream, 1, ("task", 0, 1), None) == ("end",)
