# SPDX-License-Identifier: Apache-2.0
"""Operators of single elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.differences import (
    BYTES,
    CUT_OFF,
    LONG_TABLE,
    SHORT_NUMBERS,
    SHORT_TABLE,
    TWICE,
    Difference,
)
from samara.exporter.importers.tflite.element_types import import_dtype
from samara.exporter.importers.tflite.registry import Handler, tflite_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, as_dim

_FEW_BITS = Difference(
    "XNNPACK multiplies by numbers with 8 bits of fraction, samara by float32 ones", ("XNNPACK",)
)
_RECIPROCAL = Difference(
    "samara multiplies by the float32 reciprocal of a constant divisor; LiteRT's is 31 bits long",
    types=BYTES,
)


def _unary(op: str, **attrs: Any) -> Handler:
    def convert(ctx: OperatorContext) -> Any:
        return ctx.final(op, ctx.value(0), **attrs)

    return convert


for _name, _newest, _op, _attrs, _differences in (
    ("ABS", 5, "abs", {}, ()),
    ("SIGN", 2, "sign", {}, ()),
    ("CEIL", 1, "ceil", {}, ()),
    ("FLOOR", 1, "floor", {}, ()),
    ("ROUND", 1, "round", {}, ()),
    ("EXP", 2, "exp", {}, (LONG_TABLE,)),
    ("LOG", 2, "log", {}, (LONG_TABLE,)),
    ("SQRT", 2, "sqrt", {}, (CUT_OFF,)),
    ("RSQRT", 3, "rsqrt", {}, (LONG_TABLE,)),
    ("SIN", 2, "sin", {}, ()),
    ("COS", 2, "cos", {}, ()),
    ("TANH", 3, "tanh", {}, (SHORT_TABLE.of("int16", is_coarse=True),)),
    ("LOGISTIC", 3, "sigmoid", {}, (SHORT_TABLE,)),
    ("RELU", 3, "relu", {}, ()),
    ("RELU6", 3, "clamp", {"lo": 0.0, "hi": 6.0}, ()),
    ("RELU_N1_TO_1", 1, "clamp", {"lo": -1.0, "hi": 1.0}, ()),
    ("RELU_0_TO_1", 1, "clamp", {"lo": 0.0, "hi": 1.0}, ()),
    ("ELU", 1, "elu", {}, ()),
    ("HARD_SWISH", 1, "hard_swish", {}, (SHORT_NUMBERS,)),
    ("LOGICAL_NOT", 1, "logical_not", {}, ()),
):
    tflite_op(_name, newest=_newest, differences=_differences)(_unary(_op, **_attrs))


@tflite_op("NEG")
def neg(ctx: OperatorContext) -> Any:
    """Of the integers themselves, where a tensor is quantized, as LiteRT does."""
    return ctx.final("neg", ctx.plain(0))


def _binary(op: str, swapped: bool = False, **attrs: Any) -> Handler:
    def convert(ctx: OperatorContext) -> Any:
        a, b = ctx.value(0), ctx.value(1)
        return ctx.activated(op, *((b, a) if swapped else (a, b)), **attrs)

    return convert


for _name, _newest, _op, _swapped, _differences in (
    ("ADD", 6, "add", False, ()),
    ("SUB", 5, "sub", False, ()),
    ("MUL", 8, "mul", False, (TWICE.of(*BYTES),)),
    ("DIV", 2, "div", False, (_RECIPROCAL,)),
    ("POW", 1, "pow", False, ()),
    ("MAXIMUM", 4, "max", False, ()),
    ("MINIMUM", 4, "min", False, ()),
    ("EQUAL", 5, "eq", False, ()),
    ("LESS", 3, "lt", False, ()),
    ("LESS_EQUAL", 2, "le", False, ()),
    ("GREATER", 2, "lt", True, ()),
    ("GREATER_EQUAL", 3, "le", True, ()),
    ("LOGICAL_AND", 1, "logical_and", False, ()),
    ("LOGICAL_OR", 1, "logical_or", False, ()),
    ("ATAN2", 1, "atan2", False, ()),
    ("BITWISE_XOR", 1, "bitwise_xor", False, ()),
):
    tflite_op(_name, newest=_newest, differences=_differences)(_binary(_op, _swapped))


@tflite_op("NOT_EQUAL", newest=4)
def not_equal(ctx: OperatorContext) -> Any:
    return ctx.final("logical_not", ctx.emit("eq", ctx.value(0), ctx.value(1)))


@tflite_op("RIGHT_SHIFT")
def right_shift(ctx: OperatorContext) -> Any:
    """Arithmetic; an amount is held between 0 and the number of bits less one."""
    x, amount = ctx.value(0), ctx.value(1)
    kind = amount.type.dtype
    bits = np.asarray(kind.numpy).dtype.itemsize * 8
    held = ctx.emit("min", amount, ctx.const(np.asarray(bits - 1, kind.numpy)))
    held = ctx.emit("max", held, ctx.const(np.asarray(0, kind.numpy)))
    return ctx.final("shift", x, held, direction="right")


@tflite_op("FLOOR_DIV", newest=3)
def floor_div(ctx: OperatorContext) -> Any:
    a, b = ctx.value(0), ctx.value(1)
    if a.type.dtype.is_float:
        return ctx.final("floor", ctx.emit("div", a, b))
    # The remainder has the divisor's sign, so what is left divides without one.
    return ctx.final("div", ctx.emit("sub", a, ctx.emit("mod", a, b)), b)


@tflite_op("FLOOR_MOD", newest=2)
def floor_mod(ctx: OperatorContext) -> Any:
    """With the divisor's sign."""
    return ctx.final("mod", ctx.value(0), ctx.value(1))


@tflite_op("SQUARE")
def square(ctx: OperatorContext) -> Any:
    x = ctx.value(0)
    return ctx.final("mul", x, x)


@tflite_op("SQUARED_DIFFERENCE", newest=2)
def squared_difference(ctx: OperatorContext) -> Any:
    d = ctx.emit("sub", ctx.value(0), ctx.value(1))
    return ctx.final("mul", d, d)


@tflite_op("ADD_N")
def add_n(ctx: OperatorContext) -> Any:
    """The sum of all inputs, from the left."""
    first, *rest = ctx.values()
    if not rest:
        return ctx.final("identity", first)
    for v in rest[:-1]:
        first = ctx.emit("add", first, v)
    return ctx.final("add", first, rest[-1])


@tflite_op("LEAKY_RELU", newest=2, differences=(TWICE, _FEW_BITS))
def leaky_relu(ctx: OperatorContext) -> Any:
    return ctx.final("leaky_relu", ctx.value(0), alpha=float(ctx.option("alpha", 0.0)))


@tflite_op("PRELU", differences=(TWICE.of(*BYTES),))
def prelu(ctx: OperatorContext) -> Any:
    return ctx.final("prelu", ctx.value(0), ctx.value(1))


@tflite_op("GELU", newest=3, differences=(LONG_TABLE,))
def gelu(ctx: OperatorContext) -> Any:
    how = "tanh" if ctx.option("approximate", False) else "none"
    return ctx.final("gelu", ctx.value(0), approximate=how)


@tflite_op("CAST", newest=9)
def cast(ctx: OperatorContext) -> Any:
    """Of the integers themselves, where a tensor is quantized."""
    to = import_dtype(ctx.output(0).type, f"output {ctx.label!r}")
    return ctx.final("cast", ctx.plain(0), to=to)


@tflite_op("BITCAST")
def bitcast(ctx: OperatorContext) -> Any:
    """A wider dtype takes the last axis in, a narrower one adds an axis."""
    x = ctx.plain(0)
    to = import_dtype(ctx.output(0).type, f"output {ctx.label!r}")
    have, want = (np.dtype(d.numpy).itemsize for d in (x.type.dtype, to))
    if have == want:
        return ctx.final("bitcast", x, to=to)
    if want > have:
        return _joined(ctx, x, to, want // have)
    return _parted(ctx, x, to, have // want)


_UNSIGNED = {1: DType.U8, 2: DType.U16, 4: DType.U32, 8: DType.U64}


def _joined(ctx: OperatorContext, x: Value, to: DType, count: int) -> Any:
    """The elements of the last axis, `count` of them, as the bytes of one wider element, lowest first."""
    if x.type.rank == 0 or x.type.shape[-1] != as_dim(count):
        raise ctx.wrong(f"the last axis of {x.type} must have {count} elements")
    narrow = np.dtype(x.type.dtype.numpy).itemsize
    wide = _UNSIGNED[narrow * count]
    x = ctx.emit("bitcast", x, to=_UNSIGNED[narrow])
    factors = np.array([1 << (8 * narrow * i) for i in range(count)], wide.numpy)
    scaled = ctx.emit("mul", ctx.emit("cast", x, to=wide), ctx.const(factors))
    whole = ctx.emit("reduce_sum", scaled, axes=[x.type.rank - 1])
    return ctx.final("bitcast", whole, to=to)


def _parted(ctx: OperatorContext, x: Value, to: DType, count: int) -> Any:
    """Each element as `count` narrower ones along a new last axis, the lowest bytes first."""
    wide = np.dtype(x.type.dtype.numpy).itemsize
    x = ctx.emit("bitcast", x, to=_UNSIGNED[wide])
    column = ctx.emit("reshape", x, shape=(*x.type.shape, 1))
    bits = np.array([8 * wide // count * i for i in range(count)], _UNSIGNED[wide].numpy)
    shifted = ctx.emit("shift", column, ctx.const(bits), direction="right")
    low = ctx.emit("cast", shifted, to=_UNSIGNED[wide // count])
    return ctx.final("bitcast", low, to=to)


@tflite_op("SELECT", newest=4)
def select(ctx: OperatorContext) -> Any:
    """A condition of rank 1 chooses along the first axis of operands of a higher rank."""
    cond, a, b = ctx.plain(0), ctx.value(1), ctx.value(2)
    rank = a.type.rank
    if cond.type.rank == 1 and rank > 1:
        cond = ctx.emit("reshape", cond, shape=(cond.type.shape[0], *[1] * (rank - 1)))
    return ctx.final("where", cond, a, b)


@tflite_op("SELECT_V2", newest=2)
def select_v2(ctx: OperatorContext) -> Any:
    return ctx.final("where", ctx.plain(0), ctx.value(1), ctx.value(2))


@tflite_op("FAKE_QUANT", newest=2)
def fake_quant(ctx: OperatorContext) -> Any:
    """Rounded to one of 2^bits numbers between min and max, which are moved so that 0 is one of them.

    After TensorFlow's fake_quant_with_min_max_args.
    """
    low, high = float(ctx.option("min")), float(ctx.option("max"))
    steps = 2 ** int(ctx.option("num_bits", 8)) - 1
    first = 1 if ctx.option("narrow_range", False) else 0
    if not low < high:
        raise ctx.wrong(f"its range {low} to {high} is empty")
    scale = np.float32((np.float32(high) - np.float32(low)) / np.float32(steps - first))
    zero = np.float32(first) - np.float32(low) / scale
    zero = np.float32(min(max(np.floor(zero + np.float32(0.5)), first), steps))
    bottom, top = (np.float32((v - zero) * scale) for v in (np.float32(first), np.float32(steps)))
    inverse = np.float32(1) / scale
    x = ctx.emit("clamp", ctx.value(0), lo=float(bottom), hi=float(top))
    moved = ctx.emit("mul", ctx.emit("sub", x, ctx.const(bottom)), ctx.const(inverse))
    whole = ctx.emit("floor", ctx.emit("add", moved, ctx.const(np.float32(0.5))))
    return ctx.final("add", ctx.emit("mul", whole, ctx.const(scale)), ctx.const(bottom))


@tflite_op("DEQUANTIZE", newest=9)
def dequantize(ctx: OperatorContext) -> Any:
    x = ctx.value(0)
    if x.type.dtype in (DType.F16, DType.BF16):
        return widened(ctx, x)
    return ctx.final("identity", x)


def widened(ctx: OperatorContext, x: Value) -> Value:
    """A tensor of 16-bit floats in float32."""
    made: Value = ctx.final("cast", x, to=DType.F32)
    return made


@tflite_op("QUANTIZE", newest=6, differences=(_FEW_BITS,))
def quantize(ctx: OperatorContext) -> Any:
    """To the parameters of the output, from real numbers or from other parameters."""
    return ctx.value(0)


@tflite_op("DENSIFY")
def densify(ctx: OperatorContext) -> Any:
    """A sparse constant is dense once it is read."""
    return ctx.final("identity", ctx.value(0))
