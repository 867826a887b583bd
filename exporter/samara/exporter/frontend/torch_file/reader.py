# SPDX-License-Identifier: Apache-2.0
"""Reads files of `torch.save`: zip archives (since 1.6) and the older stream of pickles."""

from __future__ import annotations

import mmap
from typing import Any, BinaryIO, Final

import numpy as np

from samara.exporter.frontend.tensor_file import MAX_HEADER_BYTES
from samara.exporter.frontend.torch_file.archive import Archive
from samara.exporter.frontend.torch_file.known import SAVE_DATA, Known, StorageType
from samara.exporter.frontend.torch_file.machine import (
    MAX_PICKLE_BYTES,
    RESTORE,
    Machine,
    check_result,
    shown,
)
from samara.exporter.frontend.torch_file.storages import RAW, Array, Storage
from samara.exporter.types import ModelFormatError, SamaraError, UnsupportedError

_MAGIC: Final = 0x1950A86A20F9469CFC6C  # of the stream of pickles
_PROTOCOL: Final = 1001
_ZIP: Final = b"PK\x03\x04"
_TAR_AT: Final = 257
START_BYTES: Final = _TAR_AT + 5  # needed by `looks_like`


def looks_like(start: bytes) -> bool:
    """Whether a file with these first bytes is for `read`: a zip archive, a pickle or a tar archive."""
    if start[:4] == _ZIP or start[:4] == b"PK\x05\x06" or start[_TAR_AT:] == b"ustar":
        return True
    # As the header size of a safetensors file, the bytes of a pickle exceed the limit.
    is_pickle = start[:1] == b"\x80" and start[1:2] <= b"\x05"
    return is_pickle and int.from_bytes(start[:8], "little") > MAX_HEADER_BYTES


def read(
    file: BinaryIO, size: int, where: str, *, mapped: bool = False, encoding: str = "utf-8"
) -> tuple[Any, int]:
    """(what `torch.save` wrote to `file`, number of bfloat16 storages, which became float32).

    Reads `size` bytes from the file's position on. mapped: leave the data of a zip archive in the
    file until they are used. Raises ModelFormatError for a damaged file, UnsupportedError for one
    that holds more than data.
    """
    begin = file.tell()
    start = file.read(min(size, START_BYTES))
    file.seek(begin)
    if start[:2] == b"PK":
        source: _Zip | _Stream = _Zip(file, begin, size, where, mapped)
    elif start[_TAR_AT:] == b"ustar":
        raise UnsupportedError(
            f"{where}: a tar archive of the first PyTorch versions, which samara does not read",
            fix="load it with PyTorch and save it again: torch.save(state, path)",
        )
    else:
        source = _Stream(file, size, where)
    result = source.load(encoding)
    check_result(result, where)
    return result, source.widened()


class _Source:
    """The storages of a file, by key."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.storages: dict[str, Storage] = {}

    def bad(self, what: str, fix: str = RESTORE) -> ModelFormatError:
        return ModelFormatError(f"{self.where}: {what}", fix=fix)

    def widened(self) -> int:
        return sum(s.kind == "bfloat16" for s in self.storages.values())

    def storage_of(self, world: Known, key: Any) -> Storage:
        """The storage of a persistent id ("storage", class, key, location, count[, view])."""
        parts = key if type(key) is tuple else ()
        if parts and parts[0] in ("module", b"module"):
            raise UnsupportedError(
                f"{self.where}: holds a whole module with its source code; samara reads only data",
                fix=SAVE_DATA,
            )
        if len(parts) not in (5, 6) or parts[0] not in ("storage", b"storage"):
            raise self.bad("a persistent id of the pickle names no storage")
        _, kind, name, _, count = key[:5]
        name = name.decode("utf-8", "replace") if isinstance(name, bytes) else name
        if not isinstance(kind, StorageType) or type(name) not in (str, int):
            raise self.bad("a persistent id of the pickle names no storage")
        if type(count) is not int or not 0 <= count < 1 << 62:
            raise self.bad(f"storage {shown(name)} has {shown(count)} elements")
        storage = self.storages.get(str(name))
        if storage is None:
            storage = Storage(str(name)[:50], kind.kind, count)
            self.admit(str(name), storage)
            self.storages[str(name)] = storage
        elif (storage.kind, storage.count) != (kind.kind, count):
            raise self.bad(
                f"{storage.name} has {storage.count} elements of {storage.kind}, and elsewhere "
                f"{count} of {kind.kind}"
            )
        return self.part(storage, key[5] if len(key) == 6 else None)

    def admit(self, key: str, storage: Storage) -> None:
        """Register a new storage: read or allocate its elements."""
        raise NotImplementedError

    def part(self, storage: Storage, wanted: Any) -> Storage:
        """The part of a storage that a persistent id of PyTorch before 0.4 asks for."""
        if wanted is None:
            return storage
        _, offset, count = wanted if type(wanted) is tuple and len(wanted) == 3 else (None,) * 3
        if type(offset) is not int or type(count) is not int:
            raise self.bad(f"a view of {storage.name} is damaged")
        return storage.part(offset, count, self.where)

    def refuse_swapped_bytes(self, storage: Storage) -> None:
        if storage.kind == RAW:
            raise UnsupportedError(
                f"{self.where}: {storage.name} has raw bytes from a big-endian machine",
                fix="save the file again on a little-endian machine",
            )


class _Zip(_Source):
    """A zip archive: PREFIX/data.pkl is the pickle, PREFIX/data/KEY has the bytes of a storage."""

    def __init__(self, file: BinaryIO, begin: int, size: int, where: str, mapped: bool) -> None:
        super().__init__(where)
        self.file = file
        self.archive = Archive(file, begin, size, where)
        self.prefix = self._prefix()
        self.memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) if mapped else None
        self.big_endian = self._is_big_endian()

    def load(self, encoding: str) -> Any:
        data = self.archive.data(f"{self.prefix}data.pkl", MAX_PICKLE_BYTES)
        machine = Machine(data, self.where, Known(self.where, self.storage_of), encoding)
        result = machine.run()
        if machine.position != len(data):
            raise self.bad(f"{len(data) - machine.position} bytes follow the pickle")
        return result

    def _prefix(self) -> str:
        names = list(self.archive.entries)
        found = [n[: -len("data.pkl")] for n in names if n.split("/")[-1] == "data.pkl"]
        if any(n.endswith("constants.pkl") or "/code/" in f"/{n}" for n in names):
            raise UnsupportedError(
                f"{self.where}: a TorchScript archive, which holds code; samara reads only data",
                fix="save its state instead: torch.save(torch.jit.load(path).state_dict(), path)",
            )
        if any(n.endswith(("serialized_exported_program.json", "archive_format")) for n in names):
            raise UnsupportedError(
                f"{self.where}: a program of torch.export; samara reads only data",
                fix="save its state instead: torch.save(torch.export.load(path).state_dict, path)",
            )
        if any(n.endswith(".npy") for n in names):
            raise self.bad("a zip archive of numpy.savez", "read it with numpy.load(path)")
        if len(found) != 1:
            what = "holds no data.pkl" if not found else f"holds data.pkl {len(found)} times"
            raise self.bad(
                f"a zip archive that torch.save did not write: it {what}",
                "samara.load reads what samara.save, torch.save and safetensors write",
            )
        return found[0]

    def _is_big_endian(self) -> bool:
        name = f"{self.prefix}byteorder"
        if name not in self.archive.entries:
            return False
        order = self.archive.data(name, 64)
        if order not in (b"little", b"big"):
            raise self.bad(f"the byte order is {order!r}, expected little or big")
        return order == b"big"

    def admit(self, key: str, storage: Storage) -> None:
        name = f"{self.prefix}data/{key}"
        if name not in self.archive.entries:
            raise self.bad(f"{storage.name} is not in the zip archive")
        begin, size = self.archive.place(name)
        if size != storage.file_bytes:
            raise self.bad(
                f"{storage.name} has {size} bytes, {storage.count} elements of {storage.kind} "
                f"have {storage.file_bytes}"
            )
        if self.big_endian:
            self.refuse_swapped_bytes(storage)
        storage.fill(self._data(name, begin, size), self.big_endian, self.where)

    def _data(self, name: str, begin: int, size: int) -> Array:
        # torch.save aligns entries to 64 bytes; another program may not have.
        if self.memory is not None and size and begin % 16 == 0:
            return np.frombuffer(self.memory, np.uint8, size, begin)
        data = np.empty(size, np.uint8)
        self.file.seek(begin)
        _read_into(self.file, data, self.where)
        self.archive.check_sum(name, data)
        return data


class _Stream(_Source):
    """A stream: pickles of the magic number, the version, properties of the machine, the state and
    the storages' keys; then per key the number of elements (int64) and the elements."""

    def __init__(self, file: BinaryIO, size: int, where: str) -> None:
        super().__init__(where)
        self.file = file
        self.size = size
        self.left = size  # bytes that no storage has claimed yet

    def load(self, encoding: str) -> Any:
        begin = self.file.tell()
        window = self.file.read(min(self.size, MAX_PICKLE_BYTES))
        machine = Machine(window, self.where, Known(self.where, self.storage_of), encoding)
        if not _is_magic(machine):
            raise ModelFormatError(
                f"{self.where}: a pickle that torch.save did not write",
                fix="samara.load reads what samara.save, torch.save and safetensors write; other "
                "pickles are never loaded",
            )
        version, machine_of = machine.run(), machine.run()
        if version != _PROTOCOL or type(machine_of) is not dict:
            raise self.bad(f"version {shown(version)} of torch.save, expected {_PROTOCOL}")
        big_endian = machine_of.get("little_endian", True) is False
        result = machine.run()
        keys = machine.run()
        self.file.seek(begin + machine.position)
        self._fill(keys, big_endian)
        return result

    def admit(self, key: str, storage: Storage) -> None:
        # The elements come after the pickles. Allocate no more than the file has bytes.
        self.left -= storage.file_bytes
        if self.left < 0:
            raise self.bad(
                f"cut off: {storage.name} has {storage.file_bytes} bytes, the file {self.size}"
            )
        storage.allocate()

    def _fill(self, keys: Any, big_endian: bool) -> None:
        if not isinstance(keys, list):
            raise self.bad("the list of storages is damaged")
        for key in keys:
            name = key.decode("utf-8", "replace") if isinstance(key, bytes) else key
            storage = self.storages.get(str(name)) if type(name) in (str, int) else None
            if storage is None or storage.filled:
                raise self.bad(f"storage {shown(name)} is listed twice, or no tensor uses it")
            if big_endian:
                self.refuse_swapped_bytes(storage)
            head = np.empty(8, np.uint8)
            _read_into(self.file, head, self.where)
            count = int.from_bytes(head.tobytes(), "big" if big_endian else "little")
            if count != storage.count:
                raise self.bad(
                    f"{storage.name} has {count} elements; its tensors need {storage.count}"
                )
            data = np.empty(storage.file_bytes, np.uint8)
            _read_into(self.file, data, self.where)
            storage.fill(data, big_endian, self.where)
        missing = [s.name for s in self.storages.values() if not s.filled]
        if missing:
            raise self.bad(f"cut off: {missing[0]} and {len(missing) - 1} others have no data")


def _is_magic(machine: Machine) -> bool:
    """Whether the first pickle is torch's magic number."""
    try:
        return machine.run() == _MAGIC
    except SamaraError:
        return False


def _read_into(file: BinaryIO, data: Array, where: str) -> None:
    """Fill an array with the next bytes."""
    view = data.data if data.size else memoryview(b"")
    done = 0
    while done < len(view):
        got = file.readinto(view[done:])  # type: ignore[attr-defined]
        if not got:
            raise ModelFormatError(f"{where}: cut off in the data of a storage", fix=RESTORE)
        done += got
