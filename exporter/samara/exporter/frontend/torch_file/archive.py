# SPDX-License-Identifier: Apache-2.0
"""Reads uncompressed zip files without trusting their directory."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from samara.exporter.frontend.torch_file.machine import RESTORE
from samara.exporter.types import ModelFormatError, UnsupportedError

_END: Final = struct.Struct("<4s4H2LH")  # end of the central directory
_END_64: Final = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64: Final = struct.Struct("<4sLQL")
_ROW: Final = struct.Struct("<4s6H3L5H2L")  # a row of the central directory
_LOCAL: Final = struct.Struct("<4s5H3L2H")  # the header before an entry's data

_MAX_COMMENT: Final = 0xFFFF
_MAX_ENTRIES: Final = 200_000  # a state dict of 100,000 tensors
_MAX_DIRECTORY_BYTES: Final = 64 << 20
_ENCRYPTED: Final = 1
_STORED: Final = 0
_WIDE_32: Final = 0xFFFFFFFF  # the value is in the ZIP64 extra field
_WIDE_16: Final = 0xFFFF


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of the archive.

    `begin` is the offset of its local header, `limit` that of the next entry or the directory.
    """

    name: str
    method: int
    flags: int
    crc: int
    stored_bytes: int
    size: int
    begin: int
    limit: int


class Archive:
    """Entries by name.

    Raises ModelFormatError if the directory is damaged, or two entries have the same name or overlap.
    """

    def __init__(self, file: BinaryIO, start: int, size: int, where: str) -> None:
        """`start` and `size`: the part of `file` that is the archive."""
        self.file = file
        self.start = start
        self.size = size
        self.where = where
        self.entries = {entry.name: entry for entry in self._directory()}

    def bad(self, what: str, fix: str = RESTORE) -> ModelFormatError:
        return ModelFormatError(f"{self.where}: {what}", fix=fix)

    def place(self, name: str) -> tuple[int, int]:
        """Offset of the data of an entry in the file, and their size.

        Raises UnsupportedError for compressed and encrypted entries. torch.save never compresses, and
        a few compressed bytes could expand without limit.
        """
        entry = self.entries[name]
        shown = _short(name)
        if entry.method != _STORED or entry.flags & _ENCRYPTED:
            how = "encrypted" if entry.flags & _ENCRYPTED else "compressed"
            raise UnsupportedError(
                f"{self.where}: {shown} is {how} in the zip file; torch.save never does that",
                fix="unpack the file and pack it again with `zip -0 -r`, or save it again with torch.save",
            )
        if entry.stored_bytes != entry.size:
            raise self.bad(
                f"{shown} is not compressed, but its stored size {entry.stored_bytes} differs from "
                f"its size {entry.size}"
            )
        header = self._read(entry.begin, _LOCAL.size)
        signature, *_, name_bytes, extra_bytes = _LOCAL.unpack(header)
        if signature != b"PK\x03\x04":
            raise self.bad(f"{shown} does not begin where the directory says")
        begin = entry.begin + _LOCAL.size + name_bytes + extra_bytes
        if begin + entry.size > entry.limit:
            raise self.bad(f"{shown} overlaps the next entry, or is cut off")
        return self.start + begin, entry.size

    def data(self, name: str, most: int) -> bytes:
        """The bytes of an entry of at most `most` bytes."""
        begin, size = self.place(name)
        if size > most:
            raise UnsupportedError(
                f"{self.where}: {_short(name)} has {size} bytes; samara reads at most {most}"
            )
        data = self._read(begin - self.start, size)
        self.check_sum(name, data)
        return data

    def check_sum(self, name: str, data: Any) -> None:
        """Raise ModelFormatError if the data of an entry do not match its checksum.

        0 means that there is no checksum: torch.serialization.set_crc32_options(False).
        """
        wanted = self.entries[name].crc
        if wanted and zlib.crc32(data) != wanted:
            raise self.bad(f"{_short(name)} is damaged: its checksum does not match")

    def _read(self, offset: int, count: int) -> bytes:
        if not 0 <= offset <= offset + count <= self.size:
            raise self.bad(
                f"cut off: {count} bytes at {offset} are expected, the file has {self.size}"
            )
        self.file.seek(self.start + offset)
        data = self.file.read(count)
        if len(data) != count:
            raise self.bad("cut off while being read")
        return data

    # ---- the directory

    def _directory(self) -> list[Entry]:
        begin, size, count = self._end()
        if count > _MAX_ENTRIES or size > _MAX_DIRECTORY_BYTES:
            raise UnsupportedError(
                f"{self.where}: the directory of the zip file has {count} entries and {size} bytes; "
                f"samara reads at most {_MAX_ENTRIES} and {_MAX_DIRECTORY_BYTES}"
            )
        data = self._read(begin, size)
        rows: list[tuple[str, int, int, int, int, int, int]] = []
        at = 0
        for _ in range(count):
            if at + _ROW.size > size:
                raise self.bad("the directory of the zip file is cut off")
            fields = _ROW.unpack_from(data, at)
            flags, method, crc, stored, plain = fields[3], fields[4], *fields[7:10]
            name_bytes, extra_bytes, comment_bytes, disk = fields[10:14]
            local = fields[16]
            end = at + _ROW.size + name_bytes + extra_bytes + comment_bytes
            if fields[0] != b"PK\x01\x02" or end > size:
                raise self.bad("the directory of the zip file is damaged")
            if disk not in (0, _WIDE_16):
                raise self.bad("the zip file is one of several parts")
            name = data[at + _ROW.size : at + _ROW.size + name_bytes].decode("utf-8", "replace")
            extra = data[at + _ROW.size + name_bytes : end - comment_bytes]
            plain, stored, local = self._widened(name, extra, plain, stored, local)
            rows.append((name, method, flags, crc, stored, plain, local))
            at = end
        return self._separate(rows, begin)

    def _separate(
        self, rows: list[tuple[str, int, int, int, int, int, int]], end: int
    ) -> list[Entry]:
        """Entries in file order, each with the offset where it must end."""
        rows.sort(key=lambda row: row[-1])
        entries = []
        names: set[str] = set()
        for i, row in enumerate(rows):
            follower = rows[i + 1][-1] if i + 1 < len(rows) else end
            name, *_, local = row
            if name in names:
                raise self.bad(f"the zip file has two entries named {_short(name)}")
            names.add(name)
            if local + _LOCAL.size > follower:
                raise self.bad(f"entry {_short(name)} of the zip file overlaps another")
            entries.append(Entry(*row, follower))
        return entries

    def _widened(
        self, name: str, extra: bytes, plain: int, stored: int, local: int
    ) -> tuple[int, int, int]:
        """The three numbers. Those that do not fit 32 bits come from the ZIP64 field (id 1)."""
        wanted = [plain, stored, local]
        if _WIDE_32 not in wanted:
            return plain, stored, local
        at = 0
        while at + 4 <= len(extra):
            kind, length = struct.unpack_from("<2H", extra, at)
            if kind == 1:
                field = extra[at + 4 : at + 4 + length]
                for i, value in enumerate(wanted):
                    if value == _WIDE_32 and len(field) >= 8:
                        wanted[i] = int.from_bytes(field[:8], "little")
                        field = field[8:]
                break
            at += 4 + length
        if any(value > self.size for value in wanted):
            raise self.bad(f"entry {_short(name)} of the zip file lies beyond its end")
        return wanted[0], wanted[1], wanted[2]

    def _end(self) -> tuple[int, int, int]:
        """Offset, size and number of entries of the directory."""
        tail_bytes = min(self.size, _END.size + _MAX_COMMENT)
        tail = self._read(self.size - tail_bytes, tail_bytes)
        found = tail.rfind(b"PK\x05\x06")
        if found < 0 or found + _END.size > len(tail):
            raise self.bad("a zip file that is cut off: its directory is missing")
        _, disk, _, _, count, size, begin, comment = _END.unpack_from(tail, found)
        at = self.size - tail_bytes + found
        if at + _END.size + comment != self.size:
            raise self.bad("bytes follow the end of the zip file")
        if disk not in (0, _WIDE_16):
            raise self.bad("the zip file is one of several parts")
        limit = at
        if _WIDE_32 in (size, begin) or count == _WIDE_16:
            begin, size, count, limit = self._end_64(at)
        if begin + size > limit:
            raise self.bad("the directory of the zip file is damaged")
        return begin, size, count

    def _end_64(self, at: int) -> tuple[int, int, int, int]:
        signature, _, place, _ = _LOCATOR_64.unpack(
            self._read(at - _LOCATOR_64.size, _LOCATOR_64.size)
        )
        if signature != b"PK\x06\x07":
            raise self.bad("the directory of the zip file is damaged")
        fields = _END_64.unpack(self._read(place, _END_64.size))
        if fields[0] != b"PK\x06\x06":
            raise self.bad("the directory of the zip file is damaged")
        return fields[9], fields[8], fields[7], place


def _short(name: str) -> str:
    text = repr(name)
    return text if len(text) <= 100 else f"{text[:100]}…"
