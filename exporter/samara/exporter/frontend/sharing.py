# SPDX-License-Identifier: Apache-2.0
"""Memory shared between processes by file descriptor. It has no name, so it cannot be left behind."""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import secrets
import tempfile
import threading
import time
import weakref
from collections.abc import Sequence
from multiprocessing import AuthenticationError, connection, process, reduction, util
from typing import Any, Final

import numpy as np

from samara.pybridge.errors import SamaraError

# Descriptors travel over Unix sockets. Without sockets, values travel as bytes.
HAVE_DESCRIPTORS: Final = bool(reduction.HAVE_SEND_HANDLE) and os.name == "posix"
ALIGNMENT: Final = 64
MOST_MAPPED: Final = 256
_EXIT_SECONDS: Final = 5.0  # how long an ending process waits until its descriptors are received

_mapped: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()


def write_block(buffers: Sequence[Any]) -> tuple[int, list[tuple[int, int]]]:
    """Copy buffers into new shared memory.

    Returns the descriptor, which the caller closes, and (offset, bytes) of each buffer. The memory
    lives as long as any process has a descriptor or a mapping.
    """
    views = [memoryview(buffer).cast("B") for buffer in buffers]
    places = []
    total = 0
    for view in views:
        places.append((total, view.nbytes))
        total += -(-view.nbytes // ALIGNMENT) * ALIGNMENT
    fd = _anonymous(max(total, 1))
    try:
        for (offset, _size), view in zip(places, views, strict=True):
            # Takes half the time of copying into a mapping, which has a page fault per page.
            done = 0
            while done < view.nbytes:
                done += os.pwrite(fd, view[done:], offset + done)
    except BaseException:
        os.close(fd)
        raise
    return fd, places


def map_block(fd: int, private: bool = False) -> Any:
    """The memory behind a descriptor as bytes (uint8 [n]), writable; closes the descriptor.

    It is unmapped when the last array over it is gone. private: writes are not shared. Each mapping
    holds a descriptor, of which a process has few, so beyond MOST_MAPPED mappings the bytes are copied.
    """
    try:
        flags = mmap.MAP_PRIVATE if private else mmap.MAP_SHARED
        memory = mmap.mmap(fd, os.fstat(fd).st_size, flags=flags)
    finally:
        os.close(fd)
    if len(_mapped) >= MOST_MAPPED:
        with memory:
            return np.frombuffer(bytearray(memory), np.uint8)
    _mapped.add(memory)
    return np.frombuffer(memory, np.uint8)


def _anonymous(size: int) -> int:
    """A descriptor of `size` bytes of anonymous memory, or of a file without a name."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("samara", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    try:
        os.ftruncate(fd, size)
    except BaseException:
        os.close(fd)
        raise
    return fd


class _Sharer:
    """Sends descriptors to the processes that ask for them by ticket.

    A thread answers at a socket that only related processes can use (they share `multiprocessing`'s
    key). On Linux the socket has no name in the file system.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Forget everything: a forked process does not own the descriptors that it inherits."""
        self._waiting: dict[int, int] = {}
        self._tickets = itertools.count()
        self._address: Any = None
        # After the feeder threads of queues (priority -5), which still offer descriptors.
        util.Finalize(None, self._drain, exitpriority=-10)

    def offer(self, fd: int) -> tuple[Any, int]:
        """Take over a descriptor; returns address and ticket for `redeem` in another process."""
        with self._lock:
            if self._address is None:
                self._start()
            ticket = next(self._tickets)
            self._waiting[ticket] = fd
            return self._address, ticket

    def _start(self) -> None:
        address = None
        if util.abstract_sockets_supported:
            address = f"\0samara-{os.getpid()}-{secrets.token_hex(8)}"
        key = process.current_process().authkey
        listener = connection.Listener(address, family="AF_UNIX", authkey=key)
        self._address = listener.address
        threading.Thread(
            target=self._serve, args=(listener,), name="samara-sharer", daemon=True
        ).start()

    def _serve(self, listener: Any) -> None:
        while True:
            # A client that hangs up or lacks the key is dropped; serve the next one.
            with contextlib.suppress(OSError, EOFError, AuthenticationError):
                self._serve_one(listener)

    def _serve_one(self, listener: Any) -> None:
        with listener.accept() as client:
            ticket, pid = client.recv()
            fd = self._waiting.get(ticket)
            if fd is not None:
                reduction.send_handle(client, fd, pid)
                del self._waiting[ticket]
                os.close(fd)

    def _drain(self) -> None:
        end = time.monotonic() + _EXIT_SECONDS
        while self._waiting and time.monotonic() < end:
            time.sleep(0.005)


def redeem(address: Any, ticket: int) -> int:
    """The descriptor that another process offers. SamaraError if that process has ended."""
    key = process.current_process().authkey
    try:
        with connection.Client(address, authkey=key) as client:
            client.send((ticket, os.getpid()))
            return int(reduction.recv_handle(client))
    except (OSError, EOFError) as error:
        raise SamaraError(
            f"the process that sent this tensor ended before it was received ({error})",
            fix="let the sender live until its tensors have arrived",
        ) from None


sharer: Final = _Sharer()
util.register_after_fork(sharer, _Sharer.reset)
