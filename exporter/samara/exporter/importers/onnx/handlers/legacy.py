# SPDX-License-Identifier: Apache-2.0
"""Operators that ONNX has removed (experimental ones, until release 1.4) but old models still use.

They have no schema any more; their meaning is that of ONNX's operator list at the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, as_dim


@onnx_op("ImageScaler")
def image_scaler(n: NodeContext) -> Any:
    """scale * x + bias[c] of an image [N, C, H, W]."""
    x = n.value(0)
    channels = n.shape(0, 4)[1]
    bias = np.asarray(n.attr("bias", []), x.type.dtype.numpy)
    if channels != bias.size:
        raise n.wrong(f"bias has {bias.size} elements for {channels} channels")
    return _scaled(n, x, n.attr("scale", 1.0), n.const(bias.reshape(-1, 1, 1)))


@onnx_op("Affine")
def affine(n: NodeContext) -> Any:
    """alpha * x + beta."""
    return _scaled(n, n.value(0), n.attr("alpha", 1.0), float(n.attr("beta", 0.0)))


@onnx_op("Scale")
def scale(n: NodeContext) -> Any:
    """scale * x."""
    return n.final("mul", n.value(0), float(n.attr("scale", 1.0)))


def _scaled(n: NodeContext, x: Value, factor: float, offset: Any) -> Any:
    return n.final("add", n.emit("mul", x, float(factor)), offset)


@onnx_op("ParametricSoftplus")
def parametric_softplus(n: NodeContext) -> Any:
    """alpha * ln(1 + exp(beta * x))."""
    grown = n.emit("softplus", n.emit("mul", n.value(0), float(n.attr("beta", 1.0))))
    return n.final("mul", grown, float(n.attr("alpha", 1.0)))


@onnx_op("ScaledTanh")
def scaled_tanh(n: NodeContext) -> Any:
    """alpha * tanh(beta * x)."""
    bent = n.emit("tanh", n.emit("mul", n.value(0), float(n.attr("beta", 1.0))))
    return n.final("mul", bent, float(n.attr("alpha", 1.0)))


@onnx_op("Crop")
def crop(n: NodeContext) -> Any:
    """An image [N, C, H, W] without `border` (left, top, right, bottom); with `scale` (height, width) only
    that much, starting at the left and top border.
    """
    x = n.value(0)
    height, width = n.shape(0, 4)[2:]
    border, size = list(n.attr("border", [0] * 4)), list(n.attr("scale", []))
    if len(border) != 4 or len(size) not in (0, 2) or min(border) < 0 or min(size, default=1) < 1:
        raise n.wrong(
            f"border {border} or scale {size} do not describe a border and a scale of an image (4 and 2 numbers)"
        )
    left, top, right, bottom = border
    ends: list[Dim] = [height - bottom, width - right]
    if size:
        ends = [as_dim(top + size[0]), as_dim(left + size[1])]
    for have, begin, end in ((height, top, ends[0]), (width, left, ends[1])):
        if have.is_static and end.is_static and not begin < end.as_int() <= have.as_int():
            raise n.wrong(f"elements {begin} to {end} cannot be cut out of {have}")
    return n.final(
        "slice",
        x,
        begin=(0, 0, top, left),
        end=(*x.type.shape[:2], *ends),
        step=(1, 1, 1, 1),
    )


@onnx_op("GivenTensorFill")
def given_tensor_fill(n: NodeContext) -> Any:
    """The given values in the shape of the attribute, or of the input (or in the shape that it holds)."""
    values = np.asarray(n.attr("values", []), np.float32)
    if n.has_attr("shape"):
        shape: list[Dim] = [as_dim(d) for d in n.attr("shape")]
    elif n.has(0):
        shape = list(n.dims(0) if n.attr("input_as_shape", 0) else n.type(0).shape)
        shape += [as_dim(d) for d in n.attr("extra_shape", [])]
    else:
        raise n.wrong("neither a shape nor an input gives the size of the tensor")
    return n.final("reshape", n.const(values.reshape(-1)), shape=shape)
