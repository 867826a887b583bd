# SPDX-License-Identifier: Apache-2.0
"""The tensor itself: what it is, its place on the tape, operators against arrays and scalars."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.frontend import tensor as module
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.pybridge.errors import SamaraError, ShapeError, UnsupportedError


def test_construction() -> None:
    assert Tensor([1.0, 2.0]).dtype == np.float32
    assert Tensor([1, 2]).dtype == np.int64
    assert Tensor(np.zeros(3)).dtype == np.float64
    array = np.zeros(3, np.float32)
    assert not np.shares_memory(Tensor(array).numpy(), array)
    assert wrap(array).numpy() is array
    assert wrap(np.float32(2)).shape == ()
    assert Tensor([1.0], requires_grad=True).requires_grad


def test_what_it_is() -> None:
    x = samara.zeros(2, 3)
    assert (x.shape, x.ndim, x.is_leaf, x.grad_fn) == ((2, 3), 2, True, None)
    assert x.dtype == np.float32
    y = x.requires_grad_() * 2
    assert not y.is_leaf
    assert y.grad_fn is not None
    assert y.requires_grad
    assert not (x > 0).requires_grad
    assert y.detach().is_leaf


def test_rules_of_requires_grad() -> None:
    with pytest.raises(SamaraError, match="cannot require gradients"):
        samara.tensor([1, 2]).requires_grad_()
    x = samara.ones(2, requires_grad=True)
    y = x * 2
    with pytest.raises(SamaraError, match="only be changed on leaves"):
        y.requires_grad_(False)
    y.requires_grad_(True)
    assert not x.requires_grad_(False).requires_grad


def test_grad_must_fit() -> None:
    x = samara.ones(2, requires_grad=True)
    with pytest.raises(ShapeError, match="shape"):
        x.grad = samara.ones(3)
    x.grad = samara.ones(2)
    x.grad = None


def test_detach_shares_memory_and_the_guard() -> None:
    x = samara.ones(2, requires_grad=True)
    y = x * 3
    d = y.detach()
    assert np.shares_memory(d.numpy(), y.detach().numpy())
    assert d._version is y._version
    assert not d.requires_grad
    loose = y.data
    assert loose._version is not y._version
    loose.zero_()
    assert d.tolist() == [0, 0]


def test_retain_grad_of_a_tensor_that_is_no_leaf() -> None:
    x = samara.ones(2, requires_grad=True)
    y = x * 3
    y.retain_grad()
    x.retain_grad()
    (y * y).sum().backward(retain_graph=True)
    assert y.grad is not None
    assert y.grad.tolist() == [6, 6]
    (y * y).sum().backward()
    assert y.grad.tolist() == [12, 12]


ARITHMETIC = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
]  # fmt: skip
LEFT = np.array([[7.0, -7.0, 3.5], [2.0, 8.0, -1.5]], np.float32)
RIGHT = np.array([[2.0, 2.0, -2.0], [4.0, 3.0, 2.0]], np.float32)


@pytest.mark.parametrize("op", ARITHMETIC, ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "i8", "u1"])
def test_operators_as_numpy(op: Any, dtype: str) -> None:
    a, b = LEFT.astype(dtype), RIGHT.astype(dtype)
    if dtype == "u1":
        a, b = np.abs(LEFT).astype(dtype), np.abs(RIGHT).astype(dtype)
    if op is operator.pow:
        a, b = np.abs(a), np.abs(b)
    expected = op(a, b)
    if op is operator.truediv and expected.dtype == np.float64 and dtype not in ("f8",):
        expected = expected.astype(np.float32)
    tolerance = 2e-3 if dtype == "f2" else 1e-6
    founds: list[Any] = [
        op(samara.from_numpy(a), samara.from_numpy(b)),
        op(samara.from_numpy(a), b),  # an array on the right
        op(a, samara.from_numpy(b)),  # on the left: the tensor decides
    ]
    for found in founds:
        assert isinstance(found, Tensor)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance)


@pytest.mark.parametrize("op", ARITHMETIC, ids=lambda op: op.__name__)
@pytest.mark.parametrize("scalar", [2, 3.0, np.float32(2.5), np.int64(3)], ids=repr)
@pytest.mark.parametrize("dtype", ["f4", "i8"])
def test_scalars_on_both_sides(op: Any, scalar: Any, dtype: str) -> None:
    a = np.abs(LEFT).astype(dtype)
    value = scalar.item() if isinstance(scalar, np.generic) else scalar
    for found, expected in (
        (op(samara.from_numpy(a), scalar), op(a.astype(np.float64), value)),
        (op(scalar, samara.from_numpy(a)), op(value, a.astype(np.float64))),
    ):
        assert isinstance(found, Tensor)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("op", [operator.and_, operator.or_, operator.xor])
def test_bits_and_truths(op: Any) -> None:
    for a, b in (
        (np.array([True, True, False]), np.array([True, False, False])),
        (np.array([6, 3, -1]), np.array([3, 5, 8])),
    ):
        x, y = samara.from_numpy(a), samara.from_numpy(b)
        np.testing.assert_array_equal(op(x, y).numpy(), op(a, b))
        np.testing.assert_array_equal(op(a, y).numpy(), op(a, b))
        np.testing.assert_array_equal(
            op(bool(b[0]) if b.dtype == bool else 3, x).numpy(), op(b[0], a)
        )
        np.testing.assert_array_equal((~x).numpy(), ~a)


def test_bools_are_no_numbers() -> None:
    x = samara.tensor([True, False])
    wrongs: list[Any] = [lambda: x - x, lambda: -x, lambda: x - True, lambda: True - x]
    for wrong in wrongs:
        with pytest.raises((UnsupportedError, ShapeError)):
            wrong()
    assert (x + x).tolist() == [True, False]
    assert (x * x).tolist() == [True, False]


def test_integers_cannot_be_raised_to_negative_powers() -> None:
    with pytest.raises(UnsupportedError, match="negative powers"):
        samara.tensor([1, 2]) ** -1
    assert (samara.tensor([1, 2]) ** 2.0).dtype == np.float32


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_shapes_that_do_not_fit(op: Any) -> None:
    with pytest.raises(ShapeError, match="broadcast"):
        op(samara.zeros(2, 3), samara.zeros(4, 3))
    with pytest.raises(ShapeError, match="broadcast"):
        op(samara.zeros(2, 3, requires_grad=True), samara.zeros(2, 4).double())


def test_in_place_operators_as_statements() -> None:
    x = samara.tensor([7.0, 8.0])
    held = x
    x += 1
    x -= 2.0
    x *= samara.tensor([2.0, 1.0])
    x /= 4
    assert held.tolist() == [3, 1.75]
    x //= 1
    x **= 2
    x %= 4
    assert held.tolist() == [1, 1]
    b = samara.tensor([True, False])
    kept = b
    b |= samara.tensor([False, True])
    b ^= samara.tensor([True, False])
    b &= samara.tensor([True, True])
    assert kept.tolist() == [False, True]


def test_big_tensors_take_the_same_ways() -> None:
    source = np.random.default_rng(0)
    a, b = source.standard_normal((2, 100, 200), np.float32)
    for op in (operator.add, operator.sub, operator.mul):
        for x, y in ((a, b), (a.T, b.T), (a, b[0]), (a[:, :1], b), (a[::2], b[::2])):
            found = op(wrap(x), wrap(y)).numpy()
            np.testing.assert_array_equal(found, op(x, y))
            assert not np.shares_memory(found, x)


def test_record_gives_places_to_float_results_only() -> None:
    x = samara.randn(3, 4, requires_grad=True)
    values, indices = x.topk(2)
    assert values.requires_grad
    assert not indices.requires_grad
    assert values._node is not None
    assert values._node.outputs is not None
    assert module.record is not None


def test_hash_is_identity() -> None:
    x, y = samara.ones(2), samara.ones(2)
    assert {x: 1, y: 2}[x] == 1
    assert len({x, y, x}) == 2
    assert (x == "no") is False  # type: ignore[comparison-overlap]
    assert (x != None) is True  # type: ignore[unreachable]  # noqa: E711
