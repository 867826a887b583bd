# SPDX-License-Identifier: Apache-2.0
"""What Python asks of tensors: truth, numbers, iteration, copies, pickling, text."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.checks import grad_of

import samara
from samara.pybridge.errors import SamaraError


def test_truth() -> None:
    assert samara.tensor(1.0)
    assert not samara.tensor([[0]])
    assert samara.tensor([True])
    with pytest.raises(SamaraError, match="ambiguous"):
        bool(samara.ones(2))
    with pytest.raises(SamaraError, match="ambiguous"):
        bool(samara.zeros(0))


def test_numbers() -> None:
    assert float(samara.tensor([2.5])) == 2.5
    assert int(samara.tensor(2.9)) == 2
    assert [5, 6, 7][samara.tensor(1)] == 6
    assert samara.tensor(1.5, requires_grad=True).item() == 1.5
    with pytest.raises(TypeError, match="integer"):
        [5, 6][samara.tensor(1.0)]
    with pytest.raises(SamaraError, match="one element"):
        float(samara.ones(2))


def test_iteration() -> None:
    x = samara.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    a, b = x
    assert (a.tolist(), b.tolist()) == ([1, 2], [3, 4])
    (a * b).sum().backward()
    assert grad_of(x).tolist() == [[3, 4], [1, 2]]
    assert list(samara.zeros(0)) == []
    with pytest.raises(TypeError, match="0-d"):
        iter(samara.tensor(1.0))
    assert len(samara.zeros(3, 2)) == 3
    with pytest.raises(TypeError, match="0-d"):
        len(samara.tensor(1.0))
    assert 3.0 in x
    assert 9 not in x


@pytest.mark.parametrize("copier", [copy.copy, lambda t: pickle.loads(pickle.dumps(t))])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "u1", "?"])
def test_copies_and_pickles(copier: Any, dtype: str) -> None:
    x = samara.from_numpy(np.arange(6).reshape(2, 3).astype(dtype))
    if x.dtype.kind == "f":
        x.requires_grad_()
    y = copier(x)
    assert y is not x
    assert (y.dtype, y.requires_grad, y.tolist()) == (x.dtype, x.requires_grad, x.tolist())
    assert copier(x.detach().t()).tolist() == x.t().tolist()
    assert copier(samara.tensor(2.0)).shape == ()


def test_deepcopy() -> None:
    x = samara.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    nested = {"a": [x, x]}
    twin = copy.deepcopy(nested)
    y = twin["a"][0]
    assert y is twin["a"][1]
    assert y.requires_grad
    assert y.grad is not None
    assert y.grad.tolist() == [3, 3]
    y.grad.zero_()
    y.data.zero_()
    assert (x.tolist(), grad_of(x).tolist()) == ([1, 1], [3, 3])


def test_only_leaves_are_copied_or_sent() -> None:
    y = samara.ones(2, requires_grad=True) * 2
    with pytest.raises(SamaraError, match="leaves"):
        copy.deepcopy(y)
    with pytest.raises(SamaraError, match="leaves"):
        pickle.dumps(y)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: samara.tensor([1.0, 2.5]), "tensor([1. , 2.5])"),
        (lambda: samara.tensor(3), "tensor(3)"),
        (lambda: samara.tensor([[1, 2], [3, 4]]), "tensor([[1, 2],\n        [3, 4]])"),
        (lambda: samara.tensor([1], dtype=samara.int8), "tensor([1], dtype=int8)"),
        (lambda: samara.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
        (lambda: samara.ones(1, requires_grad=True) * 2, "tensor([2.], grad_fn=<mul backward>)"),
        (lambda: samara.tensor([True]), "tensor([ True])"),
        (lambda: samara.zeros(0, 3), "tensor([], shape=(0, 3))"),
    ],
)
def test_text(make: Any, expected: str) -> None:
    assert repr(make()) == expected


def test_formatting() -> None:
    assert f"{samara.tensor(1.23456):.2f}" == "1.23"
    assert f"{samara.tensor(7):>4d}" == "   7"
    assert f"{samara.tensor([1.0])}" == "tensor([1.])"


def test_numpy_leaves_the_work_to_tensors() -> None:
    x = samara.ones(2, requires_grad=True)
    assert isinstance(np.ones(2, np.float32) + x, samara.Tensor)
    assert isinstance(np.float64(2) * x, samara.Tensor)
    assert (np.float64(2) * x).dtype == np.float32
    assert np.asarray(x.detach()).tolist() == [1, 1]
