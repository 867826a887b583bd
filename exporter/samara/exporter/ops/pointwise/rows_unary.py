# SPDX-License-Identifier: Apache-2.0
"""Elementwise operators of one operand."""

from __future__ import annotations

import math

import numpy as np

from samara.exporter.ops import exact_float, integer
from samara.exporter.ops import formula as f
from samara.exporter.ops import numeric as num
from samara.exporter.ops.autodiff import NO_GRAD
from samara.exporter.ops.cases import few, unary
from samara.exporter.ops.facts import ROUNDED, UNCHANGED, Eager, Post, Tolerance, Twin
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


_SIGNED = (*SIGNED, "f64", "i16")
_MAGNITUDES = (*_SIGNED, "u8", "u16", "u32", "u64")
_ALPHA = "slope or scale of the negative side"
_QS8 = Quant.per_tensor(0.25, 3)

identity = unary_row(
    "identity",
    1,
    "y = x",
    reference=lambda x: x.copy(),
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
    onnx=Twin("Identity"),
)
neg = unary_row(
    "neg",
    2,
    "y = -x; integers wrap",
    formula=lambda x: -x,
    dtypes=_SIGNED,
    grad=rules.neg,
    tolerance=UNCHANGED,
    eager=Eager.NUMPY,
    integer=integer.TABLE,
    cheap=True,
    onnx=Twin("Neg"),
    exact="same",
)
abs_ = unary_row(
    "abs",
    3,
    "y = |x|; integers wrap",
    formula=f.absolute,
    dtypes=_MAGNITUDES,
    grad=rules.abs_,
    saves=("x",),
    tolerance=UNCHANGED,
    eager=Eager.NUMPY,
    integer=integer.TABLE,
    cheap=True,
    onnx=Twin("Abs"),
    exact="same",
)
sign = unary_row(
    "sign",
    4,
    "y = -1, 0 or 1; NaN stays NaN",
    formula=lambda x: f.select(x < 0, -1, f.select(x > 0, 1, x)),
    double=lambda x: f.select(x > 0, 1, f.select(x < 0, -1, f.select(f.equal(x, 0), 0, x))),
    reference=in_f32(np.sign),
    dtypes=_MAGNITUDES,
    grad=flat,
    tolerance=UNCHANGED,
    eager=Eager.LARGE,
    integer=integer.TABLE,
    onnx=Twin("Sign"),
    exact=lambda x: np.where(x < 0, x.dtype.type(-1), np.where(x > 0, x.dtype.type(1), x)),
)
ceil = unary_row(
    "ceil",
    5,
    "y = x rounded towards plus infinity",
    formula=f.ceil,
    grad=flat,
    tolerance=UNCHANGED,
    eager=Eager.NUMPY,
    integer=integer.TABLE,
    onnx=Twin("Ceil"),
    exact="same",
)
floor = unary_row(
    "floor",
    6,
    "y = x rounded towards minus infinity",
    formula=f.floor,
    grad=flat,
    tolerance=UNCHANGED,
    eager=Eager.NUMPY,
    integer=integer.TABLE,
    onnx=Twin("Floor"),
    exact="same",
)
round_ = unary_row(
    "round",
    7,
    "y = x rounded to the nearest integer, halves to even",
    formula=f.rint,
    cases=(
        *unary(EVERY_FLOAT, turn=1),
        Case((np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997], np.float32),)),
    ),
    grad=flat,
    tolerance=UNCHANGED,
    eager=Eager.LARGE,
    integer=integer.TABLE,
    onnx=Twin("Round"),
    exact="same",
)
exp = unary_row(
    "exp",
    8,
    "y = e**x",
    formula=f.exp,
    flops=8,
    grad=rules.exp,
    saves=("y",),
    eager=Eager.NUMPY,
    integer=integer.STEEP,
    onnx=Twin("Exp"),
    exact=exact_float.exp,
)
log = unary_row(
    "log",
    9,
    "y = ln x",
    formula=f.log,
    low=0.01,
    high=20,
    flops=8,
    grad=rules.log,
    saves=("x",),
    eager=Eager.NUMPY,
    integer=integer.STEEP,
    onnx=Twin("Log"),
    exact=exact_float.log,
)
sqrt = unary_row(
    "sqrt",
    10,
    "y = square root of x",
    formula=f.sqrt,
    low=0,
    high=9,
    grad=rules.sqrt,
    saves=("y",),
    tolerance=ROUNDED,
    eager=Eager.NUMPY,
    integer=integer.TABLE,
    onnx=Twin("Sqrt"),
    exact="same",
)
rsqrt = unary_row(
    "rsqrt",
    11,
    "y = 1 / sqrt(x)",
    formula=lambda x: 1 / f.sqrt(x),
    low=0.05,
    high=9,
    flops=2,
    grad=rules.rsqrt,
    saves=("y",),
    eager=Eager.LARGE,
    integer=integer.STEEP,
    exact="same",
)
reciprocal = unary_row(
    "reciprocal",
    12,
    "y = 1 / x",
    formula=lambda x: 1 / x,
    low=0.1,
    high=4,
    grad=rules.reciprocal,
    saves=("y",),
    eager=Eager.LARGE,
    integer=integer.STEEP,
    onnx=Twin("Reciprocal"),
    exact="same",
)
sin = unary_row(
    "sin",
    13,
    "y = sin x",
    formula=f.sin,
    low=-7,
    high=7,
    flops=10,
    grad=rules.sin,
    saves=("x",),
    eager=Eager.NUMPY,
    integer=integer.TABLE,
    onnx=Twin("Sin"),
)
cos = unary_row(
    "cos",
    14,
    "y = cos x",
    formula=f.cos,
    low=-7,
    high=7,
    flops=10,
    grad=rules.cos,
    saves=("x",),
    eager=Eager.NUMPY,
    integer=integer.TABLE,
    onnx=Twin("Cos"),
)
tan = unary_row(
    "tan",
    15,
    "y = tan x",
    formula=f.tan,
    low=-1.4,
    high=1.4,
    flops=12,
    grad=rules.tan,
    saves=("y",),
    tolerance=Tolerance(2e-06, 1e-05),
    eager=Eager.LARGE,
    integer=integer.STEEP,
    onnx=Twin("Tan"),
)
asin = unary_row(
    "asin",
    16,
    "y = arc sine of x",
    formula=f.asin,
    low=-1,
    high=1,
    flops=12,
    grad=rules.asin,
    saves=("x",),
    eager=Eager.LARGE,
    integer=integer.STEEP,
    onnx=Twin("Asin"),
)
acos = unary_row(
    "acos",
    17,
    "y = arc cosine of x",
    formula=f.acos,
    low=-1,
    high=1,
    flops=12,
    grad=rules.acos,
    saves=("x",),
    eager=Eager.LARGE,
    integer=integer.STEEP,
    onnx=Twin("Acos"),
)
atan = unary_row(
    "atan",
    18,
    "y = arc tangent of x",
    formula=f.atan,
    flops=12,
    grad=rules.atan,
    saves=("x",),
    eager=Eager.LARGE,
    integer=integer.TABLE,
    onnx=Twin("Atan"),
)
sinh = unary_row(
    "sinh",
    19,
    "y = sinh x",
    formula=f.sinh,
    flops=10,
    grad=rules.sinh,
    saves=("x",),
    tolerance=Tolerance(1e-06, 4e-06),
    eager=Eager.LARGE,
    integer=integer.STEEP,
    onnx=Twin("Sinh"),
)
cosh = unary_row(
    "cosh",
    20,
    "y = cosh x",
    formula=f.cosh,
    flops=10,
    grad=rules.cosh,
    saves=("x",),
    tolerance=Tolerance(1e-06, 4e-06),
    eager=Eager.LARGE,
    integer=integer.STEEP,
    onnx=Twin("Cosh"),
)
tanh = unary_row(
    "tanh",
    21,
    "y = tanh x",
    formula=f.tanh,
    low=-5,
    high=5,
    flops=10,
    grad=curves.tanh,
    saves=("y",),
    eager=Eager.NUMPY,
    posts=(Post("tanh"),),
    integer=integer.TABLE,
    onnx=Twin("Tanh"),
    exact=exact_float.tanh,
)
asinh = unary_row(
    "asinh",
    22,
    "y = inverse of sinh",
    formula=f.asinh,
    flops=12,
    grad=rules.asinh,
    saves=("x",),
    eager=Eager.LARGE,
    integer=integer.TABLE,
    onnx=Twin("Asinh"),
)
acosh = unary_row(
    "acosh",
    23,
    "y = inverse of cosh",
    formula=f.acosh,
    low=1,
    high=9,
    flops=12,
    grad=rules.acosh,
    saves=("x",),
    eager=Eager.LARGE,
    integer=integer.STEEP,
    onnx=Twin("Acosh"),
)
atanh = unary_row(
    "atanh",
    24,
    "y = inverse of tanh",
    formula=f.atanh,
    low=-0.95,
    high=0.95,
    flops=12,
    grad=rules.atanh,
    saves=("x",),
    eager=Eager.LARGE,
    integer=integer.STEEP,
    onnx=Twin("Atanh"),
)
erf = unary_row(
    "erf",
    25,
    "y = error function of x",
    formula=f.erf,
    low=-4,
    high=4,
    flops=12,
    grad=rules.erf,
    saves=("x",),
    eager=Eager.LARGE,
    integer=integer.TABLE,
    onnx=Twin("Erf"),
    exact=exact_float.erf,
)
sigmoid = unary_row(
    "sigmoid",
    26,
    "y = 1 / (1 + e**-x)",
    formula=f.sigmoid,
    low=-9,
    high=9,
    flops=10,
    grad=curves.sigmoid,
    saves=("y",),
    eager=Eager.LARGE,
    posts=(Post("sigmoid"),),
    integer=integer.TABLE,
    onnx=Twin("Sigmoid"),
    exact=exact_float.sigmoid,
)
relu = unary_row(
    "relu",
    27,
    "y = max(x, 0)",
    formula=lambda x: f.maximum(0, x),
    dtypes=_SIGNED,
    grad=curves.relu,
    saves=("y",),
    tolerance=UNCHANGED,
    eager=Eager.NUMPY,
    clamps=lambda attrs: (0.0, INF),
    integer=integer.CLAMP,
    homogeneous=True,
    onnx=Twin("Relu"),
    exact=exact_float.relu,
)
leaky_relu = unary_row(
    "leaky_relu",
    28,
    "y = x if x >= 0 else alpha * x",
    formula=lambda x, alpha: f.select(x >= 0, x, x * alpha),
    attrs=(Attr("alpha", "f32", 0.01, doc=_ALPHA),),
    cases=few(EVERY_FLOAT, ({}, {"alpha": 0.2}, {"alpha": -1.5})),
    grad=curves.leaky_relu,
    saves=("x",),
    eager=Eager.LARGE,
    posts=(Post("leaky_relu", takes={"post_alpha": "alpha"}),),
    integer=integer.TABLE,
    homogeneous=True,
    onnx=Twin("LeakyRelu", ("alpha",)),
    exact="same",
)
elu = unary_row(
    "elu",
    29,
    "y = x if x > 0 else alpha * (e**x - 1)",
    formula=lambda x, alpha: f.select(x >= 0, x, alpha * f.expm1_negative(x)),
    double=lambda x, alpha: f.select(x > 0, x, alpha * f.expm1_negative(x)),
    reference=in_f32(num.elu),
    attrs=(Attr("alpha", "f32", 1.0, doc=_ALPHA),),
    cases=few(EVERY_FLOAT, ({}, {"alpha": 0.3})),
    flops=10,
    grad=curves.elu,
    saves=("x",),
    eager=Eager.LARGE,
    posts=(Post("elu", takes={"post_alpha": "alpha"}),),
    integer=integer.TABLE,
    onnx=Twin("Elu", ("alpha",)),
)
softplus = unary_row(
    "softplus",
    30,
    "y = ln(1 + e**x)",
    formula=lambda x: f.maximum(0, x) + f.log1p_unit(f.exp(-f.absolute(x))),
    low=-20,
    high=20,
    flops=16,
    grad=curves.softplus,
    saves=("x",),
    eager=Eager.LARGE,
    integer=integer.TABLE,
    onnx=Twin("Softplus"),
)


def _gelu(x: f.Number) -> f.Number:
    return (x * 0.5) * (f.erf(x * math.sqrt(0.5)) + 1)


def _gelu_tanh(x: f.Number) -> f.Number:
    inner = f.fma(x * x * x, 0.044715, x) * math.sqrt(2 / math.pi)
    return (x * 0.5) * (f.tanh(inner) + 1)


def _gelu_tanh_double(x: f.Number) -> f.Number:
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1 + f.tanh(inner))


gelu = unary_row(
    "gelu",
    31,
    "y = x * Phi(x), Phi the normal distribution",
    formula=(
        f.formula("gelu", _gelu, when={"approximate": "none"}),
        f.formula("gelu_tanh", _gelu_tanh, double=_gelu_tanh_double, when={"approximate": "tanh"}),
    ),
    reference=in_f32(
        lambda x, approximate: num.gelu(x) if approximate == "none" else num.gelu_tanh(x)
    ),
    attrs=(Attr("approximate", "enum", "none", ("none", "tanh"), "tanh: the tanh formula"),),
    cases=few(EVERY_FLOAT, ({}, {"approximate": "tanh"}), -4, 4),
    flops=14,
    grad=curves.gelu,
    saves=("x",),
    eager=Eager.LARGE,
    posts=(Post("gelu", {"approximate": "none"}), Post("gelu_tanh", {"approximate": "tanh"})),
    integer=integer.TABLE,
    onnx=Twin("Gelu", ("approximate",)),
    exact=lambda x, approximate: (
        exact_float.gelu(x) if approximate == "none" else exact_float.gelu_tanh(x)
    ),
)
hard_sigmoid = unary_row(
    "hard_sigmoid",
    32,
    "y = clamp(alpha * x + beta, 0, 1)",
    formula=lambda x, alpha, beta: f.clamp(alpha * x + beta, 0, 1),
    attrs=(Attr("alpha", "f32", 0.2), Attr("beta", "f32", 0.5)),
    cases=few(EVERY_FLOAT, ({}, {"alpha": 1 / 6, "beta": 0.25}), -5, 5),
    flops=4,
    grad=curves.hard_sigmoid,
    saves=("y",),
    eager=Eager.LARGE,
    posts=(Post("hard_sigmoid", takes={"post_alpha": "alpha", "post_beta": "beta"}),),
    integer=integer.TABLE,
    onnx=Twin("HardSigmoid", ("alpha", "beta")),
)
hard_swish = unary_row(
    "hard_swish",
    33,
    "y = x * clamp(x / 6 + 1/2, 0, 1)",
    formula=lambda x: x * f.clamp(x * (1 / 6) + 0.5, 0, 1),
    double=lambda x: x * f.clamp(x / 6 + 0.5, 0, 1),
    low=-5,
    high=5,
    flops=5,
    grad=curves.hard_swish,
    saves=("x",),
    eager=Eager.LARGE,
    posts=(Post("hard_swish"),),
    integer=integer.TABLE,
    onnx=Twin("HardSwish"),
)
silu = unary_row(
    "silu",
    34,
    "y = x / (1 + e**-x)",
    formula=lambda x: x * f.sigmoid(x),
    low=-6,
    high=6,
    flops=11,
    grad=curves.silu,
    saves=("x",),
    eager=Eager.LARGE,
    posts=(Post("silu"),),
    integer=integer.TABLE,
    exact=exact_float.silu,
)
clamp = unary_row(
    "clamp",
    35,
    "y = min(max(x, lo), hi); NaN stays NaN",
    formula=lambda x, lo, hi: f.clamp(x, lo, hi),
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
    exact=lambda x, lo, hi, open: exact_float.clamp(x, lo, hi),
)
logical_not = unary_row(
    "logical_not",
    36,
    "y = not x",
    reference=np.logical_not,
    dtypes=("bool",),
    grad=NO_GRAD,
    eager=Eager.NUMPY,
    cheap=True,
    onnx=Twin("Not"),
)
bitwise_not = unary_row(
    "bitwise_not",
    37,
    "y = ~x",
    reference=np.invert,
    dtypes=EVERY_INT,
    grad=NO_GRAD,
    onnx=Twin("BitwiseNot"),
)

_SPECIAL = np.array([0, -0.0, 1, np.nan, np.inf, -np.inf, -np.nan, 3e38], np.float32)
_SPECIAL_F16 = np.array([0, -0.0, 1, np.nan, np.inf, -np.inf, -np.nan, 6e4], np.float16)


def _isinf(x: Array, *, negative: bool, positive: bool) -> Array:
    return np.asarray((np.isposinf(x) & positive) | (np.isneginf(x) & negative))


isnan = unary_row(
    "isnan",
    38,
    "y = whether x is NaN",
    reference=np.isnan,
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
    onnx=Twin("IsNaN"),
    exact="same",
)
isinf = unary_row(
    "isinf",
    39,
    "y = whether x is an infinity of a chosen sign",
    reference=_isinf,
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
    exact="same",
)
