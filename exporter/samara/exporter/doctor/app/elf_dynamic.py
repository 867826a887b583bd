# SPDX-License-Identifier: Apache-2.0
"""Read the parts of an ELF shared library that a loader reads: segments, needed libraries, symbols.

Section headers are not used, because programs that pack libraries drop them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import calcsize, error, unpack_from
from typing import Final

from samara.exporter.types import ModelFormatError

PT_LOAD: Final = 1
PT_TLS: Final = 7
_PT_DYNAMIC: Final = 2
_PT_GNU_STACK: Final = 0x6474E551
ET_DYN: Final = 3

DT_TEXTREL: Final = 22
DT_FLAGS: Final = 30
DT_RELR: Final = 36
DT_ANDROID_RELR: Final = 0x6FFFE000
_DT_NEEDED, _DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ, _DT_SONAME = 1, 4, 5, 6, 10, 14
_DT_GNU_HASH: Final = 0x6FFFFEF5
_DF_TEXTREL: Final = 4

MACHINES: Final = {3: "x86", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv"}

_MOST_SEGMENTS: Final = 512
_MOST_TAGS: Final = 4096
_MOST_NAME: Final = 4096


@dataclass(frozen=True, slots=True)
class Load:
    """A segment that a loader maps."""

    offset: int
    address: int
    in_file: int
    alignment: int


@dataclass(frozen=True, slots=True)
class Dynamic:
    """Facts about a shared library. bits: 32 or 64. undefined: strong symbols that other libraries must define.
    least_api: the first Android version whose loader knows its relocations, 0 for any."""

    bits: int
    machine: str
    kind: int
    loads: tuple[Load, ...]
    needed: tuple[str, ...] = ()
    soname: str = ""
    undefined: tuple[str, ...] = ()
    defined: frozenset[str] = frozenset()
    least_api: int = 0
    has_tls: bool = False
    has_text_relocations: bool = False
    executable_stack: bool = False


def read_dynamic(data: bytes) -> Dynamic:
    """The facts of a little-endian ELF file. ModelFormatError says what is wrong with it."""
    if data[:4] != b"\x7fELF":
        raise ModelFormatError("it is not an ELF file")
    if data[4:6] not in (b"\x01\x01", b"\x02\x01"):
        raise ModelFormatError("it is an ELF file of a class that Android does not have")
    try:
        return _Reader(data).facts()
    except (error, ValueError, OverflowError):
        raise ModelFormatError("it is cut off, or its tables point outside of it") from None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.wide = data[4] == 2
        self.word = "Q" if self.wide else "I"
        self.loads: list[Load] = []
        self.dynamic: tuple[int, int] | None = None
        self.has_tls = self.executable_stack = False

    def facts(self) -> Dynamic:
        kind, machine = unpack_from("<HH", self.data, 16)
        self._segments()
        tags = list(self._tags())
        first = dict(reversed(tags))  # the first of repeated tags counts
        needed = tuple(self._name(first, value) for tag, value in tags if tag == _DT_NEEDED)
        soname = self._name(first, first[_DT_SONAME]) if _DT_SONAME in first else ""
        undefined, defined = self._symbols(first)
        return Dynamic(
            bits=64 if self.wide else 32,
            machine=MACHINES.get(machine, f"machine {machine}"),
            kind=kind,
            loads=tuple(self.loads),
            needed=needed,
            soname=soname,
            undefined=undefined,
            defined=defined,
            least_api=30 if DT_RELR in first else 28 if DT_ANDROID_RELR in first else 0,
            has_tls=self.has_tls,
            has_text_relocations=DT_TEXTREL in first or bool(first.get(DT_FLAGS, 0) & _DF_TEXTREL),
            executable_stack=self.executable_stack,
        )

    def _segments(self) -> None:
        (table,) = unpack_from(f"<{self.word}", self.data, 32 if self.wide else 28)
        step, count = unpack_from("<HH", self.data, 54 if self.wide else 42)
        if count > _MOST_SEGMENTS or step < (56 if self.wide else 32):
            raise ValueError("no such table")
        for at in range(table, table + step * count, step):
            if self.wide:
                kind, flags, offset, address = unpack_from("<IIQQ", self.data, at)
                in_file, _, alignment = unpack_from("<QQQ", self.data, at + 32)
            else:
                kind, offset, address, _, in_file, _, flags, alignment = unpack_from(
                    "<8I", self.data, at
                )
            if kind == PT_LOAD:
                if offset + in_file > len(self.data):
                    raise ValueError("cut off")
                self.loads.append(Load(offset, address, in_file, alignment))
            elif kind == _PT_DYNAMIC:
                self.dynamic = (offset, in_file)
            self.has_tls |= kind == PT_TLS
            self.executable_stack |= kind == _PT_GNU_STACK and bool(flags & 1)

    def _tags(self) -> Iterator[tuple[int, int]]:
        if self.dynamic is None:
            return
        at, size = self.dynamic
        form = f"<{self.word}{self.word}"
        step = calcsize(form)
        for place in range(at, at + min(size, _MOST_TAGS * step), step):
            tag, value = unpack_from(form, self.data, place)
            if tag == 0:
                return
            yield tag, value

    def _place(self, address: int) -> int:
        """The file offset of an address."""
        for load in self.loads:
            if load.address <= address < load.address + load.in_file:
                return load.offset + address - load.address
        raise ValueError("an address outside of the file")

    def _name(self, tags: dict[int, int], at: int) -> str:
        start = self._place(tags.get(_DT_STRTAB, 0)) + at
        if at >= tags.get(_DT_STRSZ, 0):
            raise ValueError("a name outside of the names")
        end = self.data.index(b"\0", start, start + _MOST_NAME)
        return self.data[start:end].decode("utf-8", "replace")

    def _symbols(self, tags: dict[int, int]) -> tuple[tuple[str, ...], frozenset[str]]:
        if _DT_SYMTAB not in tags:
            return (), frozenset()
        table, step = self._place(tags[_DT_SYMTAB]), 24 if self.wide else 16
        count = self._symbol_count(tags)
        if count > (len(self.data) - table) // step:
            raise ValueError("more symbols than bytes")
        undefined, defined = [], set()
        for at in range(table + step, table + count * step, step):
            (name,) = unpack_from("<I", self.data, at)
            info, _, section = unpack_from("<BBH", self.data, at + (4 if self.wide else 12))
            if name == 0 or info >> 4 not in (1, 2):  # global, weak
                continue
            if section != 0:
                defined.add(self._name(tags, name))
            elif info >> 4 == 1:
                undefined.append(self._name(tags, name))
        return tuple(undefined), frozenset(defined)

    def _symbol_count(self, tags: dict[int, int]) -> int:
        if _DT_HASH in tags:
            (count,) = unpack_from("<I", self.data, self._place(tags[_DT_HASH]) + 4)
            return int(count)
        if _DT_GNU_HASH not in tags:
            return 0
        # The hash table ends with the last chain of the highest bucket.
        at = self._place(tags[_DT_GNU_HASH])
        buckets, first, words, _ = unpack_from("<4I", self.data, at)
        heads = at + 16 + words * (8 if self.wide else 4)
        if buckets > len(self.data) // 4:
            raise ValueError("more buckets than bytes")
        last = max(unpack_from(f"<{buckets}I", self.data, heads), default=0)
        if last < first:
            return int(first)
        chain = heads + buckets * 4
        while not unpack_from("<I", self.data, chain + (last - first) * 4)[0] & 1:
            last += 1
        return int(last) + 1
