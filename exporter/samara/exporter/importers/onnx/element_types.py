# SPDX-License-Identifier: Apache-2.0
"""ONNX's element types: those that become dtypes, and the reasons why others are not supported."""

from __future__ import annotations

from typing import Final

import onnx

from samara.exporter.types import DType, UnsupportedError

__all__ = ["IMPORTED_DTYPES", "REFUSED_DTYPES", "import_dtype"]

IMPORTED_DTYPES: Final[dict[int, DType]] = {
    onnx.TensorProto.FLOAT: DType.F32,
    onnx.TensorProto.FLOAT16: DType.F16,
    onnx.TensorProto.DOUBLE: DType.F64,
    onnx.TensorProto.BFLOAT16: DType.BF16,
    onnx.TensorProto.INT8: DType.I8,
    onnx.TensorProto.INT16: DType.I16,
    onnx.TensorProto.INT32: DType.I32,
    onnx.TensorProto.INT64: DType.I64,
    onnx.TensorProto.UINT8: DType.U8,
    onnx.TensorProto.UINT16: DType.U16,
    onnx.TensorProto.UINT32: DType.U32,
    onnx.TensorProto.UINT64: DType.U64,
    onnx.TensorProto.INT4: DType.I4,
    onnx.TensorProto.UINT4: DType.U4,
    onnx.TensorProto.BOOL: DType.BOOL,
}

_TINY_FLOATS = "floats of 8 bits and less are formats of accelerators, which no CPU computes in"
_TWO_BITS = "2-bit integers are stored by accelerators alone"
_COMPLEX = "tensors hold no complex numbers here"
_STRINGS = "tensors hold numbers, not strings"
_FIXES: Final = {
    _TINY_FLOATS: "export the model in float16 or float32, or quantize it to int8",
    _TWO_BITS: "export the model with int4 or int8 weights",
    _COMPLEX: "hold real and imaginary parts along an axis of their own, as ONNX's DFT does",
    _STRINGS: "look them up before the model, and cut the graph behind that with inputs=",
}
# ONNX's code of an element type -> why it is not supported. Types of later versions of the onnx package
# are identified by their names.
_NAMED: Final = {
    "FLOAT8E4M3FN": _TINY_FLOATS,
    "FLOAT8E4M3FNUZ": _TINY_FLOATS,
    "FLOAT8E5M2": _TINY_FLOATS,
    "FLOAT8E5M2FNUZ": _TINY_FLOATS,
    "FLOAT8E8M0": _TINY_FLOATS,
    "FLOAT6E2M3": _TINY_FLOATS,
    "FLOAT6E3M2": _TINY_FLOATS,
    "FLOAT4E2M1": _TINY_FLOATS,
    "INT2": _TWO_BITS,
    "UINT2": _TWO_BITS,
    "COMPLEX64": _COMPLEX,
    "COMPLEX128": _COMPLEX,
    "STRING": _STRINGS,
}
REFUSED_DTYPES: Final[dict[int, str]] = {
    code: _NAMED[name] for name, code in onnx.TensorProto.DataType.items() if name in _NAMED
}


def import_dtype(code: int, what: str) -> DType:
    """The dtype of an ONNX element type. UnsupportedError, with `what`, for others."""
    found = IMPORTED_DTYPES.get(code)
    if found is not None:
        return found
    known = onnx.TensorProto.DataType
    name = known.Name(code).lower() if code in known.values() else f"code {code}"
    reason = REFUSED_DTYPES.get(code)
    if reason is None:
        raise UnsupportedError(
            f"{what}: element type {name} is not supported",
            fix="convert the model to float32, float16 or an integer type",
        )
    raise UnsupportedError(
        f"{what}: element type {name} is not supported: {reason}", fix=_FIXES[reason]
    )
