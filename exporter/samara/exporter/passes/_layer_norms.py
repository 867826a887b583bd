# SPDX-License-Identifier: Apache-2.0
"""Layer and root-mean-square normalization that files spell out, over the last axis.

PyTorch divides x - mean by sqrt(variance + eps). Keras and JAX multiply by its reciprocal, which may contain the
scale already; Keras also writes x * m + (bias - mean * m).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.program import Node, Value
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.ops import OpSpec
from samara.exporter.passes._pass import is_fusable, maker, scalar_of
from samara.exporter.types import as_dim


@dataclass(frozen=True, slots=True)
class _Moments:
    """What a variance is computed from; mean is None for the mean of squares of x itself."""

    x: Value
    mean: Value | None
    eps: float


@dataclass(frozen=True, slots=True)
class _Norm:
    """A normalization, and the tensors that it replaces."""

    moments: _Moments
    scale: Value | None
    bias: Value | None
    absorbed: tuple[str, ...] = ()


def fuse_layer_norms(r: Rewriter) -> None:
    """Replace normalizations by their operators: from the last node on, because parts match shorter ones."""
    for node in reversed(list(r.nodes())):
        found = _divided(r, node) or _folded(r, node)
        if found is None:
            continue
        x = found.moments.x
        if is_fusable(x) and node.outputs[0].type.shape == x.type.shape:
            centred = found.moments.mean is not None
            parameters = (found.scale, found.bias) if centred else (found.scale,)
            r.replace_node(
                node,
                ops.layer_norm if centred else ops.rms_norm,
                x,
                *(None if p is None else _vector(r, p) for p in parameters),
                axis=-1,
                eps=found.moments.eps,
                absorbed=found.absorbed,
            )


def _divided(r: Rewriter, node: Node) -> _Norm | None:
    """(x - mean) / sqrt(variance + eps) [* scale] [+ bias]."""
    bias = scale = None
    absorbed: list[str] = []
    if node.op is ops.add:
        found = _with_parameter(r, node, (ops.mul, ops.div))
        if found is None:
            return None
        node, bias = found
        absorbed.append(node.outputs[0].name)
    if node.op is ops.mul:
        found = _with_parameter(r, node, (ops.mul, ops.div))
        if found is not None:
            node, scale = found
            absorbed.append(node.outputs[0].name)
    for centred, moments, inner in _standardised(r, node):
        sub = maker(r, centred, ops.sub)
        if moments.mean is None:
            fits = centred is moments.x and bias is None
        else:
            fits = sub is not None and sub.inputs == (moments.x, moments.mean)
        gain = inner if scale is None else scale
        if fits and (scale is None or inner is None) and (bias is None or gain is not None):
            return _Norm(moments, gain, bias, tuple(absorbed))
    return None


def _standardised(r: Rewriter, node: Node) -> Iterator[tuple[Value | None, _Moments, Value | None]]:
    """(centred, moments, scale) for each way to read a node as centred / sqrt(variance + eps) [* scale]."""
    if node.op is ops.div:
        root = maker(r, node.inputs[1], ops.sqrt)
        moments = None if root is None else _moments(r, root.inputs[0])
        if moments is not None:
            yield node.inputs[0], moments, None
    if node.op is ops.mul:
        for centred, factor in _orders(node):
            gain = _gain(r, factor)
            if gain is not None:
                yield centred, *gain


def _folded(r: Rewriter, node: Node) -> _Norm | None:
    """x * m + (bias - mean * m), where m is scale / sqrt(variance + eps)."""
    if node.op is not ops.add:
        return None
    for product, rest in _orders(node):
        scaled, shift = maker(r, product, ops.mul), maker(r, rest, ops.sub)
        moved = None if shift is None else maker(r, shift.inputs[1], ops.mul)
        if scaled is None or shift is None or moved is None:
            continue
        for x, m in _orders(scaled):
            gain = _gain(r, m)
            if gain is None or gain[0].x is not x or set(moved.inputs) != {gain[0].mean, m}:
                continue
            bias = shift.inputs[0]
            if gain[1] is not None and bias is not None and _is_parameter(bias, x):
                return _Norm(gain[0], gain[1], bias, (product.name, rest.name))
    return None


def _gain(r: Rewriter, factor: Value) -> tuple[_Moments, Value | None] | None:
    """The moments and the scale of scale / sqrt(variance + eps)."""
    moments = _of_inverse(r, factor)
    if moments is not None:
        return moments, None
    node = maker(r, factor, ops.mul)
    for inverse, scale in () if node is None else _orders(node):
        moments = _of_inverse(r, inverse)
        if moments is not None and _is_parameter(scale, moments.x):
            return moments, scale
    return None


def _of_inverse(r: Rewriter, value: Value) -> _Moments | None:
    """The moments of 1 / sqrt(variance + eps)."""
    node = r.producer(value)
    if node is None:
        return None
    inside: Value | None = None
    if node.op is ops.rsqrt or (node.op is ops.pow and scalar_of(node.inputs[1]) == -0.5):
        inside = node.inputs[0]
    elif node.op is ops.reciprocal or (node.op is ops.div and scalar_of(node.inputs[0]) == 1.0):
        root = maker(r, node.inputs[-1], ops.sqrt)
        inside = None if root is None else root.inputs[0]
    return None if inside is None else _moments(r, inside)


def _moments(r: Rewriter, value: Value | None) -> _Moments | None:
    """x, its mean and eps if the value is mean((x - mean(x))²) + eps, or mean(x²) + eps, over the last axis."""
    shifted = maker(r, value, ops.add)
    for deviation, eps in () if shifted is None else _orders(shifted):
        number = scalar_of(eps)
        variance = maker(r, deviation, ops.reduce_mean)
        if number is None or variance is None or not _over_last(variance):
            continue
        square = maker(r, variance.inputs[0], ops.mul)
        if square is None or value is None:
            continue
        found = _centred(r, square) or (square.inputs[0], None)
        x, mean = found
        whole = mean is not None or square.inputs[0] is square.inputs[1]
        if whole and x is not None and value.type.rank == x.type.rank:
            return _Moments(x, mean, number)
    return None


def _centred(r: Rewriter, square: Node) -> tuple[Value, Value] | None:
    """(x, its mean) if the node is the square of their difference."""
    a, b = (maker(r, v, ops.sub) for v in square.inputs)
    if a is None or b is None or a.inputs != b.inputs:
        return None
    x, centre = a.inputs
    mean = maker(r, centre, ops.reduce_mean)
    if x is None or centre is None or mean is None or not _over_last(mean):
        return None
    return (x, centre) if mean.inputs[0] is x else None


def _with_parameter(
    r: Rewriter, node: Node, makers: tuple[OpSpec, ...]
) -> tuple[Node, Value] | None:
    """(maker of the data, parameter) of a node that applies a parameter to data which nothing else reads."""
    for data, parameter in _orders(node):
        inner = r.producer(data)
        alone = inner is not None and inner.op in makers and r.only_user(data) is node
        if inner is not None and alone and _is_parameter(parameter, data):
            return inner, parameter
    return None


def _is_parameter(p: Value, x: Value) -> bool:
    """Whether it has a number per index of the last axis of x: a vector, or a constant with unit dims before."""
    if not 1 <= p.type.rank <= x.type.rank or x.type.rank < 2 or p.type.dtype is not x.type.dtype:
        return False
    if p.type.shape[-1] != x.type.shape[-1]:
        return False
    return p.type.rank == 1 or (p.constant is not None and p.constant.size == p.constant.shape[-1])


def _vector(r: Rewriter, p: Value) -> Value:
    if p.type.rank == 1:
        return p
    assert p.constant is not None
    return r.const(np.ravel(p.constant), p.name, p.type.dtype)


def _orders(node: Node) -> list[tuple[Value, Value]]:
    """The two operands, in both orders."""
    a, b = node.inputs[0], node.inputs[1]
    assert a is not None
    assert b is not None
    return [(a, b), (b, a)]


def _over_last(node: Node) -> bool:
    x = node.inputs[0]
    assert x is not None
    return bool(
        node.attrs["keepdims"]
        and node.attrs["axes"] == (x.type.rank - 1,)
        and x.type.shape[-1] != as_dim(1)
    )
