# SPDX-License-Identifier: Apache-2.0
"""The epilogue of products and convolutions: clamp and activation of their float32 sums."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from samara.exporter.ops import exact_float
from samara.exporter.ops import numeric as num
from samara.exporter.ops.numeric import Array
from samara.exporter.ops.spec import Attr

POSTS: Final = (
    "none",
    "sigmoid",
    "tanh",
    "hard_sigmoid",
    "hard_swish",
    "silu",
    "gelu",
    "gelu_tanh",
    "leaky_relu",
    "elu",
)
EPILOGUE: Final = (
    Attr("lo", "f32", -math.inf, doc="lower clamp of acc + bias + residual"),
    Attr("hi", "f32", math.inf, doc="upper clamp"),
    Attr("post", "enum", "none", POSTS, "activation after the clamp"),
    Attr("post_alpha", "f32", 0.0, doc="alpha of hard_sigmoid, leaky_relu, elu"),
    Attr("post_beta", "f32", 0.0, doc="beta of hard_sigmoid"),
)


def epilogue(
    acc: Array,
    bias: Array | None,
    residual: Array | None,
    *,
    lo: float,
    hi: float,
    post: str,
    post_alpha: float,
    post_beta: float,
) -> Array:
    """post(clamp(acc + bias + residual, lo, hi)) in float32."""
    y = acc if bias is None else acc + bias
    y = y if residual is None else y + residual
    y = num.clamp(y, lo, hi)
    if post == "hard_sigmoid":
        return num.hard_sigmoid(y, post_alpha, post_beta)
    if post == "leaky_relu":
        return num.leaky_relu(y, post_alpha)
    if post == "elu":
        return num.elu(y, post_alpha)
    plain: dict[str, Callable[[Array], Any]] = {
        "none": lambda v: v,
        "sigmoid": num.sigmoid,
        "tanh": np.tanh,
        "hard_swish": num.hard_swish,
        "silu": lambda v: v * num.sigmoid(v),
        "gelu": num.gelu,
        "gelu_tanh": num.gelu_tanh,
    }
    return np.asarray(plain[post](y))


POST_CASES: Final[tuple[dict[str, Any], ...]] = (
    {"lo": 0.0},
    {"lo": 0.0, "hi": 6.0},
    {"post": "hard_sigmoid", "post_alpha": 0.2, "post_beta": 0.5},
    {"post": "leaky_relu", "post_alpha": 0.1},
    {"post": "elu", "post_alpha": 0.7},
    *({"post": p} for p in ("sigmoid", "tanh", "hard_swish", "silu", "gelu", "gelu_tanh")),
)


_EXACT_POSTS: Final[dict[str, Callable[[Array], Array]]] = {
    name: exact_float.FUNCTIONS[name] for name in ("sigmoid", "tanh", "silu", "gelu", "gelu_tanh")
}


def exact_post(y: Array, post: str, alpha: float) -> Array:
    """The activation of an epilogue in exact models."""
    if post in _EXACT_POSTS:
        return exact_float.quiet(_EXACT_POSTS[post], y)
    return np.where(y >= 0, y, y * np.float32(alpha)) if post == "leaky_relu" else y


def exact_tail(reference: Callable[..., Any]) -> Callable[..., Any]:
    """The exact form of a product whose sums are integers: only its activation differs."""

    @functools.wraps(reference)
    def run(*inputs: Array | None, post: str, post_alpha: float, **more: Any) -> Array:
        y = reference(*inputs, post="none", post_alpha=post_alpha, **more)
        return exact_post(y, post, post_alpha)

    return run
