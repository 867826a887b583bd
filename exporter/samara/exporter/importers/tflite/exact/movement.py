# SPDX-License-Identifier: Apache-2.0
"""Operators that move or choose integers as they are stored, whatever they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.exact.quantized import (
    BYTES,
    are_whole,
    is_whole,
    result_of,
    scale_of,
    zero_of,
)
from samara.exporter.importers.tflite.registry import Handler, exact_op
from samara.exporter.importers.tflite.tensors import attributes_of, quant_of
from samara.exporter.ir.program import Value
from samara.exporter.types import DType


def _as_output(ctx: OperatorContext, index: int) -> Value:
    """The bytes of an input as those of the output. uint8 with other parameters is converted in float32."""
    result = result_of(ctx, "NONE")
    tensor, made = ctx.tensor(index), result.tensor
    quant = quant_of(made)
    assert quant is not None
    x = ctx.stored(index)
    if x.type.quant == quant:
        return x
    bytes_: Value
    if tensor.type == "INT8":
        if x.constant is not None:
            return ctx.const(x.constant, DType.QS8, quant)
        bytes_ = ctx.emit("reinterpret", x, to=DType.QS8, **attributes_of(quant))
        return bytes_
    scale = np.float32(scale_of(tensor) * (np.float32(1) / result.scale))
    bias = np.float32(-(zero_of(tensor) + 128)) * scale
    steps = np.arange(256).astype(np.float32) * scale + bias
    levels = np.copysign(np.floor(np.abs(steps) + np.float32(0.5)), steps).astype(np.int64)
    table = np.clip(levels + result.zero, -128, 127).astype(np.int8)
    if x.constant is not None:
        return ctx.const(table[x.constant.astype(np.int64) + 128], DType.QS8, quant)
    attrs = {"scale": float(result.scale), "zero_point": result.zero}
    bytes_ = ctx.emit("qlookup", x, ctx.const(table), **attrs)
    return bytes_


@exact_op("CONCATENATION", always=True)
def concatenation(ctx: OperatorContext) -> Any:
    if not are_whole(ctx, *BYTES) or ctx.option("fused_activation_function", "NONE") != "NONE":
        return NotImplemented
    parts = [_as_output(ctx, i) for i in range(ctx.input_count)]
    axis = ctx.axis(ctx.option("axis", 0), parts[0].type.rank)
    return ctx.named(ctx.output(0).key, "concat", *parts, axis=axis)


def _extreme(op: str) -> Handler:
    def exact(ctx: OperatorContext) -> Any:
        if not all(is_whole(t, *BYTES, "INT16") for t in (ctx.tensor(0), ctx.output(0))):
            return NotImplemented
        x = ctx.emit(op, ctx.plain(0), ctx.plain(1))
        if ctx.output(0).type == "INT16":
            return x
        return result_of(ctx, "NONE").bytes(ctx, x)

    return exact


exact_op("MAXIMUM")(_extreme("max"))
exact_op("MINIMUM")(_extreme("min"))
