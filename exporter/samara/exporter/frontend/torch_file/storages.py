# SPDX-License-Identifier: Apache-2.0
"""Storages of torch: flat memory, of which tensors are views."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.exporter.frontend.torch_file.machine import Internal, shown
from samara.exporter.types import ModelFormatError, UnsupportedError

Array = npt.NDArray[Any]

BFLOAT16: Final = "bfloat16"
RAW: Final = "raw bytes"  # the tensor has the dtype
# torch's storage classes -> the dtype of their elements.
STORAGE_TYPES: Final = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": BFLOAT16,
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
    "UntypedStorage": RAW,
    "_UntypedStorage": RAW,
}
# torch's dtypes that numpy has too -> numpy's names.
DTYPES: Final = {
    **{name: name for name in ("float16", "float32", "float64", "int8", "int16", "int32", "int64")},
    **{name: name for name in ("uint8", "uint16", "uint32", "uint64", "bool")},
    **{name: name for name in ("complex64", "complex128")},
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "cfloat": "complex64",
    "cdouble": "complex128",
}
_MAX_RANK: Final = 32
# A view may repeat elements (expand). A larger tensor can only be an attack.
_MAX_ELEMENTS: Final = 1 << 32


def item_bytes(kind: str) -> int:
    """Bytes of an element in the file."""
    if kind == RAW:
        return 1
    return 2 if kind == BFLOAT16 else np.dtype(kind).itemsize


class Storage(Internal):
    """A storage of a file: `count` elements of `kind`.

    `array` holds them, bfloat16 as float32. All tensors over it share `version`.
    """

    __slots__ = ("array", "count", "filled", "kind", "version")

    def __init__(self, key: str, kind: str, count: int) -> None:
        super().__init__(f"storage {key!r}")
        self.kind = kind
        self.count = count
        self.array: Array = np.empty(0, np.uint8)
        self.filled = False
        self.version = [0]

    @property
    def file_bytes(self) -> int:
        return self.count * item_bytes(self.kind)

    def allocate(self) -> None:
        """Allocate memory for elements that are read later."""
        self.array = np.empty(self.count, _held(self.kind))

    def fill(self, data: Array, big_endian: bool, where: str) -> None:
        """Set the elements from the bytes of the file (uint8), without a copy if possible.

        Raises ModelFormatError if a bool is neither 0 nor 1.
        """
        self.filled = True
        if self.kind == RAW:
            elements = data
        elif self.kind == BFLOAT16:
            bits = data.view(">u2" if big_endian else "<u2")
            elements = (bits.astype(np.uint32) << 16).view(np.float32)
        else:
            kind = np.dtype(self.kind)
            elements = data.view(kind)
            if big_endian:
                elements = elements.byteswap()
            if kind == np.bool_ and data.size and data.max() > 1:
                raise ModelFormatError(
                    f"{where}: {self.name} is bool and holds bytes other than 0 and 1"
                )
        if self.array.size:  # tensors are views of it already
            self.array[...] = elements
        else:
            self.array = elements

    def part(self, offset: int, count: int, where: str) -> Storage:
        """A storage over some of the elements, for files of PyTorch before 0.4."""
        if not 0 <= offset <= offset + count <= self.count:
            raise ModelFormatError(
                f"{where}: a view of {count} elements at {offset} leaves {self.name}, which has "
                f"{self.count}"
            )
        out = Storage(self.name, self.kind, count)
        out.array = self.array[offset : offset + count]
        out.filled = True
        out.version = self.version
        return out


def _held(kind: str) -> np.dtype[Any]:
    if kind == RAW:
        return np.dtype(np.uint8)
    return np.dtype(np.float32 if kind == BFLOAT16 else kind)


def view(
    storage: Storage,
    offset: Any,
    size: Any,
    stride: Any,
    where: str,
    dtype: str | None = None,
) -> Array:
    """The array of a tensor: a view of its storage. Offset and strides count elements.

    `dtype` is only for tensors over raw bytes. Raises ModelFormatError if the tensor leaves its storage.
    """
    array = storage.array
    if (storage.kind == RAW) != (dtype is not None):
        raise ModelFormatError(f"{where}: a tensor over {storage.name} lacks its dtype")
    if dtype is not None:
        width = np.dtype(dtype).itemsize
        if storage.count % width:
            raise ModelFormatError(
                f"{where}: {storage.name} has {storage.count} bytes, not a whole number of {dtype}"
            )
        array = array.view(dtype)
    shape, steps = _sizes(size, where), _sizes(stride, where)
    if len(shape) != len(steps) or len(shape) > _MAX_RANK:
        raise ModelFormatError(f"{where}: a tensor has {len(shape)} sizes and {len(steps)} strides")
    (begin,) = _sizes((offset,), where)
    count = math.prod(shape)
    if count > max(_MAX_ELEMENTS, storage.count):
        raise UnsupportedError(
            f"{where}: a tensor of shape {list(shape)} over {storage.count} elements is too large",
            fix="save tensor.contiguous() or a smaller view",
        )
    if count == 0:
        return np.empty(shape, array.dtype)
    last = begin + sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
    if last >= array.size:
        raise ModelFormatError(
            f"{where}: a tensor of shape {list(shape)} reaches element {last} of {storage.name}, "
            f"which has {array.size}",
            fix="restore the file from a copy",
        )
    width = array.itemsize
    strides = [(step if n > 1 else 1) * width for n, step in zip(shape, steps, strict=True)]
    return np.ndarray(shape, array.dtype, array, begin * width, strides)


def _what(values: Any) -> str:
    if type(values) is not tuple:
        return shown(values)
    return ", ".join(shown(v) for v in values[:_MAX_RANK])


def _sizes(values: Any, where: str) -> tuple[int, ...]:
    if type(values) is not tuple or not all(type(n) is int and 0 <= n < 1 << 62 for n in values):
        raise ModelFormatError(
            f"{where}: a tensor has invalid sizes, strides or offset: {_what(values)}"
        )
    return values
