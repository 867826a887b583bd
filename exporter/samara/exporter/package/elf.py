# SPDX-License-Identifier: Apache-2.0
"""Read ELF files: sections, symbols and segments of little-endian libraries, 32- and 64-bit."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct, error, unpack_from

from samara.pybridge import BackendError

SHT_SYMTAB, SHT_NOBITS = 2, 8
SHF_WRITE, SHF_ALLOC, SHF_EXEC = 1, 2, 4
PT_LOAD = 1
_STT_OBJECT, _STT_FUNC, _STT_TLS = 1, 2, 6


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the file; `flags` are SHF_ bits."""

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int

    @property
    def is_loaded(self) -> bool:
        return bool(self.flags & SHF_ALLOC)

    @property
    def in_file(self) -> bool:
        return self.kind != SHT_NOBITS


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function or a data object of `size` bytes at `address`, in section number `section`."""

    name: str
    address: int
    size: int
    section: int
    is_function: bool


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment that a loader maps: alignment and bytes in the file."""

    kind: int
    alignment: int
    in_file: int


class Elf:
    """An ELF file in memory. BackendError for another or truncated file."""

    def __init__(self, data: bytes, name: str = "the file") -> None:
        if data[:4] != b"\x7fELF" or data[4:6] not in (b"\x01\x01", b"\x02\x01"):
            raise BackendError(f"{name} is not a little-endian ELF file")
        self._data = data
        self._wide = data[4] == 2
        try:
            self.sections = self._read_sections()
            self.segments = self._read_segments()
            self.undefined: list[str] = []  # names that other files must define
            self.symbols = self._read_symbols()
        except (error, IndexError):
            raise BackendError(f"{name} is cut off") from None

    def _read_sections(self) -> list[Section]:
        (table,) = (
            unpack_from("<Q", self._data, 40) if self._wide else unpack_from("<I", self._data, 32)
        )
        step, count, names = unpack_from("<HHH", self._data, 58 if self._wide else 46)
        # name, type, flags, address, offset, size, link
        form = Struct("<IIQQQQI" if self._wide else "<IIIIIII")
        raw = [form.unpack_from(self._data, table + i * step) for i in range(count)]
        strings = raw[names][4] if count else 0
        return [Section(self._text(strings + r[0]), *r[1:]) for r in raw]

    def _read_segments(self) -> list[Segment]:
        (table,) = (
            unpack_from("<Q", self._data, 32) if self._wide else unpack_from("<I", self._data, 28)
        )
        step, count = unpack_from("<HH", self._data, 54 if self._wide else 42)
        found = []
        for at in range(table, table + step * count, step or 1):
            (kind,) = unpack_from("<I", self._data, at)
            if self._wide:
                in_file, alignment = unpack_from("<Q8xQ", self._data, at + 32)
            else:
                in_file, alignment = unpack_from("<I8xI", self._data, at + 16)
            found.append(Segment(kind, alignment, in_file))
        return found

    def _read_symbols(self) -> list[Symbol]:
        found = []
        form = Struct("<IBBHQQ" if self._wide else "<IIIBBH")
        for table in self.sections:
            if table.kind != SHT_SYMTAB:
                continue
            strings = self.sections[table.link].offset
            for at in range(table.offset, table.offset + table.size, form.size):
                row = form.unpack_from(self._data, at)
                if self._wide:
                    name, info, _, section, address, size = row
                else:
                    name, address, size, info, _, section = row
                kind = info & 15
                if section == 0 and name != 0:
                    self.undefined.append(self._text(strings + name))
                if kind in (_STT_OBJECT, _STT_FUNC, _STT_TLS) and 0 < section < len(self.sections):
                    # Bit 0 of an Arm function's address marks Thumb code.
                    is_function = kind == _STT_FUNC
                    low = 1 if is_function and not self._wide else 0
                    symbol = Symbol(
                        self._text(strings + name), address & ~low, size, section, is_function
                    )
                    found.append(symbol)
        return found

    def _text(self, at: int) -> str:
        return self._data[at : self._data.index(b"\0", at)].decode("utf-8", "replace")

    def text_at(self, address: int) -> bytes | None:
        """The bytes up to the next 0 at an address of read-only file content; None
        elsewhere."""
        for section in self.sections:
            if not section.is_loaded or not section.in_file or section.flags & SHF_WRITE:
                continue
            if section.address <= address < section.address + section.size:
                start = section.offset + address - section.address
                return self._data[start : self._data.find(b"\0", start)]
        return None

    def page_alignment(self) -> int:
        """The smallest alignment of the segments that a loader maps."""
        return min((s.alignment for s in self.segments if s.kind == PT_LOAD), default=0)
