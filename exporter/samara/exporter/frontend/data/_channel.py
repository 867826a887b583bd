# SPDX-License-Identifier: Apache-2.0
"""Messages between a loader and its workers; large ones go through shared memory."""

from __future__ import annotations

import io
import os
import pickle
import struct
from collections.abc import Callable
from multiprocessing import reduction
from typing import Any, Final

import numpy as np

from samara.exporter.frontend import sharing
from samara.exporter.frontend.input_records import marks
from samara.exporter.frontend.multiprocessing import detached, rebuilt
from samara.exporter.frontend.tensor import Tensor

SMALL: Final = 16 << 10  # bytes of a message that go through the socket itself
_HEAD: Final = struct.Struct("<Bq")  # whether a descriptor follows; number of buffers in the block
_APART: Final = 1024  # arrays of at least this many bytes stay out of the pickled text


class Message:
    """A pickled value: its bytes, or one block of shared memory that any number of processes may receive."""

    __slots__ = ("_data", "_fd", "_head")

    def __init__(self, value: Any) -> None:
        buffers: list[Any] = []
        stream = io.BytesIO()
        _Pickler(stream, buffers).dump(value)
        data = stream.getbuffer()
        self._fd = -1
        size = data.nbytes + sum(buffer.nbytes for buffer in buffers)
        if size <= SMALL or not sharing.HAVE_DESCRIPTORS:
            stream = io.BytesIO()
            _Pickler(stream, None).dump(value)
            self._data = _HEAD.pack(0, 0) + stream.getvalue()
            return
        parts = [data, *buffers]
        sizes = np.array([part.nbytes for part in parts], np.int64)
        self._fd, _places = sharing.write_block([sizes, *parts])
        self._data = _HEAD.pack(1, len(parts))

    def send(self, connection: Any, pid: int) -> None:
        """Send it through a duplex connection to the process `pid`."""
        connection.send_bytes(self._data)
        if self._fd >= 0:
            reduction.send_handle(connection, self._fd, pid)

    def close(self) -> None:
        """Give up the sender's hold on the memory."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def send(connection: Any, value: Any, pid: int) -> int:
    """Send one value; return the number of bytes that went through the socket."""
    message = Message(value)
    try:
        message.send(connection, pid)
        return len(message._data)
    finally:
        message.close()


def receive(connection: Any, private: bool = False) -> Any:
    """The next value. EOFError or OSError when the other side is gone.

    Arrays of a large message are writable views of the shared memory. private: writes stay in this process,
    because several processes receive the message.
    """
    data = connection.recv_bytes()
    has_block, count = _HEAD.unpack_from(data)
    if not has_block:
        return pickle.loads(memoryview(data)[_HEAD.size :])
    fd = reduction.recv_handle(connection)
    memory = sharing.map_block(fd, private)
    sizes = memory[: 8 * count].view(np.int64).tolist()
    parts = []
    at = _aligned(8 * count)
    for size in sizes:
        parts.append(memory[at : at + size])
        at += _aligned(size)
    return pickle.loads(parts[0], buffers=parts[1:])


def _aligned(size: int) -> int:
    return -(-size // sharing.ALIGNMENT) * sharing.ALIGNMENT


class _Pickler(pickle.Pickler):
    """Pickle by protocol 5; if `buffers` is a list, the memory of arrays and tensors goes there."""

    dispatch_table = reduction.ForkingPickler(io.BytesIO()).dispatch_table

    def __init__(self, stream: io.BytesIO, buffers: list[Any] | None) -> None:
        def keep(buffer: pickle.PickleBuffer) -> bool:
            raw = buffer.raw()
            if raw.nbytes < _APART:
                return True  # into the text
            assert buffers is not None
            buffers.append(raw)
            return False

        callback: Callable[[pickle.PickleBuffer], Any] | None = None if buffers is None else keep
        super().__init__(stream, protocol=5, buffer_callback=callback)

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            array = np.ascontiguousarray(detached(value)).reshape(value.shape)
            return rebuilt, (type(value), array, value.requires_grad, marks(value))
        return NotImplemented
