# SPDX-License-Identifier: Apache-2.0
"""Algebraic simplification: one rule per operator. Float results keep their bits (except for the sign of
a zero).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.program import Node, Value
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.ops import OpSpec
from samara.exporter.passes._assignment import assignment
from samara.exporter.passes._pass import (
    Pass,
    compose,
    fused_name,
    is_identity_perm,
    per_function,
    scalar_of,
)
from samara.exporter.types import Dim, as_dim

# A rule returns the value that replaces the node's result, or None if it does not apply.
Rule = Callable[[Rewriter, Node], Value | None]


def _forward(r: Rewriter, node: Node, value: Value | None) -> Value | None:
    """Replace the node's result by `value` if their types agree. If the result is an output of the function and
    the value an input or constant, the node stays: the output needs its own tensor.
    """
    if value is None:
        return None
    result = node.outputs[0]
    if value.type.dtype is not result.type.dtype or value.type.shape != result.type.shape:
        return None
    if value.type.quant != result.type.quant:
        return None
    if r.is_output(result) and (r.producer(value) is None or r.is_output(value)):
        return None
    r.replace_value(result, value)
    r.remove(node)
    return value


def _identity(r: Rewriter, node: Node) -> Value | None:
    return _forward(r, node, node.inputs[0])


def _cast(r: Rewriter, node: Node) -> Value | None:
    x = node.inputs[0]
    return _forward(r, node, x) if x is not None and x.type.dtype is node.attrs["to"] else None


def _neutral(right: float, left: float | None) -> Rule:
    """x op right == x, and left op x == x."""

    def rule(r: Rewriter, node: Node) -> Value | None:
        a, b = node.inputs[0], node.inputs[1]
        if scalar_of(b) == right:
            return _forward(r, node, a)
        if left is not None and scalar_of(a) == left:
            return _forward(r, node, b)
        return None

    return rule


def _double(op: OpSpec) -> Rule:
    """op(op(x)) == x."""

    def rule(r: Rewriter, node: Node) -> Value | None:
        inner = r.producer(node.inputs[0])
        return _forward(r, node, inner.inputs[0]) if inner is not None and inner.op is op else None

    return rule


def _idempotent(op: OpSpec) -> Rule:
    """op(op(x)) == op(x)."""

    def rule(r: Rewriter, node: Node) -> Value | None:
        inner = r.producer(node.inputs[0])
        return _forward(r, node, node.inputs[0]) if inner is not None and inner.op is op else None

    return rule


def _relu(r: Rewriter, node: Node) -> Value | None:
    """relu after relu, and relu after a clamp as one clamp."""
    if (known := _idempotent(ops.relu)(r, node)) is not None:
        return known
    inner = r.producer(node.inputs[0])
    if inner is None or inner.op is not ops.clamp or r.only_user(inner.outputs[0]) is not node:
        return None
    lo = max(inner.attrs["lo"], 0.0)
    made: Value = r.replace_node(
        node,
        ops.clamp,
        inner.inputs[0],
        lo=lo,
        hi=max(inner.attrs["hi"], lo),
        absorbed=fused_name(inner),
    )
    return made


def _clamp(r: Rewriter, node: Node) -> Value | None:
    lo, hi = node.attrs["lo"], node.attrs["hi"]
    if lo == -math.inf and hi == math.inf:
        return _forward(r, node, node.inputs[0])
    inner = r.producer(node.inputs[0])
    if inner is None or r.only_user(inner.outputs[0]) is not node:
        return None
    if inner.op is ops.relu:
        low, high = 0.0, math.inf
    elif inner.op is ops.clamp:
        low, high = inner.attrs["lo"], inner.attrs["hi"]
    else:
        return None

    # clamp(clamp(x, low, high), lo, hi): the outer clamp also applies to both bounds of the inner one.
    def through(v: float) -> float:
        return float(min(max(v, lo), hi))

    made: Value = r.replace_node(
        node,
        ops.clamp,
        inner.inputs[0],
        lo=through(low),
        hi=through(high),
        absorbed=fused_name(inner),
    )
    return made


def _reshape(r: Rewriter, node: Node) -> Value | None:
    x = node.inputs[0]
    if x is None:
        return None
    if x.type.shape == node.outputs[0].type.shape:
        return _forward(r, node, x)
    inner = r.producer(x)
    if inner is not None and inner.op is ops.reshape:
        made: Value = r.replace_node(node, ops.reshape, inner.inputs[0], shape=node.attrs["shape"])
        return made
    return None


def _transpose(r: Rewriter, node: Node) -> Value | None:
    perm = node.attrs["perm"]
    x = node.inputs[0]
    if x is None:
        return None
    if is_identity_perm(perm):
        return _forward(r, node, x)
    inner = r.producer(x)
    if inner is not None and inner.op is ops.transpose:
        made: Value = r.replace_node(
            node, ops.transpose, inner.inputs[0], perm=compose(inner.attrs["perm"], perm)
        )
        return made
    return None


def _reinterpret(r: Rewriter, node: Node) -> Value | None:
    """int8 to uint8 and back."""
    inner = r.producer(node.inputs[0])
    return (
        _forward(r, node, inner.inputs[0])
        if inner is not None and inner.op is ops.reinterpret
        else None
    )


def _expand(r: Rewriter, node: Node) -> Value | None:
    return _forward(r, node, node.inputs[0])


def _slice(r: Rewriter, node: Node) -> Value | None:
    x = node.inputs[0]
    if x is None or any(s != as_dim(1) for s in node.attrs["step"]):
        return None
    whole = all(b == as_dim(0) for b in node.attrs["begin"]) and node.attrs["end"] == x.type.shape
    return _forward(r, node, x) if whole else None


def _all_zero(dims: tuple[Dim, ...]) -> bool:
    return all(d == as_dim(0) for d in dims)


def _pad(r: Rewriter, node: Node) -> Value | None:
    return _forward(r, node, node.inputs[0]) if _all_zero(node.attrs["pads"]) else None


def _tile(r: Rewriter, node: Node) -> Value | None:
    return (
        _forward(r, node, node.inputs[0])
        if all(d == as_dim(1) for d in node.attrs["repeats"])
        else None
    )


def _concat(r: Rewriter, node: Node) -> Value | None:
    """A concat of one part is the part; empty parts are removed."""
    axis = node.attrs["axis"]
    parts = [v for v in node.inputs if v is not None]
    kept = [v for v in parts if v.type.shape[axis] != as_dim(0)]
    if len(kept) == 1:
        return _forward(r, node, kept[0])
    if kept and len(kept) < len(parts):
        made: Value = r.replace_node(node, ops.concat, *kept, axis=axis)
        return made
    return None


def _split(r: Rewriter, node: Node) -> Value | None:
    return _forward(r, node, node.inputs[0]) if len(node.outputs) == 1 else None


def _untrained(plain: OpSpec) -> Rule:
    """Without outputs that only a gradient reads it is the plain operator, which every runtime has."""

    def rule(r: Rewriter, node: Node) -> Value | None:
        if any(r.users(v) or r.is_output(v) for v in node.outputs[plain.max_outputs :]):
            return None
        made = r.op(
            plain,
            *node.inputs,
            before=node,
            name=node.name,
            source=node.source,
            absorbed=node.absorbed,
            **{a.name: node.attrs[a.name] for a in plain.attrs if a.name in node.attrs},
        )
        for old, new in zip(node.outputs, made, strict=False):
            r.replace_value(old, new)
        r.remove(node)
        return None

    return rule


def _pow(r: Rewriter, node: Node) -> Value | None:
    """Exponents 0.5, 1 and 2 have simpler operators."""
    x, exponent = node.inputs[0], scalar_of(node.inputs[1])
    if x is None or not x.type.dtype.is_float or node.outputs[0].type.shape != x.type.shape:
        return None
    if exponent == 1.0:
        return _forward(r, node, x)
    made: Value | None = None
    if exponent == 2.0:
        made = r.replace_node(node, ops.mul, x, x)
    elif exponent == 0.5:
        made = r.replace_node(node, ops.sqrt, x)
    return made


def _where(r: Rewriter, node: Node) -> Value | None:
    if node.inputs[1] is node.inputs[2]:
        return _forward(r, node, node.inputs[1])
    cond = scalar_of(node.inputs[0])
    if cond is None:
        return None
    return _forward(r, node, node.inputs[1] if cond else node.inputs[2])


def _unit_reduce(r: Rewriter, node: Node) -> Value | None:
    """A sum, mean, max, min or product over dims of 1 is a reshape."""
    x = node.inputs[0]
    if x is None or any(x.type.shape[a] != as_dim(1) for a in node.attrs["axes"]):
        return None
    if node.attrs["keepdims"] or not node.attrs["axes"]:
        return _forward(r, node, x)
    made: Value = r.replace_node(node, ops.reshape, x, shape=node.outputs[0].type.shape)
    return made


def _mul_chain(r: Rewriter, node: Node) -> Value | None:
    """(x * a) * b with scalar constants, one of them a power of two (exact), as x * (a * b)."""
    if node.op is not ops.mul:
        return None
    x, b = node.inputs
    outer = scalar_of(b)
    inner = r.producer(x)
    if (
        outer is None
        or inner is None
        or inner.op is not ops.mul
        or r.only_user(inner.outputs[0]) is not node
    ):
        return None
    factor = scalar_of(inner.inputs[1])
    if factor is None or b is None or not b.type.dtype.is_float:
        return None
    if not (_is_power_of_two(outer) or _is_power_of_two(factor)):
        return None
    product = np.asarray(outer * factor, b.type.dtype.numpy)
    if not np.isfinite(product) or product == 0:
        return None
    made: Value = r.replace_node(
        node,
        ops.mul,
        inner.inputs[0],
        r.const(product, f"{node.name}.factor"),
        absorbed=fused_name(inner),
    )
    return made


def _is_power_of_two(x: float) -> bool:
    return x != 0 and math.isfinite(x) and abs(math.frexp(x)[0]) == 0.5


def _mul(r: Rewriter, node: Node) -> Value | None:
    return _neutral(1.0, 1.0)(r, node) or _mul_chain(r, node)


def _unexpanded(r: Rewriter, node: Node) -> Value | None:
    """Remove an expand of an operand if another operand has the result's shape anyway."""
    shape = node.outputs[0].type.shape
    for i, v in enumerate(node.inputs):
        inner = r.producer(v)
        others = (u for k, u in enumerate(node.inputs) if k != i and u is not None)
        if inner is None or inner.op is not ops.expand:
            continue
        if any(u.type.shape == shape for u in others):
            inputs = (*node.inputs[:i], inner.inputs[0], *node.inputs[i + 1 :])
            made: Value = r.replace_node(node, node.op, *inputs, **node.attrs)
            return made
    return None


def _broadcasting(rule: Rule | None = None) -> Rule:
    """The rule of an operator that broadcasts: `rule`, or removing an expand."""

    def either(r: Rewriter, node: Node) -> Value | None:
        made = None if rule is None else rule(r, node)
        return _unexpanded(r, node) if made is None else made

    return either


_RULES: dict[OpSpec, Rule] = {
    ops.identity: _identity,
    ops.cast: _cast,
    ops.add: _broadcasting(_neutral(0.0, 0.0)),
    ops.sub: _broadcasting(_neutral(0.0, None)),
    ops.mul: _broadcasting(_mul),
    ops.div: _broadcasting(_neutral(1.0, None)),
    ops.min_: _broadcasting(),
    ops.max_: _broadcasting(),
    ops.eq: _broadcasting(),
    ops.lt: _broadcasting(),
    ops.le: _broadcasting(),
    ops.sum_to: _identity,
    ops.neg: _double(ops.neg),
    ops.logical_not: _double(ops.logical_not),
    ops.bitwise_not: _double(ops.bitwise_not),
    ops.abs_: _idempotent(ops.abs_),
    ops.ceil: _idempotent(ops.ceil),
    ops.floor: _idempotent(ops.floor),
    ops.round_: _idempotent(ops.round_),
    ops.relu: _relu,
    ops.clamp: _clamp,
    ops.reshape: _reshape,
    ops.transpose: _transpose,
    ops.reinterpret: _reinterpret,
    ops.expand: _expand,
    ops.slice_: _slice,
    ops.pad: _pad,
    ops.tile: _tile,
    ops.concat: _concat,
    ops.split: _split,
    ops.lstm_train: _untrained(ops.lstm),
    ops.gru_train: _untrained(ops.gru),
    ops.pow_: _broadcasting(_pow),
    ops.where: _broadcasting(_where),
    ops.scatter_nd: assignment,
    ops.reduce_sum: _unit_reduce,
    ops.reduce_mean: _unit_reduce,
    ops.reduce_max: _unit_reduce,
    ops.reduce_min: _unit_reduce,
    ops.reduce_prod: _unit_reduce,
}


def simplify(r: Rewriter) -> None:
    """Apply the rules in one walk in order, so that everything before a node is simplified when it is reached.

    A node that a rule made is visited again.
    """
    for node in r.nodes():
        current: Node | None = node
        while current is not None and (rule := _RULES.get(current.op)) is not None:
            made = rule(r, current)
            current = r.producer(made)


PASS = Pass("simplify", "apply algebraic identities", per_function(simplify))
