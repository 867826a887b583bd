# SPDX-License-Identifier: Apache-2.0
"""Normalization and softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.layout import channels_first, channels_last
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, as_dim, floordiv


@onnx_op("BatchNormalization")
def batch_normalization(n: NodeContext) -> Any:
    """x * (scale / sqrt(var + eps)) + (bias - mean * that) on channels-last data; in training mode with the
    mean and variance of the input.
    """
    x = n.value(0)
    kind = x.type.dtype
    scale, bias, mean, var = (n.value(i) for i in range(1, 5))
    per_activation = not n.attr("spatial", 1)
    if per_activation:  # before opset 9: statistics per element of a sample
        scale, bias, mean, var = (
            v if v.type.rank == x.type.rank - 1 else n.emit("reshape", v, shape=x.type.shape[1:])
            for v in (scale, bias, mean, var)
        )
    last = x if per_activation or x.type.rank <= 2 else channels_last(n, x)
    more: list[Value] = []
    if _trains(n):
        mean, var, more = _own_statistics(n, last, mean, var, per_activation)
    gain, offset = _gain_and_offset(n, kind, scale, bias, mean, var)
    if last is x:
        y = n.final("add", n.emit("mul", x, gain), offset)
    else:
        y = channels_first(n, n.emit("add", n.emit("mul", last, gain), offset))
    return [y, *more] if more else y


def _trains(n: NodeContext) -> bool:
    """Whether the statistics are the input's: by attribute; before opset 14 if such outputs are used."""
    if n.opset >= 14:
        return bool(n.attr("training_mode", 0))
    return not n.attr("is_test", 0) and any(n.node.output[1:])


def _own_statistics(
    n: NodeContext, x: Value, mean: Value, var: Value, per_activation: bool
) -> tuple[Value, Value, list[Value]]:
    """(mean, variance, the outputs after Y) over all axes but the last, or over the first only."""
    wide = x if x.type.dtype is DType.F32 else n.emit("cast", x, to=DType.F32)
    axes = [0] if per_activation else list(range(x.type.rank - 1))
    own = n.emit("reduce_mean", wide, axes=axes, keepdims=False)
    centred = n.emit("sub", wide, own)
    spread = n.emit("reduce_mean", n.emit("mul", centred, centred), axes=axes, keepdims=False)
    momentum = float(n.attr("momentum", 0.9))

    def running(before: Value, now: Value) -> Value:
        if now.type.dtype is not before.type.dtype:
            now = n.emit("cast", now, to=before.type.dtype)
        kept = n.emit("mul", before, momentum)
        moved: Value = n.emit("add", kept, n.emit("mul", now, 1.0 - momentum))
        return moved

    more = [running(mean, own), running(var, spread)]
    if n.opset < 14:
        more += [own, spread]  # saved_mean and saved_var
    return own, spread, more


def _gain_and_offset(
    n: NodeContext, kind: DType, scale: Value, bias: Value, mean: Value, var: Value
) -> tuple[Value, Value]:
    eps = float(n.attr("epsilon", 1e-5))
    given = (scale, bias, mean, var)
    if all(v.constant is not None for v in given):
        s, b, m, v = (np.asarray(t.constant, np.float64) for t in given)
        to = kind.numpy
        with np.errstate(all="ignore"):  # a variance may be zero or less
            factor = s / np.sqrt(v + eps)
            return n.const(factor.astype(to)), n.const((b - m * factor).astype(to))
    mixed = any(v.type.dtype is not kind for v in given)
    if mixed:  # from opset 14 on statistics may have another dtype than the data
        scale, bias, mean, var = (
            v if v.type.dtype is DType.F32 else n.emit("cast", v, to=DType.F32) for v in given
        )
    gain = n.emit("mul", scale, n.emit("rsqrt", n.emit("add", var, eps)))
    offset = n.emit("sub", bias, n.emit("mul", mean, gain))
    if gain.type.dtype is not kind:
        gain, offset = n.emit("cast", gain, to=kind), n.emit("cast", offset, to=kind)
    return gain, offset


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
    if x.type.rank < 2:
        raise n.wrong(f"needs an input [N, C, …], got {x.type}")
    groups, channels = int(n.attr("num_groups")), x.type.shape[1]
    if n.opset < 21:  # scale and bias are per group
        per = (groups, floordiv(channels, groups))
        scale, bias = (
            n.emit(
                "reshape",
                n.emit("expand", n.emit("reshape", v, shape=(groups, 1)), shape=per),
                shape=(channels,),
            )
            for v in (scale, bias)
        )
    eps = float(n.attr("epsilon", 1e-5))
    y = n.emit("group_norm", channels_last(n, x), scale, bias, groups=groups, eps=eps)
    return channels_first(n, y)


@onnx_op("LayerNormalization")
def layer_normalization(n: NodeContext) -> Any:
    x = n.value(0)
    axis = n.axis(-1, x.type.rank)
    eps = n.attr("epsilon", 1e-5)
    scale = _of_shape(n, n.value(1), x, axis)
    bias = _of_shape(n, n.value(2), x, axis) if n.has(2) else None
    y = n.final("layer_norm", x, scale, bias, axis=axis, eps=eps)
    if not any(n.node.output[1:]):
        return y
    # The statistics are always float32.
    wide = x if x.type.dtype is DType.F32 else n.emit("cast", x, to=DType.F32)
    axes = list(range(axis, x.type.rank))
    mean = n.emit("reduce_mean", wide, axes=axes, keepdims=True)
    centred = n.emit("sub", wide, mean)
    variance = n.emit("reduce_mean", n.emit("mul", centred, centred), axes=axes, keepdims=True)
    return y, mean, n.emit("rsqrt", n.emit("add", variance, eps))


def _of_shape(n: NodeContext, v: Value, x: Value, axis: int) -> Value:
    """A scale or bias in the shape of the normalized axes and the data's dtype."""
    if v.type.dtype is not x.type.dtype:
        v = n.emit("cast", v, to=x.type.dtype)
    tail = x.type.shape[axis:]
    if v.type.shape != tail:
        v = n.emit("expand", v, shape=tail)
    return v


@onnx_op("RMSNormalization")
def rms_normalization(n: NodeContext) -> Any:
    x = n.value(0)
    axis = n.axis(-1, x.type.rank)
    scale = _of_shape(n, n.value(1), x, axis)
    return n.final("rms_norm", x, scale, axis=axis, eps=n.attr("epsilon", 1e-5))


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


def softmax_of(n: NodeContext, x: Value, op: str, per_matrix: bool | None = None) -> Any:
    """Softmax along `axis`; before opset 13 (or if `per_matrix` is set) over all axes from it on."""
    if not (n.opset < 13 if per_matrix is None else per_matrix):
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
