# SPDX-License-Identifier: Apache-2.0
"""The order in which the ranks of this host end.

mpiexec of MPICH kills the other ranks as soon as one has ended, and may then report one of those. The kernel knows
better: a pipe that a dying process holds is closed before mpiexec can notice the end.
"""

from __future__ import annotations

import contextlib
import os
import select
from pathlib import Path

from samara.exporter.launcher.launched import PIPE


class Ends:
    """Watches the pipes and the processes of the ranks of this host.

    Both, because children of a rank may hold its pipe. Without epoll (not Linux) it sees nothing.
    """

    def __init__(self) -> None:
        self._epoll = select.epoll() if hasattr(select, "epoll") else None
        self._ranks: dict[int, int] = {}  # by descriptor
        self._watched: set[tuple[int, bool]] = set()
        self._order: list[int] = []

    def watch_pipes(self, folder: Path) -> None:
        """Watch the pipes that ranks have made since the last call."""
        for name in os.listdir(folder):
            number = name.removesuffix(PIPE)
            if number != name and number.isdigit() and (int(number), True) not in self._watched:
                with contextlib.suppress(OSError):
                    flags = os.O_RDONLY | os.O_NONBLOCK
                    self._add(int(number), os.open(folder / name, flags), True)

    def watch_process(self, rank: int, pid: int) -> None:
        """Watch a rank's process. A second call for the rank does nothing."""
        if (rank, False) not in self._watched and hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                self._add(rank, os.pidfd_open(pid), False)

    def _add(self, rank: int, descriptor: int, is_pipe: bool) -> None:
        self._watched.add((rank, is_pipe))
        self._ranks[descriptor] = rank
        if self._epoll is not None:
            # A pipe reports its end without being asked; it never has anything to read.
            self._epoll.register(descriptor, 0 if is_pipe else select.EPOLLIN)

    def order(self) -> list[int]:
        """The ranks that have ended, first to last. The kernel lists events in the order in which they came."""
        if self._epoll is not None:
            for descriptor, _event in self._epoll.poll(0):
                rank = self._ranks[descriptor]
                if rank not in self._order:
                    self._order.append(rank)
        return list(self._order)

    def close(self) -> None:
        """Give all descriptors back."""
        for descriptor in self._ranks:
            os.close(descriptor)
        self._ranks = {}
        if self._epoll is not None:
            self._epoll.close()
            self._epoll = None
