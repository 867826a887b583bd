# SPDX-License-Identifier: Apache-2.0
"""Constants, ranges and filled tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.common.operand import as_shape_data
from samara.exporter.importers.onnx.context import NodeContext, import_dtype
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.types import DType, ceildiv, dmax


@onnx_op("Constant")
def constant(n: NodeContext) -> Any:
    for name, dtype in (
        ("value_float", np.float32),
        ("value_floats", np.float32),
        ("value_int", np.int64),
        ("value_ints", np.int64),
    ):
        if n.has_attr(name):
            return n.builder.const(np.asarray(n.attr(name), dtype), n.node.output[0])
    if not n.has_attr("value"):
        raise n.unsupported("a sparse or string constant", "store it as a dense numeric tensor")
    tensor = next(a.t for a in n.node.attribute if a.name == "value")
    dtype_ = import_dtype(tensor.data_type, f"Constant {n.label!r}")
    return n.builder.const(n.attr("value"), n.node.output[0], dtype_)


@onnx_op("ConstantOfShape")
def constant_of_shape(n: NodeContext) -> Any:
    value = n.attr("value", np.zeros(1, np.float32))
    DType.from_numpy(value.dtype)
    fill = n.const(value.reshape(()))
    return n.final("expand", fill, shape=n.dims(0))


@onnx_op("Range")
def range_(n: NodeContext) -> Any:
    dtype = n.type(0).dtype if not _all_dims(n) else DType.I64
    if dtype in (DType.I32, DType.I64) and (n.constant(2) is not None or _all_dims(n)):
        start, limit, delta = (
            n.scalar_dim(i, what) for i, what in enumerate(("start", "limit", "delta"))
        )
        if delta.is_static and delta.as_int() != 0:
            step = delta.as_int()
            span = limit - start if step > 0 else start - limit
            return n.final(
                "iota",
                length=dmax(ceildiv(span, abs(step)), 0),
                start=start,
                step=step,
                dtype=n.type(0).dtype,
            )
    bounds = [_scalar(n, i) for i in range(3)]
    if bounds[0].type.dtype is not DType.F16:
        return n.final("range", *bounds)
    y = n.emit("range", *(n.emit("cast", v, to=DType.F32) for v in bounds))
    return n.final("cast", y, to=DType.F16)


def _all_dims(n: NodeContext) -> bool:
    return all(as_shape_data(n.operand(i)) is not None for i in range(3))


def _scalar(n: NodeContext, index: int) -> Any:
    v = n.value(index)
    return v if v.type.rank == 0 else n.emit("reshape", v, shape=())


@onnx_op("Shape")
def shape(n: NodeContext) -> Any:
    raise n.wrong("the input has no known rank")


@onnx_op("Size")
def size(n: NodeContext) -> Any:
    raise n.wrong("the input has no known rank")
