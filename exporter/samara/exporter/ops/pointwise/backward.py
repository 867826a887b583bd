# SPDX-License-Identifier: Apache-2.0
"""The backward operator of activation functions: one pass over dy and what the function saved."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from samara.exporter.ops.facts import Eager, Kind, Tolerance
from samara.exporter.ops.numeric import Array, in_f32, sigmoid, wide
from samara.exporter.ops.numeric import erf as erf_of
from samara.exporter.ops.pointwise import grad_activation as rules
from samara.exporter.ops.pointwise.grad_activation import KINDS
from samara.exporter.ops.shape_rules import FLOATS, require_same_dtype, require_shape
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, TensorType


def _type(ctx: InferContext) -> tuple[TensorType, ...]:
    require_same_dtype(ctx, 0, 1)
    require_shape(ctx, 1, ctx.x.shape, "that of dy")
    return (ctx.x,)


def _cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    return outputs[0].numel() * (2 if attrs["kind"] in ("relu", "leaky_relu", "clamp") else 14), (
        bytes_of(inputs, outputs)
    )


# ---- derivatives of float64 arrays ----


def _gelu(x: Array) -> Array:
    bell = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    return np.asarray(0.5 * (1 + erf_of(x * math.sqrt(0.5))) + x * bell)


def _gelu_tanh(x: Array) -> Array:
    root = math.sqrt(2 / math.pi)
    t = np.tanh(root * (x + 0.044715 * x * x * x))
    slope = root * (1 + 3 * 0.044715 * x * x)
    return np.asarray(0.5 * (1 + t + x * slope * (1 - t * t)))


def _silu(x: Array) -> Array:
    s = sigmoid(x)
    return np.asarray(s * (1 + x * (1 - s)))


_SMOOTH: Final[dict[str, Callable[[Array], Array]]] = {
    "sigmoid": lambda y: np.asarray(y * (1 - y)),
    "tanh": lambda y: np.asarray(1 - y * y),
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "silu": _silu,
    "softplus": sigmoid,
}


def _piecewise(dy: Array, v: Array, kind: str, a: float, b: float) -> Array:
    """The gradient of an activation with kinks."""
    if kind == "relu":
        return np.where(v <= 0, 0, dy)
    if kind == "leaky_relu":
        return np.where(v > 0, dy, dy * a)
    if kind == "elu":
        return np.where(v <= 0, dy * (a * np.exp(np.minimum(v, 0))), dy)
    if kind == "hard_sigmoid":
        return np.where((v > 0) & (v < 1), dy * a, 0)
    if kind == "hard_swish":
        return np.where(v <= -3, 0, np.where(v < 3, dy * (v / 3 + 0.5), dy))
    return np.where((a <= v) & (v <= b), dy, 0)


def _reference(dy: Array, v: Array, *, kind: str, alpha: float, beta: float) -> Array:
    smooth = _SMOOTH.get(kind)
    with np.errstate(all="ignore"):
        if smooth is not None:
            dx = wide(dy) * smooth(wide(v))
        else:
            dx = _piecewise(wide(dy), wide(v), kind, alpha, beta)
        return np.asarray(dx, dy.dtype)


# ---- the row ----

_SETTINGS: Final[dict[str, dict[str, float]]] = {
    "leaky_relu": {"alpha": 0.2},
    "elu": {"alpha": 0.3},
    "hard_sigmoid": {"alpha": 0.2, "beta": 0.5},
    "clamp": {"alpha": -0.5, "beta": 1.25},
}


def _cases() -> tuple[Case, ...]:
    def one(kind: str, shape: tuple[int, ...], dtype: str = "f32") -> Case:
        high = 1.0 if kind in ("sigmoid", "tanh") else 4.0
        low = 0.0 if kind == "sigmoid" else -high
        attrs = {"kind": kind, **_SETTINGS.get(kind, {})}
        return Case(((dtype, shape), (dtype, shape)), attrs, low, high)

    edges = np.array([0, -0.0, 1, -3, 3, np.nan, np.inf, -np.inf, 0.5, -2, 1e-3], np.float32)
    ones = np.linspace(-2, 2, edges.size, dtype=np.float32)
    return (
        *(one("relu", s) for s in ((), (0,), (1,), (7,), (33,), (2, 3, 17), (2, 1, 3, 2, 8))),
        *(one(kind, (3, 33)) for kind in KINDS[1:]),
        *(one(kind, (2, 9), "f16") for kind in KINDS),
        one("gelu", (300, 31)),
        *(
            Case((ones, edges), {"kind": k, **_SETTINGS.get(k, {})})
            for k in ("relu", "leaky_relu", "elu", "hard_sigmoid", "hard_swish", "clamp")
        ),
    )


activation_grad = define(
    OpSpec(
        name="activation_grad",
        code=225,
        since="0.2.0",
        inputs=("dy", "v"),
        outputs=("dx",),
        attrs=(
            Attr("kind", "enum", "relu", KINDS, "the activation"),
            Attr("alpha", "f32", 0.0, doc="its alpha; clamp: lo"),
            Attr("beta", "f32", 0.0, doc="its beta; clamp: hi"),
        ),
        infer=_type,
        reference=in_f32(_reference),
        grad=rules.activation_grad,
        saves=("dy", "v"),
        doc="dx = dy * f'(v): the gradient of y = f(x); v is x, but y for relu, sigmoid, tanh"
        " and hard_sigmoid",
        dtypes=FLOATS,
        check="same",
        permute="any",
        cost=_cost,
        flags=frozenset({"training", "inplace"}),
        cases=_cases(),
        kind=Kind.POINTWISE,
        tolerance=Tolerance(2e-06, 2e-06),
        eager=Eager.NUMPY,
    )
)
