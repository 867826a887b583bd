# SPDX-License-Identifier: Apache-2.0
"""Activations that files spell out: a tensor times a gate that is computed from it, and hard_sigmoid.

The arithmetic inside of a gate is compared as a polynomial of x, so that the order of its operations does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import zip_longest
from typing import Any, Final

from numpy.polynomial import polynomial

from samara.exporter import ops
from samara.exporter.ir.program import Node, Value
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.ops import OpSpec
from samara.exporter.passes._pass import is_fusable, maker, scalar_of

Polynomial = tuple[float, ...]  # coefficients of x to the power 0, 1, ...
Activation = tuple[OpSpec, dict[str, Any]]

_DEGREE: Final = 3
_DEEPEST: Final = 8  # operations inside of a gate
# Inside of the clamp of hard_swish, of the erf and of the tanh of gelu.
_SIXTH: Final[Polynomial] = (0.5, 1 / 6)
_ERF: Final[Polynomial] = (0.0, math.sqrt(0.5))
_TANH: Final[Polynomial] = (0.0, math.sqrt(2 / math.pi), 0.0, math.sqrt(2 / math.pi) * 0.044715)


def fuse_activations(r: Rewriter) -> None:
    """Replace spelled-out silu, hard_swish, gelu and hard_sigmoid by their operators."""
    for node in r.nodes():
        if node.op in (ops.mul, ops.div):
            _gated(r, node)
    for node in r.nodes():
        if node.op in (ops.mul, ops.div, ops.clamp):
            _hard_sigmoid(r, node)


def _gated(r: Rewriter, node: Node) -> None:
    """x times a gate of x, times numbers in any order."""
    tensors, scale = _factors(r, node)
    if len(tensors) != 2:
        return
    for x, gate in (tensors, tensors[::-1]):
        if r.only_user(gate) is None or node.outputs[0].type.shape != x.type.shape:
            continue
        found = _activation(r, x, gate, scale)
        if found is not None:
            r.replace_node(node, found[0], x, absorbed=(gate.name,), **found[1])
            return


def _activation(r: Rewriter, x: Value, gate: Value, scale: float) -> Activation | None:
    """The operator that is x * gate * scale."""
    inner = r.producer(gate)
    if inner is None:
        return None
    if inner.op in (ops.sigmoid, ops.hard_sigmoid):
        if inner.inputs[0] is not x or scale != 1.0:
            return None
        if inner.op is ops.sigmoid:
            return ops.silu, {}
        return _swish((inner.attrs["beta"], inner.attrs["alpha"]))
    if not is_fusable(x):
        return None
    if inner.op is ops.clamp:
        return _swish(_clamped(r, inner, x, scale))
    return _gelu(r, x, inner) if _near(scale, 0.5) else None


def _swish(slope: Polynomial | None) -> Activation | None:
    return (ops.hard_swish, {}) if slope is not None and _like(slope, _SIXTH) else None


def _gelu(r: Rewriter, x: Value, gate: Node) -> Activation | None:
    """gelu if the gate is 1 + erf(x / sqrt 2), or 1 + tanh of a polynomial (Hendrycks and Gimpel, "Gaussian
    Error Linear Units", 2016).
    """
    if gate.op is not ops.add:
        return None
    for one, curve in (gate.inputs, gate.inputs[::-1]):
        if one is None or scalar_of(one) != 1.0:
            continue
        for op, wanted, approximate in ((ops.erf, _ERF, "none"), (ops.tanh, _TANH, "tanh")):
            made = maker(r, curve, op)
            inside = None if made is None else _polynomial(r, made.inputs[0], x)
            if inside is not None and _like(inside, wanted):
                return ops.gelu, {"approximate": approximate}
    return None


def _hard_sigmoid(r: Rewriter, node: Node) -> None:
    """clamp(a x + b, 0, 1), or the same with a common factor before and after the clamp."""
    tensors, scale = _factors(r, node) if node.op is not ops.clamp else ([node.outputs[0]], 1.0)
    clamp = maker(r, tensors[0], ops.clamp) if len(tensors) == 1 else None
    if clamp is None or not (clamp is node or r.only_user(tensors[0]) is not None):
        return
    x = _base(r, clamp.inputs[0])
    if x is None or x is clamp.inputs[0] or node.outputs[0].type.shape != x.type.shape:
        return
    slope = _clamped(r, clamp, x, scale) if is_fusable(x) else None
    if slope is None or len(slope) != 2:
        return
    absorbed = () if clamp is node else (tensors[0].name,)
    r.replace_node(node, ops.hard_sigmoid, x, absorbed=absorbed, alpha=slope[1], beta=slope[0])


def _clamped(r: Rewriter, clamp: Node, x: Value, scale: float) -> Polynomial | None:
    """The polynomial p such that clamp(...) * scale is clamp(p(x), 0, 1)."""
    if clamp.attrs["lo"] != 0.0 or not _near(clamp.attrs["hi"] * scale, 1.0):
        return None
    inside = _polynomial(r, clamp.inputs[0], x)
    return None if inside is None else tuple(c * scale for c in inside)


def _base(r: Rewriter, value: Value | None) -> Value | None:
    """The tensor before additions of and products with numbers."""
    for _ in range(_DEEPEST):
        node = r.producer(value)
        if node is None or node.op not in (*_ARITHMETIC, ops.div):
            break
        rest = [v for v in node.inputs if v is None or scalar_of(v) is None]
        if len(rest) != 1:
            break
        value = rest[0]
    return value


_ARITHMETIC: Final[dict[OpSpec, Callable[[Any, Any], Any]]] = {
    ops.add: polynomial.polyadd,
    ops.sub: polynomial.polysub,
    ops.mul: polynomial.polymul,
}


def _polynomial(
    r: Rewriter, value: Value | None, x: Value, depth: int = _DEEPEST
) -> Polynomial | None:
    """The value as a polynomial of x, elementwise; None if it is none of degree 3 or less."""
    if value is None:
        return None
    if value is x:
        return (0.0, 1.0)
    number = scalar_of(value)
    if number is not None:
        return (number,) if value.type.rank <= x.type.rank else None
    node = r.producer(value)
    if node is None or depth == 0 or value.type.shape != x.type.shape:
        return None
    if node.op is ops.pow and (exponent := _exponent(node)) is not None:
        inner = _polynomial(r, node.inputs[0], x, depth - 1)
        return None if inner is None else _short(polynomial.polypow(inner, exponent))
    if node.op not in (*_ARITHMETIC, ops.div):
        return None
    a, b = (_polynomial(r, v, x, depth - 1) for v in node.inputs)
    if a is None or b is None:
        return None
    if node.op is ops.div:
        return tuple(c / b[0] for c in a) if len(b) == 1 and b[0] != 0.0 else None
    return _short(_ARITHMETIC[node.op](a, b))


def _exponent(node: Node) -> int | None:
    exponent = scalar_of(node.inputs[1])
    return int(exponent) if exponent in (2.0, 3.0) else None


def _short(coefficients: Any) -> Polynomial | None:
    found = tuple(map(float, polynomial.polytrim(coefficients)))
    return found if len(found) <= _DEGREE + 1 else None


def _factors(r: Rewriter, node: Node) -> tuple[list[Value], float]:
    """The tensors and the product of the numbers in a chain of products and divisions by numbers without other
    users. More than two tensors are not listed.
    """
    tensors: list[Value] = []
    scale = 1.0
    stack = [node]
    while stack:
        at = stack.pop()
        values = [v for v in at.inputs if v is not None]
        if at.op is ops.div:
            divisor = scalar_of(values[1])
            if divisor is None or divisor == 0.0:
                tensors.append(at.outputs[0])
                continue
            scale /= divisor
            del values[1]
        for v in values:
            number = scalar_of(v)
            inner = r.producer(v)
            if number is not None:
                scale *= number
            elif (
                inner is not None
                and inner.op in (ops.mul, ops.div)
                and r.only_user(v) is not None
                and len(tensors) + len(stack) < 4
            ):
                stack.append(inner)
            else:
                tensors.append(v)
    return tensors, scale


def _like(found: Polynomial, wanted: Polynomial) -> bool:
    return all(_near(a, b) for a, b in zip_longest(found, wanted, fillvalue=0.0))


def _near(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=2e-6)
