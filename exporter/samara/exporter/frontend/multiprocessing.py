# SPDX-License-Identifier: Apache-2.0
"""samara.multiprocessing: the standard module, but tensors travel as handles.

A Tensor sent through a Queue, Pipe or Pool is copied once into shared memory. A handle of some
hundred bytes goes through the pipe, and the receiver maps the memory without another copy. The memory
has no name, so nothing is left when the processes end, even if they are killed.
"""

from __future__ import annotations

import multiprocessing as standard
from multiprocessing import active_children, cpu_count, current_process, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import (
    ForkServerContext,
    ProcessError,
    SpawnContext,
    TimeoutError,
)
from multiprocessing.reduction import ForkingPickler
from typing import Any, Final

import numpy as np

from samara.exporter.frontend import sharing
from samara.exporter.frontend.input_records import mark, marks
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.pybridge.errors import SamaraError, UnsupportedError

__all__ = [
    "Barrier",
    "BoundedSemaphore",
    "Condition",
    "Connection",
    "Event",
    "JoinableQueue",
    "Lock",
    "Manager",
    "Pipe",
    "Pool",
    "Process",
    "ProcessError",
    "Queue",
    "RLock",
    "Semaphore",
    "SimpleQueue",
    "TimeoutError",
    "active_children",
    "cpu_count",
    "current_process",
    "get_all_start_methods",
    "get_context",
    "parent_process",
    "register",
    "wait",
]

SMALL: Final = 2048  # tensors of up to this many bytes travel in the pipe itself


def get_all_start_methods() -> list[str]:
    """The methods of starting a process on this system, without "fork"."""
    return [name for name in standard.get_all_start_methods() if name != "fork"]


def get_context(method: str | None = None) -> SpawnContext | ForkServerContext:
    """The standard module's context that starts processes by "spawn" (the default) or "forkserver".

    Raises UnsupportedError for anything else: a forked child inherits locks of threads that it lacks.
    """
    method = "spawn" if method is None else method
    if method not in get_all_start_methods():
        raise UnsupportedError(
            f"processes cannot be started by {method!r}",
            fix=f"use one of {', '.join(get_all_start_methods())}",
        )
    context = standard.get_context(method)
    assert isinstance(context, (SpawnContext, ForkServerContext))
    return context


_SPAWN: Final = standard.get_context("spawn")
Process = _SPAWN.Process
Queue = _SPAWN.Queue
JoinableQueue = _SPAWN.JoinableQueue
SimpleQueue = _SPAWN.SimpleQueue
Pipe = _SPAWN.Pipe
Pool = _SPAWN.Pool
Manager = _SPAWN.Manager
Lock = _SPAWN.Lock
RLock = _SPAWN.RLock
Condition = _SPAWN.Condition
Event = _SPAWN.Event
Semaphore = _SPAWN.Semaphore
BoundedSemaphore = _SPAWN.BoundedSemaphore
Barrier = _SPAWN.Barrier


def register(kind: type[Tensor]) -> None:
    """Let instances of a subclass of Tensor travel like tensors.

    They arrive as `kind(tensor, requires_grad)`, as parameters are made.
    """
    ForkingPickler.register(kind, _reduce)


def detached(tensor: Tensor) -> Any:
    """The array of a tensor to send. SamaraError for a tensor with a node on the tape."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise SamaraError(
            "a tensor that was computed with gradients cannot be sent to another process",
            fix="send tensor.detach()",
        )
    return tensor.detach().numpy()


def rebuilt(
    kind: type[Tensor], array: Any, requires_grad: bool, records: tuple[str, ...] = ()
) -> Tensor:
    """A received tensor over `array`."""
    tensor: Tensor = mark(wrap(array), records)
    if kind is not Tensor:
        return kind(tensor, requires_grad)
    return tensor.requires_grad_(requires_grad)


def _reduce(tensor: Tensor) -> Any:
    array = detached(tensor)
    head = (type(tensor), array.dtype.str, array.shape, tensor.requires_grad, marks(tensor))
    if array.nbytes <= SMALL or not sharing.HAVE_DESCRIPTORS:
        return _from_bytes, (*head, array.tobytes())
    fd, _places = sharing.write_block([np.ascontiguousarray(array)])
    return _from_ticket, (*head, *sharing.sharer.offer(fd))


def _from_bytes(
    kind: type[Tensor],
    dtype: str,
    shape: tuple[int, ...],
    requires_grad: bool,
    records: tuple[str, ...],
    data: bytes,
) -> Tensor:
    array = np.frombuffer(bytearray(data), dtype).reshape(shape)
    return rebuilt(kind, array, requires_grad, records)


def _from_ticket(
    kind: type[Tensor],
    dtype: str,
    shape: tuple[int, ...],
    requires_grad: bool,
    records: tuple[str, ...],
    address: Any,
    ticket: int,
) -> Tensor:
    memory = sharing.map_block(sharing.redeem(address, ticket))
    count = int(np.prod(shape, dtype=np.int64))
    array = memory[: count * np.dtype(dtype).itemsize].view(dtype).reshape(shape)
    return rebuilt(kind, array, requires_grad, records)


register(Tensor)
for _kind in Tensor.__subclasses__():  # subclasses defined later register themselves
    register(_kind)
