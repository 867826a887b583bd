# SPDX-License-Identifier: Apache-2.0
"""Replicas of a module, and the threads that run them."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, Final, TypeVar

from samara.exporter.frontend import random, tape
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.nn.parallel.scatter_gather import count_of
from samara.exporter.frontend.nn.parameter import Parameter
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import SamaraError

__all__ = ["parallel_apply", "replicate"]

T = TypeVar("T")
_SEEDS: Final = 1 << 62


def replicate(network: Module, devices: int | Sequence[Any], detach: bool = False) -> list[Module]:
    """Copies of a module that share its parameters, as many as there are devices.

    The first copy shares the buffers too, so what it writes into them persists; the others have
    copies. Other attributes are shared as they are. With `detach` no gradients flow to the parameters.
    devices: a list of that length, or its number.

    PyTorch: `torch.nn.parallel.replicate`.

    >>> first, second = nn.parallel.replicate(nn.Linear(4, 2), 2)
    >>> second.weight is first.weight
    True
    """
    change = functools.partial(leaf_over, requires_grad=False) if detach else _same
    return [copied(network, change, {}, shares=i == 0) for i in range(count_of(devices))]


def leaf_over(parameter: Parameter, requires_grad: bool) -> Parameter:
    """A parameter over the same memory, with a gradient of its own."""
    leaf = Parameter(parameter, requires_grad)
    leaf._version = parameter._version
    return leaf


def _same(parameter: Parameter) -> Parameter:
    return parameter


def copied(
    module: Module,
    change: Callable[[Parameter], Parameter],
    memo: dict[int, Any],
    shares: bool,
) -> Module:
    """A copy of the module and those below it, with changed parameters.

    shares: whether the buffers are the module's own. memo: the copies by id of the original.
    """
    found: Module | None = memo.get(id(module))
    if found is not None:
        return found
    out = memo[id(module)] = module.__class__.__new__(module.__class__)
    own = dict(module.__dict__)

    def once(t: Any, make: Callable[[Any], Any]) -> Any:
        if t is not None and id(t) not in memo:
            memo[id(t)] = make(t)
        return None if t is None else memo[id(t)]

    own["_parameters"] = {name: once(p, change) for name, p in module._parameters.items()}
    if not shares:
        copy: Callable[[Tensor], Tensor] = lambda b: b.detach().clone()  # noqa: E731
        own["_buffers"] = {name: once(b, copy) for name, b in module._buffers.items()}
    own["_modules"] = {
        name: None if m is None else copied(m, change, memo, shares)
        for name, m in module._modules.items()
    }
    out.__dict__.update(own)
    return out


def parallel_apply(
    modules: Sequence[Callable[..., Any]],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[Mapping[str, Any]] | None = None,
    devices: Any = None,
) -> list[Any]:
    """Call each module with its input (a tuple or list: its arguments) in a thread, and wait for all.

    Each thread records like the caller, and draws from a generator that follows from one number of
    the default generator and the module's position. devices has no effect. An error in a call is
    raised here when all have ended; it names the replica.

    PyTorch: `torch.nn.parallel.parallel_apply`.

    >>> nn.parallel.parallel_apply([nn.ReLU(), nn.Flatten()], [samara.ones(1), samara.zeros(1, 2)])
    [tensor([1.]), tensor([[0., 0.]])]
    """
    keywords = [{}] * len(modules) if kwargs_tup is None else kwargs_tup
    if not len(modules) == len(inputs) == len(keywords):
        raise ArgumentError(
            f"{len(modules)} modules, {len(inputs)} inputs, {len(keywords)} keyword arguments"
        )
    calls = [
        functools.partial(module, *(x if isinstance(x, (tuple, list)) else (x,)), **given)
        for module, x, given in zip(modules, inputs, keywords, strict=True)
    ]
    return in_threads(calls, draw())


def draw() -> int:
    """The number that the generators of replicas are derived from."""
    return int(random.generator_of(None).integers(0, _SEEDS, ()))


class _Inside(threading.local):
    """Whether this thread runs a replica."""

    active = False


_INSIDE: Final = _Inside()


def inside() -> bool:
    """Whether this thread runs a replica. All threads are at work then, so none starts more."""
    return _INSIDE.active


def in_threads(calls: Sequence[Callable[[], T]], number: int) -> list[T]:
    """The results of the calls, of which the first runs in this thread and each other in its own.

    Call i draws from the generator derived from (number, i). Recording is the caller's. In a replica
    and in a trace the calls run one after the other.
    """
    recording, anomaly = tape.MODE.enabled, tape.MODE.anomaly

    def run(index: int) -> T:
        outer = _INSIDE.active, tape.MODE.anomaly
        _INSIDE.active, tape.MODE.anomaly = True, anomaly
        try:
            mode = tape.enable_grad() if recording else tape.no_grad()
            with random.scoped(random.derived(number, index)), mode:
                return calls[index]()
        except Exception as error:
            _name(error, f"replica {index} of {len(calls)}")
            raise
        finally:
            _INSIDE.active, tape.MODE.anomaly = outer

    if len(calls) < 2 or inside() or tape.tracing() is not None:
        return [run(index) for index in range(len(calls))]
    pool = _pool(len(calls) - 1)
    others = [pool.submit(run, index) for index in range(1, len(calls))]
    try:
        first = run(0)
    finally:
        wait(others)  # they read the parameters, which the caller may change next
    return [first, *(future.result() for future in others)]


def _name(error: Exception, replica: str) -> None:
    """Let the error say in which replica it happened."""
    if isinstance(error, SamaraError):
        error.message = f"{replica}: {error.message}"
    else:
        error.add_note(f"This happened in {replica}.")


class _Threads:
    """The threads that all replicas of a process share; they start when they are needed."""

    pool: ThreadPoolExecutor | None = None
    size = 0
    process = 0  # a forked child has the pool, but not its threads


_THREADS: Final = _Threads()
_LOCK: Final = threading.Lock()


def _pool(count: int) -> ThreadPoolExecutor:
    """At least `count` threads."""
    with _LOCK:
        pool = _THREADS.pool
        if pool is None or _THREADS.size < count or _THREADS.process != os.getpid():
            # A smaller pool ends its threads when its last caller is done.
            pool = _THREADS.pool = ThreadPoolExecutor(count, "samara-replica")
            _THREADS.size, _THREADS.process = count, os.getpid()
        return pool
