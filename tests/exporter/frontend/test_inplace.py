# SPDX-License-Identifier: Apache-2.0
"""Changes in place: results, versions, gradients, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.checks import grad_of

import samara
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import SamaraError, ShapeError

VALUES = np.array([[0.5, -1.5, 2.0], [0.25, 3.0, -0.75]])
NAMES = [
    "neg", "abs", "exp", "tanh", "sigmoid", "relu", "floor", "ceil", "round", "square", "sign",
    "trunc", "sin", "cos", "expm1", "tril", "triu", "reciprocal", "nan_to_num",
]  # fmt: skip
CALLS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(NAMES, ()),
    "add": (2.0,), "sub": (VALUES.T.copy().reshape(2, 3),), "mul": (VALUES[0],), "div": (4.0,),
    "pow": (3,), "clamp": (-0.5, 0.7), "clip": (0.0, 1.0), "clamp_min": (0.1,),
    "clamp_max": (0.1,), "lerp": (VALUES[::-1].copy(), 0.3), "remainder": (0.7,),
    "fmod": (0.7,), "floor_divide": (0.7,), "addcmul": (VALUES, VALUES), "masked_fill":
    (VALUES > 0, 9.0), "index_fill": (1, np.array([0, 2]), 4.0), "index_add":
    (0, np.array([1, 0]), VALUES), "index_copy": (0, np.array([1, 0]), VALUES),
    "scatter": (1, np.array([[2], [0]]), VALUES[:, :1]),
    "scatter_add": (1, np.array([[2], [0]]), VALUES[:, :1]),
}  # fmt: skip


def changes(x: Any) -> list[Any]:
    """Calls that change a tensor of two elements, or rows of two, in place."""
    fillings = [x.zero_, x.normal_, x.uniform_, x.exp_]
    return [
        *fillings,
        lambda: x.add_(1.0),
        lambda: x.__setitem__(0, 1.0),
        lambda: x.copy_(samara.ones(2)),
    ]


def given(args: tuple[Any, ...]) -> list[Any]:
    return [samara.tensor(a) if isinstance(a, np.ndarray) else a for a in args]


@pytest.mark.parametrize("name", CALLS)
def test_the_same_as_without(name: str) -> None:
    args = given(CALLS[name])
    expected = getattr(samara.tensor(VALUES), name)(*args)
    x = samara.tensor(VALUES)
    view, version = x[:], x._version[0]
    assert getattr(x, name + "_")(*args) is x
    np.testing.assert_array_equal(x.numpy(), expected.numpy())
    assert np.shares_memory(x.numpy(), view.numpy())
    assert x._version[0] == version + 1


@pytest.mark.parametrize("name", [*CALLS, "log", "sqrt", "rsqrt", "log1p"])
def test_gradients_are_the_same(name: str) -> None:
    args = given(CALLS.get(name, ()))
    grads = []
    for method in (name, name + "_"):
        x = samara.tensor(np.abs(VALUES), requires_grad=True)
        y = x * 1.5
        out = getattr(y, method)(*args)
        (out * out).sum().backward()
        grads.append(grad_of(x))
    np.testing.assert_array_equal(grads[0], grads[1])


def test_copy_and_fill() -> None:
    x = samara.zeros(2, 3)
    assert x.copy_(samara.tensor([1, 2, 3])).tolist() == [[1, 2, 3]] * 2
    assert x.fill_(7).tolist() == [[7] * 3] * 2
    assert x.zero_().tolist() == [[0] * 3] * 2
    w: Any = samara.ones(3, requires_grad=True)
    v = samara.tensor(2.0, requires_grad=True)
    y = w * 2
    y.copy_(w * 5)
    y = y * 1
    y.sum().backward()
    assert grad_of(w).tolist() == [5, 5, 5]
    z = w * 2
    z.fill_(v)
    z.sum().backward()
    assert grad_of(v).item() == 3
    assert grad_of(w).tolist() == [5, 5, 5]
    constants: list[Any] = [
        lambda t: t.fill_(3.0),
        lambda t: t.copy_(samara.ones(3)),
        lambda t: t.zero_(),
    ]
    for constant in constants:
        w.grad = None
        changed = w * 2
        constant(changed)
        (changed + w * 0.5).sum().backward()
        assert grad_of(w).tolist() == [0.5, 0.5, 0.5]


def test_random_fillings_repeat() -> None:
    draws: list[Any] = [
        lambda t: t.normal_(1.0, 2.0),
        lambda t: t.uniform_(-1.0, 1.0),
        lambda t: t.bernoulli_(0.25),
    ]
    for draw in draws:
        samara.manual_seed(3)
        a = draw(samara.empty(50, 40))
        samara.manual_seed(3)
        b = draw(samara.empty(50, 40))
        assert a.tolist() == b.tolist()
    assert abs(float(samara.empty(10000).normal_(1.0, 2.0).mean()) - 1) < 0.1
    x = samara.empty(10000).uniform_(-1.0, 3.0)
    assert -1 <= float(x.min()) < -0.9
    assert 2.9 < float(x.max()) < 3
    assert abs(float(samara.empty(10000).bernoulli_(0.25).mean()) - 0.25) < 0.03


def test_a_leaf_that_learns_is_refused_while_recording() -> None:
    x = samara.ones(2, requires_grad=True)
    for change in changes(x):
        with pytest.raises(SamaraError, match="leaf that requires gradients"):
            change()
    with samara.no_grad():
        x.add_(1.0)
        x[0] = 5.0
    assert x.tolist() == [5, 2]
    assert x.is_leaf
    assert x.requires_grad


def test_a_plain_tensor_takes_part_once_it_takes_in_a_gradient() -> None:
    w = samara.tensor([1.0, 2.0], requires_grad=True)
    x = samara.zeros(3, 2)
    x[1] = w * 2
    x[2] = 5.0
    assert x.requires_grad
    (x * samara.tensor([[1.0], [3.0], [1.0]])).sum().backward()
    assert grad_of(w).tolist() == [6, 6]


def test_gradients_of_a_written_part() -> None:
    x = samara.arange(6).double().reshape(2, 3).requires_grad_()
    v = samara.tensor([10.0, 20.0], dtype=samara.float64, requires_grad=True)
    y = x * 2
    y[:, 1] = v
    y[y > 15] = 0.0
    (y * samara.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).double()).sum().backward()
    assert grad_of(x).tolist() == [[2, 0, 6], [8, 0, 12]]
    assert grad_of(v).tolist() == [2, 0]  # the 20 was overwritten


@pytest.mark.parametrize(
    "view", [lambda t: t.expand(3, 2), lambda t: t.broadcast_to(3, 2), lambda t: t.expand(3, 2)[1:]]
)
def test_expanded_memory_cannot_be_written(view: Any) -> None:
    x = view(samara.zeros(2))
    for change in changes(x):
        with pytest.raises(SamaraError, match="expanded"):
            change()
    assert x.clone().add_(1.0).sum() > 0


def test_what_does_not_fit() -> None:
    x = samara.zeros(2, dtype=samara.int64)
    wrongs: list[Any] = [
        lambda: x.add_(1.5),
        lambda: x.div_(2),
        lambda: x.mul_(samara.tensor([0.5, 1.0])),
    ]
    for wrong in wrongs:
        with pytest.raises(SamaraError, match="does not fit in place"):
            wrong()
    y = samara.zeros(2)
    shapes: list[Any] = [lambda: y.add_(samara.ones(3, 2)), lambda: y.mul_(samara.ones(3))]
    for shape in shapes:
        with pytest.raises(ShapeError):
            shape()
    with pytest.raises(ShapeError, match="does not fit"):
        y.copy_(samara.ones(3))
    with pytest.raises(ShapeError, match="does not fit"):
        y[0] = samara.ones(3)
    y[0] = samara.tensor([[4.0]])  # leading ones go
    assert y.tolist() == [4, 0]


def test_operands_that_overlap() -> None:
    x = samara.arange(9).float().reshape(3, 3)
    expected = x.numpy() + x.numpy().T
    assert x.add_(x.t()).numpy().tolist() == expected.tolist()
    y = samara.arange(5).float()
    y[1:] = y[:-1]
    assert y.tolist() == [0, 0, 1, 2, 3]
    assert y.copy_(y.flip(0)).tolist() == [3, 2, 1, 0, 0]


def test_a_view_changes_its_base_where_nothing_is_recorded() -> None:
    x: Tensor = samara.zeros(2, 3)
    x[0] += 1.0
    x.t()[2].mul_(5.0)
    x.view(6)[3:].fill_(2)
    assert x.tolist() == [[1, 1, 5], [2, 2, 2]]
