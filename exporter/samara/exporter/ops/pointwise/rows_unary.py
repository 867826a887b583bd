# SPDX-License-Identifier: Apache-2.0
"""Operators of one operand that work element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from samara.exporter.ops import integer
from samara.exporter.ops import numeric as num
from samara.exporter.ops.autodiff import NO_GRAD
from samara.exporter.ops.cases import few, unary
from samara.exporter.ops.facts import ROUNDED, UNCHANGED, Eager, Post, Tolerance
from samara.exporter.ops.grad_tools import flat
from samara.exporter.ops.numeric import Array, in_f32
from samara.exporter.ops.pointwise import grad_activation as curves
from samara.exporter.ops.pointwise import grad_unary as rules
from samara.exporter.ops.pointwise.elementwise import unary_row
from samara.exporter.ops.shape_rules import (
    ALL,
    EVERY_FLOAT,
    EVERY_INT,
    MORE,
    MOVED,
    PACKED,
    SIGNED,
    same_as,
)
from samara.exporter.ops.spec import Attr, Case
from samara.exporter.types import DType, Quant

INF = math.inf


def _f(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A reference that only floats reach."""

    def reference(x: Array, **attrs: Any) -> Array:
        return np.asarray(fn(x, **attrs), dtype=x.dtype)

    return in_f32(reference)


_SIGNED = (*SIGNED, "f64", "i16")
_MAGNITUDES = (*_SIGNED, "u8", "u16", "u32", "u64")
_ALPHA = "slope or scale of the negative side"
_QS8 = Quant.per_tensor(0.25, 3)

identity = unary_row(
    "identity",
    1,
    lambda x: x.copy(),
    "y = x",
    dtypes=(*MOVED, *PACKED),
    cases=(
        *unary(ALL),
        *(Case(((d, (2, 17)),)) for d in MORE),
        *(Case(((d, s),)) for d in PACKED for s in ((3, 5), ())),
        Case((("qs8", (2, 17), _QS8),)),
        Case((("qs8", (), _QS8),)),
    ),
    grad=rules.identity,
    is_alias=True,
    tolerance=UNCHANGED,
    eager=Eager.NUMPY,
    is_view=True,
    integer=integer.MOVED,
    copies=True,
    cheap=True,
    homogeneous=True,
)
neg = unary_row(
    "neg",
    2,
    in_f32(np.negative),
    "y = -x; integers wrap",
    dtypes=_SIGNED,
    grad=rules.neg,
    tolerance=UNCHANGED,
    eager=Eager.NUMPY,
    integer=integer.TABLE,
    cheap=True,
)
abs_ = unary_row(
    "abs",
    3,
    in_f32(np.abs),
    "y = |x|; integers wrap",
    dtypes=_MAGNITUDES,
    grad=rules.abs_,
    saves=("x",),
    tolerance=UNCHANGED,
    eager=Eager.NUMPY,
    integer=integer.TABLE,
    cheap=True,
)
sign = unary_row(
    "sign",
    4,
    in_f32(np.sign),
    "y = -1, 0 or 1; NaN stays NaN",
    dtypes=_MAGNITUDES,
    grad=flat,
    tolerance=UNCHANGED,
    eager=Eager.LARGE,
    integer=integer.TABLE,
)
ceil = unary_row(
    "ceil",
    5,
    _f(np.ceil),
    "y = x rounded towards plus infinity",
    grad=flat,
    tolerance=UNCHANGED,
    eager=Eager.NUMPY,
    integer=integer.TABLE,
)
floor = unary_row(
    "floor",
    6,
    _f(np.floor),
    "y = x rounded towards minus infinity",
    grad=flat,
    tolerance=UNCHANGED,
    eager=Eager.NUMPY,
    integer=integer.TABLE,
)
round_ = unary_row(
    "round",
    7,
    _f(np.rint),
    "y = x rounded to the nearest integer, halves to even",
    cases=(
        *unary(EVERY_FLOAT, turn=1),
        Case((np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997], np.float32),)),
    ),
    grad=flat,
    tolerance=UNCHANGED,
    eager=Eager.LARGE,
    integer=integer.TABLE,
)
exp = unary_row(
    "exp",
    8,
    _f(np.exp),
    "y = e**x",
    flops=8,
    grad=rules.exp,
    saves=("y",),
    eager=Eager.NUMPY,
    integer=integer.STEEP,
)
log = unary_row(
    "log",
    9,
    _f(np.log),
    "y = ln x",
    low=0.01,
    high=20,
    flops=8,
    grad=rules.log,
    saves=("x",),
    eager=Eager.NUMPY,
    integer=integer.STEEP,
)
sqrt = unary_row(
    "sqrt",
    10,
    _f(np.sqrt),
    "y = square root of x",
    low=0,
    high=9,
    grad=rules.sqrt,
    saves=("y",),
    tolerance=ROUNDED,
    eager=Eager.NUMPY,
    integer=integer.TABLE,
)
rsqrt = unary_row(
    "rsqrt",
    11,
    _f(lambda x: 1 / np.sqrt(x)),
    "y = 1 / sqrt(x)",
    low=0.05,
    high=9,
    flops=2,
    grad=rules.rsqrt,
    saves=("y",),
    eager=Eager.LARGE,
    integer=integer.STEEP,
)
reciprocal = unary_row(
    "reciprocal",
    12,
    _f(lambda x: 1 / x),
    "y = 1 / x",
    low=0.1,
    high=4,
    grad=rules.reciprocal,
    saves=("y",),
    eager=Eager.LARGE,
    integer=integer.STEEP,
)
sin = unary_row(
    "sin",
    13,
    _f(np.sin),
    "y = sin x",
    low=-7,
    high=7,
    flops=10,
    grad=rules.sin,
    saves=("x",),
    eager=Eager.NUMPY,
    integer=integer.TABLE,
)
cos = unary_row(
    "cos",
    14,
    _f(np.cos),
    "y = cos x",
    low=-7,
    high=7,
    flops=10,
    grad=rules.cos,
    saves=("x",),
    eager=Eager.NUMPY,
    integer=integer.TABLE,
)
tan = unary_row(
    "tan",
    15,
    _f(np.tan),
    "y = tan x",
    low=-1.4,
    high=1.4,
    flops=12,
    grad=rules.tan,
    saves=("y",),
    tolerance=Tolerance(2e-06, 1e-05),
    eager=Eager.LARGE,
    integer=integer.STEEP,
)
asin = unary_row(
    "asin",
    16,
    _f(np.arcsin),
    "y = arc sine of x",
    low=-1,
    high=1,
    flops=12,
    grad=rules.asin,
    saves=("x",),
    eager=Eager.LARGE,
    integer=integer.STEEP,
)
acos = unary_row(
    "acos",
    17,
    _f(np.arccos),
    "y = arc cosine of x",
    low=-1,
    high=1,
    flops=12,
    grad=rules.acos,
    saves=("x",),
    eager=Eager.LARGE,
    integer=integer.STEEP,
)
atan = unary_row(
    "atan",
    18,
    _f(np.arctan),
    "y = arc tangent of x",
    flops=12,
    grad=rules.atan,
    saves=("x",),
    eager=Eager.LARGE,
    integer=integer.TABLE,
)
sinh = unary_row(
    "sinh",
    19,
    _f(np.sinh),
    "y = sinh x",
    flops=10,
    grad=rules.sinh,
    saves=("x",),
    tolerance=Tolerance(1e-06, 4e-06),
    eager=Eager.LARGE,
    integer=integer.STEEP,
)
cosh = unary_row(
    "cosh",
    20,
    _f(np.cosh),
    "y = cosh x",
    flops=10,
    grad=rules.cosh,
    saves=("x",),
    tolerance=Tolerance(1e-06, 4e-06),
    eager=Eager.LARGE,
    integer=integer.STEEP,
)
tanh = unary_row(
    "tanh",
    21,
    _f(np.tanh),
    "y = tanh x",
    low=-5,
    high=5,
    flops=10,
    grad=curves.tanh,
    saves=("y",),
    eager=Eager.NUMPY,
    posts=(Post("tanh"),),
    integer=integer.TABLE,
)
asinh = unary_row(
    "asinh",
    22,
    _f(np.arcsinh),
    "y = inverse of sinh",
    flops=12,
    grad=rules.asinh,
    saves=("x",),
    integer=integer.TABLE,
)
acosh = unary_row(
    "acosh",
    23,
    _f(np.arccosh),
    "y = inverse of cosh",
    low=1,
    high=9,
    flops=12,
    grad=rules.acosh,
    saves=("x",),
    integer=integer.STEEP,
)
atanh = unary_row(
    "atanh",
    24,
    _f(np.arctanh),
    "y = inverse of tanh",
    low=-0.95,
    high=0.95,
    flops=12,
    grad=rules.atanh,
    saves=("x",),
    integer=integer.STEEP,
)
erf = unary_row(
    "erf",
    25,
    _f(num.erf),
    "y = error function of x",
    low=-4,
    high=4,
    flops=12,
    grad=rules.erf,
    saves=("x",),
    eager=Eager.LARGE,
    integer=integer.TABLE,
)
sigmoid = unary_row(
    "sigmoid",
    26,
    _f(num.sigmoid),
    "y = 1 / (1 + e**-x)",
    low=-9,
    high=9,
    flops=10,
    grad=curves.sigmoid,
    saves=("y",),
    eager=Eager.LARGE,
    posts=(Post("sigmoid"),),
    integer=integer.TABLE,
)
relu = unary_row(
    "relu",
    27,
    in_f32(lambda x: np.maximum(x, x.dtype.type(0))),
    "y = max(x, 0)",
    dtypes=_SIGNED,
    grad=curves.relu,
    saves=("y",),
    tolerance=UNCHANGED,
    eager=Eager.NUMPY,
    clamps=lambda attrs: (0.0, INF),
    integer=integer.CLAMP,
    homogeneous=True,
)
leaky_relu = unary_row(
    "leaky_relu",
    28,
    _f(num.leaky_relu),
    "y = x if x >= 0 else alpha * x",
    attrs=(Attr("alpha", "f32", 0.01, doc=_ALPHA),),
    cases=few(EVERY_FLOAT, ({}, {"alpha": 0.2}, {"alpha": -1.5})),
    grad=curves.leaky_relu,
    saves=("x",),
    eager=Eager.LARGE,
    posts=(Post("leaky_relu", takes={"post_alpha": "alpha"}),),
    integer=integer.TABLE,
    homogeneous=True,
)
elu = unary_row(
    "elu",
    29,
    _f(num.elu),
    "y = x if x > 0 else alpha * (e**x - 1)",
    attrs=(Attr("alpha", "f32", 1.0, doc=_ALPHA),),
    cases=few(EVERY_FLOAT, ({}, {"alpha": 0.3})),
    flops=10,
    grad=curves.elu,
    saves=("x",),
    eager=Eager.LARGE,
    posts=(Post("elu", takes={"post_alpha": "alpha"}),),
    integer=integer.TABLE,
)
softplus = unary_row(
    "softplus",
    30,
    _f(lambda x: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, x.dtype.type(0))),
    "y = ln(1 + e**x)",
    low=-20,
    high=20,
    flops=16,
    grad=curves.softplus,
    saves=("x",),
    eager=Eager.LARGE,
    integer=integer.TABLE,
)
gelu = unary_row(
    "gelu",
    31,
    _f(lambda x, approximate: num.gelu(x) if approximate == "none" else num.gelu_tanh(x)),
    "y = x * Phi(x), Phi the normal distribution",
    attrs=(Attr("approximate", "enum", "none", ("none", "tanh"), "tanh: the tanh formula"),),
    cases=few(EVERY_FLOAT, ({}, {"approximate": "tanh"}), -4, 4),
    flops=14,
    grad=curves.gelu,
    saves=("x",),
    eager=Eager.LARGE,
    posts=(Post("gelu", {"approximate": "none"}), Post("gelu_tanh", {"approximate": "tanh"})),
    integer=integer.TABLE,
)
hard_sigmoid = unary_row(
    "hard_sigmoid",
    32,
    _f(num.hard_sigmoid),
    "y = clamp(alpha * x + beta, 0, 1)",
    attrs=(Attr("alpha", "f32", 0.2), Attr("beta", "f32", 0.5)),
    cases=few(EVERY_FLOAT, ({}, {"alpha": 1 / 6, "beta": 0.25}), -5, 5),
    flops=4,
    grad=curves.hard_sigmoid,
    saves=("y",),
    eager=Eager.LARGE,
    posts=(Post("hard_sigmoid", takes={"post_alpha": "alpha", "post_beta": "beta"}),),
    integer=integer.TABLE,
)
hard_swish = unary_row(
    "hard_swish",
    33,
    _f(num.hard_swish),
    "y = x * clamp(x / 6 + 1/2, 0, 1)",
    low=-5,
    high=5,
    flops=5,
    grad=curves.hard_swish,
    saves=("x",),
    eager=Eager.LARGE,
    posts=(Post("hard_swish"),),
    integer=integer.TABLE,
)
silu = unary_row(
    "silu",
    34,
    _f(lambda x: x * num.sigmoid(x)),
    "y = x / (1 + e**-x)",
    low=-6,
    high=6,
    flops=11,
    grad=curves.silu,
    saves=("x",),
    eager=Eager.LARGE,
    posts=(Post("silu"),),
    integer=integer.TABLE,
)
clamp = unary_row(
    "clamp",
    35,
    _f(lambda x, lo, hi, open: num.clamp(x, lo, hi)),
    "y = min(max(x, lo), hi); NaN stays NaN",
    attrs=(
        Attr("lo", "f32", -INF),
        Attr("hi", "f32", INF),
        Attr("open", "bool", False, doc="the gradient is 0 at lo and hi too"),
    ),
    cases=few(
        EVERY_FLOAT,
        ({}, {"lo": 0.0, "hi": 1.0}, {"lo": -0.5}, {"hi": 0.25, "open": True}),
    ),
    flops=2,
    grad=curves.clamp,
    saves=("x",),
    tolerance=UNCHANGED,
    eager=Eager.LARGE,
    clamps=lambda attrs: (attrs["lo"], attrs["hi"]),
    integer=integer.CLAMP,
    masks=True,
    cheap=True,
)
logical_not = unary_row(
    "logical_not",
    36,
    np.logical_not,
    "y = not x",
    dtypes=("bool",),
    grad=NO_GRAD,
    eager=Eager.NUMPY,
    cheap=True,
)
bitwise_not = unary_row("bitwise_not", 37, np.invert, "y = ~x", dtypes=EVERY_INT, grad=NO_GRAD)

_SPECIAL = np.array([0, -0.0, 1, np.nan, np.inf, -np.inf, -np.nan, 3e38], np.float32)
_SPECIAL_F16 = np.array([0, -0.0, 1, np.nan, np.inf, -np.inf, -np.nan, 6e4], np.float16)


def _isinf(x: Array, *, negative: bool, positive: bool) -> Array:
    return np.asarray((np.isposinf(x) & positive) | (np.isneginf(x) & negative))


isnan = unary_row(
    "isnan",
    38,
    np.isnan,
    "y = whether x is NaN",
    infer=same_as(DType.BOOL),
    cases=(
        *unary(EVERY_FLOAT, turn=0),
        Case((_SPECIAL,)),
        Case((_SPECIAL_F16,)),
        Case((_SPECIAL.astype(np.float64),)),
    ),
    flags=frozenset(),
    grad=NO_GRAD,
    tolerance=UNCHANGED,
    cheap=True,
)
isinf = unary_row(
    "isinf",
    39,
    _isinf,
    "y = whether x is an infinity of a sign that is asked for",
    attrs=(Attr("negative", "bool", True), Attr("positive", "bool", True)),
    infer=same_as(DType.BOOL),
    cases=(
        *few(EVERY_FLOAT),
        Case((_SPECIAL,)),
        Case((_SPECIAL,), {"negative": False}),
        Case((_SPECIAL_F16,), {"positive": False}),
    ),
    flags=frozenset(),
    grad=NO_GRAD,
    tolerance=UNCHANGED,
)
