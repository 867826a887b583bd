# SPDX-License-Identifier: Apache-2.0
"""Operators of two or three operands that broadcast, and the sum that undoes broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from samara.exporter.ops import formula as f
from samara.exporter.ops import integer, permute_rules
from samara.exporter.ops.autodiff import NO_GRAD, Rule
from samara.exporter.ops.cases import PAIRS, binary
from samara.exporter.ops.facts import ROUNDED, UNCHANGED, Eager, Ends, Facts, Kind, Tolerance, Twin
from samara.exporter.ops.integer import Given, Integer, Role
from samara.exporter.ops.numeric import Array, in_f32, require_nonzero, wide
from samara.exporter.ops.pointwise import grad_binary as rules
from samara.exporter.ops.shape_rules import (
    EVERY_FLOAT,
    EVERY_INT,
    EVERY_NUMBER,
    MOVED,
    SUMMED,
    WHOLE,
    broadcast,
    broadcast_all,
    compare_all,
    moved,
    per_tensor,
    require_broadcasts_to,
    require_same_dtype,
)
from samara.exporter.ops.spec import Attr, Case, Infer, InferContext, OpSpec, define
from samara.exporter.types import Quant, TensorType


def _row(
    name: str,
    code: int,
    doc: str,
    *,
    formula: Callable[..., f.Number] | None = None,
    reference: Callable[..., Any] | None = None,
    dtypes: tuple[str, ...] = EVERY_NUMBER,
    attrs: tuple[Attr, ...] = (),
    infer: Infer = broadcast_all,
    inputs: tuple[str, ...] = ("a", "b"),
    spread: tuple[Case, ...] = (),
    cases: tuple[Case, ...] = (),
    grad: Rule = NO_GRAD,
    saves: tuple[str, ...] = (),
    since: str = "0.1.0",
    **facts: Unpack[Facts],
) -> OpSpec:
    """Declare an operator of two operands that broadcast.

    formula: the operator in float; its C code is generated from it. reference: by default the formula.
    """
    formulas = () if formula is None else (f.formula(name, formula, inputs=2),)
    return define(
        OpSpec(
            name=name,
            code=code,
            inputs=inputs,
            outputs=("y",),
            infer=infer,
            reference=in_f32(f.reference_of(formulas) if reference is None else reference),
            doc=doc,
            kind=Kind.POINTWISE,
            dtypes=dtypes,
            check="broadcast",
            attrs=attrs,
            formulas=formulas,
            permute="any",
            # If the output's dtype differs, equal byte sizes do not mean equal shapes.
            flags=frozenset() if infer is compare_all else frozenset({"inplace"}),
            grad=grad,
            saves=saves,
            since=since,
            cases=(*(spread if spread else binary(dtypes, turn=code)), *cases),
            **facts,
        )
    )


def _div(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.asarray(np.true_divide(a, b))
    require_nonzero("div", a, b)
    quotient = np.floor_divide(a, b)
    inexact = np.multiply(quotient, b) != a
    return np.asarray(quotient + (inexact & ((a < 0) != (b < 0))).astype(a.dtype))


def _mod(a: Array, b: Array, *, fmod: bool) -> Array:
    require_nonzero("mod", a, b)
    return np.asarray(np.fmod(a, b) if fmod else np.mod(a, b))


def _pow(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.asarray(np.power(a, b))
    base, exponent = np.broadcast_arrays(a, b)
    result = np.ones(base.shape, a.dtype)
    square, left = base.copy(), np.maximum(exponent, 0).astype(np.uint64)
    for _ in range(64):
        result = np.where(left & 1, result * square, result)
        square, left = square * square, left >> 1
        if not left.any():
            break
    # 1 / base**n truncates to 0 unless the base is 1 or -1.
    unit = np.where(base == 1, 1, np.where(base == -1, 1 - 2 * (exponent & 1), 0))
    return np.asarray(np.where(exponent < 0, unit, result).astype(a.dtype))


def _shift(a: Array, b: Array, *, direction: str) -> Array:
    bits = a.dtype.itemsize * 8
    amount = b.astype(np.int64)
    outside = (amount < 0) | (amount >= bits)
    inside = np.where(outside, 0, amount).astype(a.dtype)
    if direction == "left":
        return np.asarray(np.where(outside, 0, np.left_shift(a, inside)).astype(a.dtype))
    gone = np.where(a < 0, ~np.zeros((), a.dtype), np.zeros((), a.dtype))
    return np.asarray(np.where(outside, gone, np.right_shift(a, inside)).astype(a.dtype))


_SIGNS = (
    np.array([7, -7, 7, -7, 0, -8, 5, -128], np.int8),
    np.array([2, 2, -2, -2, 3, -1, -5, 3], np.int8),
)
_SIGNED_CASES = tuple(
    (_SIGNS[0].astype(d), _SIGNS[1].astype(d))
    for d in (np.int8, np.int16, np.int32, np.int64, np.float32, np.float64)
)
# Values that become negative, or inexact in float64, if an unsigned integer is misread.
_TALL = tuple(
    (
        np.array([high, high, high // 2 + 1, 1, high - 1, 7], d),
        np.array([2, high, high // 2, high, 3, high], d),
    )
    for d in (np.uint8, np.uint16, np.uint32, np.uint64)
    for high in (int(np.iinfo(d).max),)
)
_TALL_CASES = tuple(Case(c) for c in _TALL[2:])
_WRAP = (np.array([127, -128, 100, -1], np.int8), np.array([1, -1, 100, -128], np.int8))
_NAN = (
    np.array([np.nan, 1, np.inf, -np.inf, np.nan], np.float32),
    np.array([1, np.nan, 2, 3, np.nan], np.float32),
)

_NAN64 = (_NAN[0].astype(np.float64), _NAN[1].astype(np.float64))


def _by_constant(given: Given) -> bool:
    return given.known(1) is not None


add = _row(
    "add",
    50,
    "y = a + b; integers wrap",
    formula=lambda a, b: a + b,
    cases=(Case(_WRAP),),
    grad=rules.add,
    tolerance=ROUNDED,
    eager=Eager.NUMPY,
    integer=Integer(Role.COMPUTED, "qadd", (0, 1), late=True),
    masks=True,
    cheap=True,
    device_c={"words": "a+b"},
    onnx=Twin("Add"),
    exact="same",
)
sub = _row(
    "sub",
    51,
    "y = a - b; integers wrap",
    formula=lambda a, b: a - b,
    cases=(Case(_WRAP),),
    grad=rules.sub,
    tolerance=ROUNDED,
    eager=Eager.NUMPY,
    integer=Integer(Role.COMPUTED, "qadd", (0, 1), {"subtract": True}, late=True),
    masks=True,
    cheap=True,
    device_c={"words": "a-b"},
    onnx=Twin("Sub"),
    exact="same",
)
mul = _row(
    "mul",
    52,
    "y = a * b; integers wrap",
    formula=lambda a, b: a * b,
    cases=(Case(_WRAP),),
    grad=rules.mul,
    saves=("a", "b"),
    tolerance=ROUNDED,
    eager=Eager.NUMPY,
    integer=Integer(Role.COMPUTED, "qmul", (0, 1), late=True),
    cheap=True,
    device_c={"words": "a*b"},
    onnx=Twin("Mul"),
    exact="same",
)
div = _row(
    "div",
    53,
    "y = a / b; integers truncate towards zero, and a divisor of 0 is an error",
    formula=lambda a, b: a / b,
    reference=_div,
    spread=binary(EVERY_NUMBER, low=0.5, high=9, turn=0),
    cases=(*(Case(c) for c in _SIGNED_CASES), *_TALL_CASES),
    grad=rules.div,
    saves=("b", "y"),
    tolerance=ROUNDED,
    eager=Eager.LARGE,
    integer=Integer(
        Role.COMPUTED, "qmul", options={"inverse": True}, fits=_by_constant, planned=False
    ),
    ends=Ends.INTEGERS,
    onnx=Twin("Div"),
    exact="same",
)
mod = _row(
    "mod",
    54,
    "y = a mod b with the sign of the divisor, or as C's fmod with that of the dividend;"
    " an integer divisor of 0 is an error",
    reference=_mod,
    attrs=(Attr("fmod", "bool", False, doc="sign of the dividend"),),
    spread=binary(EVERY_NUMBER, ({}, {"fmod": True}), low=0.5, high=9, turn=1),
    cases=tuple(Case(c, {"fmod": f}) for c in (*_SIGNED_CASES, _TALL[3]) for f in (False, True)),
    grad=rules.mod,
    saves=("a", "b", "y"),
    ends=Ends.INTEGERS,
)
pow_ = _row(
    "pow",
    55,
    "y = a ** b; integers wrap, and a negative integer power truncates towards zero",
    reference=_pow,
    spread=binary(EVERY_NUMBER, low=0.25, high=4, turn=2),
    cases=(
        Case((np.array([-3, -1, -1, 0, 1, 2, 2, 0]), np.array([3, -1, -2, 0, -5, -1, 62, -2]))),
        Case((np.array([-2.0, 0, 2, -8], np.float32), np.array([3, 0, -1, 2], np.float32))),
        Case((np.array([3, 2, 2**63 + 5], np.uint64), np.array([40, 64, 3], np.uint64))),
    ),
    grad=rules.pow_,
    saves=("a", "b", "y"),
    tolerance=Tolerance(1e-06, 1e-05),
    eager=Eager.NUMPY,
    ends=Ends.INTEGERS,
    device_c={"floats": "pow(a,b)"},
    onnx=Twin("Pow"),
)
_FIRST = Attr(
    "first", "bool", False, doc="a gets the whole gradient of equal operands, else both half"
)
_FIRST_CASE = Case((("f32", (3, 5)), ("f32", (5,))), {"first": True})
min_ = _row(
    "min",
    56,
    "y = min(a, b); NaN wins",
    formula=lambda a, b: f.select(f.is_nan(a), a, f.minimum(a, b)),
    reference=lambda a, b, first: np.minimum(a, b),
    attrs=(_FIRST,),
    cases=(Case(_NAN), Case(_NAN64), *_TALL_CASES, _FIRST_CASE),
    grad=rules.min_,
    saves=("a", "b"),
    tolerance=UNCHANGED,
    eager=Eager.LARGE,
    masks=True,
    cheap=True,
    device_c={"integers": "LEAST(a,b)"},
    onnx=Twin("Min"),
)
max_ = _row(
    "max",
    57,
    "y = max(a, b); NaN wins",
    formula=lambda a, b: f.select(f.is_nan(a), a, f.maximum(a, b)),
    reference=lambda a, b, first: np.maximum(a, b),
    attrs=(_FIRST,),
    cases=(Case(_NAN), Case(_NAN64), *_TALL_CASES, _FIRST_CASE),
    grad=rules.max_,
    saves=("a", "b"),
    tolerance=UNCHANGED,
    eager=Eager.LARGE,
    masks=True,
    cheap=True,
    device_c={"integers": "MOST(a,b)"},
    onnx=Twin("Max"),
)
eq = _row(
    "eq",
    58,
    "y = a == b",
    reference=np.equal,
    dtypes=(*EVERY_NUMBER, "bool"),
    infer=compare_all,
    cases=(Case(_NAN),),
    tolerance=UNCHANGED,
    eager=Eager.NUMPY,
    masks=True,
    cheap=True,
    device_c={"numbers": "a==b"},
    onnx=Twin("Equal"),
    exact="same",
)
lt = _row(
    "lt",
    59,
    "y = a < b",
    reference=np.less,
    infer=compare_all,
    cases=(Case(_NAN), Case(_NAN64), *_TALL_CASES),
    tolerance=UNCHANGED,
    eager=Eager.NUMPY,
    masks=True,
    cheap=True,
    device_c={"numbers": "a<b"},
    onnx=Twin("Less"),
    exact="same",
)
le = _row(
    "le",
    60,
    "y = a <= b",
    reference=np.less_equal,
    infer=compare_all,
    cases=(Case(_NAN), Case(_NAN64), *_TALL_CASES),
    tolerance=UNCHANGED,
    eager=Eager.NUMPY,
    masks=True,
    cheap=True,
    device_c={"numbers": "a<=b"},
    onnx=Twin("LessOrEqual"),
    exact="same",
)


def _whole_row(
    name: str,
    code: int,
    reference: Callable[..., Any],
    doc: str,
    dtypes: tuple[str, ...],
    **facts: Unpack[Facts],
) -> OpSpec:
    """The cases of a row with few dtypes: every class of broadcasting."""
    return _row(name, code, doc, reference=reference, dtypes=dtypes, spread=binary(dtypes), **facts)


logical_and = _whole_row(
    "logical_and",
    61,
    np.logical_and,
    "y = a and b",
    ("bool",),
    eager=Eager.NUMPY,
    cheap=True,
    device_c={"bools": "((a!=0)&&(b!=0))"},
    onnx=Twin("And"),
)
logical_or = _whole_row(
    "logical_or",
    62,
    np.logical_or,
    "y = a or b",
    ("bool",),
    eager=Eager.NUMPY,
    cheap=True,
    device_c={"bools": "((a!=0)||(b!=0))"},
    onnx=Twin("Or"),
)
logical_xor = _whole_row(
    "logical_xor",
    63,
    np.logical_xor,
    "y = a != b, for bool",
    ("bool",),
    eager=Eager.NUMPY,
    device_c={"bools": "((a!=0)!=(b!=0))"},
    onnx=Twin("Xor"),
)


def _prelu_type(ctx: InferContext) -> tuple[TensorType, ...]:
    require_same_dtype(ctx, 0, 1)
    require_broadcasts_to(ctx, ctx.required(1).shape, ctx.x.shape)
    return (ctx.x,)


prelu = _row(
    "prelu",
    64,
    "y = x if x >= 0 else slope * x; slope broadcasts to x",
    formula=lambda x, slope: f.select(x >= 0, x, x * slope),
    dtypes=EVERY_FLOAT,
    inputs=("x", "slope"),
    infer=_prelu_type,
    spread=tuple(
        Case(((d, p), (d, q)))
        for d in EVERY_FLOAT
        for p, q in PAIRS
        if np.broadcast_shapes(p, q) == p and (d == "f32" or len(p) == 3)
    ),
    grad=rules.prelu,
    saves=("x", "slope"),
    eager=Eager.LARGE,
    onnx=Twin("PRelu"),
)
bitwise_and = _whole_row(
    "bitwise_and", 65, np.bitwise_and, "y = a & b", EVERY_INT, onnx=Twin("BitwiseAnd")
)
bitwise_or = _whole_row(
    "bitwise_or", 66, np.bitwise_or, "y = a | b", EVERY_INT, onnx=Twin("BitwiseOr")
)
bitwise_xor = _whole_row(
    "bitwise_xor", 67, np.bitwise_xor, "y = a ^ b", EVERY_INT, onnx=Twin("BitwiseXor")
)
shift = _row(
    "shift",
    68,
    "y = a << b or a >> b (arithmetic); a negative amount, or one of all bits and more, shifts everything out",
    reference=_shift,
    dtypes=EVERY_INT,
    attrs=(Attr("direction", "enum", "left", ("left", "right")),),
    spread=binary(EVERY_INT, ({}, {"direction": "right"}), low=0, high=9, turn=2),
    cases=tuple(
        Case((_SIGNS[0].astype(t), np.array([0, 1, 7, 8, 40, -1, 2, 63], t)), {"direction": d})
        for t in (np.int8, np.int64)
        for d in ("left", "right")
    )
    + tuple(
        Case((a, (b % 70).astype(a.dtype)), {"direction": d})
        for a, b in (_TALL[0], _TALL[3])
        for d in ("left", "right")
    ),
)
atan2 = _row(
    "atan2",
    69,
    "y = the angle of the point (b, a)",
    reference=np.arctan2,
    dtypes=EVERY_FLOAT,
    grad=rules.atan2,
    saves=("a", "b"),
    device_c={"floats": "atan2(a,b)"},
    onnx="ONNX has no two-argument arc tangent",
)


def _where_type(ctx: InferContext) -> tuple[TensorType, ...]:
    require_same_dtype(ctx, 1, 2)
    a = ctx.required(1)
    if a.dtype.short not in MOVED:
        raise ctx.error(f"a is {a.dtype.public_name}, which `where` does not support")
    shape = broadcast(ctx, ctx.x.shape, a.shape, ctx.required(2).shape)
    return (TensorType(a.dtype, shape, per_tensor(ctx, a.quant)),)


_QS8 = Quant.per_tensor(0.5, -7)
where = define(
    OpSpec(
        name="where",
        code=70,
        inputs=("cond", "a", "b"),
        outputs=("y",),
        infer=_where_type,
        reference=lambda cond, a, b: np.where(cond, a, b),
        doc="y = a where cond, else b; all three broadcast",
        dtypes=("bool",),
        check="broadcast",
        permute="any",
        grad=rules.where,
        saves=("cond",),
        cases=(
            *(Case((("bool", p), ("f32", p), ("f32", q))) for p, q in PAIRS),
            *(Case((("bool", q), ("f32", p), ("f32", ()))) for p, q in PAIRS[1:6]),
            *(Case((("bool", (3, 1)), (d, (1, 7)), (d, (7,)))) for d in WHOLE[1:]),
            Case((("bool", (5,)), ("qs8", (2, 5), _QS8), ("qs8", (), _QS8))),
        ),
        kind=Kind.POINTWISE,
        tolerance=UNCHANGED,
        eager=Eager.NUMPY,
        integer=integer.CHOSEN,
        copies=True,
        masks=True,
        cheap=True,
        onnx=Twin("Where"),
    )
)


def _sum_to_type(ctx: InferContext) -> tuple[TensorType, ...]:
    require_broadcasts_to(ctx, ctx.shape, ctx.x.shape)
    return (moved(ctx, ctx.shape),)


def _sum_to(x: Array, *, shape: tuple[int, ...]) -> Array:
    lead = x.ndim - len(shape)
    wide_x = wide(x).sum(axis=tuple(range(lead)), dtype=wide(x).dtype)
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and wide_x.shape[i] != 1)
    return np.asarray(wide_x.sum(axis=axes, keepdims=True, dtype=wide_x.dtype).astype(x.dtype))


sum_to = define(
    OpSpec(
        name="sum_to",
        code=71,
        inputs=("x",),
        outputs=("y",),
        infer=_sum_to_type,
        reference=in_f32(_sum_to),
        doc="y = x summed over the axes along which `shape` would broadcast to x's",
        dtypes=SUMMED,
        check="expand sum",
        attrs=(Attr("shape", "dims", doc="the output's shape"),),
        permute=permute_rules.summed,
        grad=rules.sum_to,
        cases=(
            *(
                Case((("f32", p),), {"shape": q})
                for p, q in PAIRS
                if np.broadcast_shapes(p, q) == p
            ),
            *(Case(((d, (2, 3, 5)),), {"shape": (3, 1)}) for d in SUMMED[1:]),
            Case((("f32", (4, 33)),), {"shape": ()}),
        ),
        kind=Kind.REDUCING,
        tolerance=Tolerance(1e-05, 1e-05),
        eager=Eager.NUMPY,
    )
)
