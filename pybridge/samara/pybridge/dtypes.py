# SPDX-License-Identifier: Apache-2.0
"""The runtime's element types as numpy sees them, and the packing of int4 and uint4 in pairs."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = ["NAMES", "PACKED", "numpy_dtype", "pack_nibbles", "packed_bytes", "unpack_nibbles"]

Array = npt.NDArray[Any]

# samara_dtype -> the name that users see: numpy's, or ml_dtypes' (a quantized tensor is an int8
# array with scale and zero point).
NAMES: Final = {
    1: "float32",
    2: "float16",
    3: "int8",
    4: "int8",
    5: "uint8",
    6: "int32",
    7: "int64",
    8: "bool",
    9: "float64",
    10: "bfloat16",
    11: "int16",
    12: "uint16",
    13: "uint32",
    14: "uint64",
    15: "int4",
    16: "uint4",
}
PACKED: Final = frozenset({"int4", "uint4"})

# Substitutes for the types that numpy lacks, used if ml_dtypes is not installed.
_STAND_INS: Final = {"bfloat16": np.uint16, "int4": np.int8, "uint4": np.uint8}


@functools.cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """The numpy dtype of a name in NAMES.

    bfloat16, int4 and uint4 are those of ml_dtypes if it is installed. Else uint16 (the bits of a
    bfloat16), int8 and uint8 (one value in each) are used instead.
    """
    if name not in _STAND_INS:
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(_STAND_INS[name])
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found


def packed_bytes(shape: Sequence[int]) -> int:
    """Bytes of an int4 or uint4 tensor of that shape in the runtime and in files."""
    count = 1
    for dim in shape:
        count *= dim
    return (count + 1) // 2


def pack_nibbles(array: Array) -> npt.NDArray[np.uint8]:
    """The bytes of an array of 4-bit values (one per item): two per byte, in row-major order, the first in
    the low half. With an odd number of values the last half byte is 0.
    """
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & 15
    out = np.zeros((flat.size + 1) // 2, np.uint8)
    out |= flat[0::2]
    out[: flat.size // 2] |= flat[1::2] << 4
    return out


def unpack_nibbles(
    data: npt.NDArray[np.uint8], dtype: np.dtype[Any], shape: Sequence[int]
) -> Array:
    """The inverse of `pack_nibbles`: an array of that dtype (the `numpy_dtype` of int4 or uint4)."""
    flat = np.empty(2 * data.size, np.uint8)
    flat[0::2] = data & 15
    flat[1::2] = data >> 4
    if dtype == np.int8:  # extend the sign: 8 .. 15 are -8 .. -1 (ml_dtypes does so itself)
        flat = np.subtract(flat ^ 8, 8, dtype=np.uint8)
    count = 1
    for dim in shape:
        count *= dim
    return np.ascontiguousarray(flat[:count]).view(dtype).reshape(tuple(shape))
