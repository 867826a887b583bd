# SPDX-License-Identifier: Apache-2.0
"""Elementwise ONNX operators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext, element_code, import_dtype
from samara.exporter.importers.onnx.registry import Handler, onnx_op
from samara.exporter.importers.onnx.scope_limits import RANDOM
from samara.exporter.ir.program import Value
from samara.exporter.ops import Guard
from samara.exporter.types import DType, as_dim, deq

# ONNX operator -> IR operator with the same attributes.
_UNARY = {
    "Neg": "neg", "Abs": "abs", "Sign": "sign", "Ceil": "ceil", "Floor": "floor", "Round": "round", "Exp": "exp",
    "Log": "log", "Sqrt": "sqrt", "Reciprocal": "reciprocal", "Sin": "sin", "Cos": "cos", "Tan": "tan", "Asin": "asin",
    "Acos": "acos", "Atan": "atan", "Sinh": "sinh", "Cosh": "cosh", "Tanh": "tanh", "Asinh": "asinh", "Acosh": "acosh",
    "Atanh": "atanh", "Erf": "erf", "Sigmoid": "sigmoid", "Relu": "relu", "Softplus": "softplus",
    "HardSwish": "hard_swish", "Not": "logical_not", "BitwiseNot": "bitwise_not", "IsNaN": "isnan",
}  # fmt: skip
_BINARY = {
    "Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Equal": "eq", "Less": "lt", "LessOrEqual": "le",
    "And": "logical_and", "Or": "logical_or", "Xor": "logical_xor", "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor",
}  # fmt: skip


def _unary(op: str) -> Handler:
    return lambda n: n.final(op, n.value(0))


def _binary(op: str) -> Handler:
    return lambda n: n.final(op, *_legacy_broadcast(n))


for _name, _op in _UNARY.items():
    onnx_op(_name)(_unary(_op))
for _name, _op in _BINARY.items():
    onnx_op(_name)(_binary(_op))


def _legacy_broadcast(n: NodeContext) -> tuple[Value, Value]:
    """The operands; before opset 7 `axis` says where the second one's dims are aligned."""
    a, b = n.value(0), n.value(1)
    if n.attr("broadcast", 0) and n.has_attr("axis"):
        axis = n.attr("axis") % a.type.rank
        trailing = a.type.rank - axis - b.type.rank
        if trailing > 0:
            b = n.emit("reshape", b, shape=(*b.type.shape, *[1] * trailing))
    return a, b


@onnx_op("Greater")
def greater(n: NodeContext) -> Any:
    a, b = _legacy_broadcast(n)
    return n.final("lt", b, a)


@onnx_op("GreaterOrEqual")
def greater_or_equal(n: NodeContext) -> Any:
    a, b = _legacy_broadcast(n)
    return n.final("le", b, a)


@onnx_op("Pow")
def power(n: NodeContext) -> Any:
    a, b = _legacy_broadcast(n)
    if b.type.dtype is a.type.dtype:
        if (
            b.constant is not None
            and b.constant.size == 1
            and float(b.constant.reshape(-1)[0]) == 2.0
            and b.type.rank <= a.type.rank
        ):
            return n.final("mul", a, a)
        return n.final("pow", a, b)
    if a.type.dtype.is_float:
        return n.final("pow", a, n.emit("cast", b, to=a.type.dtype))
    # Integers of two dtypes are computed in int64; with a float exponent, in the float that holds both.
    to = DType.I64 if b.type.dtype.is_int else DType.F32 if a.type.dtype.bits < 32 else DType.F64
    y = n.emit("pow", n.emit("cast", a, to=to), n.emit("cast", b, to=to))
    return n.final("cast", y, to=a.type.dtype)


@onnx_op("Mod")
def modulo(n: NodeContext) -> Any:
    a, b = n.value(0), n.value(1)
    return n.final("mod", a, b, fmod=bool(n.attr("fmod", 0)))


@onnx_op("BitShift")
def bit_shift(n: NodeContext) -> Any:
    return n.final("shift", n.value(0), n.value(1), direction=n.attr("direction").lower())


def _chain(n: NodeContext, op: str) -> Any:
    values = n.values()
    if len(values) == 1:
        return values[0]
    result = values[0]
    for v in values[1:-1]:
        result = n.emit(op, result, v)
    return n.final(op, result, values[-1])


@onnx_op("Sum")
def total(n: NodeContext) -> Any:
    return _chain(n, "add")


@onnx_op("Max")
def maximum(n: NodeContext) -> Any:
    return _chain(n, "max")


@onnx_op("Min")
def minimum(n: NodeContext) -> Any:
    return _chain(n, "min")


@onnx_op("Mean")
def mean(n: NodeContext) -> Any:
    values = n.values()
    result = values[0]
    for v in values[1:]:
        result = n.emit("add", result, v)
    return n.final("mul", result, 1.0 / len(values))


@onnx_op("Where")
def where(n: NodeContext) -> Any:
    return n.final("where", n.value(0), n.value(1), n.value(2))


@onnx_op("Cast")
def cast(n: NodeContext) -> Any:
    x = n.value(0)
    to = import_dtype(element_code(n.attr("to")), f"Cast {n.label!r}")
    return x if x.type.dtype is to else n.final("cast", x, to=to)


@onnx_op("BitCast")
def bitcast(n: NodeContext) -> Any:
    x = n.value(0)
    to = import_dtype(n.attr("to"), f"BitCast {n.label!r}")
    return x if x.type.dtype is to else n.final("bitcast", x, to=to)


@onnx_op("CastLike")
def cast_like(n: NodeContext) -> Any:
    x, to = n.value(0), n.type(1).dtype
    return x if x.type.dtype is to else n.final("cast", x, to=to)


@onnx_op("Identity")
def identity(n: NodeContext) -> Any:
    return n.operand(0)


@onnx_op("Dropout")
def dropout(n: NodeContext) -> Any:
    """Dropout is the identity outside of training, and for a ratio of 0."""
    x = n.value(0)
    if n.has(2):
        _refuse_training(n)
    if len(n.node.output) < 2 or not n.node.output[1]:
        return x
    # Before opset 10 the mask had the data's dtype.
    kept = np.ones((), x.type.dtype.numpy if n.opset < 10 else np.bool_)
    return x, n.emit("expand", n.const(kept), shape=x.type.shape)


def _refuse_training(n: NodeContext) -> None:
    """UnsupportedError if Dropout draws numbers; a guard if that is known only at run time."""
    reason = f"training with a ratio other than 0 is out of scope: {RANDOM.reason}"
    training = n.constant(2)
    if training is not None and not training.reshape(-1)[0]:
        return
    ratio = n.constant(1) if n.has(1) else np.float32(0.5)
    if ratio is not None and float(np.asarray(ratio).reshape(-1)[0]) == 0.0:
        return
    if training is not None and ratio is not None:
        raise n.unsupported(reason, "export the model for inference")
    active, drops = as_dim(1), as_dim(1)
    if training is None:
        active = 1 - deq(n.scalar_dim(2, "training_mode"), 0)
    if ratio is None:
        share = n.value(1)
        if share.type.dtype is not DType.F32:
            share = n.emit("cast", share, to=DType.F32)
        drops = 1 - deq(n.builder.read(share, 0), 0)  # the bit pattern of 0.0
    n.builder.guards.append(Guard("eq", active * drops, as_dim(0), f"Dropout: {reason}", n.label))


def _in_f32(*values: float) -> bool:
    """Whether these values are exact in float32, the type of attributes."""
    with np.errstate(over="ignore"):
        return all(float(np.float32(v)) == v for v in values)


@onnx_op("Clip")
def clip(n: NodeContext) -> Any:
    x = n.value(0)
    if n.has_attr("min") or n.has_attr("max") or n.opset < 11:
        return n.final("clamp", x, lo=n.attr("min", -math.inf), hi=n.attr("max", math.inf))
    low, high = n.constant(1), n.constant(2)
    known = (low is not None or not n.has(1)) and (high is not None or not n.has(2))
    lo = -math.inf if low is None else float(low.reshape(-1)[0])
    hi = math.inf if high is None else float(high.reshape(-1)[0])
    if x.type.dtype.is_float and known and (x.type.dtype is not DType.F64 or _in_f32(lo, hi)):
        return n.final("clamp", x, lo=min(lo, hi), hi=hi)
    if n.has(1):
        x = n.emit("max", x, n.value(1)) if n.has(2) else n.final("max", x, n.value(1))
    return n.final("min", x, n.value(2)) if n.has(2) else x


@onnx_op("LeakyRelu")
def leaky_relu(n: NodeContext) -> Any:
    return n.final("leaky_relu", n.value(0), alpha=n.attr("alpha", 0.01))


@onnx_op("Elu")
def elu(n: NodeContext) -> Any:
    return n.final("elu", n.value(0), alpha=n.attr("alpha", 1.0))


@onnx_op("Selu")
def selu(n: NodeContext) -> Any:
    old = n.opset < 6  # before opset 6 the constants had fewer digits
    alpha = n.attr("alpha", 1.6732 if old else 1.67326319217681884765625)
    gamma = n.attr("gamma", 1.0507 if old else 1.05070102214813232421875)
    return n.final("mul", n.emit("elu", n.value(0), alpha=alpha), gamma)


@onnx_op("Celu")
def celu(n: NodeContext) -> Any:
    alpha = n.attr("alpha", 1.0)
    x = n.value(0)
    return n.final("mul", n.emit("elu", n.emit("mul", x, 1.0 / alpha), alpha=1.0), alpha)


@onnx_op("ThresholdedRelu")
def thresholded_relu(n: NodeContext) -> Any:
    x = n.value(0)
    keep = n.emit("lt", n.const(np.asarray(n.attr("alpha", 1.0), x.type.dtype.numpy)), x)
    return n.final("where", keep, x, n.const(np.zeros((), x.type.dtype.numpy)))


@onnx_op("Shrink")
def shrink(n: NodeContext) -> Any:
    x = n.value(0)
    own = x.type.dtype
    if not own.is_float:
        # The attributes are floats; integers would truncate them. Results are truncated, as in ONNX Runtime.
        x = n.emit("cast", x, to=DType.F32)
    y = _shrunk(n, x)
    return y if own.is_float else n.final("cast", y, to=own)


def _shrunk(n: NodeContext, x: Value) -> Any:
    bias, limit = n.attr("bias", 0.0), n.attr("lambd", 0.5)
    low = n.emit("lt", x, n.const(np.asarray(-limit, x.type.dtype.numpy)))
    high = n.emit("lt", n.const(np.asarray(limit, x.type.dtype.numpy)), x)
    inside = n.emit(
        "where", high, n.emit("sub", x, bias), n.const(np.zeros((), x.type.dtype.numpy))
    )
    return n.emit("where", low, n.emit("add", x, bias), inside)


@onnx_op("Softsign")
def softsign(n: NodeContext) -> Any:
    x = n.value(0)
    return n.final("div", x, n.emit("add", n.emit("abs", x), 1.0))


@onnx_op("Mish")
def mish(n: NodeContext) -> Any:
    x = n.value(0)
    return n.final("mul", x, n.emit("tanh", n.emit("softplus", x)))


@onnx_op("Swish")
def swish(n: NodeContext) -> Any:
    x, alpha = n.value(0), n.attr("alpha", 1.0)
    if alpha == 1.0:
        return n.final("silu", x)
    return n.final("mul", x, n.emit("sigmoid", n.emit("mul", x, alpha)))


@onnx_op("Gelu")
def gelu(n: NodeContext) -> Any:
    return n.final("gelu", n.value(0), approximate=n.attr("approximate", "none"))


@onnx_op("Gelu", domain="com.microsoft")
def ms_gelu(n: NodeContext) -> Any:
    return n.final("gelu", n.value(0))


@onnx_op("HardSigmoid")
def hard_sigmoid(n: NodeContext) -> Any:
    return n.final("hard_sigmoid", n.value(0), alpha=n.attr("alpha", 0.2), beta=n.attr("beta", 0.5))


@onnx_op("PRelu")
def prelu(n: NodeContext) -> Any:
    x, slope = n.value(0), n.value(1)
    if (
        n.opset < 7
        and slope.type.rank == 1
        and x.type.rank > 1
        and slope.type.shape[0] != as_dim(1)
    ):
        slope = n.emit("reshape", slope, shape=(slope.type.shape[0], *[1] * (x.type.rank - 2)))
    return n.final("prelu", x, slope)


@onnx_op("IsInf")
def is_inf(n: NodeContext) -> Any:
    return n.final(
        "isinf",
        n.value(0),
        negative=bool(n.attr("detect_negative", 1)),
        positive=bool(n.attr("detect_positive", 1)),
    )
