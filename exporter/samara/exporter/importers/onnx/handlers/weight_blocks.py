# SPDX-License-Identifier: Apache-2.0
"""Weights of 2, 4 or 8 bits in blocks: MatMulNBits and GatherBlockQuantized.

The weights stay constants of 4 or 8 bits, which matmul_blocks and gather_blocks read directly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.quantize import MICROSOFT
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType


def _fields(packed: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.uint8]:
    """The numbers in the bytes of the last axis, lowest bits first."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    fields = (packed[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    made: npt.NDArray[np.uint8] = fields.reshape(*packed.shape[:-1], -1)
    return made


def _stored(
    n: NodeContext,
    fields: npt.NDArray[np.uint8],
    zeros: npt.NDArray[np.uint8] | None,
    bits: int,
    usual: int,
) -> tuple[Value, Value | None]:
    """Numbers from 0 on and their zero points as constants of 4 bits (2 bits are stored as 4) or 8 bits.

    If every zero point is `usual`, the numbers are shifted by it and there are no zero points.
    """
    if bits == 8:
        shifted = n.const((fields ^ np.uint8(128)).view(np.int8))
        if zeros is None and usual == 128:
            return shifted, None
        below = np.full((fields.shape[0], 1), usual, np.uint8) if zeros is None else zeros
        return shifted, n.const((below ^ np.uint8(128)).view(np.int8))
    if zeros is None and usual:
        return _packed(n, fields.astype(np.int8) - np.int8(usual), DType.I4), None
    return (
        _packed(n, fields, DType.U4),
        None if zeros is None else _packed(n, zeros, DType.U4),
    )


def _packed(n: NodeContext, numbers: npt.NDArray[Any], kind: DType) -> Value:
    return n.const(numbers.astype(kind.numpy), kind)


def _scales(n: NodeContext, value: Value, shape: tuple[int, int]) -> Value:
    """Scales in float32 or float16, [rows, blocks]."""
    if value.type.dtype not in (DType.F32, DType.F16):
        value = n.emit("cast", value, to=DType.F32)
    made: Value = n.emit("reshape", value, shape=shape)
    return made


def _numbers_of(
    n: NodeContext, columns: int, blocks: int, size: int, bits: int
) -> npt.NDArray[np.uint8]:
    """MatMulNBits' weights as numbers from 0 on, [N, blocks * size]."""
    data = n.need_constant(1, "the weights").reshape(-1)
    if data.dtype != np.uint8 or data.size != columns * blocks * size * bits // 8:
        raise n.wrong(
            f"{data.size} bytes of weights do not hold {columns} columns of {blocks} blocks"
        )
    return _fields(data, bits).reshape(columns, blocks * size)


def _packed_zeros(
    n: NodeContext, columns: int, blocks: int, bits: int
) -> npt.NDArray[np.uint8] | None:
    """Zero points, [N, blocks]; each row ends at a whole byte."""
    if not n.has(3):
        return None
    data = n.need_constant(3, "the zero points").reshape(columns, -1)
    fields = _fields(data, bits)
    if not blocks <= fields.shape[1] < blocks + 8 // bits:
        raise n.wrong(f"{data.size} bytes of zero points do not fit {columns} x {blocks} blocks")
    return np.ascontiguousarray(fields[:, :blocks])


def _with_float_zeros(
    n: NodeContext, numbers: npt.NDArray[np.uint8], shape: tuple[int, int, int], bits: int
) -> Value:
    """The weights [N, blocks * size] in float32, computed in each run, because their zero points may be
    fractions.
    """
    q, below = _stored(n, numbers, None, bits, 0)
    y = n.emit("cast", q, to=DType.F32)
    if below is not None:  # numbers of 8 bits are stored shifted
        y = n.emit("add", y, 128.0)
    zeros = n.emit("reshape", n.value(3), shape=(*shape[:2], 1))
    y = n.emit("sub", n.emit("reshape", y, shape=shape), n.emit("cast", zeros, to=DType.F32))
    scales = n.emit("reshape", _scales(n, n.value(2), shape[:2]), shape=(*shape[:2], 1))
    y = n.emit("mul", y, n.emit("cast", scales, to=DType.F32))
    made: Value = n.emit("reshape", y, shape=(shape[0], shape[1] * shape[2]))
    return made


@onnx_op("MatMulNBits", domain=MICROSOFT)
def matmul_n_bits(n: NodeContext) -> Any:
    """Inputs: a [..., K], packed b, scales, zero points?, g_idx?, bias?."""
    depth, columns = n.attr("K"), n.attr("N")
    bits, size = n.attr("bits", 4), n.attr("block_size")
    if n.has(4):
        raise n.unsupported("g_idx, which takes columns out of order", "export without act_order")
    if bits not in (2, 4, 8):
        raise n.unsupported(f"weights of {bits} bits", "2, 4 and 8 are provided")
    if not size or size < 16 or size & (size - 1):
        raise n.wrong(f"block_size {size} is not a power of two from 16 on")
    a, blocks = n.value(0), -(-depth // size)
    if a.type.rank == 1:
        raise n.unsupported("a vector as first operand", "reshape it to a matrix")
    numbers, bias = _numbers_of(n, columns, blocks, size, bits), n.optional(5)
    kind = a.type.dtype
    if n.has(3) and n.type(3).dtype is not DType.U8:
        w = _with_float_zeros(n, numbers, (columns, blocks, size), bits)
        if blocks * size != depth:
            w = n.emit("slice", w, begin=[0, 0], end=[columns, depth], step=[1, 1])
        return n.final("matmul", a, n.emit("cast", w, to=kind), bias, transpose_w=True)
    zeros = _packed_zeros(n, columns, blocks, bits)
    w, below = _stored(n, np.ascontiguousarray(numbers[:, :depth]), zeros, bits, 1 << bits >> 1)
    scales = _scales(n, n.value(2), (columns, blocks))
    if kind is DType.F32:
        return n.final("matmul_blocks", a, w, scales, below, bias, block=size)
    wide = n.emit("cast", a, to=DType.F32)  # sums are float32 in either case
    term = None if bias is None else n.emit("cast", bias, to=DType.F32)
    y = n.emit("matmul_blocks", wide, w, scales, below, term, block=size)
    return n.final("cast", y, to=kind)


def _numbers(n: NodeContext, index: int, bits: int) -> npt.NDArray[np.uint8]:
    """Constant data of 4 bits, or of bytes with `bits` each, as numbers from 0 on: int4 is shifted by 8."""
    data = n.need_constant(index, "weights in blocks")
    if data.dtype == np.uint8:
        return _fields(data, bits) if bits < 8 else data
    shift = 8 if n.type(index).dtype is DType.I4 else 0
    return (data.astype(np.int8) + np.int8(shift)).astype(np.uint8)


@onnx_op("GatherBlockQuantized", domain=MICROSOFT)
def gather_block_quantized(n: NodeContext) -> Any:
    """Inputs: data [V, K], indices, scales [V, blocks], zero_points?. Rows are selected in their stored form,
    and only those become floats.
    """
    bits, size = n.attr("bits", 4), n.attr("block_size", 128)
    scales = n.value(2)
    if n.attr("gather_axis", 0) != 0 or n.attr("quantize_axis", 1) not in (1, -1):
        raise n.unsupported("another gather_axis or quantize_axis", "gather rows of blocks")
    if bits not in (4, 8) or scales.type.rank != 2:
        raise n.unsupported("weights that are not a matrix of 4 or 8 bits")
    data = _numbers(n, 0, bits)
    rows, width = data.shape
    blocks = -(-width // size)
    usual = 0 if n.type(0).dtype is DType.U4 else 1 << bits >> 1
    zeros = np.ascontiguousarray(_numbers(n, 3, bits)[:, :blocks]) if n.has(3) else None
    w, below = _stored(n, data, zeros, bits, usual)
    y = n.emit(
        "gather_blocks", w, _scales(n, scales, (rows, blocks)), n.value(1), below, block=size
    )
    return n.final("cast", y, to=scales.type.dtype)
