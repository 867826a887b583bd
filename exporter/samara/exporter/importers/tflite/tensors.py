# SPDX-License-Identifier: Apache-2.0
"""TFLite tensors as values: constants, and quantized tensors in the form in which they are stored.

An int8 or uint8 tensor with quantization parameters is stored as qs8, uint8 shifted by 128. Wider
integers with parameters are stored as integers, because only operators of TFLite give them a meaning.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.tflite.element_types import import_dtype
from samara.exporter.importers.tflite.model import Parameters, Tensor
from samara.exporter.importers.tflite.sparsity import densified
from samara.exporter.ir.builder import Builder
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, Quant, SamaraError, UnsupportedError

_BYTES = ("INT8", "UINT8")
_QUANTIZED = (*_BYTES, "INT16", "INT32", "INT64", "INT4")
_INTEGERS = {"INT16": DType.I16, "INT32": DType.I32, "INT64": DType.I64}


def parameters_of(tensor: Tensor) -> Parameters | None:
    """The quantization parameters of a tensor of integers; None of others, and where every scale is 0."""
    p = tensor.parameters
    if p is None or tensor.type not in _QUANTIZED:
        return None
    if p.details:
        raise UnsupportedError(
            f"tensor {tensor.key!r} has quantization parameters of kind {p.details}",
            fix="convert the model with parameters per tensor or per channel",
        )
    return p if any(p.scales) else None


def quant_of(tensor: Tensor) -> Quant | None:
    """The parameters of an int8, uint8 or int4 tensor as those of qs8; None if it has none."""
    p = parameters_of(tensor)
    if p is None or tensor.type not in (*_BYTES, "INT4"):
        return None
    shift = 128 if tensor.type == "UINT8" else 0
    zeros = [z - shift for z in p.zero_points]
    try:
        if len(p.scales) == 1:
            return Quant.per_tensor(p.scales[0], zeros[0])
        return Quant.per_axis(p.scales, p.axis, zeros)
    except SamaraError as error:
        raise UnsupportedError(
            f"the quantization parameters of tensor {tensor.key!r} cannot be used: {error.message}",
            fix="quantize the model again",
        ) from None


def attributes_of(quant: Quant) -> dict[str, Any]:
    """The attributes that `quantize` and `reinterpret` take for these parameters."""
    axis = -1 if quant.axis is None else quant.axis
    return {"scales": quant.scales, "zero_points": quant.zero_points, "axis": axis}


def constant_of(builder: Builder, tensor: Tensor) -> Value:
    """A constant tensor, stored."""
    array, dtype = constant_array(tensor)
    quant = quant_of(tensor)
    if quant is None:
        return builder.const(array, tensor.key, dtype)
    if tensor.type == "UINT8":
        array = (array ^ np.uint8(0x80)).view(np.int8)
    return builder.const(array.astype(np.int8, copy=False), tensor.key, DType.QS8, quant)


def constant_array(tensor: Tensor) -> tuple[Any, DType]:
    """The data of a constant with its dtype."""
    dtype = import_dtype(tensor.type, f"tensor {tensor.key!r}")
    if tensor.data is None:  # of a tensor without elements
        return np.zeros(tensor.shape, dtype.numpy), dtype
    if tensor.sparsity is not None:
        return densified(tensor, dtype), dtype
    if dtype in (DType.I4, DType.U4):
        return _nibbles(tensor, dtype is DType.I4).astype(dtype.numpy), dtype
    data = np.frombuffer(tensor.data.tobytes(), dtype.numpy)
    if dtype is DType.BOOL:
        data = tensor.data != 0
    return data.reshape(tensor.shape), dtype


def _nibbles(tensor: Tensor, signed: bool) -> Any:
    """Elements of 4 bits, the low half of a byte first."""
    assert tensor.data is not None
    count = int(np.prod(tensor.shape, dtype=np.int64))
    both = np.stack([tensor.data & 15, tensor.data >> 4], axis=1).reshape(-1)[:count]
    wide = both.astype(np.int8)
    return (np.where(wide > 7, wide - 16, wide) if signed else wide).reshape(tensor.shape)


def stored(builder: Builder, value: Value, tensor: Tensor) -> Value:
    """A result in the form in which `tensor` is stored: real numbers are quantized by its parameters."""
    quant, kind = quant_of(tensor), value.type.dtype
    if quant is not None:
        if kind is DType.QS8:
            if value.type.quant == quant:
                return value
            value = builder.op("dequantize", value, name=f"{tensor.key}.real")
            kind = DType.F32
        op = "quantize" if kind is DType.F32 else "reinterpret"
        more = {} if op == "quantize" else {"to": DType.QS8}
        return _made(builder, op, value, tensor, {**more, **attributes_of(quant)})
    p = parameters_of(tensor)
    if p is not None and kind is DType.F32:
        return _wide(builder, value, tensor, p)
    return value


def _made(builder: Builder, op: str, value: Value, tensor: Tensor, attrs: dict[str, Any]) -> Value:
    made: Value = builder.op(op, value, outputs=[tensor.key], **attrs)
    return made


def _wide(builder: Builder, value: Value, tensor: Tensor, p: Parameters) -> Value:
    """Real numbers as int16, int32 or int64: round(x / scale) + zero point, clamped."""
    to = _INTEGERS[tensor.type]
    info = np.iinfo(to.numpy)
    scale = np.float32(p.scales[0])
    steps = builder.op("div", value, scale, name=f"{tensor.key}.steps")
    whole = builder.op("round", steps, name=f"{tensor.key}.round")
    if p.zero_points[0]:
        whole = builder.op("add", whole, np.float32(p.zero_points[0]), name=f"{tensor.key}.shift")
    high = float(info.max)
    if info.bits > 16:  # the largest float32 that such an integer holds is below its maximum
        high = float(np.nextafter(np.float32(info.max), np.float32(0)))
    held = builder.op("clamp", whole, lo=float(info.min), hi=high, name=f"{tensor.key}.clamp")
    return _made(builder, "cast", held, tensor, {"to": to})


def real(builder: Builder, value: Value, tensor: Tensor) -> Value:
    """The numbers that a stored tensor stands for; itself if it has no quantization parameters."""
    name = f"{tensor.key}.real"
    if value.type.dtype is DType.QS8:
        made: Value = builder.op("dequantize", value, name=name)
        return made
    p = parameters_of(tensor)
    if p is None or value.type.dtype not in _INTEGERS.values():
        return value
    shape = [1] * len(tensor.shape)
    if len(p.scales) > 1:
        shape[p.axis] = len(p.scales)
    scales = np.array(p.scales, np.float32).reshape(shape)
    if value.constant is not None:
        zeros = np.array(p.zero_points).reshape(shape)
        numbers = (value.constant.astype(np.float64) - zeros) * scales
        return builder.const(numbers.astype(np.float32), name)
    wide: Value = builder.op("cast", value, to=DType.F32, name=f"{tensor.key}.wide")
    if any(p.zero_points):
        zeros = np.array(p.zero_points, np.float32).reshape(shape)
        wide = builder.op("sub", wide, zeros, name=f"{tensor.key}.centred")
    factor = scales if len(p.scales) > 1 else scales.reshape(())
    product: Value = builder.op("mul", wide, factor, name=name)
    return product


def plain(builder: Builder, value: Value, tensor: Tensor) -> Value:
    """The integers of a stored tensor: int8 or uint8 in place of qs8."""
    if value.type.dtype is not DType.QS8:
        return value
    to = DType.U8 if tensor.type == "UINT8" else DType.I8
    made: Value = builder.op("reinterpret", value, to=to, name=f"{tensor.key}.plain")
    return made
