# SPDX-License-Identifier: Apache-2.0
"""Pooling."""

from __future__ import annotations

from collections.abc import Iterable
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
from samara.exporter.ops import Guard
from samara.exporter.types import Dim, DType, as_dim, provably_ge


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
    x = n.value(0)
    kernel, strides, dilations, pads, extend = _window(n, x)
    window = {
        "kernel": kernel,
        "strides": strides,
        "dilations": dilations,
        "pads": _extended(pads, extend),
    }
    rows = channels_last(n, x)
    y = channels_first(n, n.emit("max_pool", rows, **window))
    if len(n.node.output) < 2 or not n.node.output[1]:
        return y
    if not x.type.dtype.is_float:
        rows = n.emit("cast", rows, to=DType.F32)  # float32 holds all bytes exactly
    places = n.emit("max_pool_indices", rows, **window)
    if n.attr("storage_order", 0) and x.type.rank > 3:
        places = n.emit("gather", _by_columns(n, x.type.shape[2:]), places)
    return y, _in_whole(n, x, places)


def _by_columns(n: NodeContext, sizes: tuple[Dim, ...]) -> Value:
    """Row-major indices of an image as column-major ones."""
    count = dim_product(sizes)
    numbers = n.emit("iota", length=count)
    turned = n.emit("reshape", numbers, shape=tuple(reversed(sizes)))
    turned = n.emit("transpose", turned, perm=tuple(reversed(range(len(sizes)))))
    flat: Value = n.emit("reshape", turned, shape=(count,))
    return flat


def _in_whole(n: NodeContext, x: Value, places: Value) -> Any:
    """Indices into an image [N, out…, C] as indices into the whole of x, [N, C, out…]."""
    batch, channels, *sizes = x.type.shape
    rank = x.type.rank
    first = n.emit("iota", length=batch * channels, step=dim_product(sizes))
    first = n.emit("reshape", first, shape=(batch, channels, *[1] * (rank - 2)))
    moved = n.emit("transpose", places, perm=(0, rank - 1, *range(1, rank - 1)))
    return n.emit("add", moved, first)


def dim_product(sizes: Iterable[Dim]) -> Dim:
    """The product of sizes; 1 of none."""
    total = as_dim(1)
    for d in sizes:
        total = total * d
    return total


@onnx_op("MaxUnpool")
def max_unpool(n: NodeContext) -> Any:
    """Put the elements of x at their indices into zeros of the smallest output that has them; pad at the ends
    if the output is declared larger.
    """
    x, indices = n.value(0), n.value(1)
    spatial = spatial_rank(n, x)
    kernel = list(n.attr("kernel_shape", []))
    strides, pads = n.attr("strides", [1] * spatial), n.attr("pads", [0] * (2 * spatial))
    if (len(kernel), len(strides), len(pads)) != (spatial, spatial, 2 * spatial):
        raise n.wrong(
            f"kernel_shape {kernel}, strides {strides} or pads {pads} do not fit {x.type}"
        )
    sizes = [
        (x.type.shape[2 + i] - 1) * strides[i] + (kernel[i] - pads[i] - pads[spatial + i])
        for i in range(spatial)
    ]
    shape = (*x.type.shape[:2], *sizes)
    count, taken = dim_product(shape), x.type.numel()
    zero = n.const(np.zeros((), x.type.dtype.numpy))
    # Indices do not count from the end here: negative ones become far too large and are refused.
    places = n.emit("bitwise_and", indices, n.const(np.int64(2**63 - 1)))
    y = n.emit(
        "scatter_elements",
        n.emit("expand", zero, shape=(count,)),
        n.emit("reshape", places, shape=(taken,)),
        n.emit("reshape", x, shape=(taken,)),
        axis=0,
    )
    if not n.has(2):
        return n.final("reshape", y, shape=shape)
    want = n.dims(2, "output_shape")
    if len(want) != len(shape):
        raise n.wrong(f"output_shape has {len(want)} elements, expected {len(shape)}")
    for i, (small, large) in enumerate(zip(shape, want, strict=True)):
        _require_le(n, small, large, f"axis {i} of output_shape is too small")
        if i < 2:
            _require_le(n, large, small, f"axis {i} of output_shape must be that of the input")
    after = [large - small for small, large in zip(shape, want, strict=True)]
    return n.final("pad", n.emit("reshape", y, shape=shape), pads=(*[0] * len(shape), *after))


def _require_le(n: NodeContext, a: Dim, b: Dim, message: str) -> None:
    """Require a <= b, now or by a guard of the function."""
    if provably_ge(b, a):
        return
    if provably_ge(a, b + 1):
        raise n.wrong(f"{message} (needs {a}, got {b})")
    n.builder.guards.append(Guard("le", a, b, message, n.label))


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
        p=_power(n),
    )
    return channels_first(n, y)


def _power(n: NodeContext) -> int:
    """The attribute p, which was a float in opset 1."""
    p = float(n.attr("p", 2))
    if p != int(p):
        raise n.unsupported(f"p = {p}", "a whole number")
    return int(p)


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
