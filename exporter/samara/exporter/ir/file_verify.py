# SPDX-License-Identifier: Apache-2.0
"""Compare the bytes of a `.samara` file with its checksums (docs/reference/format.md)."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samara.exporter.ir import flat, schema
from samara.exporter.ir.fnv import fnv1a
from samara.exporter.types import ModelFormatError, SamaraError
from samara.pybridge.checksum import checksum

Bytes = bytes | memoryview
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes [start, end) of a file that do not match their checksum.

    segment: its name, "" outside of segments. mib: index of the MiB in the segment, -1 outside.
    tensors: names of the constants that overlap them.
    """

    what: str
    start: int
    end: int
    segment: str = ""
    mib: int = -1
    tensors: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = f"bytes {self.start} to {self.end - 1} of the file"
        return f"{self.what} ({where})" + (
            f": holds {', '.join(self.tensors)}" if self.tensors else ""
        )


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of comparing a file with its checksums.

    sums: whether its data has checksums; false for files older than 0.6 and if the program part is damaged.
    compared: how many checksums were compared, including that of the program part.
    """

    file_bytes: int
    sums: bool
    compared: int
    damages: tuple[Damage, ...]

    def text(self, name: str) -> str:
        """The result as text; `name`: the name of the file."""
        if self.damages:
            lines = [f"{name}: damaged in {len(self.damages)} of {self.compared} checksums"]
            lines += [f"  {damage}" for damage in self.damages]
            return "\n".join([*lines, "  fix: copy the file again, or export the model again"])
        if not self.sums:
            return (
                f"{name}: older than 0.6, its data has no checksums; its program part matches\n"
                "  fix: export the model again for checksums of every byte"
            )
        return f"{name}: all {self.file_bytes:,} bytes match their {self.compared} checksums"

    def to_json(self) -> dict[str, Any]:
        """For --json."""
        return {
            "file_bytes": self.file_bytes,
            "sums": self.sums,
            "compared": self.compared,
            "verified": self.sums and not self.damages,
            "damages": [
                {
                    "what": d.what,
                    "start": d.start,
                    "end": d.end,
                    "segment": d.segment,
                    "mib": d.mib,
                    "tensors": list(d.tensors),
                }
                for d in self.damages
            ],
        }


def verify_file(path: str | os.PathLike[str]) -> Verification:
    """Compare every byte of a file, of any size, with the checksums in it.

    Raises ModelFormatError if it is no samara file, SamaraError if it cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < schema.HEADER_BYTES:
                raise ModelFormatError(f"{path}: {size} bytes are too few for a samara file")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                view = memoryview(mapped)
                try:
                    return _verify(path, view)
                finally:
                    view.release()
    except OSError as error:
        raise SamaraError(f"{path}: {error.strerror}", fix="check the path") from None


def _verify(path: str | os.PathLike[str], data: memoryview) -> Verification:
    if bytes(data[4:8]) != schema.IDENTIFIER:
        raise ModelFormatError(
            f"{path}: it starts with {bytes(data[:8])!r}, a samara file has"
            f" {schema.IDENTIFIER!r} at byte 4",
            fix="is this a .samara file?",
        )
    found = header_damage(data)
    if found is not None:
        # A damaged program part cannot be read, so nothing else can be compared.
        return Verification(len(data), False, 1, (found,))
    program_bytes = int.from_bytes(data[8:16], "little")
    if not is_sealed(data, program_bytes):
        return Verification(len(data), False, 1, ())
    # A copy, because a traceback must not keep the mapping alive.
    head = bytes(data[:program_bytes])
    root = int.from_bytes(head[:4], "little")
    model = flat.Buffer(schema.whole(), head, program_bytes).decode("Model", root)
    check_sums(model["segments"], sealed=True)
    damages = tuple(data_damages(data, program_bytes, model["segments"], model["constants"]))
    return Verification(
        len(data), True, 1 + sum(len(s["sums"]) for s in model["segments"]), damages
    )


def header_damage(data: Bytes) -> Damage | None:
    """The damage of the header's sizes, the program part or its seal, or None."""
    program_bytes = int.from_bytes(data[8:16], "little")
    file_bytes = int.from_bytes(data[24:32], "little")
    limit = min(len(data), schema.MAX_PROGRAM_BYTES)
    if not schema.HEADER_BYTES + 8 <= program_bytes <= limit:
        return Damage(
            f"the header says that the program part has {program_bytes} bytes, the file has"
            f" {len(data)}",
            8,
            16,
        )
    if file_bytes != len(data):
        return Damage(
            f"the header says {file_bytes} bytes, the file has {len(data)}",
            min(file_bytes, len(data)),
            max(file_bytes, len(data)),
        )
    wanted = int.from_bytes(data[16:24], "little")
    found = fnv1a(memoryview(data)[24:program_bytes])
    if wanted != found:
        return Damage(
            f"the checksum of the program part is {found:016x}, the header says {wanted:016x}",
            0,
            program_bytes,
        )
    seal = program_bytes - schema.SEAL_BYTES
    if is_sealed(data, program_bytes) and data[:4] != data[seal : seal + 4]:
        return Damage("bytes 0 to 3 do not match their copy", 0, 4)
    return None


def is_sealed(data: Bytes, program_bytes: int) -> bool:
    """Whether the end of the program part repeats the header, which means that the data has checksums."""
    start = program_bytes - schema.SEAL_BYTES
    return data[start + 4 : program_bytes] == data[4 : schema.SEAL_BYTES]


def check_sums(segments: Sequence[Row], *, sealed: bool) -> None:
    """ModelFormatError if the number of a segment's checksums does not fit its size."""
    for i, row in enumerate(segments):
        wanted = -(-row["size"] // schema.SUM_BYTES) if sealed else 0
        if len(row["sums"]) != wanted:
            raise ModelFormatError(
                f"segment {i} of {row['size']} bytes has {len(row['sums'])} checksums, not {wanted}"
            )


def data_damages(
    data: Bytes, program_bytes: int, segments: Sequence[Row], constants: Sequence[Row]
) -> Iterator[Damage]:
    """The damages behind the program part of a sealed file, in order.

    segments, constants: rows of the tables; segments lie within the file and in order.
    """
    view, at = memoryview(data), program_bytes
    for i, row in enumerate(segments):
        yield from _gap(view, at, row["offset"])
        at = row["offset"] + row["size"]
        for mib, wanted in enumerate(row["sums"]):
            start = row["offset"] + mib * schema.SUM_BYTES
            end = min(start + schema.SUM_BYTES, at)
            if checksum(view[start:end]) != wanted:
                name = row["name"] or str(i)
                tensors = tuple(_tensors(constants, i, start - row["offset"], end - row["offset"]))
                yield Damage(f"segment '{name}', MiB {mib}", start, end, name, mib, tensors)
    yield from _gap(view, at, len(view))


def _gap(view: memoryview, start: int, end: int) -> Iterator[Damage]:
    if end > start and any(view[start:end]):
        at = next(i for i in range(start, end) if view[i])
        yield Damage(f"byte {at}, between segments, is {view[at]} instead of 0", start, end)


def _tensors(constants: Sequence[Row], segment: int, start: int, end: int) -> Iterator[str]:
    for row in constants:
        inside = row["offset"] < end and row["offset"] + row["size"] > start
        if row["segment"] == segment and inside:
            yield row["name"]


def damaged(damage: Damage) -> SamaraError:
    """The error of a reader that finds the damage."""
    return ModelFormatError(
        f"damaged: {damage}", fix="copy the file again, or export the model again"
    )
