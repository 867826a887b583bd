# SPDX-License-Identifier: Apache-2.0
"""Normalization and softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.layout import channels_first, channels_last
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import as_dim


@onnx_op("BatchNormalization")
def batch_normalization(n: NodeContext) -> Any:
    """Inference: x * (scale / sqrt(var + eps)) + (bias - mean * that), over channels-last."""
    if n.attr("training_mode", 0) or (n.opset < 14 and len([o for o in n.node.output if o]) > 1):
        raise n.unsupported("training mode", "export the model in inference mode")
    if not n.attr("spatial", 1):
        raise n.unsupported("spatial=0: statistics per activation", "export the model anew")
    x = n.value(0)
    scale, bias, mean, var = (n.value(i) for i in range(1, 5))
    eps = float(n.attr("epsilon", 1e-5))
    if all(v.constant is not None for v in (scale, bias, mean, var)):
        s, b, m, v = (np.asarray(t.constant, np.float64) for t in (scale, bias, mean, var))
        factor = s / np.sqrt(v + eps)
        kind = x.type.dtype.numpy
        gain, offset = n.const(factor.astype(kind)), n.const((b - m * factor).astype(kind))
    else:
        gain = n.emit("mul", scale, n.emit("rsqrt", n.emit("add", var, eps)))
        offset = n.emit("sub", bias, n.emit("mul", mean, gain))
    if x.type.rank <= 2:
        return n.final("add", n.emit("mul", x, gain), offset)
    y = n.emit("add", n.emit("mul", channels_last(n, x), gain), offset)
    return channels_first(n, y)


@onnx_op("InstanceNormalization")
def instance_normalization(n: NodeContext) -> Any:
    y = n.emit(
        "instance_norm",
        channels_last(n, n.value(0)),
        n.value(1),
        n.value(2),
        eps=n.attr("epsilon", 1e-5),
    )
    return channels_first(n, y)


@onnx_op("GroupNormalization")
def group_normalization(n: NodeContext) -> Any:
    x, scale, bias = n.value(0), n.value(1), n.value(2)
    groups = n.attr("num_groups")
    batch, channels, *spatial = x.type.shape
    inner = channels // groups
    for d in spatial:
        inner = inner * d
    rows = n.emit(
        "layer_norm",
        n.emit("reshape", x, shape=(batch, groups, inner)),
        axis=-1,
        eps=n.attr("epsilon", 1e-5),
    )
    y = n.emit("reshape", rows, shape=x.type.shape)
    if scale.type.shape[0] != channels:  # before opset 21 scale and bias are per group
        per = (groups, channels // groups)
        scale, bias = (
            n.emit(
                "reshape",
                n.emit("expand", n.emit("reshape", v, shape=(groups, 1)), shape=per),
                shape=(channels,),
            )
            for v in (scale, bias)
        )
    tail = [1] * len(spatial)
    gain, offset = (n.emit("reshape", v, shape=(channels, *tail)) for v in (scale, bias))
    return n.final("add", n.emit("mul", y, gain), offset)


@onnx_op("LayerNormalization")
def layer_normalization(n: NodeContext) -> Any:
    x = n.value(0)
    axis = n.axis(-1, x.type.rank)
    eps = n.attr("epsilon", 1e-5)
    tail = x.type.shape[axis:]
    scale, bias = (
        v if v is None or v.type.shape == tail else n.emit("expand", v, shape=tail)
        for v in (n.value(1), n.optional(2))
    )
    y = n.final("layer_norm", x, scale, bias, axis=axis, eps=eps)
    if not any(n.node.output[1:]):
        return y
    axes = list(range(axis, x.type.rank))
    mean = n.emit("reduce_mean", x, axes=axes, keepdims=True)
    centred = n.emit("sub", x, mean)
    variance = n.emit("reduce_mean", n.emit("mul", centred, centred), axes=axes, keepdims=True)
    return y, mean, n.emit("rsqrt", n.emit("add", variance, eps))


@onnx_op("RMSNormalization")
def rms_normalization(n: NodeContext) -> Any:
    return n.final(
        "rms_norm", n.value(0), n.value(1), axis=n.attr("axis", -1), eps=n.attr("epsilon", 1e-5)
    )


@onnx_op("LRN")
def lrn(n: NodeContext) -> Any:
    y = n.emit(
        "lrn",
        channels_last(n, n.value(0)),
        size=n.attr("size"),
        alpha=n.attr("alpha", 1e-4),
        beta=n.attr("beta", 0.75),
        bias=n.attr("bias", 1.0),
    )
    return channels_first(n, y)


@onnx_op("LpNormalization")
def lp_normalization(n: NodeContext) -> Any:
    x = n.value(0)
    axis = n.axis(-1, x.type.rank)
    if n.attr("p", 2) == 1:
        norm = n.emit("reduce_sum", n.emit("abs", x), axes=[axis], keepdims=True)
    else:
        norm = n.emit(
            "sqrt",
            n.emit("reduce_sum", n.emit("mul", x, x), axes=[axis], keepdims=True),
        )
    # A vector of zeros stays one.
    zero = n.const(np.zeros((), x.type.dtype.numpy))
    return n.final(
        "div", x, n.emit("where", n.emit("eq", norm, zero), n.emit("add", zero, 1.0), norm)
    )


@onnx_op("MeanVarianceNormalization")
def mean_variance_normalization(n: NodeContext) -> Any:
    x = n.value(0)
    axes = n.attr("axes", [0, 2, 3])
    mean = n.emit("reduce_mean", x, axes=axes, keepdims=True)
    centred = n.emit("sub", x, mean)
    variance = n.emit("reduce_mean", n.emit("mul", centred, centred), axes=axes, keepdims=True)
    return n.final("div", centred, n.emit("add", n.emit("sqrt", variance), 1e-9))


def softmax_of(n: NodeContext, x: Value, op: str) -> Any:
    """Softmax along `axis`; before opset 13 over all axes from it, as a matrix."""
    if n.opset >= 13:
        return n.final(op, x, axis=n.axis(-1, x.type.rank))
    axis = n.axis(min(1, x.type.rank - 1), x.type.rank)
    if axis == x.type.rank - 1 or all(d == as_dim(1) for d in x.type.shape[axis + 1 :]):
        return n.final(op, x, axis=axis)
    rows, columns = as_dim(1), as_dim(1)
    for i, d in enumerate(x.type.shape):
        rows, columns = (rows * d, columns) if i < axis else (rows, columns * d)
    flat = n.emit(op, n.emit("reshape", x, shape=(rows, columns)), axis=1)
    return n.final("reshape", flat, shape=x.type.shape)


@onnx_op("Softmax")
def softmax(n: NodeContext) -> Any:
    return softmax_of(n, n.value(0), "softmax")


@onnx_op("LogSoftmax")
def log_softmax(n: NodeContext) -> Any:
    return softmax_of(n, n.value(0), "log_softmax")


@onnx_op("Hardmax")
def hardmax(n: NodeContext) -> Any:
    return softmax_of(n, n.value(0), "hardmax")


@onnx_op("SkipLayerNormalization", domain="com.microsoft")
def skip_layer_normalization(n: NodeContext) -> Any:
    x = n.emit("add", n.value(0), n.value(1))
    if n.has(4):
        x = n.emit("add", x, n.value(4))
    y = n.final("layer_norm", x, n.value(2), n.optional(3), axis=-1, eps=n.attr("epsilon", 1e-12))
    return [y, None, None, x] if len(n.node.output) > 3 else y
