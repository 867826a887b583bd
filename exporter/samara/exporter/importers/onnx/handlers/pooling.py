# SPDX-License-Identifier: Apache-2.0
"""Pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.layout import (
    ceil_extension,
    channels_first,
    channels_last,
    spatial_rank,
    window_pads,
)
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, as_dim


def _window(
    n: NodeContext, x: Value
) -> tuple[list[int], list[int], list[int], list[Dim], list[Dim]]:
    """(kernel, strides, dilations, pads, ceil extension)."""
    spatial = spatial_rank(n, x)
    kernel = list(n.attr("kernel_shape", []))
    if len(kernel) != spatial:
        raise n.wrong(f"kernel_shape {kernel} does not fit the input {x.type}")
    strides = list(n.attr("strides", [1] * spatial))
    dilations = list(n.attr("dilations", [1] * spatial))
    if len(strides) != spatial or len(dilations) != spatial:
        raise n.wrong(f"strides {strides} or dilations {dilations} do not fit {spatial} axes")
    size = x.type.shape[2:]
    pads = window_pads(n, size, kernel, strides, dilations)
    extend = [as_dim(0)] * spatial
    if n.attr("ceil_mode", 0):
        extend = ceil_extension(size, pads, kernel, strides, dilations)
    return kernel, strides, dilations, pads, extend


def _extended(pads: list[Dim], extend: list[Dim]) -> list[Dim]:
    spatial = len(extend)
    return [*pads[:spatial], *(p + e for p, e in zip(pads[spatial:], extend, strict=True))]


@onnx_op("MaxPool")
def max_pool(n: NodeContext) -> Any:
    if len(n.node.output) > 1 and n.node.output[1]:
        raise n.unsupported("the Indices output", "leave the second output unused")
    x = n.value(0)
    kernel, strides, dilations, pads, extend = _window(n, x)
    y = n.emit(
        "max_pool",
        channels_last(n, x),
        kernel=kernel,
        strides=strides,
        dilations=dilations,
        pads=_extended(pads, extend),
    )
    return channels_first(n, y)


@onnx_op("AveragePool")
def average_pool(n: NodeContext) -> Any:
    return average_pool_of(n, n.value(0))


def average_pool_of(n: NodeContext, x: Value) -> Any:
    """The node's average pool over a given float operand [N, C, …]."""
    kernel, strides, dilations, pads, extend = _window(n, x)
    y = n.emit(
        "avg_pool",
        channels_last(n, x),
        kernel=kernel,
        strides=strides,
        dilations=dilations,
        pads=pads,
        extend=extend,
        count_include_pad=bool(n.attr("count_include_pad", 0)),
    )
    return channels_first(n, y)


@onnx_op("LpPool")
def lp_pool(n: NodeContext) -> Any:
    x = n.value(0)
    kernel, strides, dilations, pads, extend = _window(n, x)
    y = n.emit(
        "lp_pool",
        channels_last(n, x),
        kernel=kernel,
        strides=strides,
        dilations=dilations,
        pads=_extended(pads, extend),
        p=n.attr("p", 2),
    )
    return channels_first(n, y)


def global_reduce(n: NodeContext, x: Value, op: str) -> Any:
    """Reduce the spatial axes of [N, C, spatial…] to 1."""
    spatial = spatial_rank(n, x)
    y = n.emit(op, channels_last(n, x), axes=list(range(1, 1 + spatial)), keepdims=True)
    return channels_first(n, y)


@onnx_op("GlobalAveragePool")
def global_average_pool(n: NodeContext) -> Any:
    return global_reduce(n, n.value(0), "reduce_mean")


@onnx_op("GlobalMaxPool")
def global_max_pool(n: NodeContext) -> Any:
    return global_reduce(n, n.value(0), "reduce_max")


@onnx_op("GlobalLpPool")
def global_lp_pool(n: NodeContext) -> Any:
    x, p = n.value(0), float(n.attr("p", 2))
    powers = n.emit("pow", n.emit("abs", x), n.const(_scalar(x, p)))
    axes = list(range(2, x.type.rank))
    total = n.emit("reduce_sum", powers, axes=axes, keepdims=True)
    return n.final("pow", total, n.const(_scalar(x, 1.0 / p)))


def _scalar(x: Value, value: float) -> Any:
    return np.asarray(value, x.type.dtype.numpy)
