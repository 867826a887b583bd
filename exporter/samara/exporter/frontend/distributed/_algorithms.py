# SPDX-License-Identifier: Apache-2.0
"""The collectives as steps over a transport; see _engine.py. Arrays are flat and contiguous."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from samara.exporter.frontend.distributed._engine import Steps
from samara.exporter.frontend.distributed._reduction import ReduceOp, fold
from samara.exporter.frontend.distributed._transport import Transport, as_bytes

Array = np.ndarray[Any, Any]

_SMALL: Final = 16384  # bytes up to which every rank gets all parts and reduces them itself


def parts_of(flat: Array, count: int) -> list[Array]:
    """A flat array as `count` views of equal size; the last ones are smaller or empty."""
    step = -(-flat.size // count)
    return [flat[min(k * step, flat.size) : min((k + 1) * step, flat.size)] for k in range(count)]


def all_reduce(transport: Transport, flat: Array, op: ReduceOp) -> Steps:
    """Reduce in place. Large arrays: every rank reduces its part of all, then all collect the parts."""
    size = transport.size
    if flat.nbytes <= _SMALL:
        whole = np.empty((size, flat.size), flat.dtype)
        yield transport.allgather(as_bytes(flat), as_bytes(whole), [flat.nbytes] * size)
        fold(op, list(whole), flat)
        return
    yield from _reduce_parts(transport, flat, op)
    sizes = [part.nbytes for part in parts_of(flat, size)]
    yield transport.allgather(None, as_bytes(flat), sizes)


def _reduce_parts(transport: Transport, flat: Array, op: ReduceOp) -> Steps:
    """Reduce this rank's part of `parts_of(flat)` in place."""
    size = transport.size
    parts = parts_of(flat, size)
    own = parts[transport.rank]
    received = np.empty((size, own.size), flat.dtype)
    sizes = [part.nbytes for part in parts]
    taken = [own.nbytes] * size
    yield transport.alltoall(as_bytes(flat), sizes, as_bytes(received), taken, own=False)
    fold(op, [own if k == transport.rank else received[k] for k in range(size)], own)


def reduce(transport: Transport, flat: Array, op: ReduceOp, root: int) -> Steps:
    """Reduce in place on the root; the others' arrays hold partial results afterwards."""
    size = transport.size
    if flat.nbytes <= _SMALL:
        whole = np.empty((size, flat.size), flat.dtype)
        yield from collect(transport, flat, as_bytes(whole), [flat.nbytes] * size, root)
        if transport.rank == root:
            fold(op, list(whole), flat)
        return
    yield from _reduce_parts(transport, flat, op)
    parts = parts_of(flat, size)
    own = parts[transport.rank].copy()  # the root receives where it would send from
    yield from collect(transport, own, as_bytes(flat), [part.nbytes for part in parts], root)


def reduce_scatter(transport: Transport, sent: Array, out: Array, op: ReduceOp) -> Steps:
    """`sent` holds one part of `out`'s size for each rank."""
    size = transport.size
    received = np.empty((size, out.size), out.dtype)
    sizes = [out.nbytes] * size
    yield transport.alltoall(as_bytes(sent), sizes, as_bytes(received), sizes)
    fold(op, list(received), out)


def collect(
    transport: Transport, part: Array, whole: Array, sizes: Sequence[int], root: int
) -> Steps:
    """Every rank's part, in `whole` of the root; `sizes` are their bytes."""
    size, at_root = transport.size, transport.rank == root
    sent = [part.nbytes if k == root else 0 for k in range(size)]
    received = list(sizes) if at_root else [0] * size
    yield transport.alltoall(as_bytes(part), sent, as_bytes(whole), received)


def distribute(
    transport: Transport, whole: Array, sizes: Sequence[int], part: Array, root: int
) -> Steps:
    """The reverse of `collect`."""
    size, at_root = transport.size, transport.rank == root
    sent = list(sizes) if at_root else [0] * size
    received = [part.nbytes if k == root else 0 for k in range(size)]
    yield transport.alltoall(as_bytes(whole), sent, as_bytes(part), received)
