# SPDX-License-Identifier: Apache-2.0
"""How large buckets of gradients should be: by the measured latency and bandwidth of an all-reduce."""

from __future__ import annotations

import time
import weakref
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from samara.exporter.frontend.distributed.collectives import all_reduce
from samara.exporter.frontend.distributed.group import ProcessGroup
from samara.exporter.frontend.distributed.objects import broadcast_object_list
from samara.exporter.frontend.tensor import wrap

_PROBE: Final = 1 << 20  # floats of the large all-reduce: 4 MB
_SHARE: Final = 20  # a bucket takes so many times the latency: 5 % is lost
_LEAST: Final = 256 << 10  # bytes
_MOST: Final = 32 << 20


@dataclass(frozen=True, slots=True)
class Cost:
    """Time of an all-reduce: latency in seconds + bytes / bandwidth in bytes per second."""

    latency: float
    bandwidth: float

    def bucket_bytes(self) -> int:
        """Bytes of a bucket of which the latency is a small part."""
        return int(min(max(_SHARE * self.latency * self.bandwidth, _LEAST), _MOST))


_known: weakref.WeakKeyDictionary[ProcessGroup, Cost] = weakref.WeakKeyDictionary()


def cost_of(group: ProcessGroup) -> Cost:
    """The cost in a group; measured once, by all its ranks, with the first rank's clock."""
    found = _known.get(group)
    if found is None:
        small = _least_time(1, 10, group)
        large = _least_time(_PROBE, 3, group)
        measured = Cost(small, 4 * _PROBE / max(large - small, 1e-6))
        told: list[Any] = [measured]
        broadcast_object_list(told, group=group, group_src=0)
        found = _known[group] = told[0]
    return found


def _least_time(count: int, runs: int, group: ProcessGroup) -> float:
    values = wrap(np.zeros(count, np.float32))
    times = []
    for _ in range(runs + 1):  # the first one touches the memory
        begin = time.perf_counter()
        all_reduce(values, group=group)
        times.append(time.perf_counter() - begin)
    return min(times[1:])
