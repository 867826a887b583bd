# SPDX-License-Identifier: Apache-2.0
"""Weights of 2, 4 or 8 bits in blocks: MatMulNBits and GatherBlockQuantized."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.quantize import MICROSOFT
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, DType, as_dim


def _fields(packed: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.uint8]:
    """The numbers in the last axis' bytes, lowest bits first."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    fields = (packed[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    made: npt.NDArray[np.uint8] = fields.reshape(*packed.shape[:-1], -1)
    return made


def _weights(n: NodeContext, columns: int, blocks: int, size: int, bits: int) -> Value:
    """The numbers of the blocks less their zero points, [N, blocks, size], as float32. They stay
    constants of 4 bits (2 bits are stored as 4) or 8 bits, which become float32 in each run.
    """
    data = n.need_constant(1, "the weights").reshape(-1)
    if data.dtype != np.uint8 or data.size != columns * blocks * size * bits // 8:
        raise n.wrong(
            f"{data.size} bytes of weights do not hold {columns} columns of {blocks} blocks"
        )
    shape = (columns, blocks, size)
    usual = 0 if n.has(3) else 1 << bits >> 1
    y: Value
    if bits == 8:
        # A quantized value is not folded into a float32 constant.
        w = n.const(data.reshape(shape))
        q = n.emit("reinterpret", w, to=DType.QS8, scales=[1.0], zero_points=[usual - 128], axis=-1)
        y = n.emit("dequantize", q)
    else:
        kind = DType.U4 if n.has(3) else DType.I4
        numbers = _fields(data, bits).reshape(shape).astype(np.int8) - np.int8(usual)
        y = n.emit("cast", n.const(numbers.astype(kind.numpy), kind), to=DType.F32)
    if n.has(3):
        y = n.emit("sub", y, _zeros(n, columns, blocks, bits))
    return y


def _zeros(n: NodeContext, columns: int, blocks: int, bits: int) -> Value:
    """Zero points, [N, blocks, 1]: packed row by row, or numbers of their own."""
    if n.type(3).dtype is not DType.U8:
        zeros = n.emit("reshape", n.value(3), shape=(columns, blocks, 1))
        made: Value = n.emit("cast", zeros, to=DType.F32)
        return made
    data = n.need_constant(3, "the zero points").reshape(columns, -1)
    fields = _fields(data, bits)
    if not blocks <= fields.shape[1] < blocks + 8 // bits:
        raise n.wrong(f"{data.size} bytes of zero points do not fit {columns} x {blocks} blocks")
    return n.const(fields[:, :blocks].astype(np.float32).reshape(columns, blocks, 1))


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
        raise n.wrong(f"block_size {size} is no power of two from 16 on")
    a, blocks = n.value(0), -(-depth // size)
    w = _weights(n, columns, blocks, size, bits)
    scales = n.emit("cast", n.value(2), to=DType.F32)
    w = n.emit("mul", w, n.emit("reshape", scales, shape=(columns, blocks, 1)))
    w = n.emit("reshape", w, shape=(columns, blocks * size))
    if blocks * size != depth:
        w = n.emit("slice", w, begin=[0, 0], end=[columns, depth], step=[1, 1])
    bias = n.optional(5)
    if a.type.dtype is not DType.F32:  # weights are computed in float32, products in a's precision
        w = n.emit("cast", w, to=a.type.dtype)
    if a.type.rank == 1:
        raise n.unsupported("a vector as first operand", "reshape it to a matrix")
    return n.final("matmul", a, w, bias, transpose_w=True)


def _numbers(n: NodeContext, index: int, bits: int) -> npt.NDArray[np.uint8]:
    """Constant data of 4 bits, or of bytes that hold `bits` each, as numbers from 0 on: int4 is
    shifted by 8.
    """
    data = n.need_constant(index, "weights in blocks")
    if data.dtype == np.uint8:
        return _fields(data, bits) if bits < 8 else data
    shift = 8 if n.type(index).dtype is DType.I4 else 0
    return (data.astype(np.int8) + np.int8(shift)).astype(np.uint8)


@onnx_op("GatherBlockQuantized", domain=MICROSOFT)
def gather_block_quantized(n: NodeContext) -> Any:
    """Inputs: data [V, K], indices, scales [V, blocks], zero_points?. Rows are picked as they are stored,
    two numbers to a byte, and only those become floats.
    """
    bits, size = n.attr("bits", 4), n.attr("block_size", 128)
    scales = n.value(2)
    if n.attr("gather_axis", 0) != 0 or n.attr("quantize_axis", 1) not in (1, -1):
        raise n.unsupported("another gather_axis or quantize_axis", "gather rows of blocks")
    if bits not in (4, 8) or scales.type.rank != 2:
        raise n.unsupported("weights that are no matrix of 4 or 8 bits")
    data = _numbers(n, 0, bits)
    rows, width = data.shape
    blocks = -(-width // size)
    if bits == 4 and width % 2:
        raise n.unsupported("rows of an odd length")
    usual = 0 if n.type(0).dtype is DType.U4 else 1 << bits >> 1
    zeros = _numbers(n, 3, bits)[:, :blocks] if n.has(3) else np.full((rows, 1), usual)
    below = n.const(zeros.astype(np.float32))
    picks = n.value(1)
    lead = picks.type.shape
    y = _picked(n, data, picks, bits)
    z, s = (n.emit("gather", v, picks, axis=0) for v in (below, scales))
    cut = width % size == 0
    shape = (*lead, blocks, size) if cut else (*lead, width)
    z, s = (_per_block(n, v, lead, size, width, cut) for v in (z, s))
    y = n.emit("sub", n.emit("reshape", y, shape=shape), z)
    y = n.emit("mul", y, n.emit("cast", s, to=DType.F32))
    y = n.emit("reshape", y, shape=(*lead, width))
    return n.final("cast", y, to=scales.type.dtype)


def _picked(n: NodeContext, data: npt.NDArray[np.uint8], picks: Value, bits: int) -> Value:
    """Rows of a table of unsigned numbers, which is stored in bytes, as float32."""
    packed = data if bits == 8 else data[:, 0::2] | data[:, 1::2] << 4
    table = n.const(packed)
    y: Value = n.emit("cast", n.emit("gather", table, picks, axis=0), to=DType.F32)
    if bits == 8:
        return y
    lead, half = picks.type.shape, packed.shape[1]
    high = n.emit("floor", n.emit("mul", y, 1 / 16))
    low = n.emit("sub", y, n.emit("mul", high, 16.0))
    halves = [n.emit("reshape", v, shape=(*lead, half, 1)) for v in (low, high)]
    pairs = n.emit("concat", *halves, axis=len(lead) + 1)
    rows: Value = n.emit("reshape", pairs, shape=(*lead, half * 2))
    return rows


def _per_block(
    n: NodeContext, v: Value, lead: tuple[Dim, ...], size: int, width: int, cut: bool
) -> Value:
    """Parameters [..., blocks] as they broadcast to blocks, or one for each number."""
    count = v.type.shape[-1]
    v = n.emit("reshape", v, shape=(*lead, count, 1))
    if cut or count == as_dim(1):
        return v if cut else n.emit("reshape", v, shape=(*lead, 1))
    v = n.emit("expand", v, shape=(*lead, count, size))
    v = n.emit("reshape", v, shape=(*lead, count * size))
    rank = len(lead) + 1
    made: Value = n.emit("slice", v, begin=[0] * rank, end=[*lead, width], step=[1] * rank)
    return made
