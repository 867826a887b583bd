# SPDX-License-Identifier: Apache-2.0
"""Datasets for the tests of loaders, in a module that worker processes can import."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from samara.exporter.frontend.creation import rand
from samara.exporter.frontend.data import Dataset, IterableDataset, get_worker_info


class Noisy(Dataset):
    """Sample i holds i and random numbers of all three sources; notes what it is asked for."""

    def __init__(self, n: int, notes: str | None = None) -> None:
        self.n = n
        self.notes = notes

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        if self.notes is not None:
            with open(self.notes, "a", encoding="ascii") as file:
                file.write(f"{index}\n")
        return index, rand(3), np.random.rand(2), random.random()


class Failing(Dataset):
    """Fails at sample 5 in the way that `how` names."""

    def __init__(self, how: str) -> None:
        self.how = how

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Any:
        if index == 5:
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            elif self.how == "exit":
                os._exit(3)
            elif self.how == "hang":
                time.sleep(60)
            elif self.how == "raise":
                raise KeyError("five")
            elif self.how == "local":
                raise _local_error()("only here")
        return np.full(1 << 16, index, np.int32) if self.how == "kill" else index


def _local_error() -> type[Exception]:
    class LocalError(Exception):
        pass

    return LocalError


class Worker(Dataset):
    """Which worker fetches: process, id, seed, and whether `mark` has run in it."""

    marked = -1

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> dict[str, int]:
        info = get_worker_info()
        assert info is not None
        return {"pid": os.getpid(), "id": info.id, "seed": info.seed, "marked": Worker.marked}


def mark(worker: int) -> None:
    """A worker_init_fn."""
    Worker.marked = worker


class Stream(IterableDataset):
    """Numbers below n, shared out among workers."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        return (
            iter(range(self.n)) if info is None else iter(range(info.id, self.n, info.num_workers))
        )


class Unwilling:
    """Cannot be unpickled."""

    def __len__(self) -> int:
        return 4

    def __reduce__(self) -> Any:
        return _refuse, ()


def _refuse() -> None:
    raise ValueError("not in here")
