# SPDX-License-Identifier: Apache-2.0
"""Operators of one operand that work element by element."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ops import _grad_activation as curves
from samara.exporter.ops import _grad_unary as rules
from samara.exporter.ops import _numeric as num
from samara.exporter.ops._cases import SHAPES, few, unary
from samara.exporter.ops._grad import NO_GRAD, Rule
from samara.exporter.ops._grad_tools import flat
from samara.exporter.ops._numeric import Array, in_f32
from samara.exporter.ops._rules import ALL, FLOATS, INTS, MOVED, SIGNED, same, same_as
from samara.exporter.ops._spec import (
    Attr,
    Case,
    Cost,
    Infer,
    InferContext,
    OpSpec,
    bytes_of,
    define,
)
from samara.exporter.types import Dim, DType, Quant, TensorType

INF = math.inf


def _flops(per_element: int) -> Cost:
    def cost(
        attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> tuple[Dim, Dim]:
        return outputs[0].numel() * per_element, bytes_of(inputs, outputs)

    return cost


def _row(
    name: str,
    code: int,
    reference: Callable[..., Any],
    doc: str,
    *,
    dtypes: tuple[str, ...] = FLOATS,
    attrs: tuple[Attr, ...] = (),
    infer: Infer = same,
    low: float = -2.0,
    high: float = 2.0,
    cases: tuple[Case, ...] = (),
    flops: int = 1,
    flags: frozenset[str] = frozenset({"inplace"}),
    grad: Rule,
    saves: tuple[str, ...] = (),
) -> OpSpec:
    return define(
        OpSpec(
            name=name,
            code=code,
            inputs=("x",),
            outputs=("y",),
            infer=infer,
            reference=reference,
            doc=doc,
            dtypes=dtypes,
            check="same",
            attrs=attrs,
            permute="any",
            cost=_flops(flops),
            flags=flags,
            grad=grad,
            saves=saves,
            cases=cases if cases else unary(dtypes, low, high, code),
        )
    )


def _f(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A reference that only floats reach."""

    def reference(x: Array, **attrs: Any) -> Array:
        return np.asarray(fn(x, **attrs), dtype=x.dtype)

    return in_f32(reference)


_ALPHA = "slope or scale of the negative side"
_QS8 = Quant.per_tensor(0.25, 3)

identity = _row(
    "identity",
    1,
    lambda x: x.copy(),
    "y = x",
    dtypes=MOVED,
    cases=(*unary(ALL), Case((("qs8", (2, 17), _QS8),)), Case((("qs8", (), _QS8),))),
    grad=rules.identity,
)
neg = _row("neg", 2, in_f32(np.negative), "y = -x; integers wrap", dtypes=SIGNED, grad=rules.neg)
abs_ = _row(
    "abs", 3, in_f32(np.abs), "y = |x|; integers wrap", dtypes=SIGNED, grad=rules.abs_, saves=("x",)
)
sign = _row("sign", 4, in_f32(np.sign), "y = -1, 0 or 1; NaN stays NaN", dtypes=SIGNED, grad=flat)
ceil = _row("ceil", 5, _f(np.ceil), "y = x rounded towards plus infinity", grad=flat)
floor = _row("floor", 6, _f(np.floor), "y = x rounded towards minus infinity", grad=flat)
round_ = _row(
    "round",
    7,
    _f(np.rint),
    "y = x rounded to the nearest integer, halves to even",
    cases=(
        *unary(FLOATS, turn=1),
        Case((np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997], np.float32),)),
    ),
    grad=flat,
)
exp = _row("exp", 8, _f(np.exp), "y = e**x", flops=8, grad=rules.exp, saves=("y",))
log = _row(
    "log", 9, _f(np.log), "y = ln x", low=0.01, high=20, flops=8, grad=rules.log, saves=("x",)
)
sqrt = _row(
    "sqrt", 10, _f(np.sqrt), "y = square root of x", low=0, high=9, grad=rules.sqrt, saves=("y",)
)
rsqrt = _row(
    "rsqrt",
    11,
    _f(lambda x: 1 / np.sqrt(x)),
    "y = 1 / sqrt(x)",
    low=0.05,
    high=9,
    flops=2,
    grad=rules.rsqrt,
    saves=("y",),
)
reciprocal = _row(
    "reciprocal",
    12,
    _f(lambda x: 1 / x),
    "y = 1 / x",
    low=0.1,
    high=4,
    grad=rules.reciprocal,
    saves=("y",),
)
sin = _row(
    "sin", 13, _f(np.sin), "y = sin x", low=-7, high=7, flops=10, grad=rules.sin, saves=("x",)
)
cos = _row(
    "cos", 14, _f(np.cos), "y = cos x", low=-7, high=7, flops=10, grad=rules.cos, saves=("x",)
)
tan = _row(
    "tan", 15, _f(np.tan), "y = tan x", low=-1.4, high=1.4, flops=12, grad=rules.tan, saves=("y",)
)
asin = _row(
    "asin",
    16,
    _f(np.arcsin),
    "y = arc sine of x",
    low=-1,
    high=1,
    flops=12,
    grad=rules.asin,
    saves=("x",),
)
acos = _row(
    "acos",
    17,
    _f(np.arccos),
    "y = arc cosine of x",
    low=-1,
    high=1,
    flops=12,
    grad=rules.acos,
    saves=("x",),
)
atan = _row(
    "atan", 18, _f(np.arctan), "y = arc tangent of x", flops=12, grad=rules.atan, saves=("x",)
)
sinh = _row("sinh", 19, _f(np.sinh), "y = sinh x", flops=10, grad=rules.sinh, saves=("x",))
cosh = _row("cosh", 20, _f(np.cosh), "y = cosh x", flops=10, grad=rules.cosh, saves=("x",))
tanh = _row(
    "tanh", 21, _f(np.tanh), "y = tanh x", low=-5, high=5, flops=10, grad=curves.tanh, saves=("y",)
)
asinh = _row(
    "asinh", 22, _f(np.arcsinh), "y = inverse of sinh", flops=12, grad=rules.asinh, saves=("x",)
)
acosh = _row(
    "acosh",
    23,
    _f(np.arccosh),
    "y = inverse of cosh",
    low=1,
    high=9,
    flops=12,
    grad=rules.acosh,
    saves=("x",),
)
atanh = _row(
    "atanh",
    24,
    _f(np.arctanh),
    "y = inverse of tanh",
    low=-0.95,
    high=0.95,
    flops=12,
    grad=rules.atanh,
    saves=("x",),
)
erf = _row(
    "erf",
    25,
    _f(num.erf),
    "y = error function of x",
    low=-4,
    high=4,
    flops=12,
    grad=rules.erf,
    saves=("x",),
)
sigmoid = _row(
    "sigmoid",
    26,
    _f(num.sigmoid),
    "y = 1 / (1 + e**-x)",
    low=-9,
    high=9,
    flops=10,
    grad=curves.sigmoid,
    saves=("y",),
)
relu = _row(
    "relu",
    27,
    in_f32(lambda x: np.maximum(x, x.dtype.type(0))),
    "y = max(x, 0)",
    dtypes=SIGNED,
    grad=curves.relu,
    saves=("y",),
)
leaky_relu = _row(
    "leaky_relu",
    28,
    _f(num.leaky_relu),
    "y = x if x >= 0 else alpha * x",
    attrs=(Attr("alpha", "f32", 0.01, doc=_ALPHA),),
    cases=few(FLOATS, ({}, {"alpha": 0.2}, {"alpha": -1.5})),
    grad=curves.leaky_relu,
    saves=("x",),
)
elu = _row(
    "elu",
    29,
    _f(num.elu),
    "y = x if x > 0 else alpha * (e**x - 1)",
    attrs=(Attr("alpha", "f32", 1.0, doc=_ALPHA),),
    cases=few(FLOATS, ({}, {"alpha": 0.3})),
    flops=10,
    grad=curves.elu,
    saves=("x",),
)
softplus = _row(
    "softplus",
    30,
    _f(lambda x: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, x.dtype.type(0))),
    "y = ln(1 + e**x)",
    low=-20,
    high=20,
    flops=16,
    grad=curves.softplus,
    saves=("x",),
)
gelu = _row(
    "gelu",
    31,
    _f(lambda x, approximate: num.gelu(x) if approximate == "none" else num.gelu_tanh(x)),
    "y = x * Phi(x), Phi the normal distribution",
    attrs=(Attr("approximate", "enum", "none", ("none", "tanh"), "tanh: the tanh formula"),),
    cases=few(FLOATS, ({}, {"approximate": "tanh"}), -4, 4),
    flops=14,
    grad=curves.gelu,
    saves=("x",),
)
hard_sigmoid = _row(
    "hard_sigmoid",
    32,
    _f(num.hard_sigmoid),
    "y = clamp(alpha * x + beta, 0, 1)",
    attrs=(Attr("alpha", "f32", 0.2), Attr("beta", "f32", 0.5)),
    cases=few(FLOATS, ({}, {"alpha": 1 / 6, "beta": 0.25}), -5, 5),
    flops=4,
    grad=curves.hard_sigmoid,
    saves=("y",),
)
hard_swish = _row(
    "hard_swish",
    33,
    _f(num.hard_swish),
    "y = x * clamp(x / 6 + 1/2, 0, 1)",
    low=-5,
    high=5,
    flops=5,
    grad=curves.hard_swish,
    saves=("x",),
)
silu = _row(
    "silu",
    34,
    _f(lambda x: x * num.sigmoid(x)),
    "y = x / (1 + e**-x)",
    low=-6,
    high=6,
    flops=11,
    grad=curves.silu,
    saves=("x",),
)
clamp = _row(
    "clamp",
    35,
    _f(num.clamp),
    "y = min(max(x, lo), hi); NaN stays NaN",
    attrs=(Attr("lo", "f32", -INF), Attr("hi", "f32", INF)),
    cases=few(FLOATS, ({}, {"lo": 0.0, "hi": 1.0}, {"lo": -0.5}, {"hi": 0.25})),
    flops=2,
    grad=curves.clamp,
    saves=("x",),
)
logical_not = _row("logical_not", 36, np.logical_not, "y = not x", dtypes=("bool",), grad=NO_GRAD)
bitwise_not = _row("bitwise_not", 37, np.invert, "y = ~x", dtypes=INTS, grad=NO_GRAD)

_SPECIAL = np.array([0, -0.0, 1, np.nan, np.inf, -np.inf, -np.nan, 3e38], np.float32)
_SPECIAL_F16 = np.array([0, -0.0, 1, np.nan, np.inf, -np.inf, -np.nan, 6e4], np.float16)


def _isinf(x: Array, *, negative: bool, positive: bool) -> Array:
    return np.asarray((np.isposinf(x) & positive) | (np.isneginf(x) & negative))


isnan = _row(
    "isnan",
    38,
    np.isnan,
    "y = whether x is NaN",
    infer=same_as(DType.BOOL),
    cases=(*unary(FLOATS, turn=0), Case((_SPECIAL,)), Case((_SPECIAL_F16,))),
    flags=frozenset(),
    grad=NO_GRAD,
)
isinf = _row(
    "isinf",
    39,
    _isinf,
    "y = whether x is an infinity of a sign that is asked for",
    attrs=(Attr("negative", "bool", True), Attr("positive", "bool", True)),
    infer=same_as(DType.BOOL),
    cases=(
        *few(FLOATS),
        Case((_SPECIAL,)),
        Case((_SPECIAL,), {"negative": False}),
        Case((_SPECIAL_F16,), {"positive": False}),
    ),
    flags=frozenset(),
    grad=NO_GRAD,
)


def _cast_type(ctx: InferContext) -> tuple[TensorType, ...]:
    if ctx.to.short not in ALL:
        raise ctx.error(f"cannot cast to {ctx.to.public_name}")
    return (TensorType(ctx.to, ctx.x.shape),)


_EDGES = np.array(
    [0.0, -0.5, 0.99, -1.99, 127.5, -129, 255.9, 300, -1, 2**31, -(2.0**31), 2.0**63, -(2.0**63),
     1e30, -1e30, np.nan, np.inf, -np.inf, 65504.0, 70000.0],
    np.float32,
)  # fmt: skip
_WHOLE = np.array(
    [0, 1, -1, 127, 128, -129, 255, 256, 2**31 - 1, -(2**31), 2**31, 2**53 + 1, -(2**63)]
)

cast = _row(
    "cast",
    40,
    num.cast,
    "y = x in dtype `to`: floats truncate and saturate to integers (NaN gives 0), integers wrap,"
    " bool is x != 0",
    dtypes=ALL,
    attrs=(Attr("to", "dtype", doc="the output's dtype"),),
    infer=_cast_type,
    cases=(
        *(Case(((d, (2, 9)),), {"to": to}, -300, 300) for d in ALL for to in ALL if d != to),
        *(Case((_EDGES,), {"to": to}) for to in ALL),
        *(Case((_EDGES[:9].astype(np.float16),), {"to": to}) for to in INTS),
        *(Case((_WHOLE,), {"to": to}) for to in ALL),
        *(Case((("f32", s),), {"to": "i32"}, -300, 300) for s in SHAPES[:4]),
    ),
    flags=frozenset(),
    grad=rules.cast,
)
