# SPDX-License-Identifier: Apache-2.0
"""The caching allocator of eager tensors: each thread keeps its freed blocks, by rounded size.

A training step allocates the same sizes again and again. Memory from the system would cost page
faults for every large array. SAMARA_ALLOC=system turns the cache off.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

__all__ = ["empty_cache", "stats"]

SMALL: Final = 32 << 10  # below this many bytes numpy's allocator is as fast
_ALIGN: Final = 64


class _Lease(weakref.ref["np.ndarray[Any, Any]"]):
    """Watches the array over a block.

    numpy makes this array the base of every view of it, so when it dies nothing refers to the block.
    """

    __slots__ = ("block", "pool")

    block: bytearray
    pool: weakref.ref[_Pool]


class _Pool:
    """Free blocks of one thread by size, and its counts of hits and misses."""

    __slots__ = ("__weakref__", "counts", "free", "own")

    def __init__(self) -> None:
        self.own = weakref.ref(self)
        self.free: dict[int, list[bytearray]] = {}
        self.counts = {"hits": 0, "misses": 0}
        _pools[id(self)] = self.own
        weakref.finalize(self, _fold, id(self), self.counts).atexit = False

    def take(self, size: int) -> bytearray:
        blocks = self.free.get(size)
        if blocks:
            self.counts["hits"] += 1
            return blocks.pop()
        self.counts["misses"] += 1
        try:
            return _new_block(size)
        except MemoryError:
            self.free.clear()
            return _new_block(size)


class _Local(threading.local):
    """The calling thread's pool, and memory of others that its next arrays may take."""

    def __init__(self) -> None:
        self.pool = _Pool()
        self.offered: list[np.ndarray[Any, Any]] = []


def _fold(key: int, counts: dict[str, int]) -> None:
    """Keep the counts of a thread that has ended."""
    _pools.pop(key, None)
    for name, count in counts.items():
        _gone[name] += count


def _new_block(size: int) -> bytearray:
    """A block whose byte 0 holds the offset of its first aligned byte."""
    if size > sys.maxsize - _ALIGN:  # of which bytearray says OverflowError
        raise MemoryError(f"{size} bytes are more than there are addresses")
    block = bytearray(size + _ALIGN)
    address = np.frombuffer(block, np.uint8, 1).__array_interface__["data"][0]
    block[0] = _ALIGN - address % _ALIGN
    return block


def _ended(lease: _Lease) -> None:
    """Return a block to the thread that allocated it, whichever thread dropped the last array over it.

    Otherwise blocks that one thread hands to another would pile up there. The blocks of a thread
    that has ended go back to the system.
    """
    del _leases[id(lease)]
    pool = lease.pool()
    if pool is not None:
        block = lease.block
        # setdefault and append are atomic; the owner may use the lists at the same time.
        pool.free.setdefault(len(block) - _ALIGN, []).append(block)


def _rounded(size: int) -> int:
    """The size rounded up to one of eight classes per doubling, so at most an eighth is wasted."""
    step = 1 << max(size.bit_length() - 4, 12)
    return -(-size // step) * step


_pools: dict[int, weakref.ref[_Pool]] = {}
_gone: dict[str, int] = {"hits": 0, "misses": 0}  # of threads that have ended
_leases: dict[int, _Lease] = {}
_local = _Local()
_SYSTEM: Final = os.environ.get("SAMARA_ALLOC") == "system"


def empty(shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An uninitialised row-major array."""
    size = math.prod(shape) * dtype.itemsize
    if size < SMALL or _SYSTEM:
        return np.empty(shape, dtype)
    for index, offer in enumerate(_local.offered):
        if offer.shape == tuple(shape) and offer.dtype == dtype:
            return _local.offered.pop(index)
    pool = _local.pool
    block = pool.take(_rounded(size))
    array: np.ndarray[Any, Any] = np.ndarray(shape, dtype, block, block[0])
    lease = _Lease(array, _ended)
    lease.block = block
    lease.pool = pool.own
    _leases[id(lease)] = lease
    return array


def empty_like(
    array: np.ndarray[Any, Any], dtype: np.dtype[Any] | None = None
) -> np.ndarray[Any, Any]:
    """An uninitialised array of the same shape with the same order of axes in memory."""
    kind = array.dtype if dtype is None else dtype
    if array.nbytes < SMALL or _SYSTEM:
        return np.empty_like(array, kind, subok=False)
    if array.flags.c_contiguous:
        return empty(array.shape, kind)
    order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    dense = empty([array.shape[axis] for axis in order], kind)
    return dense.transpose(np.argsort(order))


@contextlib.contextmanager
def offering(arrays: Sequence[np.ndarray[Any, Any]]) -> Iterator[None]:
    """Within the block, `empty` of the calling thread gives each of `arrays` once, if its type is asked for.

    So a result can be made where somebody wants it. Arrays below `SMALL` bytes are never taken.
    """
    before = _local.offered
    _local.offered = list(arrays)
    try:
        yield
    finally:
        _local.offered = before


def stats() -> dict[str, int]:
    """`hits`, `misses` (blocks requested from the system) and `cached_bytes`, over all threads."""
    total = {**_gone, "cached_bytes": 0}
    for found in list(_pools.values()):
        pool = found()
        if pool is not None:
            for name, count in pool.counts.items():
                total[name] += count
            total["cached_bytes"] += sum(n * len(b) for n, b in list(pool.free.items()))
    return total


def empty_cache() -> None:
    """Give the free blocks of the calling thread back to the system."""
    _local.pool.free.clear()
