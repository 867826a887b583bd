# SPDX-License-Identifier: Apache-2.0
"""Named arrays in one safetensors file. The reader does not trust the file.

The format: the size of the header (8 bytes, little-endian); the header, JSON with dtype, shape and
position in the data of each name, and texts in `__metadata__`; the data, without gaps between arrays.
"""

from __future__ import annotations

import contextlib
import json
import math
import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt

from samara.exporter.types import ModelFormatError, UnsupportedError
from samara.pybridge.atomic import replacing
from samara.pybridge.files import path_of, reading

Array = npt.NDArray[Any]

METADATA: Final = "__metadata__"
# The limit of other readers of the format.
MAX_HEADER_BYTES: Final = 100_000_000

_DTYPES: Final = {
    "BOOL": "|b1",
    "U8": "|u1",
    "I8": "|i1",
    "U16": "<u2",
    "I16": "<i2",
    "F16": "<f2",
    "BF16": "<u2",  # its bits
    "U32": "<u4",
    "I32": "<i4",
    "F32": "<f4",
    "U64": "<u8",
    "I64": "<i8",
    "F64": "<f8",
    "C64": "<c8",
}
_CODES: Final = {v: k for k, v in _DTYPES.items() if k != "BF16"}
# Other dtypes of the format, which numpy lacks.
_FOREIGN: Final = ("F8_E4M3", "F8_E5M2", "F8_E8M0", "F4", "F6_E2M3", "F6_E3M2")
_MAX_RANK: Final = 32


@dataclass(frozen=True, slots=True)
class TensorFile:
    """The contents of a file: arrays and texts by name, in the order of the header.

    `widened` names the arrays that were stored as bfloat16, which numpy lacks. They are float32 with
    the same values.
    """

    arrays: dict[str, Array]
    metadata: dict[str, str]
    widened: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    code: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(_DTYPES[self.code])


# ---- writing


def dtype_code(array: Array) -> str | None:
    """The format's name of an array's dtype; None if the format lacks it."""
    return _CODES.get(array.dtype.newbyteorder("<").str)


def write_tensors(
    path: str | os.PathLike[str] | BinaryIO,
    arrays: Mapping[str, Array],
    metadata: Mapping[str, str],
) -> int:
    """Write a path atomically, or an open file from its position on; returns the size in bytes.

    Arrays with wide elements come first, so that every array is aligned. Arrays may have any byte
    order and strides. Raises UnsupportedError for a dtype that the format lacks, FileError if the file
    cannot be written.
    """
    order = sorted(arrays, key=lambda name: -arrays[name].dtype.itemsize)
    places: dict[str, tuple[int, int]] = {}
    reached = 0
    for name in order:
        places[name] = (reached, reached + arrays[name].nbytes)
        reached += arrays[name].nbytes
    rows: dict[str, Any] = {METADATA: dict(metadata)} if metadata else {}
    for name, array in arrays.items():
        code = dtype_code(array)
        if code is None:
            raise UnsupportedError(f"array {name!r} is {array.dtype}, which files cannot hold")
        rows[name] = {"dtype": code, "shape": array.shape, "data_offsets": places[name]}
    header = json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    if len(header) > MAX_HEADER_BYTES:
        raise UnsupportedError(
            f"names and values other than arrays take {len(header)} bytes, more than {MAX_HEADER_BYTES}",
            fix="keep long lists of numbers as arrays",
        )
    target: contextlib.AbstractContextManager[Any] = (
        replacing(path) if isinstance(path, (str, os.PathLike)) else contextlib.nullcontext(path)
    )
    with target as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for name in order:
            file.write(_bytes_of(arrays[name]))
    return 8 + len(header) + reached


def _bytes_of(array: Array) -> memoryview:
    """An array's elements, row-major and little-endian; a copy only if they are not."""
    little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    return little.reshape(-1).view(np.uint8).data


# ---- reading


def read_tensors(path: str | os.PathLike[str], *, mapped: bool = False) -> TensorFile:
    """Read a file. `mapped` leaves the data in the file until they are used: arrays are copied on
    write, and the file must not be changed in place meanwhile.

    Raises ModelFormatError for a damaged file, UnsupportedError for a dtype that numpy lacks (but
    bfloat16 becomes float32), FileError if it cannot be read.
    """
    where = os.fspath(path_of(path, "path"))
    with reading(path), open(path, "rb") as file:
        return read_opened(file, os.fstat(file.fileno()).st_size, where, mapped=mapped)


def read_opened(
    file: BinaryIO, size: int, where: str, *, mapped: bool = False, alone: bool = True
) -> TensorFile:
    """`read_tensors` of an open file, which has `size` bytes from its position on.

    `alone`: nothing may follow the arrays. Otherwise the position is behind the last array afterwards.
    `mapped` needs a file that is read from its beginning.
    """
    text = _read_header(file, where, size)
    data_bytes = size - 8 - len(text)
    rows, metadata = _parse(text, where, data_bytes, alone)
    arrays = (_map if mapped and data_bytes else _read)(file, where, 8 + len(text), rows)
    for row in rows:
        array = arrays[row.name]
        if row.code == "BOOL" and array.size and array.view(np.uint8).max() > 1:
            raise _bad(
                where, f"tensor {_short(row.name)} is BOOL and holds bytes other than 0 and 1"
            )
        if row.code == "BF16":
            arrays[row.name] = np.asarray(array.astype(np.uint32) << 16).view(np.float32)
    widened = tuple(r.name for r in rows if r.code == "BF16")
    return TensorFile(arrays, metadata, widened)


def _bad(where: str, message: str, fix: str | None = None) -> ModelFormatError:
    return ModelFormatError(f"{where}: {message}", fix=fix)


def _read_header(file: BinaryIO, where: str, size: int) -> bytes:
    start = file.read(8)
    if start[4:8] == b"SMRA":
        raise _bad(where, "that is a model; use samara.Session", "run it with samara.Session(path)")
    if start[:4] == b"PK\x03\x04":
        raise _bad(
            where,
            "a zip archive, as torch.save and numpy.savez write them",
            "write it with safetensors.torch.save_file or samara.save; pickles are never loaded",
        )
    if len(start) < 8:
        raise _bad(where, f"cut off after {size} bytes", "restore it from a copy")
    length = int.from_bytes(start, "little")
    if not 2 <= length <= MAX_HEADER_BYTES:
        raise _bad(
            where,
            f"not a safetensors file (its first 8 bytes say that the header has {length} bytes)",
            "samara.load reads what samara.save, torch.save and safetensors write",
        )
    text = file.read(length)
    if len(text) != length:
        raise _bad(
            where,
            f"cut off after {size} bytes; the header alone has {length}",
            "restore it from a copy",
        )
    return text


def _parse(
    text: bytes, where: str, data_bytes: int, alone: bool
) -> tuple[list[_Row], dict[str, str]]:
    """Rows in the order of the header, and the texts. Checks that the arrays fill the data exactly."""
    try:
        table = json.loads(text.decode("utf-8"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise _bad(where, f"the header is damaged: {error}", "restore it from a copy") from None
    if not isinstance(table, dict) or text[:1] != b"{":
        raise _bad(where, "the header is not a JSON object")
    metadata = table.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise _bad(where, f"{METADATA} is not an object of texts")
    rows = [_row(where, name, value) for name, value in table.items()]
    reached = 0
    for row in sorted(rows, key=lambda r: (r.begin, r.end)):
        if row.begin != reached:
            raise _bad(
                where,
                f"tensor {_short(row.name)} begins at byte {row.begin} of the data, the one before ends at {reached}",
            )
        reached = row.end
    if reached > data_bytes or (alone and reached < data_bytes):
        kind = "cut off" if reached > data_bytes else "too long"
        raise _bad(
            where,
            f"{kind}: the tensors have {reached} bytes, the file {data_bytes}",
            "restore it from a copy",
        )
    return rows, metadata


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{_short(key)} occurs twice")
        found[key] = value
    return found


def _short(value: object) -> str:
    """`value`, shortened for messages: a file may have names of megabytes."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _row(where: str, name: str, value: Any) -> _Row:
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise _bad(where, f"tensor {_short(name)}: expected dtype, shape and data_offsets")
    code, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not _is_sizes(shape) or len(shape) > _MAX_RANK:
        raise _bad(where, f"tensor {_short(name)}: the shape is {_short(shape)}")
    if not _is_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise _bad(where, f"tensor {_short(name)}: data_offsets are {_short(offsets)}")
    if code in _FOREIGN:
        raise UnsupportedError(
            f"{where}: tensor {_short(name)} is {code}, which numpy lacks",
            fix="in the program that wrote the file, convert it to F32 or F16",
        )
    if not isinstance(code, str) or code not in _DTYPES:
        raise _bad(where, f"tensor {_short(name)}: there is no dtype {_short(code)}")
    row = _Row(name, code, tuple(shape), offsets[0], offsets[1])
    needed = math.prod(row.shape) * row.dtype.itemsize
    if row.end - row.begin != needed:
        raise _bad(
            where,
            f"tensor {_short(name)} has {row.end - row.begin} bytes, its shape needs {needed}",
        )
    return row


def _is_sizes(value: Any) -> bool:
    """Whether `value` is a list of possible sizes."""
    return isinstance(value, list) and all(type(v) is int and 0 <= v < 1 << 62 for v in value)


def _empty(where: str, row: _Row) -> Array:
    try:
        return np.empty(row.shape, row.dtype)
    except ValueError as error:  # an empty array may have sizes that numpy refuses
        raise _bad(where, f"tensor {_short(row.name)}: {error}") from None


def _read(file: BinaryIO, where: str, start: int, rows: list[_Row]) -> dict[str, Array]:
    """Arrays in the order of `rows`, read into memory from front to back."""
    arrays = {row.name: _empty(where, row) for row in rows}
    for row in sorted(rows, key=lambda r: r.begin):
        view = arrays[row.name].reshape(-1).view(np.uint8).data
        if file.readinto(view) != len(view):  # type: ignore[attr-defined]
            raise _bad(where, "cut off while being read", "write checkpoints with samara.save")
    return arrays


def _map(file: BinaryIO, where: str, start: int, rows: list[_Row]) -> dict[str, Array]:
    """Arrays over the mapped file. A write copies its page."""
    memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    arrays = {}
    for row in rows:
        count = math.prod(row.shape)
        if count == 0:
            arrays[row.name] = _empty(where, row)
            continue
        flat = np.frombuffer(memory, row.dtype, count, start + row.begin)
        arrays[row.name] = flat.reshape(row.shape)
    return arrays
