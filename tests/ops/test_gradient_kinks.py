# SPDX-License-Identifier: Apache-2.0
"""Gradients where operators have none: at kinks, ties and zeros they are PyTorch's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import vjp
from samara.exporter.testing import Array

INF, NAN = np.inf, np.nan
Function = Callable[..., Any]


def gradients(f: Function, *inputs: Any) -> list[Any]:
    """Gradients of the sum of f's (first) result, zeros where it does not depend on an input."""
    xs = [np.asarray(x, np.float64) for x in inputs]
    y = f(*xs)
    first = y[0] if isinstance(y, tuple) else y
    found = vjp(f, xs, [np.ones(first.shape)])
    return [np.zeros(x.shape) if g is None else g for x, g in zip(xs, found, strict=True)]


# What, at which inputs, and the gradients there: those of PyTorch 2.13.0 of the sum of the result.
KINKS: dict[str, tuple[Function, Sequence[Any], Sequence[Any]]] = {
    "relu": (ops.relu, [[-1, 0, -0.0, 1, NAN]], [[0, 0, 0, 1, 1]]),
    "abs": (ops.abs, [[-2, 0, -0.0, 3]], [[-1, 0, 0, 1]]),
    "sign": (ops.sign, [[-2, 0, 3]], [[0, 0, 0]]),
    "floor": (ops.floor, [[-1, 0.5]], [[0, 0]]),
    "ceil": (ops.ceil, [[-1, 0.5]], [[0, 0]]),
    "round": (ops.round, [[0.5, 1.2]], [[0, 0]]),
    "sqrt": (ops.sqrt, [[0, 4]], [[INF, 0.25]]),
    "log": (ops.log, [[0, 2]], [[INF, 0.5]]),
    "clamp": (
        lambda x: ops.clamp(x, lo=-1, hi=0.5),
        [[-2, -1, 0, 0.5, 1, NAN]],
        [[0, 1, 1, 1, 0, 0]],
    ),
    "leaky_relu": (lambda x: ops.leaky_relu(x, alpha=0.25), [[-1, 0, 1]], [[0.25, 0.25, 1]]),
    "elu": (lambda x: ops.elu(x, alpha=0.5), [[0, 1]], [[0.5, 1]]),
    "hard_sigmoid": (
        lambda x: ops.hard_sigmoid(x, alpha=0.25, beta=0.5), [[-2, 0, 2]], [[0, 0.25, 0]]
    ),
    "hard_swish": (ops.hard_swish, [[-4, -3, 0, 3, 4]], [[0, 0, 0.5, 1, 1]]),
    "prelu": (ops.prelu, [[-1, 0, 1], [0.25, 0.5, 0.5]], [[0.25, 0.5, 1], [-1, 0, 0]]),
    "max": (ops.max, [[1, 2, 3, NAN], [1, 1, 4, 1]], [[0.5, 1, 0, 1], [0.5, 0, 1, 1]]),
    "min": (ops.min, [[1, 2, 3, NAN], [1, 1, 4, 1]], [[0.5, 0, 1, 1], [0.5, 1, 0, 1]]),
    "pow": (
        ops.pow, [[0, 0, 0, 2, 0], [0, 2, 0.5, 0, -1]], [[0, 0, INF, 0, -INF], [0, 0, 0, np.log(2), -INF]]
    ),
    "pow by a number": (lambda x: ops.pow(x, 2), [[0, -3]], [[0, -6]]),
    "pow by 0": (lambda x: ops.pow(x, 0), [[0, -3]], [[0, 0]]),
    "a number to a power": (lambda x: ops.pow(2.0, x), [[0, 1]], [[np.log(2), 2 * np.log(2)]]),
    "mod": (ops.mod, [[5.5, -5.5], [2, 2]], [[1, 1], [-2, 3]]),
    "fmod": (lambda a, b: ops.mod(a, b, fmod=True), [[5.5, -5.5], [2, 2]], [[1, 1], [-2, 2]]),
    "where hides": (
        lambda a, b: ops.where(np.array([True, False]), a, b), [[1, NAN], [NAN, 2]], [[1, 0], [0, 1]]
    ),
    "reduce_max": (
        lambda x: ops.reduce_max(x, axes=(1,)),
        [[[1, 2, 2], [3, 3, 3]]],
        [[[0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]]],
    ),
    "reduce_min": (
        lambda x: ops.reduce_min(x, axes=(0, 1)), [[[1, 2], [1, 3]]], [[[0.5, 0], [0.5, 0]]]
    ),
    "reduce_prod": (
        lambda x: ops.reduce_prod(x, axes=(1,)),
        [[[2, 3, 0], [0, 3, 0], [2, 3, 4]]],
        [[[0, 0, 6], [0, 0, 0], [12, 8, 6]]],
    ),
    "top_k": (lambda x: ops.top_k(x, k=2), [[1, 3, 2]], [[0, 1, 1]]),
}  # fmt: skip


@pytest.mark.parametrize("name", KINKS)
def test_kink(name: str) -> None:
    f, inputs, want = KINKS[name]
    for got, expected in zip(gradients(f, *inputs), want, strict=True):
        np.testing.assert_allclose(got, np.asarray(expected, np.float64), rtol=1e-12)


PLACES = np.array([0, 2, 2, 0])
# reduction -> gradients of x and of the updates, x = [1, 5, 0, 7], updates [1, 0, 0, 1] at PLACES
SCATTERED: dict[str, tuple[list[float], list[float]]] = {
    "none": ([0, 1, 0, 1], [0, 0, 1, 1]),  # of two updates of one element the last stays
    "add": ([1, 1, 1, 1], [1, 1, 1, 1]),
    "mul": ([1, 1, 0, 1], [1, 0, 0, 1]),
    "max": ([1 / 3, 1, 1 / 3, 1], [1 / 3, 1 / 3, 1 / 3, 1 / 3]),
    "min": ([1 / 3, 1, 1 / 3, 1], [1 / 3, 1 / 3, 1 / 3, 1 / 3]),
}


@pytest.mark.parametrize("how", SCATTERED)
def test_scatter(how: str) -> None:
    def elements(x: Any, updates: Any) -> Any:
        return ops.scatter_elements(x, PLACES, updates, reduction=how)

    def tuples(x: Any, updates: Any) -> Any:
        return ops.scatter_nd(x, PLACES[:, None], updates, reduction=how)

    for f in (elements, tuples):
        got = gradients(f, [1, 5, 0, 7], [1, 0, 0, 1])
        for g, want in zip(got, SCATTERED[how], strict=True):
            np.testing.assert_allclose(g, want, rtol=1e-12)


def second(f: Function, x: Array) -> Array:
    """The Hessian of a scalar function."""

    def gradient(at: Any) -> Any:
        return vjp(f, [at], [np.ones(())])[0]

    rows = [vjp(gradient, [x], [row])[0] for row in np.eye(x.size)]
    return np.array([np.zeros(x.size) if r is None else r for r in rows])


def test_second_derivatives_of_a_product_with_zeros() -> None:
    """d2/dxi dxj of x0 x1 x2 x3 x4 is the product of the others, zeros or not."""
    for x in ([2.0, 3, 5, 0, 7], [0.0, 3, 0, 2, 5], [1.0, 2, 3, 4, 5]):
        at = np.array(x)
        want = np.array(
            [[0 if i == j else np.prod(np.delete(at, [i, j])) for j in range(5)] for i in range(5)]
        )
        np.testing.assert_allclose(second(lambda v: ops.reduce_prod(v, axes=(0,)), at), want)


def test_nested_products_know_their_own_tape() -> None:
    """An inner vjp that uses a value of an outer one keeps the two apart."""

    def f(x: Any) -> Any:
        # d/dy of (y**2 * x) at y = x is 2 x**2; x itself is a constant to the inner pass.
        (inner,) = vjp(lambda y: ops.mul(ops.mul(y, y), x), [x], [np.ones(())])
        return inner

    x = np.array(3.0)
    np.testing.assert_allclose(f(x), 18)
    (outer,) = vjp(f, [x], [np.ones(())])
    np.testing.assert_allclose(outer, 12)
