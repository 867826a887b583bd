# SPDX-License-Identifier: Apache-2.0
"""The planes of a picture: arrays and buffers of the caller, described by strides, without copies."""

from __future__ import annotations

import operator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from samara.pybridge.errors import ArgumentError, ShapeError
from samara.pybridge.files import kind_of
from samara.pybridge.image_text import MAX_SIDE

Bytes = npt.NDArray[np.uint8]

# Format -> for each plane the bytes of a sample, and whether a sample covers 2 by 2 pixels; in the
# order of the codes in samara_media.h, which begin at 1.
FORMATS: Final = {
    "rgb": ((3, False),),
    "bgr": ((3, False),),
    "rgba": ((4, False),),
    "bgra": ((4, False),),
    "gray": ((1, False),),
    "nv21": ((1, False), (2, True)),
    "nv12": ((1, False), (2, True)),
    "i420": ((1, False), (1, True), (1, True)),
}
_MAX_STRIDE = 2**31 - 1


class Plane(NamedTuple):
    """One plane of a picture.

    data: uint8 [bytes], from the first sample to the last byte of the last one. row_stride,
    pixel_stride: bytes between the starts of two rows, and of two samples.
    """

    data: Bytes
    row_stride: int
    pixel_stride: int


def planes_of(
    data: Any, format: str, width: object, height: object, strides: object
) -> tuple[tuple[Plane, ...], tuple[int, int]]:
    """The planes of `data`, and (width, height). Errors are those of samara.Image."""
    layout = FORMATS[format]
    apart = isinstance(data, (tuple, list))
    if apart and len(data) != len(layout):
        raise ShapeError(
            f"the picture has {len(data)} planes, {format} has {len(layout)}",
            fix="give one array or buffer per plane, or all of them as one buffer",
        )
    parts = list(data) if apart else [data]
    steps = _steps(strides, format)
    size = _size(parts[0] if apart or len(layout) == 1 else None, format, width, height)
    shapes = [(_ceil_half(size) if halved else size, sample) for sample, halved in layout]
    if apart or len(layout) == 1:
        named = zip(parts, shapes, steps, strict=True)
        found = [
            _plane(part, shape, sample, step, f"plane {i} of {format}" if apart else format)
            for i, (part, (shape, sample), step) in enumerate(named)
        ]
        return tuple(found), size
    return _split(_buffer(data, format), shapes, steps, format), size


def _split(
    buffer: Bytes,
    shapes: list[tuple[tuple[int, int], int]],
    steps: list[tuple[int | None, int | None]],
    format: str,
) -> tuple[Plane, ...]:
    """The planes of one buffer, in which they follow each other."""
    found: list[Plane] = []
    start = 0
    for (shape, sample), step in zip(shapes, steps, strict=True):
        row, pixel, need = _extent(shape, sample, step, format)
        if start + need > buffer.size:
            raise ShapeError(
                f"the buffer of the {format} picture has {buffer.size} bytes, plane {len(found)} of"
                f" {shape[0]}x{shape[1]} ends at byte {start + need}",
                fix="check width, height and strides, or give the planes one by one as a tuple",
            )
        found.append(Plane(buffer[start : start + need], row, pixel))
        start += row * shape[1]
    return tuple(found)


def _plane(
    part: Any,
    shape: tuple[int, int],
    sample: int,
    step: tuple[int | None, int | None],
    what: str,
) -> Plane:
    """A plane of shape (columns, rows) with `sample` bytes per sample, from an array or a buffer."""
    if not isinstance(part, np.ndarray) or part.ndim == 1:
        buffer = _buffer(part, what)
        row, pixel, need = _extent(shape, sample, step, what)
        if need > buffer.size:
            raise ShapeError(
                f"the buffer of {what} has {buffer.size} bytes, {shape[0]}x{shape[1]} with rows {row}"
                f" and samples {pixel} bytes apart need {need}",
                fix="check width, height and strides",
            )
        return Plane(buffer[:need], row, pixel)
    if step != (None, None):
        raise ArgumentError(
            f"strides are given for {what}, an array that has its own", fix="leave strides out"
        )
    columns, rows = shape
    array = _bytes_only(part, what)
    if sample == 2 and array.shape == (rows, 2 * columns):
        array = _pairs(array)
    if array.ndim == 2 and sample == 1:
        array = array[:, :, None]
    if array.shape != (rows, columns, sample):
        raise _wrong_shape(part, shape, sample, what)
    return _of_array(array)


def _of_array(array: Bytes) -> Plane:
    """The plane of an array [rows, columns, sample]; a copy if its strides cannot be used."""
    rows, columns, sample = array.shape
    row, pixel, byte = array.strides
    # The stride of an axis of length 1 may have any value.
    pixel = pixel if columns > 1 else sample
    row = row if rows > 1 else columns * pixel
    row_bytes = (columns - 1) * pixel + sample
    if (sample > 1 and byte != 1) or pixel < sample or not row_bytes <= row <= _MAX_STRIDE:
        array = np.ascontiguousarray(array)
        row, pixel, row_bytes = columns * sample, sample, columns * sample
    need = (rows - 1) * row + row_bytes
    # In bounds: all these bytes lie between the first and the last element of the array.
    flat = np.lib.stride_tricks.as_strided(array, (need,), (1,), writeable=False)
    return Plane(flat, row, pixel)


def _pairs(array: Bytes) -> Bytes:
    """[rows, 2 columns] as [rows, columns, 2] without a copy, if neighbours are adjacent."""
    rows, twice = array.shape
    row, byte = array.strides
    shape, steps = (rows, twice // 2, 2), (row, 2 * byte, byte)
    return np.lib.stride_tricks.as_strided(array, shape, steps, writeable=False)


def _extent(
    shape: tuple[int, int], sample: int, step: tuple[int | None, int | None], what: str
) -> tuple[int, int, int]:
    """(row stride, pixel stride, total bytes) of a plane in a buffer."""
    columns, rows = shape
    pixel = sample if step[1] is None else step[1]
    if not sample <= pixel <= _MAX_STRIDE:
        raise ShapeError(
            f"the samples of {what} are {pixel} bytes apart and have {sample}",
            fix=f"give strides as (row, pixel) with pixel >= {sample}",
        )
    row_bytes = (columns - 1) * pixel + sample
    row = columns * pixel if step[0] is None else step[0]
    if not row_bytes <= row <= _MAX_STRIDE:
        raise ShapeError(
            f"the rows of {what} are {row} bytes apart, {columns} samples take {row_bytes}",
            fix="give the bytes from one row to the next, not the pixels",
        )
    return row, pixel, (rows - 1) * row + row_bytes


def _steps(strides: object, format: str) -> list[tuple[int | None, int | None]]:
    """(row stride, pixel stride) of each plane; None if they follow from the size."""
    count = len(FORMATS[format])
    if strides is None:
        return [(None, None)] * count
    given = strides if isinstance(strides, (tuple, list)) else (strides,)
    if len(given) != count:
        raise ArgumentError(
            f"strides has {len(given)} entries, {format} has {count} planes",
            fix=f"give {count}: each bytes from row to row, or a pair (row, pixel)",
        )
    found: list[tuple[int | None, int | None]] = []
    for entry in given:
        if isinstance(entry, (tuple, list)) and len(entry) == 2:
            found.append((whole("a row stride", entry[0]), whole("a pixel stride", entry[1])))
        else:
            found.append((whole("a row stride", entry), None))
    return found


def _buffer(data: Any, what: str) -> Bytes:
    """The bytes of a buffer, read-only, without a copy if they are adjacent."""
    if isinstance(data, np.ndarray):
        flat = np.ascontiguousarray(_bytes_only(data, what)).reshape(-1).view()
        flat.flags.writeable = False
        return flat
    try:
        view = memoryview(data).cast("B").toreadonly()
    except TypeError:
        raise ArgumentError(
            f"the data of {what} is {kind_of(data)}, not an array or adjacent bytes",
            fix="give an array of uint8, or bytes with width and height",
        ) from None
    return np.frombuffer(view, np.uint8)


# ---- checks ----


def _bytes_only(array: npt.NDArray[Any], what: str) -> Bytes:
    if array.dtype != np.uint8:
        raise ArgumentError(
            f"the array of {what} is {array.dtype}, expected uint8 of 0..255",
            fix="of values 0..1: np.rint(x * 255).astype(np.uint8)",
        )
    return np.asarray(array)


def _size(first: Any, format: str, width: object, height: object) -> tuple[int, int]:
    """(width, height), as given or from the axes of the array `first`."""
    axes = isinstance(first, np.ndarray) and first.ndim >= 2
    if axes and (width is None or height is None):
        sample = FORMATS[format][0][0]
        if first.ndim != 3 and (first.ndim, sample) != (2, 1):
            raise _wrong_shape(first, None, sample, format)
        if first.ndim == 3 and first.shape[2] != sample:
            raise _wrong_shape(first, None, sample, format)
        rows, columns = first.shape[:2]
        width = columns if width is None else width
        height = rows if height is None else height
    if width is None or height is None:
        raise ArgumentError(
            f"width and height of the {format} picture are not given, and its data has no axes",
            fix="give width and height in pixels",
        )
    size = whole("width", width), whole("height", height)
    check_sides(*size)
    return size


def check_sides(width: int, height: int) -> None:
    """ShapeError if a side of the picture is 0 or too long."""
    if not (1 <= width <= MAX_SIDE and 1 <= height <= MAX_SIDE):
        raise ShapeError(
            f"the picture has {width}x{height} pixels, expected sides of 1..{MAX_SIDE}",
            fix="scale a larger picture down first",
        )


def _wrong_shape(
    array: npt.NDArray[Any], shape: tuple[int, int] | None, sample: int, what: str
) -> ShapeError:
    sides = ["height", "width"] if shape is None else [str(shape[1]), str(shape[0])]
    expected = ", ".join([*sides, *([str(sample)] if sample > 1 else [])])
    fix = "check the format and the size"
    if array.ndim == 4:
        fix = "give one picture of the batch: x[0]"
    elif array.ndim == 3 and array.shape[0] in (1, 3, 4) and array.shape[2] not in (1, 3, 4):
        fix = "put the channels last: np.moveaxis(x, 0, -1)"
    return ShapeError(
        f"the array of {what} has the shape {list(array.shape)}, expected [{expected}]", fix=fix
    )


def whole(name: str, value: object) -> int:
    """An integer as int. ArgumentError for another value; `name` is the argument."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise ArgumentError(f"{name} is {value!r}, expected a whole number", fix="give an int")


def _ceil_half(size: tuple[int, int]) -> tuple[int, int]:
    return (size[0] + 1) // 2, (size[1] + 1) // 2
