# SPDX-License-Identifier: Apache-2.0
"""The transport between threads of one process, for tests and for trying things out.

Every operation copies what it sends into a shared table, from which the others copy it.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from samara.exporter.frontend.distributed._transport import (
    Bytes,
    Done,
    Received,
    Request,
    starts_of,
)

Key = tuple[Hashable, ...]


class World:
    """The table that the ranks share."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.lock = threading.Lock()
        self.posted: dict[Key, list[Any]] = {}  # of a collective: each member's part
        self.taken: dict[Key, int] = defaultdict(int)  # members that have copied the others' parts
        self.boxes: dict[Key, _Box] = defaultdict(_Box)  # by receiver and tag
        self.messages: list[list[tuple[int, bytes]]] = [[] for _ in range(size)]


class _Collective:
    """A collective is done when all members have posted their parts."""

    def __init__(
        self, world: World, key: Key, size: int, take: Callable[[list[Any]], None]
    ) -> None:
        self._world = world
        self._key = key
        self._size = size
        self._take = take

    def test(self) -> bool:
        world = self._world
        with world.lock:
            parts = world.posted[self._key]
            if any(part is None for part in parts):
                return False
        self._take(parts)
        with world.lock:
            world.taken[self._key] += 1
            if world.taken[self._key] == self._size:
                del world.posted[self._key], world.taken[self._key]
        return True


class _Box:
    """What has found no match yet: messages to one member with one tag, and its receives, oldest first."""

    def __init__(self) -> None:
        self.messages: deque[tuple[int, Bytes]] = deque()
        self.receives: deque[_Receive] = deque()


class _Receive:
    def __init__(self, array: Bytes, wanted: int | None, box: _Box, lock: threading.Lock) -> None:
        self.source = -1
        self.wanted = wanted
        self._array = array
        self._box = box
        self._lock = lock

    def takes(self, source: int) -> bool:
        """Whether it may get a message of this member."""
        return self.wanted is None or self.wanted == source

    def fill(self, source: int, data: Bytes) -> None:
        """Give it a message."""
        self._array[:] = data
        self.source = source

    def test(self) -> bool:
        return self.source >= 0

    def cancel(self) -> None:
        """Let later messages go to others."""
        with self._lock:
            if self in self._box.receives:
                self._box.receives.remove(self)


class ThreadTransport:
    """The members of one group. See Transport."""

    def __init__(self, world: World, rank: int, size: int, name: Key = ()) -> None:
        self.rank = rank
        self.size = size
        self._world = world
        self._name = name
        self._count = 0
        self._subsets: dict[tuple[int, ...], int] = defaultdict(int)  # how many of these members

    def _post(self, part: Any, take: Callable[[list[Any]], None]) -> Request:
        key = (*self._name, "collective", self._count)
        self._count += 1
        with self._world.lock:
            parts = self._world.posted.setdefault(key, [None] * self.size)
            parts[self.rank] = part
        return _Collective(self._world, key, self.size, take)

    def allgather(self, part: Bytes | None, whole: Bytes, sizes: Sequence[int]) -> Request:
        start = starts_of(sizes)[self.rank]
        own = whole[start : start + sizes[self.rank]] if part is None else part

        def take(parts: list[Any]) -> None:
            for start, data in zip(starts_of(sizes), parts, strict=True):
                whole[start : start + data.size] = data

        return self._post(own.copy(), take)

    def alltoall(
        self,
        sent: Bytes,
        sent_sizes: Sequence[int],
        received: Bytes,
        received_sizes: Sequence[int],
        own: bool = True,
    ) -> Request:
        places = zip(starts_of(sent_sizes), sent_sizes, strict=True)
        posted = [sent[start : start + size].copy() for start, size in places]

        def take(parts: list[Any]) -> None:
            for source, (start, data) in enumerate(
                zip(starts_of(received_sizes), parts, strict=True)
            ):
                if own or source != self.rank:
                    received[start : start + data[self.rank].size] = data[self.rank]

        return self._post(posted, take)

    def broadcast(self, array: Bytes, root: int) -> Request:
        def take(parts: list[Any]) -> None:
            if self.rank != root:
                array[:] = parts[root]

        return self._post(array.copy() if self.rank == root else (), take)

    def send(self, array: Bytes, to: int, tag: int) -> Request:
        with self._world.lock:
            box = self._world.boxes[*self._name, to, tag]
            match = next((r for r in box.receives if r.takes(self.rank)), None)
            if match is None:
                box.messages.append((self.rank, array.copy()))
            else:
                box.receives.remove(match)
                match.fill(self.rank, array)
        return Done()

    def receive(self, array: Bytes, source: int | None, tag: int) -> Received:
        with self._world.lock:
            box = self._world.boxes[*self._name, self.rank, tag]
            request = _Receive(array, source, box, self._world.lock)
            at = next((k for k, m in enumerate(box.messages) if request.takes(m[0])), None)
            if at is None:
                box.receives.append(request)
            else:
                request.fill(*box.messages[at])
                del box.messages[at]
        return request

    def duplicate(self) -> ThreadTransport:
        self._count += 1
        return ThreadTransport(
            self._world, self.rank, self.size, (*self._name, "duplicate", self._count)
        )

    def subset(self, members: Sequence[int]) -> ThreadTransport:
        self._subsets[tuple(members)] += 1
        name = (*self._name, "subset", self._subsets[tuple(members)], *members)
        return ThreadTransport(self._world, members.index(self.rank), len(members), name)

    def free(self) -> None:
        """Nothing: a collective leaves the table when its last member has taken it."""


class ThreadControl:
    """Control messages between the threads. See Control."""

    def __init__(self, world: World, rank: int) -> None:
        self._world = world
        self.rank = rank
        self.size = world.size

    def tell(self, rank: int, message: bytes) -> None:
        with self._world.lock:
            self._world.messages[rank].append((self.rank, message))

    def heard(self) -> list[tuple[int, bytes]]:
        with self._world.lock:
            found = self._world.messages[self.rank]
            self._world.messages[self.rank] = []
        return found

    def free(self) -> None:
        """Nothing."""

    def abort(self, status: int) -> None:
        """Nothing: `run_threads` ends when its threads do."""
