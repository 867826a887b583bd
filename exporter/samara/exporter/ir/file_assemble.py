# SPDX-License-Identifier: Apache-2.0
"""The bytes of a file from its rows: header, program part, seal, segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ir import flat, schema
from samara.exporter.ir.fnv import fnv1a
from samara.exporter.types import UnsupportedError
from samara.pybridge.checksum import checksum


def encoder() -> flat.Encoder:
    """For files whose rows of the table Model share values that do not change."""
    return flat.Encoder(schema.whole(), "Model")


def assemble(
    row: Mapping[str, Any],
    segments: Sequence[Segment],
    by: flat.Encoder | None = None,
    *,
    hashed: bool = True,
) -> Iterator[bytes]:
    """A file of these rows, unchecked, in pieces. hashed: with the hash of the program part; else it is 0."""
    payload = (by or encoder()).encode(row)
    program_bytes = _up(
        schema.HEADER_BYTES + len(payload) + schema.SEAL_BYTES, schema.TENSOR_ALIGNMENT
    )
    if program_bytes > schema.MAX_PROGRAM_BYTES:
        raise UnsupportedError(
            f"the program part takes {program_bytes} bytes, at most {schema.MAX_PROGRAM_BYTES} are"
            " possible"
        )
    head = bytearray(program_bytes)
    head[schema.HEADER_BYTES : schema.HEADER_BYTES + len(payload)] = payload
    root = int.from_bytes(payload[:4], "little") + schema.HEADER_BYTES
    places, file_bytes = _place(segments, program_bytes)
    _patch_segments(head, root, places)
    head[0:4] = root.to_bytes(4, "little")
    head[4:8] = schema.IDENTIFIER
    head[8:16] = program_bytes.to_bytes(8, "little")
    head[24:32] = file_bytes.to_bytes(8, "little")
    head[-schema.SEAL_BYTES :] = head[: schema.SEAL_BYTES]
    if hashed:
        head[16:24] = fnv1a(memoryview(head)[24:]).to_bytes(8, "little")
    yield bytes(head)
    at = program_bytes
    for place, segment in zip(places, segments, strict=True):
        yield bytes(place - at)
        yield from segment.parts
        at = place + segment.size


def in_memory(
    row: Mapping[str, Any], segments: Sequence[Segment], by: flat.Encoder | None = None
) -> memoryview:
    """A file of these rows that the runtime opens in place, for readers that trust it: without the hash of its program
    part.

    It is aligned as a mapped file is, because the runtime ignores stored layouts that are not.
    """
    parts = list(assemble(row, segments, by, hashed=False))
    size = sum(map(len, parts))
    room = np.empty(size + schema.TENSOR_ALIGNMENT, np.uint8)
    start = -room.ctypes.data % schema.TENSOR_ALIGNMENT
    whole = room[start : start + size].data
    at = 0
    for part in parts:
        whole[at : at + len(part)] = part
        at += len(part)
    return whole


def _up(n: int, multiple: int) -> int:
    return -(-n // multiple) * multiple


def sums(parts: Iterable[bytes]) -> list[int]:
    """The checksum of each MiB of the concatenated `parts`."""
    found: list[int] = []
    rest = bytearray()
    for part in parts:
        data = memoryview(part)
        while len(data):
            if not rest and len(data) >= schema.SUM_BYTES:
                piece: bytearray | memoryview = data[: schema.SUM_BYTES]
                data = data[schema.SUM_BYTES :]
            else:
                taken = schema.SUM_BYTES - len(rest)
                rest += data[:taken]
                data = data[taken:]
                if len(rest) < schema.SUM_BYTES:
                    continue
                piece, rest = rest, bytearray()
            found.append(checksum(piece))
    if rest:
        found.append(checksum(rest))
    return found


class Segment:
    """Data of one segment; every piece starts on a multiple of the tensor alignment."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, data: bytes) -> int:
        offset = _up(self.size, schema.TENSOR_ALIGNMENT)
        self.parts += [bytes(offset - self.size), data]
        self.size = offset + len(data)
        return offset

    def row(self) -> dict[str, Any]:
        """The row of the table Segment."""
        # Not the default: a default is not stored, so that the offset could not be set later.
        return {"offset": 1, "size": self.size, "name": self.name, "sums": sums(self.parts)}


def _place(segments: Sequence[Segment], program_bytes: int) -> tuple[list[int], int]:
    """Where each segment begins, and the size of the file."""
    whole = program_bytes + sum(s.size for s in segments)
    small = whole < schema.SMALL_FILE
    alignment = schema.TENSOR_ALIGNMENT if small else schema.SEGMENT_ALIGNMENT
    places: list[int] = []
    at = program_bytes
    for segment in segments:
        at = _up(at, alignment)
        places.append(at)
        at += segment.size
    return places, at


def _patch_segments(head: bytearray, root: int, places: Sequence[int]) -> None:
    """Set the offsets of segments, now that the size of the program part before them is known."""
    buffer = flat.Buffer(schema.whole(), bytes(head), len(head))
    at = buffer.position("Model", root, "segments")
    if at is None:
        return
    vector = buffer.follow(at, "segments")
    for i, place in enumerate(places):
        table = buffer.follow(vector + 4 + 4 * i, "segments")
        where = buffer.position("Segment", table, "offset")
        assert where is not None
        head[where : where + 8] = place.to_bytes(8, "little")
