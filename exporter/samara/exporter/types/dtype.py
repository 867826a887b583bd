# SPDX-License-Identifier: Apache-2.0
"""Element types: their codes in files, short names and numpy dtypes."""

from __future__ import annotations

import enum
import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.exporter.types.errors import UnsupportedError
from samara.exporter.types.packages import is_installed, missing

__all__ = ["DType"]


class DType(enum.IntEnum):
    """The type of one element; the integer value is stored in files and never reused.

    `I8` is a plain 8-bit integer, `QS8` has the same bytes and quantization parameters.
    """

    F32 = 1
    F16 = 2
    I8 = 3
    QS8 = 4
    U8 = 5
    I32 = 6
    I64 = 7
    BOOL = 8
    # The following exist since 0.3.0; each operator lists those that it accepts.
    F64 = 9
    BF16 = 10
    I16 = 11
    U16 = 12
    U32 = 13
    U64 = 14
    I4 = 15
    U4 = 16

    # That of enumerations hashes the name, in Python.
    __hash__ = int.__hash__

    @property
    def code(self) -> int:
        """The number in files."""
        return int(self)

    @property
    def short(self) -> str:
        """The name in tables and kernel names: f32, qs8, i8, bool."""
        return _SHORT[self]

    @property
    def bits(self) -> int:
        """Bits per stored element; i4 and u4 are packed two to a byte."""
        return _BITS[self]

    @property
    def itemsize(self) -> int:
        """Bytes per element; UnsupportedError for the packed i4 and u4."""
        if _BITS[self] < 8:
            raise UnsupportedError(f"{self.short} is packed and has no whole bytes per element")
        return _BITS[self] // 8

    @property
    def is_packed(self) -> bool:
        """Whether two elements share a byte, in files and at run time: i4 and u4."""
        return _BITS[self] < 8

    @property
    def since(self) -> str:
        """The first runtime that reads files with this dtype."""
        return "0.1.0" if self <= DType.BOOL else "0.3.0"

    def bytes_of(self, count: int) -> int:
        """Bytes that `count` elements take in files and at run time."""
        return (count * _BITS[self] + 7) // 8

    @property
    def numpy(self) -> np.dtype[Any]:
        """The numpy dtype of its elements, one to an item (i4 and u4 too).

        bf16, i4 and u4 are those of ml_dtypes; UnsupportedError if it is not installed.
        """
        found = _NUMPY.get(self)
        return _ml_dtype(self.public_name) if found is None else found

    @property
    def has_numpy(self) -> bool:
        """Whether `numpy` is available: false only for bf16, i4 and u4 without ml_dtypes."""
        return self in _NUMPY or is_installed("ml_dtypes")

    @property
    def public_name(self) -> str:
        """The name in public messages: numpy's (float32, int8), or that of ml_dtypes."""
        found = _NUMPY.get(self)
        return _ML_NAMES[self] if found is None else str(found.name)

    @property
    def is_float(self) -> bool:
        return self in _FLOATS

    @property
    def is_int(self) -> bool:
        """Whether it is a plain integer: neither bool nor quantized."""
        return not (self.is_float or self.is_quantized or self is DType.BOOL)

    @property
    def is_signed(self) -> bool:
        return self not in _UNSIGNED

    @property
    def is_quantized(self) -> bool:
        """Whether values of this type carry a Quant."""
        return self is DType.QS8

    def __str__(self) -> str:
        return self.short

    @staticmethod
    def from_numpy(dtype: npt.DTypeLike) -> DType:
        """The DType of a numpy dtype (int8 gives I8, never QS8)."""
        wanted = np.dtype(dtype)
        found: DType | None = _FROM_NUMPY.get(wanted.newbyteorder("="))
        if found is None and wanted.kind == "V":
            found = _FROM_ML.get(wanted.name)
        if found is None:
            raise UnsupportedError(
                f"dtype {wanted.name} is not supported",
                fix="convert the data to one of " + ", ".join(d.name for d in _FROM_NUMPY),
            )
        return found

    @staticmethod
    def parse(text: str | DType) -> DType:
        """The DType with a short name (`f32`, `qs8`) or numpy name; a DType is returned unchanged."""
        if isinstance(text, DType):
            return text
        found = _BY_NAME.get(text)
        if found is None:
            raise UnsupportedError(
                f"unknown dtype '{text}'", fix="use one of " + ", ".join(sorted(_BY_NAME))
            )
        return found


_SHORT = {dtype: dtype.name.lower() for dtype in DType}
_FLOATS = frozenset({DType.F16, DType.F32, DType.F64, DType.BF16})
_UNSIGNED = frozenset({DType.BOOL, DType.U4, DType.U8, DType.U16, DType.U32, DType.U64})
_BITS = {
    DType.F32: 32,
    DType.F16: 16,
    DType.I8: 8,
    DType.QS8: 8,
    DType.U8: 8,
    DType.I32: 32,
    DType.I64: 64,
    DType.BOOL: 8,
    DType.F64: 64,
    DType.BF16: 16,
    DType.I16: 16,
    DType.U16: 16,
    DType.U32: 32,
    DType.U64: 64,
    DType.I4: 4,
    DType.U4: 4,
}
_NUMPY: dict[DType, np.dtype[Any]] = {
    DType.F32: np.dtype(np.float32),
    DType.F16: np.dtype(np.float16),
    DType.I8: np.dtype(np.int8),
    DType.QS8: np.dtype(np.int8),
    DType.U8: np.dtype(np.uint8),
    DType.I32: np.dtype(np.int32),
    DType.I64: np.dtype(np.int64),
    DType.BOOL: np.dtype(np.bool_),
    DType.F64: np.dtype(np.float64),
    DType.I16: np.dtype(np.int16),
    DType.U16: np.dtype(np.uint16),
    DType.U32: np.dtype(np.uint32),
    DType.U64: np.dtype(np.uint64),
}
_ML_NAMES = {DType.BF16: "bfloat16", DType.I4: "int4", DType.U4: "uint4"}
_FROM_ML = {name: dtype for dtype, name in _ML_NAMES.items()}


@functools.cache
def _ml_dtype(name: str) -> np.dtype[Any]:
    try:
        import ml_dtypes
    except ImportError:
        raise missing(f"a NumPy array of {name}", "ml_dtypes") from None
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found


_FROM_NUMPY = {npt_: dtype for dtype, npt_ in _NUMPY.items() if dtype is not DType.QS8}
_BY_NAME = (
    {dtype.short: dtype for dtype in DType}
    | {str(npt_.name): dtype for npt_, dtype in _FROM_NUMPY.items()}
    | _FROM_ML
)
