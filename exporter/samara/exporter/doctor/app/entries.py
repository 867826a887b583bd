# SPDX-License-Identifier: Apache-2.0
"""The files inside an app: entries of a ZIP archive or of a folder, which may be hostile.

Nothing is unpacked under its own name, and the number of bytes read is limited per entry and per app.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from samara.exporter.doctor.app.report import Row, printable
from samara.exporter.types import ModelFormatError
from samara.pybridge.files import reading

MOST_BYTES: Final = 1 << 30  # of one entry
_MOST_ALL: Final = 4 << 30  # of all that is decompressed
_MOST_ENTRIES: Final = 200_000
_LOCAL: Final = struct.Struct("<4s5H3L2H")  # a local header, up to the name
_ZIP_ERRORS: Final = (
    *(zipfile.BadZipFile, zlib.error, struct.error),
    *(EOFError, RuntimeError, ValueError, OSError, LookupError, OverflowError, MemoryError),
)


@dataclass(slots=True)
class Entry:
    """A file of an app. name: with slashes, as in the app; shown: the same, safe to print.

    offset: where its bytes lie in the archive; None if they are compressed, and in folders.
    """

    name: str
    size_bytes: int
    offset: int | None
    _read: Callable[[], bytes] = field(repr=False)
    is_stored: bool = True

    @property
    def shown(self) -> str:
        return printable(self.name)

    def head(self, count: int) -> bytes:
        """The first bytes. (An archive's entry is read completely.)"""
        return self.read()[:count]

    def read(self) -> bytes:
        """All bytes. ModelFormatError if they cannot be read, or are too many."""
        if self.size_bytes > MOST_BYTES:
            raise ModelFormatError(
                f"{self.shown} has {self.size_bytes:,} bytes, more than the {MOST_BYTES:,} that are read"
            )
        return self._read()


@dataclass(slots=True)
class Files:
    """The entries by name, findings about the list itself, and the size of the archive or folder."""

    entries: dict[str, Entry]
    rows: list[Row]
    size_bytes: int


@contextlib.contextmanager
def opened_files(path: Path) -> Iterator[Files]:
    """The files of the archive or the folder at `path`, readable as long as the context lives.

    ModelFormatError if it is not an archive, FileError if it cannot be read.
    """
    if path.is_dir():
        yield _of_folder(path)
        return
    with contextlib.ExitStack() as stack:
        with reading(path):
            file = stack.enter_context(path.open("rb"))
            size = os.fstat(file.fileno()).st_size
        try:
            archive = stack.enter_context(zipfile.ZipFile(file))
        except _ZIP_ERRORS as error:
            raise ModelFormatError(
                f"{path} is not a readable ZIP archive: {error}",
                fix="build or download it again; give the app as it is installed",
            ) from None
        yield _Zip(archive, file, size).files()


class _Zip:
    """An open archive."""

    def __init__(self, archive: zipfile.ZipFile, file: IO[bytes], size: int) -> None:
        self.archive, self.file, self.size = archive, file, size
        self.left = _MOST_ALL

    def files(self) -> Files:
        found = Files({}, [], self.size)
        infos = self.archive.infolist()
        if len(infos) > _MOST_ENTRIES:
            said = f"{len(infos):,} entries, but only {_MOST_ENTRIES:,} are read"
            found.rows.append(Row("doubtful", "archive", "", said))
        for info in infos[:_MOST_ENTRIES]:
            if info.filename.endswith("/"):  # a folder
                continue
            fault = _name_fault(info.filename)
            if fault:
                found.rows.append(Row("broken", "archive", printable(info.filename), fault))
            elif info.filename in found.entries:
                said = "the name occurs twice: readers disagree about which entry counts"
                fix = "build the archive again, without leftovers of an earlier build"
                found.rows.append(Row("broken", "archive", printable(info.filename), said, fix))
            else:
                found.entries[info.filename] = self._entry(info)
        return found

    def _entry(self, info: zipfile.ZipInfo) -> Entry:
        stored = info.compress_type == zipfile.ZIP_STORED
        offset = self._data_offset(info) if stored else None
        return Entry(info.filename, info.file_size, offset, lambda: self._read(info), stored)

    def _data_offset(self, info: zipfile.ZipInfo) -> int | None:
        """The offset of the bytes; None if the local header is invalid."""
        try:
            self.file.seek(info.header_offset)
            head = _LOCAL.unpack(self.file.read(_LOCAL.size))
        except _ZIP_ERRORS:
            return None
        return int(info.header_offset + _LOCAL.size + head[-2] + head[-1])

    def _read(self, info: zipfile.ZipInfo) -> bytes:
        shown = printable(info.filename)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ModelFormatError(f"{shown} is compressed by a method that devices do not support")
        if info.file_size > self.left:
            raise ModelFormatError(
                f"{shown} is not read: more than {_MOST_ALL:,} bytes were decompressed before"
            )
        self.left -= info.file_size
        try:
            with self.archive.open(info) as stream:
                data = stream.read(info.file_size + 1)
        except _ZIP_ERRORS as error:
            raise ModelFormatError(f"{shown} cannot be read from the archive: {error}") from None
        if len(data) != info.file_size:
            raise ModelFormatError(
                f"{shown} has {len(data):,} bytes, the archive's list says {info.file_size:,}"
            )
        return data


def _name_fault(name: str) -> str:
    """Why an app should not have such a name; "" for a good one."""
    parts = name.split("/")
    if not name:
        return "it has no name: it was not read"
    if name.startswith("/") or ".." in parts or "\\" in name or "\0" in name:
        return "the name points outside of the folder it is unpacked into: it was not read"
    return ""


def _of_folder(root: Path) -> Files:
    """All files below a folder. Links are not followed: in frameworks their targets are entries too."""
    found = Files({}, [], 0)
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(folder) / name
            if path.is_symlink() or not path.is_file():
                continue
            size = path.stat().st_size
            found.size_bytes += size
            if len(found.entries) < _MOST_ENTRIES:
                relative = path.relative_to(root).as_posix()
                found.entries[relative] = _FileEntry.of(path, relative, size)
    return found


class _FileEntry(Entry):
    """A file in a folder; reading its first bytes is cheap."""

    path: Path

    @classmethod
    def of(cls, path: Path, name: str, size: int) -> _FileEntry:
        made = cls(name, size, None, lambda: _bytes_of(path))
        made.path = path
        return made

    def head(self, count: int) -> bytes:
        with reading(self.path), self.path.open("rb") as file:
            return file.read(count)


def _bytes_of(path: Path) -> bytes:
    with reading(path):
        return path.read_bytes()
