# SPDX-License-Identifier: Apache-2.0
"""TFLite's element types: those that become dtypes, and the reasons why others are not supported."""

from __future__ import annotations

from typing import Final

from samara.exporter.types import DType, UnsupportedError

__all__ = ["IMPORTED_DTYPES", "import_dtype"]

IMPORTED_DTYPES: Final[dict[str, DType]] = {
    "FLOAT32": DType.F32,
    "FLOAT16": DType.F16,
    "FLOAT64": DType.F64,
    "BFLOAT16": DType.BF16,
    "INT8": DType.I8,
    "INT16": DType.I16,
    "INT32": DType.I32,
    "INT64": DType.I64,
    "INT4": DType.I4,
    "UINT4": DType.U4,
    "UINT8": DType.U8,
    "UINT16": DType.U16,
    "UINT32": DType.U32,
    "UINT64": DType.U64,
    "BOOL": DType.BOOL,
}
_REFUSED: Final[dict[str, tuple[str, str]]] = {
    "STRING": (
        "tensors hold numbers, not strings",
        "look them up before the model, and convert the part behind that",
    ),
    "COMPLEX64": (
        "tensors hold no complex numbers here",
        "end the model at the RFFT2D's COMPLEX_ABS, REAL or IMAG",
    ),
    "COMPLEX128": ("tensors hold no complex numbers here", "convert the model to float32"),
    "RESOURCE": ("a resource has no value of its own", "read it with READ_VARIABLE"),
    "VARIANT": ("tensors of any type are not supported", "convert the model to float32"),
    "INT2": (
        "2-bit integers are stored by accelerators alone",
        "convert the model to int4 or int8",
    ),
}


def import_dtype(name: str, what: str) -> DType:
    """The dtype of an element type by its name in the schema. UnsupportedError, with `what`, for others."""
    found = IMPORTED_DTYPES.get(name)
    if found is not None:
        return found
    why, fix = _REFUSED.get(name, ("no CPU computes in it", "convert the model to float32 or int8"))
    raise UnsupportedError(f"{what}: element type {name.lower()} is not supported: {why}", fix=fix)
