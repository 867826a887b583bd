# SPDX-License-Identifier: Apache-2.0
"""QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext, import_dtype
from samara.exporter.importers.onnx.handlers.affine import (
    Layout,
    dequantized,
    in_float32,
    quantized,
    rounded,
)
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType

MICROSOFT = "com.microsoft"


def _layout(n: NodeContext) -> Layout:
    return Layout(n.attr("axis", 1), n.attr("block_size", 0))


def _kind(n: NodeContext) -> DType:
    """The dtype of QuantizeLinear's result: the zero point's, `output_dtype`, or uint8."""
    declared = n.attr("output_dtype", 0)
    if n.has(2):
        return n.type(2).dtype
    return import_dtype(declared, "output_dtype") if declared else DType.U8


@onnx_op("QuantizeLinear")
@onnx_op("QuantizeLinear", domain=MICROSOFT)
def quantize_linear(n: NodeContext) -> Any:
    """QuantizeLinear. The division has the precision of the scale, or `precision` if that is given."""
    x, scale = n.value(0), n.value(1)
    precision = n.attr("precision", 0)
    narrow = import_dtype(precision, "precision") if precision else scale.type.dtype
    if narrow is DType.F16:
        x, scale = (
            v if v.type.dtype is narrow else n.emit("cast", v, to=narrow) for v in (x, scale)
        )
    else:
        x, scale = in_float32(n, x), in_float32(n, scale)
    return quantized(n, x, scale, n.optional(2), _kind(n), _layout(n))


@onnx_op("DequantizeLinear")
@onnx_op("DequantizeLinear", domain=MICROSOFT)
def dequantize_linear(n: NodeContext) -> Any:
    declared = n.attr("output_dtype", 0)
    kind = import_dtype(declared, "output_dtype") if declared else n.type(1).dtype
    plain = kind is DType.F32
    y = dequantized(n if plain else n.inner, n.value(0), n.value(1), n.optional(2), _layout(n))
    return y if plain else n.final("cast", y, to=kind)


def dynamic_parameters(n: NodeContext, x: Value) -> tuple[Value, Value]:
    """(scale, zero point) of x as uint8 by its range, which includes 0; both float32 scalars."""
    axes = list(range(x.type.rank))
    high = n.emit("max", n.emit("reduce_max", x, axes=axes), 0.0)
    low = n.emit("min", n.emit("reduce_min", x, axes=axes), 0.0)
    scale = n.emit("div", n.emit("sub", high, low), 255.0)
    # For zeros only onnxruntime uses scale 1.
    one = n.const(np.ones((), np.float32))
    scale = n.emit("where", n.emit("eq", high, low), one, scale)
    zero = n.emit(
        "clamp", n.emit("round", n.emit("div", n.emit("neg", low), scale)), lo=0.0, hi=255.0
    )
    return scale, zero


@onnx_op("DynamicQuantizeLinear")
def dynamic_quantize_linear(n: NodeContext) -> Any:
    x = n.value(0)
    scale, zero = dynamic_parameters(n, x)
    byte = n.emit("cast", zero, to=DType.U8)
    return rounded(n.inner, n.emit("div", x, scale), byte, DType.U8), scale, byte
