# SPDX-License-Identifier: Apache-2.0
"""Matrix products and convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.layout import (
    channels_first,
    channels_last,
    spatial_rank,
    window_pads,
)
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, as_dim, floordiv


@onnx_op("MatMul")
def matmul(n: NodeContext) -> Any:
    return as_matrices(n, n.value(0), n.value(1), lambda m, a, b: m.final("matmul", a, b))


def as_matrices(
    n: NodeContext, a: Value, b: Value, product: Callable[[NodeContext, Value, Value], Value]
) -> Any:
    """numpy.matmul's product, as the node's result; either operand may be a vector."""
    rank_a, rank_b = a.type.rank, b.type.rank
    if rank_a == 1:
        a = n.emit("reshape", a, shape=(1, a.type.shape[0]))
    if rank_b == 1:
        b = n.emit("reshape", b, shape=(b.type.shape[0], 1))
    if rank_a > 1 and rank_b > 1:
        return product(n, a, b)
    y = product(n.inner, a, b)
    shape = list(y.type.shape)
    if rank_b == 1:
        del shape[-1]
    if rank_a == 1:
        del shape[-1 if rank_b == 1 else -2]
    return n.final("reshape", y, shape=shape)


@onnx_op("Gemm")
def gemm(n: NodeContext) -> Any:
    a, b = n.value(0), n.value(1)
    if a.type.rank > 2 and n.opset < 7:  # the oldest form flattens the operand
        rest = as_dim(1)
        for d in a.type.shape[1:]:
            rest = rest * d
        a = n.emit("reshape", a, shape=(a.type.shape[0], rest))
    if a.type.rank != 2 or b.type.rank != 2:
        raise n.wrong(f"needs two matrices, got {a.type} and {b.type}")
    alpha, beta = n.attr("alpha", 1.0), n.attr("beta", 1.0)
    if alpha != 1.0:
        if a.is_constant and not b.is_constant:
            a = n.emit("mul", a, alpha)
        else:
            b = n.emit("mul", b, alpha)
    attrs = {"transpose_x": bool(n.attr("transA", 0)), "transpose_w": bool(n.attr("transB", 0))}
    if not n.has(2) or beta == 0.0:
        return n.final("matmul", a, b, **attrs)
    c = n.value(2)
    if beta != 1.0:
        c = n.emit("mul", c, beta)
    columns = b.type.shape[0 if attrs["transpose_w"] else 1]
    is_row = (
        c.type.rank <= 2
        and c.type.rank >= 1
        and c.type.shape[-1] == columns
        and all(d == as_dim(1) for d in c.type.shape[:-1])
    )
    if is_row and a.type.dtype.is_float:
        if c.type.rank == 2:
            c = n.emit("reshape", c, shape=(columns,))
        return n.final("matmul", a, b, c, **attrs)
    return n.final("add", n.emit("matmul", a, b, **attrs), c)


def _window(n: NodeContext, x: Value, w: Value) -> tuple[list[int], list[int], list[int]]:
    """(kernel, strides, dilations) of a convolution whose weights are [., ., k…]."""
    spatial = spatial_rank(n, x)
    if w.type.rank != x.type.rank:
        raise n.wrong(f"weights of rank {w.type.rank} do not fit the input {x.type}")
    declared = n.attr("kernel_shape")
    kernel = []
    for i, d in enumerate(w.type.shape[2:]):
        if not d.is_static:
            raise n.unsupported("weights with a symbolic kernel size")
        if declared is not None and declared[i] != d.as_int():
            raise n.wrong(f"kernel_shape {declared} does not fit the weights {w.type}")
        kernel.append(d.as_int())
    return kernel, list(n.attr("strides", [1] * spatial)), list(n.attr("dilations", [1] * spatial))


@onnx_op("Conv")
def conv(n: NodeContext) -> Any:
    return conv_of(n, n.value(0), n.value(1), n.optional(2))


def conv_of(n: NodeContext, x: Value, w: Value, bias: Value | None) -> Any:
    """The node's convolution over given float operands [N, C, …], [O, C/groups, k…], [O]."""
    return channels_first(n, conv_rows(n, channels_last(n, x), w, bias))


def conv_rows(
    n: NodeContext, x: Value, w: Value, bias: Value | None, op: str = "conv", **more: Any
) -> Value:
    """The same from [N, …, C] to [N, …, O] by `op`, conv or qconv; `more` are its residual and
    other attributes.
    """
    kernel, strides, dilations = _window(n, x, w)
    residual = [more.pop("residual")] if "residual" in more else []
    y: Value = n.emit(
        op,
        x,
        n.emit("transpose", w, perm=(0, *range(2, w.type.rank), 1)),
        bias,
        *residual,
        strides=strides,
        dilations=dilations,
        pads=window_pads(n, x.type.shape[1:-1], kernel, strides, dilations),
        groups=n.attr("group", 1),
        **more,
    )
    return y


@onnx_op("ConvTranspose")
def conv_transpose(n: NodeContext) -> Any:
    return conv_transpose_of(n, n.optional(2))


@onnx_op("ConvTransposeWithDynamicPads", domain="com.microsoft")
def conv_transpose_with_dynamic_pads(n: NodeContext) -> Any:
    return conv_transpose_of(n, n.optional(3), list(n.dims(2, "pads")) if n.has(2) else None)


def conv_transpose_of(n: NodeContext, bias: Value | None, pads: list[Dim] | None = None) -> Any:
    """The node's transposed convolution; `pads` replaces the attributes if given."""
    x, w = n.value(0), n.value(1)
    kernel, strides, dilations = _window(n, x, w)
    spatial = len(kernel)
    groups = n.attr("group", 1)
    extra = list(n.attr("output_padding", [0] * spatial))
    if pads is None:
        pads = _transpose_pads(n, x, kernel, strides, dilations, extra)
    weights = _transpose_weights(n, w, groups)
    y = n.emit(
        "conv_transpose",
        channels_last(n, x),
        weights,
        bias,
        strides=strides,
        dilations=dilations,
        pads=pads,
        output_padding=extra,
        groups=groups,
    )
    return channels_first(n, y)


def _transpose_weights(n: NodeContext, w: Value, groups: int) -> Value:
    """[C, O/groups, k…] to [O, k…, C/groups], group by group."""
    c, o, *k = w.type.shape
    spatial = len(k)
    if groups > 1:
        if c.is_static and c.as_int() % groups:
            raise n.wrong(f"{c} input channels do not divide into {groups} groups")
        w = n.emit("reshape", w, shape=(groups, floordiv(c, groups), o, *k))
        w = n.emit("transpose", w, perm=(0, 2, *range(3, 3 + spatial), 1))
        reshaped: Value = n.emit("reshape", w, shape=(o * groups, *k, floordiv(c, groups)))
        return reshaped
    moved: Value = n.emit("transpose", w, perm=(1, *range(2, 2 + spatial), 0))
    return moved


def _transpose_pads(
    n: NodeContext,
    x: Value,
    kernel: list[int],
    strides: list[int],
    dilations: list[int],
    extra: list[int],
) -> list[Dim]:
    """Pads from `pads`, or from output_shape or auto_pad, which set the output size instead."""
    spatial = len(kernel)
    mode = n.attr("auto_pad", "NOTSET")
    sizes = n.attr("output_shape")
    if sizes is not None and len(sizes) == spatial + 2:
        sizes = sizes[2:]
    if sizes is None and mode in ("NOTSET", "", "VALID"):
        pads = n.attr("pads", [0] * 2 * spatial) if mode != "VALID" else [0] * 2 * spatial
        return [as_dim(p) for p in pads]
    begins: list[Dim] = []
    ends: list[Dim] = []
    for i, d in enumerate(x.type.shape[2:]):
        want = as_dim(sizes[i]) if sizes is not None else d * strides[i]
        total = (d - 1) * strides[i] + extra[i] + (kernel[i] - 1) * dilations[i] + 1 - want
        if total.is_static and total.as_int() < 0:
            extra[i] -= total.as_int()
            total = as_dim(0)
        half = floordiv(total, 2)
        # SAME_UPPER puts the odd row at the end; every other mode at the beginning (ONNX, ConvTranspose).
        begins.append(half if mode == "SAME_UPPER" else total - half)
        ends.append(total - half if mode == "SAME_UPPER" else half)
    return [*begins, *ends]
