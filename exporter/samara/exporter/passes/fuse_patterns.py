# SPDX-License-Identifier: Apache-2.0
"""Pattern fusion: spelled-out activations and layer normalization become their operators."""

from __future__ import annotations

import math

from samara.exporter import ops
from samara.exporter.ir.program import Node, Value
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.ops import OpSpec
from samara.exporter.passes._pass import Pass, fused_name, is_fusable, per_function, scalar_of
from samara.exporter.types import as_dim


def _rewrite(r: Rewriter) -> None:
    for last in (
        ops.add,
        ops.mul,
        ops.div,
    ):  # the longest pattern first, because its parts match shorter ones
        for node in r.nodes():
            if node.op is last:
                _layer_norm(r, node)
    for node in r.nodes():
        if node.op is ops.mul:
            _ = _silu(r, node) or _hard_swish(r, node) or _gelu(r, node)


def _maker(r: Rewriter, value: Value | None, op: OpSpec) -> Node | None:
    node = r.producer(value)
    return node if node is not None and node.op is op else None


def _operands(node: Node) -> list[tuple[Value, Value]]:
    a, b = node.inputs[0], node.inputs[1]
    assert a is not None
    assert b is not None
    return [(a, b), (b, a)]


def _with_scalar(r: Rewriter, value: Value | None, op: OpSpec) -> tuple[Value, float] | None:
    """(x, c) when value is x op c with a scalar constant c (either side for add and mul)."""
    node = _maker(r, value, op)
    if node is None:
        return None
    pairs = _operands(node) if op in (ops.add, ops.mul) else _operands(node)[:1]
    for x, c in pairs:
        number = scalar_of(c)
        if (
            number is not None
            and c.type.rank <= x.type.rank
            and node.outputs[0].type.shape == x.type.shape
        ):
            return x, number
    return None


def _near(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=2e-6)


def _silu(r: Rewriter, node: Node) -> bool:
    """x * sigmoid(x)."""
    for x, gate in _operands(node):
        inner = _maker(r, gate, ops.sigmoid)
        if inner is not None and inner.inputs[0] is x and r.only_user(gate) is node:
            r.replace_node(node, ops.silu, x, absorbed=fused_name(inner))
            return True
    return False


def _hard_swish(r: Rewriter, node: Node) -> bool:
    """x * hard_sigmoid(x; 1/6, 1/2)."""
    for x, gate in _operands(node):
        inner = _maker(r, gate, ops.hard_sigmoid)
        if inner is None or inner.inputs[0] is not x or r.only_user(gate) is not node:
            continue
        if _near(inner.attrs["alpha"], 1 / 6) and _near(inner.attrs["beta"], 0.5):
            r.replace_node(node, ops.hard_swish, x, absorbed=fused_name(inner))
            return True
    return False


def _gelu(r: Rewriter, node: Node) -> bool:
    """0.5 * x * (1 + erf(x / sqrt 2)), the factors in any order (Hendrycks and Gimpel, "Gaussian
    Error Linear Units", 2016).
    """
    factors = _factors(r, node)
    if factors is None:
        return False
    values, scale = factors
    if len(values) != 2 or not _near(scale, 0.5):
        return False
    for x, one_plus in ((values[0], values[1]), (values[1], values[0])):
        shifted = _with_scalar(r, one_plus, ops.add)
        erf = None if shifted is None or shifted[1] != 1.0 else _maker(r, shifted[0], ops.erf)
        if erf is None:
            continue
        inner = _with_scalar(r, erf.inputs[0], ops.div)
        ratio = inner[1] if inner is not None else None
        if inner is None:
            inner = _with_scalar(r, erf.inputs[0], ops.mul)
            ratio = None if inner is None or inner[1] == 0 else 1.0 / inner[1]
        if (
            inner is not None
            and ratio is not None
            and inner[0] is x
            and _near(ratio, math.sqrt(2.0))
        ):
            r.replace_node(node, ops.gelu, x, absorbed=(one_plus.name, *fused_name(erf)))
            return True
    return False


def _factors(r: Rewriter, node: Node) -> tuple[list[Value], float] | None:
    """(tensor factors, product of scalar factors) of a chain of multiplications without other users."""
    tensors: list[Value] = []
    scale = 1.0
    stack: list[Value] = [v for v in node.inputs if v is not None]
    while stack:
        v = stack.pop()
        number = scalar_of(v)
        inner = _maker(r, v, ops.mul)
        if number is not None:
            scale *= number
        elif inner is not None and r.only_user(v) is not None and len(tensors) + len(stack) < 4:
            stack += [u for u in inner.inputs if u is not None]
        else:
            tensors.append(v)
    return (tensors, scale) if len(tensors) <= 2 else None


def _layer_norm(r: Rewriter, node: Node) -> bool:
    """(x - mean) / sqrt(mean((x - mean)²) + eps) [* scale] [+ bias] over the last axis."""
    bias: Value | None = None
    scale: Value | None = None
    current = node
    absorbed: list[str] = []
    if current.op is ops.add:
        found = _last_axis_parameter(current)
        if found is None:
            return False
        value, bias = found
        scaled = _maker(r, value, ops.mul)
        following = scaled if scaled is not None else _maker(r, value, ops.div)
        if following is None or r.only_user(value) is not node:
            return False
        absorbed.append(value.name)
        current = following
    if current.op is ops.mul:
        found = _last_axis_parameter(current)
        inner = _maker(r, found[0], ops.div) if found is not None else None
        if found is None or inner is None or r.only_user(found[0]) is not current:
            return False
        absorbed.append(found[0].name)
        scale, current = found[1], inner
    if current.op is not ops.div or (bias is not None and scale is None):
        return False
    matched = _standardised(r, current)
    if matched is None:
        return False
    x, eps = matched
    if not is_fusable(x):
        return False
    width = x.type.shape[-1]
    for parameter in (scale, bias):
        if parameter is not None and (parameter.type.rank != 1 or parameter.type.shape[0] != width):
            return False
    r.replace_node(node, ops.layer_norm, x, scale, bias, axis=-1, eps=eps, absorbed=tuple(absorbed))
    return True


def _last_axis_parameter(node: Node) -> tuple[Value, Value] | None:
    """(data, vector) of an operation with a constant or input vector along the last axis."""
    for x, p in _operands(node):
        if p.type.rank == 1 and x.type.rank >= 2 and p.type.shape[0] == x.type.shape[-1]:
            return x, p
    return None


def _standardised(r: Rewriter, node: Node) -> tuple[Value, float] | None:
    """(x, eps) when node divides x - mean(x) by its standard deviation over the last axis."""
    centred, deviation = node.inputs[0], node.inputs[1]
    sub = _maker(r, centred, ops.sub)
    root = _maker(r, deviation, ops.sqrt)
    if sub is None or root is None or centred is None:
        return None
    x, mean = sub.inputs[0], _maker(r, sub.inputs[1], ops.reduce_mean)
    shifted = _with_scalar(r, root.inputs[0], ops.add)
    if x is None or mean is None or mean.inputs[0] is not x or shifted is None:
        return None
    variance = _maker(r, shifted[0], ops.reduce_mean)
    if variance is None or not all(_over_last(m) for m in (mean, variance)):
        return None
    square = _maker(r, variance.inputs[0], ops.mul)
    if square is None or square.inputs[0] is not square.inputs[1]:
        return None
    other = square.inputs[0]
    twin = r.producer(other)
    same = other is centred or (
        twin is not None and twin.op is ops.sub and twin.inputs == sub.inputs
    )
    return (x, shifted[1]) if same else None


def _over_last(node: Node) -> bool:
    x = node.inputs[0]
    assert x is not None
    return bool(
        node.attrs["keepdims"]
        and node.attrs["axes"] == (x.type.rank - 1,)
        and x.type.shape[-1] != as_dim(1)
    )


PASS = Pass(
    "fuse_patterns",
    "recognise spelled-out activations and layer normalization",
    per_function(_rewrite, ops.add, ops.mul, ops.div),
)
