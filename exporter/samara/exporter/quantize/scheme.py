# SPDX-License-Identifier: Apache-2.0
"""Schemes: what each does with a layer, and which operators it knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from samara.exporter.ir import Node
from samara.exporter.types import DType

FLOAT: Final = "float"
INT8: Final = "int8"
INT8_DYNAMIC: Final = "int8-dynamic"
INT8_WEIGHTS: Final = "int8-weights"
INT4_WEIGHTS: Final = "int4-weights"
FP16: Final = "fp16"

# What each scheme does, in a sentence for users.
SCHEMES: Final[Mapping[str, str]] = {
    INT8: "activations and weights in int8, integer arithmetic",
    INT8_DYNAMIC: "int8 weights; activations are rounded to int8 while running, a scale per row",
    INT8_WEIGHTS: "int8 weights, float arithmetic",
    INT4_WEIGHTS: "4-bit weights in blocks for products and embeddings, int8 weights for the rest",
    FP16: "float16 weights, float32 arithmetic",
    FLOAT: "left alone",
}
# Those that a whole program can have.
PROGRAM_SCHEMES: Final = tuple(s for s in SCHEMES if s != FLOAT)

# Products: worth quantizing for their own sake. The others follow where their inputs are int8.
PRODUCTS: Final = frozenset({"conv", "conv_transpose", "matmul"})
RECURRENT: Final = frozenset({"lstm", "gru"})
# Element by element through a table of 256 entries.
TABLES: Final = frozenset(
    {"neg", "abs", "sign", "ceil", "floor", "round", "exp", "log", "sqrt", "rsqrt", "reciprocal",
     "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
     "atanh", "erf", "sigmoid", "leaky_relu", "elu", "softplus", "gelu", "hard_sigmoid",
     "hard_swish", "silu"}
)  # fmt: skip
# Tables whose result explodes or ends somewhere: rounding their input is only safe where the
# input is far from there, which no range says. They stay float.
STEEP: Final = frozenset(
    {"exp", "log", "rsqrt", "reciprocal", "tan", "sinh", "cosh", "asin", "acos", "acosh", "atanh"}
)
CLAMPS: Final = frozenset({"relu", "clamp"})
# Operators that a clamp can follow for nothing.
CLAMPED: Final = frozenset(
    {*PRODUCTS, "add", "sub", "mul", "avg_pool", "reduce_mean", "layer_norm", "rms_norm"}
)
# Those that lose accuracy and win little behind the last product, where they stay float.
TAIL_FLOAT: Final = frozenset({"add", "sub", "mul", "layer_norm", "rms_norm", "softmax", *TABLES})
COMPUTED: Final = frozenset(
    {"add", "sub", "mul", "avg_pool", "reduce_mean", "layer_norm", "rms_norm", "softmax"}
)
# Values move or are chosen among: parameters in and out are equal.
MOVING: Final = frozenset(
    {"identity", "reshape", "transpose", "slice", "split", "expand", "tile", "gather", "concat",
     "max_pool", "pad", "reduce_max", "reduce_min"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Role:
    """How int8 treats a node: as a "product", "computed", "table", "clamp" or "moving" one, over
    these of its inputs (positions).
    """

    kind: str
    inputs: tuple[int, ...]


def role_of(node: Node) -> Role | None:
    """The node's role under int8; None where it stays float whatever surrounds it."""
    name = node.op.name
    data = node.inputs[0] if node.inputs else None
    if data is None or not node.outputs or node.outputs[0].type.dtype is not DType.F32:
        return None
    if name in PRODUCTS:
        plain = _is_plain(node) and data.type.dtype is DType.F32
        return Role("product", (0, 1)) if plain and not data.is_constant else None
    if name in ("add", "sub", "mul"):
        return Role("computed", (0, 1))
    if name in CLAMPS:
        return Role("clamp", (0,))
    if name in TABLES - STEEP:
        return Role("table", (0,))
    if name == "concat":
        return Role("moving", tuple(range(len(node.inputs))))
    if name in COMPUTED and _computes(node):
        return Role("computed", (0,))
    if name == "resize":
        return _resize_role(node)
    if name in MOVING and _moves(node):
        return Role("moving", (0,))
    return None


def _is_plain(node: Node) -> bool:
    """A product without a residual or an activation of its own; its bias is constant."""
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    if len(node.inputs) > 3 and node.inputs[3] is not None:
        return False
    return node.attrs["post"] == "none" and (bias is None or bias.is_constant)


def _computes(node: Node) -> bool:
    if node.op.name in ("layer_norm", "rms_norm"):
        return all(v is None or v.is_constant for v in node.inputs[1:])
    return True


def _moves(node: Node) -> bool:
    if node.op.name == "pad":
        value = node.inputs[1] if len(node.inputs) > 1 else None
        return value is None or (
            value.constant is not None and bool(np.isfinite(value.constant).all())
        )
    if node.op.name == "gather":
        x = node.inputs[0]
        return x is not None and not x.is_constant
    return True


def _resize_role(node: Node) -> Role | None:
    """Nearest moves values; linear over one or two axes between batch and channels computes."""
    a = node.attrs
    if a["mode"] == "nearest" and not a["antialias"] and not a["roi"]:
        return Role("moving", (0,))
    if a["mode"] == "linear" and not a["antialias"] and not a["exclude_outside"]:
        return Role("computed", (0,))
    return None
