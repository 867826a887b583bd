# SPDX-License-Identifier: Apache-2.0
"""Running statistics: a batch's mean and variance move those of its layer, now or later, in order."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np

from samara.exporter.frontend.tensor import Tensor, wrap

Array = np.ndarray[Any, Any]
Record = tuple[Any, Array, Array]
"""A normalisation layer, and mean and unbiased variance [C] of a batch, in the layer's dtype."""


class _Scope(threading.local):
    """Where this thread records statistics; None: they move the running ones at once."""

    records: list[Record] | None = None


_SCOPE: Final = _Scope()


@contextlib.contextmanager
def recorded(records: list[Record] | None) -> Iterator[None]:
    """Within the block, in this thread, layers in training append to `records` and do not change
    their running statistics, nor the number of batches. With None they move them at once.

    `apply` of the records does the rest: to the bit what the layers had done without this block.
    """
    outer, _SCOPE.records = _SCOPE.records, records
    try:
        yield
    finally:
        _SCOPE.records = outer


def records() -> list[Record] | None:
    """Where this thread records statistics, if anywhere."""
    return _SCOPE.records


def take(layer: Any, mean: Tensor, variance: Tensor) -> None:
    """Record a batch's mean and unbiased variance, or move the running statistics of its layer."""
    found = _SCOPE.records
    if found is None or mean._symbolic:
        layer._move_statistics(mean, variance)
    else:
        found.append((layer, np.array(mean._data), np.array(variance._data)))


def apply(records: Iterable[Record]) -> None:
    """Move the running statistics of the layers by their batches, in the order of the records."""
    for layer, mean, variance in records:
        layer._move_statistics(wrap(mean), wrap(variance))
