# SPDX-License-Identifier: Apache-2.0
"""Schemes: their effect on a layer, and the operators that they know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from samara.exporter.ir import Node
from samara.exporter.ops import Kind, OpSpec, get_op, integer
from samara.exporter.passes._integer import given_of
from samara.exporter.types import DType, Quant

FLOAT: Final = "float"
INT8: Final = "int8"
INT8_DYNAMIC: Final = "int8-dynamic"
INT8_WEIGHTS: Final = "int8-weights"
INT4_WEIGHTS: Final = "int4-weights"
INT4_DYNAMIC: Final = "int4-dynamic"
FOUR_BITS: Final = (INT4_WEIGHTS, INT4_DYNAMIC)
FP16: Final = "fp16"

# One sentence per scheme, for users.
SCHEMES: Final[Mapping[str, str]] = {
    INT8: "activations and weights in int8, integer arithmetic",
    INT8_DYNAMIC: "int8 weights; activations are rounded to int8 while running, a scale per row",
    INT8_WEIGHTS: "int8 weights, float arithmetic",
    INT4_WEIGHTS: "4-bit weights in blocks for products and embeddings, int8 weights for the rest",
    INT4_DYNAMIC: "the same weights; activations are rounded to int8 while running, a scale per row",
    FP16: "float16 weights, float32 arithmetic",
    FLOAT: "left alone",
}
# Those that a whole program can have.
PROGRAM_SCHEMES: Final = tuple(s for s in SCHEMES if s != FLOAT)


@dataclass(frozen=True, slots=True)
class Role:
    """How int8 treats a node with these inputs (positions).

    kind: a value of ops.integer.Role; in a plan also "inner", inside a table of several operators.
    """

    kind: str
    inputs: tuple[int, ...]


def role_of(node: Node) -> Role | None:
    """The node's role under int8; None if it always stays float."""
    rule = node.op.integer
    data = node.inputs[0] if node.inputs else None
    if rule is None or not rule.planned or data is None or not node.outputs:
        return None
    if node.outputs[0].type.dtype is not DType.F32:
        return None
    given = given_of(node)
    found = rule.role_of(given)
    if found is None:
        return None
    kind, inputs = found
    if kind is integer.Role.PRODUCT and (data.type.dtype is not DType.F32 or data.is_constant):
        return None
    if kind is integer.Role.MOVING and not _moves_numbers(node, inputs):
        return None
    return Role(kind.value, inputs)


def _moves_numbers(node: Node, inputs: tuple[int, ...]) -> bool:
    """Whether a single moved tensor is not constant, and a fill value, if any, is a finite constant."""
    rule = node.op.integer
    if len(inputs) == 1:
        moved = node.inputs[inputs[0]]
        if moved is None or (moved.is_constant and len(node.inputs) > 1):
            return False
    if rule is None or rule.fill is None or len(node.inputs) <= rule.fill:
        return True
    value = node.inputs[rule.fill]
    return value is None or (value.constant is not None and bool(np.isfinite(value.constant).all()))


def is_product(op: OpSpec) -> bool:
    """Whether it multiplies by weights, which every scheme makes smaller."""
    return op.integer is not None and op.integer.role is integer.Role.PRODUCT


def is_recurrent(op: OpSpec) -> bool:
    """Whether it steps along a sequence with weights that may be int8."""
    return op.kind is Kind.RECURRENT and op.int8_sums


def takes_clamp(node: Node) -> bool:
    """Whether a clamp behind the node is fused into it: its integer form has a clamp, or it moves the
    result of an operator that has one.
    """
    rule = node.op.integer
    if rule is None or not rule.form or role_of(node) is None:
        return False
    return any(a.name == "lo" for a in get_op(rule.form).attrs)


def stays_late(op: OpSpec) -> bool:
    """Whether int8 behind the last product loses accuracy and saves little."""
    return op.integer is not None and op.integer.late


def joins(op: OpSpec) -> bool:
    """Whether results combine elements of several inputs, which then share parameters."""
    return op.integer is not None and op.integer.joins


def given_quant(op: OpSpec) -> Quant | None:
    """The fixed parameters of the integer form's results; None if they are free."""
    return None if op.integer is None else op.integer.result
