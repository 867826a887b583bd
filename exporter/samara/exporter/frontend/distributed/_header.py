# SPDX-License-Identifier: Apache-2.0
"""The header that every collective exchanges first: whether all ranks called the same thing.

A header is `SIZE` bytes: a digest of what must be equal on all ranks, the bytes of this rank's data,
the call as text, and the data itself if it is small, so that a small collective needs one exchange only.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import Final

import numpy as np

from samara.exporter.frontend.distributed._transport import Bytes
from samara.exporter.frontend.distributed.errors import MismatchError

SIZE: Final = 1024
INLINE: Final = 512  # bytes of data that travel in the header
_FIXED: Final = struct.Struct("<16sqH")  # digest, bytes of data, bytes of text
_TEXT: Final = SIZE - INLINE - _FIXED.size


def pack(number: int, same: str, text: str, size: int, data: Bytes | None) -> Bytes:
    """The header of the group's collective `number`. `same` must be equal on all ranks."""
    digest = hashlib.blake2b(f"{number} {same}".encode(), digest_size=16).digest()
    spoken = text.encode()[:_TEXT]
    start = _FIXED.pack(digest, size, len(spoken)) + spoken
    inline = b"" if data is None else data.tobytes()
    whole = start.ljust(SIZE - INLINE, b"\0") + inline.ljust(INLINE, b"\0")
    return np.frombuffer(whole, np.uint8)


def check(headers: Bytes, ranks: Sequence[int]) -> list[int]:
    """The bytes of each rank's data. MismatchError if the ranks called different things."""
    fields = [_fields(header) for header in headers]
    if any(digest != fields[0][0] for digest, _, _ in fields):
        raise _mismatch(headers, ranks)
    return [size for _, size, _ in fields]


def size_of(header: Bytes) -> int:
    """Bytes of the data that belong to a header."""
    size: int = _fields(header)[1]
    return size


def is_same(first: Bytes, second: Bytes) -> bool:
    """Whether two headers have the same digest."""
    return bool(_fields(first)[0] == _fields(second)[0])


def data_of(headers: Bytes, size: int) -> Bytes:
    """The small data of all ranks: [ranks, size]."""
    return headers[:, SIZE - INLINE : SIZE - INLINE + size]


def _fields(header: Bytes) -> tuple[bytes, int, int]:
    return _FIXED.unpack_from(header.data)


def text_of(header: Bytes) -> str:
    """The call of a header."""
    _, _, length = _fields(header)
    return bytes(header[_FIXED.size : _FIXED.size + length]).decode(errors="replace")


def _mismatch(headers: Bytes, ranks: Sequence[int]) -> MismatchError:
    calls: dict[tuple[bytes, str], list[int]] = {}
    for header, rank in zip(headers, ranks, strict=True):
        calls.setdefault((_fields(header)[0], text_of(header)), []).append(rank)
    lines = []
    for (_, text), members in calls.items():
        who = ", ".join(map(str, members))
        lines.append(f"rank{'s' if len(members) > 1 else ''} {who}: {text}")
    return MismatchError(
        "the ranks called different collectives\n  " + "\n  ".join(lines),
        fix="let all ranks call the same collectives, with the same shapes and dtypes, in the same order",
    )
