# SPDX-License-Identifier: Apache-2.0
"""What a group needs from the engine that moves its bytes: nonblocking operations, polled by `test`.

Arrays are flat, contiguous uint8 and belong to the operation until it is done; sizes are in bytes. Ranks are
those of the transport's own members, 0 to size - 1. All members start the same collectives of one transport
in the same order. `send` and `receive` are matched by partner and tag, those that match in the order of the calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class Request(Protocol):
    """One operation on its way."""

    def test(self) -> bool:
        """Make progress and return whether the operation is done. Never blocks."""


class Received(Request, Protocol):
    """A receive on its way."""

    source: int  # the sender, when it is done


class Transport(Protocol):
    """Nonblocking operations among the members of one group."""

    rank: int
    size: int

    def allgather(self, part: Bytes | None, whole: Bytes, sizes: Sequence[int]) -> Request:
        """Copy every member's `part` into `whole` of all: one after the other, `sizes` bytes each.

        None: the member's part is in its place already.
        """

    def alltoall(
        self,
        sent: Bytes,
        sent_sizes: Sequence[int],
        received: Bytes,
        received_sizes: Sequence[int],
        own: bool = True,
    ) -> Request:
        """Send each member its part of `sent`, and collect the parts from all in `received`.

        own: False leaves the member's own part in `received` as it is.
        """

    def broadcast(self, array: Bytes, root: int) -> Request:
        """Copy the root's `array` to that of all."""

    def send(self, array: Bytes, to: int, tag: int) -> Request:
        """Send to one member."""

    def receive(self, array: Bytes, source: int | None, tag: int) -> Received:
        """Receive what one member (None: any) sent with this tag; the sizes are equal."""

    def duplicate(self) -> Transport:
        """Another transport of the same members; all of them call it at the same point."""

    def subset(self, members: Sequence[int]) -> Transport:
        """A transport of some members, numbered in the given order. Only these call it."""

    def free(self) -> None:
        """Give the transport back. Nothing may be on its way."""


class Control(Protocol):
    """Messages between ranks beside the collectives: failures, and the question where a rank stands."""

    rank: int
    size: int

    def tell(self, rank: int, message: bytes) -> None:
        """Send a message. It may be lost if the other rank is gone."""

    def heard(self) -> list[tuple[int, bytes]]:
        """The messages that have arrived since the last call, with their senders."""

    def free(self) -> None:
        """Give it back, when no rank sends any more."""

    def abort(self, status: int) -> None:
        """End all ranks at once, where ranks are processes."""


class Done:
    """A request that is done."""

    def test(self) -> bool:
        return True


def as_bytes(array: np.ndarray[Any, Any]) -> Bytes:
    """The memory of a contiguous array as flat bytes."""
    return array.reshape(-1).view(np.uint8)


def starts_of(sizes: Sequence[int]) -> list[int]:
    """Where each part begins if parts of these sizes follow each other."""
    starts, at = [], 0
    for size in sizes:
        starts.append(at)
        at += size
    return starts
