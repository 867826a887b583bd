# SPDX-License-Identifier: Apache-2.0
"""Rows of the operator benchmark for int8: ONNX's QLinear operators, and float operators between
DequantizeLinear and QuantizeLinear, which both engines turn into integer operators.

Both round results to steps of the output after different orders of operations, so they may differ by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from operator_models import (
    Array,
    Operand,
    Row,
    given,
    integers,
    node,
    normal,
    row,
    rows_of,
    sizes,
    stored,
    uniform,
)

_SCALE = 0.05
_FLAT = (1024, 1024)


def _bytes(*shape: int) -> Operand:
    """An int8 tensor, most of it near zero as activations are."""

    def draw(rng: np.random.Generator) -> Array:
        return np.clip(np.rint(rng.standard_normal(shape) * 40), -128, 127).astype(np.int8)

    return Operand(draw)


def _of(operand: Operand, scale: float = _SCALE, zero: int = 3) -> tuple[Operand, ...]:
    """A quantized input of a QLinear operator."""
    return operand, given(scale), given(zero, "int8")


def _to(scale: float, zero: int = -5) -> tuple[Operand, ...]:
    """The parameters of its result."""
    return given(scale), given(zero, "int8")


# Products in the form that onnxruntime prefers on x86: uint8 by int8 of seven bits, because its sums of
# two products saturate in AVX2.
def _unsigned(*shape: int) -> tuple[Operand, ...]:
    """A quantized input of uint8."""
    return integers("uint8", 0, 256, *shape), given(_SCALE), given(131, "uint8")


def _to_unsigned() -> tuple[Operand, ...]:
    """The parameters of its product."""
    return given(1.0), given(123, "uint8")


def _weight(*shape: int) -> tuple[Operand, ...]:
    """A stored weight with a scale for each output, the first dim."""
    scales = given([0.01 + 0.0001 * (i % 50) for i in range(shape[0])])
    return stored(integers("int8", -64, 64, *shape)), scales, given([0] * shape[0], "int8")


def _linear(op: str, form: str, kind: str, *operands: Operand, **attrs: Any) -> Row:
    return replace(row(op, form, kind, *operands, **attrs), steps=1)


def _between(
    op: str, form: str, x: Operand, inner: onnx.NodeProto, *more: Operand, scale: float = _SCALE
) -> Row:
    """A float node with inputs x, i3, i4, ... and output y, between quantized tensors."""
    ends = f"i{3 + len(more)} i{4 + len(more)}"
    steps = [
        node("DequantizeLinear", "i0 i1 i2", "x"),
        inner,
        node("QuantizeLinear", f"y {ends}", "o0"),
    ]
    return replace(rows_of(op, form, [*_of(x), *more, *_to(scale)], steps), steps=1)


def _transposed(x: Operand) -> Row:
    """Upsampling by two, for which ONNX has no integer operator."""
    w = (stored(integers("int8", -127, 128, 64, 32, 2, 2)), given(0.01), given(0, "int8"))
    steps = [
        node("DequantizeLinear", "i0 i1 i2", "x"),
        node("DequantizeLinear", "i3 i4 i5", "w"),
        node("ConvTranspose", "x w", "y", kernel_shape=[2, 2], strides=[2, 2]),
        node("QuantizeLinear", "y i6 i7", "o0"),
    ]
    return replace(rows_of("qconv_transpose", "2x2", [*_of(x), *w, *_to(0.5)], steps), steps=1)


def _blocks(rows: int, bits: int) -> Row:
    """A product with weights in blocks of 32, zero points left out."""
    packed = stored(integers("uint8", 0, 256, 1024, 1024 // 32, 32 * bits // 8))
    scales = stored(uniform(0.01, 0.02, 1024, 1024 // 32))
    attrs = {"K": 1024, "N": 1024, "bits": bits, "block_size": 32}
    form = f"{bits} bits, {rows} rows" if rows > 1 else f"{bits} bits, a row"
    return row("matmul_blocks", form, "ms.MatMulNBits", normal(rows, 1024), packed, scales, **attrs)


def blocks() -> Iterator[Row]:
    """Weights of 4 and 8 bits beside float32."""
    for rows in (1, 64):
        for bits in (4, 8):
            yield _blocks(rows, bits)
    table = stored(integers("uint8", 0, 256, 4096, 512))
    operands = [table, integers("int64", 0, 4096, 256), stored(uniform(0.01, 0.02, 4096, 16))]
    attrs = {"bits": 8, "gather_axis": 0, "quantize_axis": 1, "block_size": 32}
    yield row("gather_blocks", "8 bits", "ms.GatherBlockQuantized", *operands, **attrs)


def int8() -> Iterator[Row]:
    """Convolutions, products, elementwise operators, windows, norms."""
    image = _bytes(1, 64, 56, 56)
    pads = [1, 1, 1, 1]
    for form, weight, attrs in (
        ("3x3", (64, 64, 3, 3), {"pads": pads}),
        ("1x1", (128, 64, 1, 1), {}),
        ("depthwise 3x3", (64, 1, 3, 3), {"pads": pads, "group": 64}),
    ):
        parts = [*_unsigned(1, 64, 56, 56), *_weight(*weight), *_to_unsigned()]
        yield _linear("qconv", form, "QLinearConv", *parts, **attrs)
    yield _transposed(image)
    square = integers("int8", -64, 64, 512, 512)
    for form, w in (("constant", stored(square)), ("computed", square)):
        parts = [*_unsigned(256, 512), *_of(w, 0.01, 0), *_to_unsigned()]
        yield _linear("qmatmul", form, "QLinearMatMul", *parts)
    x, y = _of(_bytes(*_FLAT)), _of(_bytes(*_FLAT), 0.02, -20)
    yield _linear("qadd", "", "ms.QLinearAdd", *x, *y, *_to(0.06))
    yield _linear("qmul", "", "ms.QLinearMul", *x, *y, *_to(0.1))
    row_of = _of(_bytes(1024), 0.02, -20)
    yield _linear("qadd", "row", "ms.QLinearAdd", *x, *row_of, *_to(0.06))
    gates = _of(_bytes(1, 64, 1, 1), 1 / 256, -128)
    yield _linear("qmul", "gates", "ms.QLinearMul", *_of(image), *gates, *_to(0.05))
    yield _linear("qlookup", "sigmoid", "ms.QLinearSigmoid", *x, *_to(1 / 256, -128))
    pool = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": pads}
    yield _linear("qavg_pool", "3x3", "ms.QLinearAveragePool", *_of(image), *_to(0.05), **pool)
    yield _linear("qmean", "of planes", "ms.QLinearGlobalAveragePool", *_of(image), *_to(0.02))
    larger = node("Resize", "x - - i3", "y", mode="linear")
    yield _between("qresize", "linear", image, larger, sizes(1, 64, 112, 112))
    soft = {"axis": -1, "opset": 13}
    for form, shape in (("1000", (256, 1000)), ("128", (12, 128, 128))):
        parts = [*_of(_bytes(*shape)), *_to(1 / 256, -128)]
        yield _linear("qsoftmax", form, "ms.QLinearSoftmax", *parts, **soft)
    tokens, scale, bias = _bytes(128, 768), uniform(0.5, 1.5, 768), uniform(-1, 1, 768)
    layer = node("LayerNormalization", "x i3 i4", "y")
    yield _between("qlayer_norm", "", tokens, layer, stored(scale), stored(bias))
    rms = node("RMSNormalization", "x i3", "y")
    yield _between("qrms_norm", "", tokens, rms, stored(scale))
