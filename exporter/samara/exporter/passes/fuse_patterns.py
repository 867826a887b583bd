# SPDX-License-Identifier: Apache-2.0
"""Pattern fusion: spelled-out activations and layer normalization become their operators."""

from __future__ import annotations

from samara.exporter import ops
from samara.exporter.ir.program import Node, Value
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.ops import OpSpec
from samara.exporter.passes._activations import fuse_activations
from samara.exporter.passes._pass import Pass, is_fusable, maker, per_function, scalar_of
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
    fuse_activations(r)


def _operands(node: Node) -> list[tuple[Value, Value]]:
    a, b = node.inputs[0], node.inputs[1]
    assert a is not None
    assert b is not None
    return [(a, b), (b, a)]


def _with_scalar(r: Rewriter, value: Value | None, op: OpSpec) -> tuple[Value, float] | None:
    """(x, c) when value is x op c with a scalar constant c (either side for add and mul)."""
    node = maker(r, value, op)
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
        scaled = maker(r, value, ops.mul)
        following = scaled if scaled is not None else maker(r, value, ops.div)
        if following is None or r.only_user(value) is not node:
            return False
        absorbed.append(value.name)
        current = following
    if current.op is ops.mul:
        found = _last_axis_parameter(current)
        inner = maker(r, found[0], ops.div) if found is not None else None
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
    sub = maker(r, centred, ops.sub)
    root = maker(r, deviation, ops.sqrt)
    if sub is None or root is None or centred is None:
        return None
    x, mean = sub.inputs[0], maker(r, sub.inputs[1], ops.reduce_mean)
    shifted = _with_scalar(r, root.inputs[0], ops.add)
    if x is None or mean is None or mean.inputs[0] is not x or shifted is None:
        return None
    variance = maker(r, shifted[0], ops.reduce_mean)
    if variance is None or not all(_over_last(m) for m in (mean, variance)):
        return None
    square = maker(r, variance.inputs[0], ops.mul)
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
    per_function(_rewrite, ops.add, ops.mul, ops.div, ops.clamp),
)
