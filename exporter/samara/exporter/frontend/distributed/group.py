# SPDX-License-Identifier: Apache-2.0
"""Process groups: who takes part, under which number, and the default group of this rank."""

from __future__ import annotations

import atexit
import importlib.util
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from datetime import timedelta
from typing import Any, Final

import numpy as np

from samara.exporter.frontend import random
from samara.exporter.frontend.distributed import _header, _mpi
from samara.exporter.frontend.distributed._engine import (
    Call,
    Engine,
    Steps,
    Work,
    seconds_of,
    user_line,
)
from samara.exporter.frontend.distributed._thread_world import ThreadControl, ThreadTransport, World
from samara.exporter.frontend.distributed._transport import Bytes, Control, Request, Transport
from samara.exporter.frontend.distributed.errors import DistError
from samara.exporter.launcher import launched
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import UnsupportedError

__all__ = [
    "Backend",
    "GroupMember",
    "ProcessGroup",
    "destroy_process_group",
    "get_backend",
    "get_global_rank",
    "get_group_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "is_available",
    "is_initialized",
    "is_mpi_available",
    "new_group",
]

TIMEOUT: Final = 30.0  # seconds
_INTERRUPTED: Final = 130  # exit status after Ctrl-C
_LANES: Final = 4  # collectives of a group that may be on their way at once

Exchange = Callable[[Transport, list[int], Bytes], Generator[Request, None, Any]]
"""The rest of a collective after its header: transport, bytes of each rank's data, headers."""


class Backend:
    """The names of the engines below: "mpi", and "thread" for ranks that are threads (`run_threads`).

    >>> samara.distributed.Backend.MPI
    'mpi'
    """

    MPI = "mpi"
    THREAD = "thread"


class ProcessGroup:
    """Some ranks that call collectives together; `init_process_group` and `new_group` make them."""

    def __init__(
        self,
        engine: Engine,
        transport: Transport,
        ranks: Sequence[int],
        number: int,
        backend: str,
        timeout: float,
    ) -> None:
        self.ranks = tuple(ranks)
        self.backend = backend
        self.timeout = timeout
        self.engine = engine
        self.number = number
        self._lanes = [transport, *(transport.duplicate() for _ in range(_LANES - 1))]
        self.direct = transport.duplicate()  # for messages between two members
        self._started = 0

    def rank(self) -> int:
        """This rank's number in the group."""
        return self._lanes[0].rank

    def size(self) -> int:
        """Members of the group."""
        return self._lanes[0].size

    def start(
        self,
        what: str,
        rest: Exchange,
        *,
        size: int = 0,
        data: Bytes | None = None,
        same: str | None = None,
        at: str | None = None,
        moved: int | None = None,
        wake: bool = True,
    ) -> Work:
        """Start a collective: exchange headers, then do the rest.

        what: the call as errors name it, without the line. same: what must be equal on all ranks, by
        default `what`. size: bytes of this rank's data. data: these bytes, if they are to travel
        inside the header. at: the user's line, by default where this was called from. moved: bytes to
        report, by default `size`. wake: False if the caller waits at once, so that the watcher need not
        make progress.
        """
        number = self._started
        self._started += 1
        transport = self._lanes[number % len(self._lanes)]
        text = f"{what} at {user_line(sys._getframe(1)) if at is None else at}"
        header = _header.pack(number, what if same is None else same, text, size, data)

        def steps(work: Work) -> Steps:
            headers = np.empty((transport.size, _header.SIZE), np.uint8)
            sizes = [_header.SIZE] * transport.size
            yield transport.allgather(header, headers.reshape(-1), sizes)
            work.joined = True
            work.joined_at = time.monotonic()
            return (yield from rest(transport, _header.check(headers, self.ranks), headers))

        moved = size if moved is None else moved
        call = Call(text, self.number, number, self.ranks, self.timeout, moved)
        return self.engine.start(transport, steps, call, wake)

    def subset(self, ranks: Sequence[int]) -> Transport:
        """A transport of some members, of which this rank is one."""
        return self._lanes[0].subset([self.ranks.index(rank) for rank in ranks])

    def barrier(self) -> Request:
        """A barrier for the end, where no lane is sure to be in step with those of other ranks."""
        return self.direct.allgather(None, np.zeros(self.size(), np.uint8), [1] * self.size())

    def free(self) -> None:
        """Give the communicators back; nothing may be on its way in the group."""
        for lane in (*self._lanes, self.direct):
            lane.free()


class GroupMember:
    """`WORLD` stands for all ranks; `new_group` returns NON_GROUP_MEMBER to ranks that are not in it.

    >>> samara.distributed.GroupMember.WORLD is None
    True
    """

    WORLD = None
    NON_GROUP_MEMBER: Final = object()


class group(GroupMember):
    """PyTorch's other name for `GroupMember`: `group.WORLD`."""


class _State:
    """What this rank has initialised."""

    def __init__(self, world: ProcessGroup) -> None:
        self.world = world
        self.groups: list[ProcessGroup] = []  # of `new_group`
        self.made = 0  # groups made so far, of which this rank may be no member


_own = threading.local()  # ranks that are threads
_process: list[_State] = []  # the process's own, if any
_worlds: dict[tuple[str, int], tuple[World, set[int]]] = {}  # to which threads are still missing
_worlds_lock = threading.Lock()
_failed: list[Engine] = []  # of a group of processes in which a rank has failed
_at_exit: list[int] = []  # the process that has registered `_leave`


def _forget() -> None:
    """Belong to no group: a process that a rank has forked is no rank."""
    _process.clear()
    _own.state = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _current() -> _State | None:
    state: _State | None = getattr(_own, "state", None)
    return state if state is not None or not _process else _process[0]


def world() -> ProcessGroup:
    """The default group. DistError if there is none."""
    state = _current()
    if state is None:
        raise DistError(
            "this process has no process group",
            fix='call samara.distributed.init_process_group("mpi") first, and start the script by '
            "`samara launch -n 2`",
        )
    return state.world


def group_of(given: Any) -> ProcessGroup:
    """The group that a collective was called with; None is the default group."""
    if given is None:
        return world()
    if isinstance(given, ProcessGroup):
        return given
    if given is GroupMember.NON_GROUP_MEMBER:
        raise DistError(
            "this rank is no member of the group",
            fix="call collectives of a group in its members only",
        )
    raise ArgumentError(f"group is {given!r}, expected a ProcessGroup")


def init_process_group(
    backend: str | None = None,
    init_method: Any = None,
    timeout: float | timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Make the default group of all ranks. Every rank calls this once, before other functions.

    backend: "mpi" (the default) for ranks that are processes, which `samara launch` or any mpiexec
    starts; MPI knows rank and world_size. "thread" for ranks that are threads of one process, for
    tests: each thread gives rank and world_size (`run_threads` does all that), and has a default
    generator of its own until the group is destroyed. timeout: seconds or a timedelta that a wait takes
    before it raises DistTimeoutError, by default 30 s.

    After this an error that nobody catches ends all ranks. init_method, store, pg_options and
    device_id have no effect. Raises UnsupportedError for other backends or without mpi4py, DistError
    for a second call.

    >>> def train():
    ...     return samara.distributed.get_rank()
    >>> samara.distributed.run_threads(train, 2)
    [0, 1]
    """
    if _current() is not None:
        raise DistError(
            "the default process group exists already", fix="call init_process_group once"
        )
    seconds = TIMEOUT if timeout is None else seconds_of(timeout)
    if backend in (None, Backend.MPI):
        _process.append(_State(_mpi_world(seconds, world_size, rank)))
    elif backend == Backend.THREAD:
        _own.state = _State(_thread_world(seconds, world_size, rank, group_name))
        own = random.Generator().set_state(random.get_rng_state())
        _own.numbers = random.scoped(own)  # as every process has its own default generator
        _own.numbers.__enter__()
    else:
        raise UnsupportedError(
            f"there is no backend {backend!r}",
            fix='use "mpi", or "thread" for ranks that are threads of one process',
        )


def _mpi_world(seconds: float, world_size: int, rank: int) -> ProcessGroup:
    if multiprocessing.parent_process() is not None:
        raise DistError(
            "a process that a rank has started, as a worker of a DataLoader, is no rank of its own",
            fix='call init_process_group under `if __name__ == "__main__":`',
        )
    if _failed:
        raise DistError(
            f"MPI does not recover from a failed rank: {_failed[0].failure}",
            fix="start all ranks again and go on from a checkpoint: samara launch --restarts 3",
        )
    with _mpi.limited(max(seconds, TIMEOUT)):
        mpi = _mpi.start()
        control = _mpi.MpiControl(mpi)
        if world_size not in (-1, control.size) or rank not in (-1, control.rank):
            raise ArgumentError(
                f"rank {rank} of {world_size} was given, but MPI started rank {control.rank} of "
                f"{control.size}",
                fix="leave rank and world_size out",
            )
        transport = _mpi.MpiTransport(mpi, mpi.COMM_WORLD).duplicate()
        made = _world_of(control, transport, Backend.MPI, seconds)
    _end_together(mpi, made)
    return made


def _end_together(mpi: Any, made: ProcessGroup) -> None:
    """Let an uncaught error of this rank, and the end of what has started it, end all ranks."""
    engine, rank = made.engine, made.rank()

    def abort(status: int) -> None:
        if status != _INTERRUPTED:  # which all ranks are
            error = getattr(sys, "last_value", None)
            engine.tell_failure(error or SystemExit(f"it ends all ranks with status {status}"))
        engine.control.abort(status)

    launched.note_started(rank, made.size())
    launched.install(rank, abort)
    if not _at_exit:
        _at_exit.append(os.getpid())
        atexit.register(_leave, mpi, os.getpid())
        if launched.is_launched() and not launched.is_watched():
            launched.watch()


def _thread_world(seconds: float, world_size: int, rank: int, name: str) -> ProcessGroup:
    if not 0 <= rank < world_size:
        raise ArgumentError(
            f"rank is {rank} of {world_size}, expected 0 to world_size - 1",
            fix="give every thread its rank and world_size, or use run_threads",
        )
    with _worlds_lock:
        key = name, world_size
        shared, joined = _worlds.setdefault(key, (World(world_size), set()))
        if rank in joined:
            raise DistError(f"two threads want to be rank {rank}", fix="number the threads")
        joined.add(rank)
        if len(joined) == world_size:
            del _worlds[key]
    control = ThreadControl(shared, rank)
    transport = ThreadTransport(shared, rank, world_size)
    return _world_of(control, transport, Backend.THREAD, seconds)


def _world_of(control: Control, transport: Transport, backend: str, seconds: float) -> ProcessGroup:
    return ProcessGroup(Engine(control), transport, range(control.size), 0, backend, seconds)


def _leave(mpi: Any, pid: int) -> None:
    """At the end of the process: leave MPI, unless ranks have failed, for which MPI would wait."""
    if os.getpid() != pid:  # forked
        return
    if _process:
        destroy_process_group()
    if not _failed:
        mpi.Finalize()
    elif not _failed[0].leave():
        launched.stop_all(1)  # mpiexec would report success and kill the others


def destroy_process_group(group: Any = None) -> None:
    """Give a group back; without an argument all of them, after which `init_process_group` may follow.

    Without an argument it returns when all ranks have called it (or have ended); collectives that
    others start from then on raise RankFailedError there.

    >>> samara.distributed.is_initialized()
    False
    """
    state = _current()
    if state is None:
        raise DistError("there is no process group to destroy")
    if group is not None and group is not state.world:
        found = group_of(group)
        if found not in state.groups:
            raise DistError("this group is destroyed already")
        state.groups.remove(found)
        state.world.engine.finish(found.number)
        found.free()
        return
    engine = state.world.engine
    if engine.failure is None:
        engine.tell_end()
        engine.close(state.world.barrier())
    else:
        engine.close(None)
    if engine.failure is None:
        for made in (*state.groups, state.world):
            made.free()
    if getattr(_own, "state", None) is state:
        _own.state = None
        _own.numbers.__exit__(None, None, None)
    else:
        _process.clear()
        if engine.failure is not None:
            _failed.append(engine)


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: float | timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
) -> Any:
    """A group of some ranks (None: of all). All ranks of the default group call it, in the same order.

    Returns a ProcessGroup, or GroupMember.NON_GROUP_MEMBER on ranks that are not in it. Its members are
    numbered in the order of their ranks. timeout: as for `init_process_group`, by default the same.

    >>> def ranks():
    ...     pair = samara.distributed.new_group([1, 2])
    ...     return samara.distributed.get_rank(pair)
    >>> samara.distributed.run_threads(ranks, 3)
    [-1, 0, 1]
    """
    whole = world()
    state = _current()
    assert state is not None
    if backend not in (None, whole.backend):
        raise UnsupportedError(f"a group of backend {backend!r} in one of {whole.backend!r}")
    chosen = sorted(whole.ranks if ranks is None else ranks)
    if not chosen or len(set(chosen)) < len(chosen) or not {*chosen} <= {*whole.ranks}:
        raise ArgumentError(
            f"ranks are {chosen}, expected some of 0 to {whole.size() - 1}, each once"
        )

    def nothing(*_: Any) -> Generator[Request, None, None]:
        yield from ()

    whole.start(f"new_group({chosen})", nothing, wake=False).wait()
    state.made += 1
    if whole.rank() not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    transport = whole.subset(chosen)
    seconds = whole.timeout if timeout is None else seconds_of(timeout)
    made = ProcessGroup(whole.engine, transport, chosen, state.made, whole.backend, seconds)
    state.groups.append(made)
    return made


# ---- questions


def is_available() -> bool:
    """True: `samara.distributed` is there.

    >>> samara.distributed.is_available()
    True
    """
    return True


def is_mpi_available() -> bool:
    """Whether mpi4py is installed. It is not imported, which would start MPI.

    >>> isinstance(samara.distributed.is_mpi_available(), bool)
    True
    """
    return importlib.util.find_spec("mpi4py") is not None


def is_initialized() -> bool:
    """Whether this rank has a default group.

    >>> samara.distributed.is_initialized()
    False
    """
    return _current() is not None


def get_backend(group: Any = None) -> str:
    """The name of the group's backend, "mpi" or "thread".

    >>> samara.distributed.run_threads(samara.distributed.get_backend, 1)
    ['thread']
    """
    return group_of(group).backend


def get_rank(group: Any = None) -> int:
    """This rank's number in the group; -1 if it is no member.

    >>> samara.distributed.run_threads(samara.distributed.get_rank, 3)
    [0, 1, 2]
    """
    return -1 if group is GroupMember.NON_GROUP_MEMBER else group_of(group).rank()


def get_world_size(group: Any = None) -> int:
    """Members of the group; -1 if this rank is none.

    >>> samara.distributed.run_threads(samara.distributed.get_world_size, 3)
    [3, 3, 3]
    """
    return -1 if group is GroupMember.NON_GROUP_MEMBER else group_of(group).size()


def get_process_group_ranks(group: Any = None) -> list[int]:
    """Ranks of the group's members in the default group."""
    return list(group_of(group).ranks)


def get_global_rank(group: Any, group_rank: int) -> int:
    """The rank in the default group of the member `group_rank` of `group`."""
    ranks = group_of(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise ArgumentError(f"group_rank is {group_rank}, the group has {len(ranks)} members")
    return ranks[group_rank]


def get_group_rank(group: Any, global_rank: int) -> int:
    """The number in `group` of a rank of the default group."""
    ranks = group_of(group).ranks
    if global_rank not in ranks:
        raise ArgumentError(f"rank {global_rank} is not in the group of ranks {list(ranks)}")
    return ranks.index(global_rank)
