# SPDX-License-Identifier: Apache-2.0
"""Operators of com.microsoft over floats: fused products, activations with a bias, normalizations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.layout import channels_first, channels_last
from samara.exporter.importers.onnx.handlers.linear import conv_rows
from samara.exporter.importers.onnx.handlers.quantize import MICROSOFT
from samara.exporter.importers.onnx.registry import find_handler, onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType


class _AsStandard(NodeContext):
    """The node read as the operator of the same name in ONNX's own domain."""

    @property
    def opset(self) -> int:
        return self.scope.opset("")


def _standard(n: NodeContext) -> Any:
    handler = find_handler("", n.op_type)
    if handler is None:
        raise n.unsupported(f"{n.op_type} has no import rule")
    return handler(_AsStandard(n.scope, n.node))


# These have the same meaning as ONNX's operators of that name.
onnx_op("GatherND", "GridSample", "Pad", "Range", "Trilu", "Unique", domain=MICROSOFT)(_standard)


@onnx_op("NhwcMaxPool", domain=MICROSOFT)
def nhwc_max_pool(n: NodeContext) -> Any:
    """MaxPool of [N, …, C] bytes."""
    handler = find_handler("", "MaxPool")
    assert handler is not None
    y = handler(_Turned(n.scope, n.node).inner)
    return n.final("transpose", y, perm=(0, *range(2, y.type.rank), 1))


class _Turned(_AsStandard):
    """The node as seen with channels first: its first input, and its result."""

    def value(self, index: int) -> Value:
        found = super().value(index)
        if index == 0:
            rank = found.type.rank
            found = self.emit("transpose", found, perm=(0, rank - 1, *range(1, rank - 1)))
        return found


# ---- products with an activation


def _activated(n: NodeContext, name: str, y: Value, parameters: list[float]) -> Value:
    """An activation that onnxruntime fuses, as the node's result. Parameters are in order."""

    def at(index: int, default: float) -> float:
        return float(parameters[index]) if index < len(parameters) else default

    rows: dict[str, tuple[str, dict[str, float]]] = {
        "Relu": ("relu", {}),
        "Tanh": ("tanh", {}),
        "Sigmoid": ("sigmoid", {}),
        "LeakyRelu": ("leaky_relu", {"alpha": at(0, 0.01)}),
        "Clip": ("clamp", {"lo": at(0, -np.inf), "hi": at(1, np.inf)}),
        "HardSigmoid": ("hard_sigmoid", {"alpha": at(0, 0.2), "beta": at(1, 0.5)}),
    }
    if name not in rows:
        raise n.unsupported(f"the fused activation {name!r}", f"{', '.join(rows)} are provided")
    op, attrs = rows[name]
    made: Value = n.final(op, y, **attrs)
    return made


@onnx_op("FusedConv", domain=MICROSOFT)
@onnx_op("NhwcFusedConv", domain=MICROSOFT)
def fused_conv(n: NodeContext) -> Any:
    """activation(conv(X, W) + B + Z)."""
    last = n.op_type == "NhwcFusedConv"
    x, z = n.value(0), n.optional(3)
    if not last:
        x = channels_last(n, x)
        z = None if z is None else channels_last(n, z)
    y = conv_rows(n, x, n.value(1), n.optional(2), residual=z)
    name = n.attr("activation", "")
    if not last:
        y = channels_first(n.inner if name else n, y)
    return _activated(n, name, y, n.attr("activation_params", [])) if name else y


@onnx_op("FusedGemm", domain=MICROSOFT)
def fused_gemm(n: NodeContext) -> Any:
    """activation(Gemm): its own attributes are called activation_alpha, _beta and _gamma."""
    gemm = find_handler("", "Gemm")
    assert gemm is not None
    y = gemm(_AsStandard(n.scope, n.node).inner)
    given = [n.attr(f"activation_{a}") for a in ("alpha", "beta", "gamma")]
    return _activated(n, n.attr("activation", ""), y, [v for v in given if v is not None])


@onnx_op("FusedMatMul", "TransposeMatMul", domain=MICROSOFT)
def fused_matmul(n: NodeContext) -> Any:
    """alpha * (A @ B). transBatch moves an operand's first axis before its last two; transA then swaps these."""
    operands = []
    for i, name in enumerate("AB"):
        v = n.value(i)
        if n.attr(f"transBatch{name}", 0) and v.type.rank > 2:
            rank = v.type.rank
            v = n.emit("transpose", v, perm=(*range(1, rank - 1), 0, rank - 1))
        operands.append(v)
    attrs = {"transpose_x": bool(n.attr("transA", 0)), "transpose_w": bool(n.attr("transB", 0))}
    if any(v.type.rank < 2 for v in operands):
        raise n.unsupported("vectors as operands", "reshape them to matrices")
    alpha = n.attr("alpha", 1.0)
    if alpha == 1.0:
        return n.final("matmul", *operands, **attrs)
    return n.final("mul", n.emit("matmul", *operands, **attrs), alpha)


# ---- activations


def _with_bias(n: NodeContext) -> Value:
    x = n.value(0)
    if n.has(1):
        x = n.emit("add", x, n.value(1))
    return x


@onnx_op("Gelu", "BiasGelu", domain=MICROSOFT)
def gelu(n: NodeContext) -> Any:
    return n.final("gelu", _with_bias(n), approximate="none")


@onnx_op("FastGelu", domain=MICROSOFT)
def fast_gelu(n: NodeContext) -> Any:
    return n.final("gelu", _with_bias(n), approximate="tanh")


@onnx_op("QuickGelu", domain=MICROSOFT)
def quick_gelu(n: NodeContext) -> Any:
    """x * sigmoid(alpha * x)."""
    x, alpha = n.value(0), n.attr("alpha", 1.702)
    return n.final("mul", x, n.emit("sigmoid", x if alpha == 1.0 else n.emit("mul", x, alpha)))


@onnx_op("BiasSplitGelu", domain=MICROSOFT)
def bias_split_gelu(n: NodeContext) -> Any:
    """The first half of the channels times gelu of the second."""
    x = _with_bias(n)
    half = x.type.shape[-1] // 2
    hidden, gate = n.emit("split", x, axis=x.type.rank - 1, sizes=[half, half])
    return n.final("mul", hidden, n.emit("gelu", gate, approximate="none"))


@onnx_op("BiasAdd", domain=MICROSOFT)
def bias_add(n: NodeContext) -> Any:
    return n.final("add", _with_bias(n), n.value(2))


@onnx_op("BiasDropout", domain=MICROSOFT)
def bias_dropout(n: NodeContext) -> Any:
    """data + bias + residual: dropout does nothing in inference, so the mask is all true."""
    training = n.constant(4)
    if n.has(4) and (training is None or bool(np.any(training))):
        raise n.unsupported("training mode", "export the model in inference mode")
    y = _with_bias(n)
    if n.has(2):
        y = n.emit("add", y, n.value(2))
    if len(n.node.output) < 2 or not n.node.output[1]:
        return y
    return y, n.emit("expand", n.const(np.ones((), np.bool_)), shape=y.type.shape)


@onnx_op("ExpandDims", domain=MICROSOFT)
def expand_dims(n: NodeContext) -> Any:
    x = n.value(0)
    rank = x.type.rank
    axis = int(n.need_constant(1, "the axis").reshape(-1)[0])
    if not -rank - 1 <= axis <= rank:
        raise n.wrong(f"axis {axis} is out of range for rank {rank}")
    axis %= rank + 1
    return n.final("reshape", x, shape=(*x.type.shape[:axis], 1, *x.type.shape[axis:]))


# ---- normalizations


def _normalized(
    n: NodeContext, x: Value, scale: Value, bias: Value | None, eps: float, rms: bool
) -> Value:
    axis = x.type.rank - 1
    made: Value
    if rms:
        made = n.final("rms_norm", x, scale, axis=axis, eps=eps)
    else:
        made = n.final("layer_norm", x, scale, bias, axis=axis, eps=eps)
    return made


def _statistics(n: NodeContext, x: Value, eps: float, rms: bool) -> tuple[Value | None, Value]:
    """(mean, 1 / deviation) of rows."""
    axes = [x.type.rank - 1]
    mean = None if rms else n.emit("reduce_mean", x, axes=axes, keepdims=True)
    centred = x if rms else n.emit("sub", x, mean)
    variance = n.emit("reduce_mean", n.emit("mul", centred, centred), axes=axes, keepdims=True)
    return mean, n.emit("rsqrt", n.emit("add", variance, eps))


@onnx_op("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_layer_normalization(n: NodeContext) -> Any:
    """Outputs: the result, mean, 1 / deviation, and the sum that was normalized."""
    rms = n.op_type == "SkipSimplifiedLayerNormalization"
    x = n.emit("add", n.value(0), n.value(1))
    bias = n.optional(3 if rms else 4)
    if bias is not None:
        x = n.emit("add", x, bias)
    eps = n.attr("epsilon", 1e-12)
    y = _normalized(n, x, n.value(2), None if rms else n.optional(3), eps, rms)
    wanted = [bool(o) for o in n.node.output]
    if any(wanted[1:3]):
        return [y, *_statistics(n, x, eps, rms), x]
    return [y, None, None, x] if len(wanted) > 3 else y


@onnx_op("SimplifiedLayerNormalization")
@onnx_op("SimplifiedLayerNormalization", domain=MICROSOFT)
def simplified_layer_normalization(n: NodeContext) -> Any:
    """The root mean square form; onnxruntime keeps it in ONNX's own domain."""
    x, eps = n.value(0), n.attr("epsilon", 1e-5)
    axis = n.axis(-1, x.type.rank)
    y = n.final("rms_norm", x, n.value(1), axis=axis, eps=eps)
    if not any(n.node.output[1:]):
        return y
    if axis != x.type.rank - 1:
        raise n.unsupported("statistics over several axes", "leave the second output unused")
    return y, _statistics(n, x, eps, True)[1]


@onnx_op("EmbedLayerNormalization", domain=MICROSOFT)
def embed_layer_normalization(n: NodeContext) -> Any:
    """Inputs: input_ids, segment_ids?, word, position and segment? embeddings, gamma, beta, mask?,
    position_ids?. Outputs: the result, how many tokens the mask keeps, the sum of embeddings.
    """
    ids = n.value(0)
    batch, length = n.shape(0, 2)
    total = n.emit("gather", n.value(2), ids, axis=0)
    if n.has(8):
        places = n.emit("gather", n.value(3), n.value(8), axis=0)
    else:
        table = n.value(3)
        end = (length, table.type.shape[1])
        places = n.emit("slice", table, begin=[0, 0], end=end, step=[1, 1])
    total = n.emit("add", total, places)
    if n.has(4) and n.has(1):
        total = n.emit("add", total, n.emit("gather", n.value(4), n.value(1), axis=0))
    y = _normalized(n, total, n.value(5), n.value(6), n.attr("epsilon", 1e-12), False)
    if n.has(7):
        kept = n.emit(
            "cast", n.emit("eq", n.value(7), n.const(np.ones((), np.int32))), to=DType.I32
        )
        index = n.emit("reduce_sum", kept, axes=[1])
    else:
        index = n.emit("expand", n.const(np.zeros((), np.int32)), shape=(batch,))
    return y, index, total


def _refuse(reason: str, fix: str) -> Callable[[NodeContext], Any]:
    def refuse(n: NodeContext) -> Any:
        raise n.unsupported(reason, fix)

    return refuse


onnx_op("Tokenizer", domain=MICROSOFT)(
    _refuse("it works on text, and tensors hold numbers only",
            "tokenize before the model; cut the graph behind it with inputs=")
)  # fmt: skip
onnx_op("SampleOp", domain=MICROSOFT)(
    _refuse("it is an example that no model needs", "remove it from the model")
)
onnx_op("Inverse", domain=MICROSOFT)(
    _refuse("matrices are not inverted here", "invert a constant before the export")
)
