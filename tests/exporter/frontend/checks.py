# SPDX-License-Identifier: Apache-2.0
"""What tests of gradients, memory and threads share."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np


def grad_of(t: Any) -> Any:
    """The gradient of a tensor as an array; fails if the tensor has none."""
    assert t.grad is not None
    return t.grad.numpy()


def cosine(a: Any, b: Any) -> float:
    """The cosine of the angle between two arrays."""
    return float(np.sum(a * b) / (np.linalg.norm(a) * np.linalg.norm(b)))


def shared() -> set[str]:
    """Names in the folder of shared memory, if the system has one."""
    folder = Path("/dev/shm")
    return {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Collects garbage once, then turns the collector off: what is freed inside is freed by reference counts."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def in_threads(work: Callable[[Any], object], arguments: Iterable[Any]) -> None:
    """Runs `work` with each argument in a thread of its own, all at the same time, and waits for all."""
    threads = [threading.Thread(target=work, args=(a,)) for a in arguments]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
