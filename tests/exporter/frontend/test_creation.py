# SPDX-License-Identifier: Apache-2.0
"""Making tensors, and functions of several of them: gradients, float32, PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import parity

import samara
from samara.pybridge.errors import SamaraError, ShapeError

MASK = np.array([[True, False, True], [False, True, False]])
CASES: parity.Cases = {
    "cat": (lambda m, x, y: m.cat([x, y], 1), (2, 3), (2, 2)),
    "cat_promoted": (lambda m, x, i: m.cat((x, i)), (2, 3), np.array([[1, 2, 3]])),
    "concat": (lambda m, x: m.concat([x, x], dim=-1), (2, 3)),
    "stack": (lambda m, x, y: m.stack([x, y, x], 1), (2, 3), (2, 3)),
    "stack_scalars": (lambda m, x: m.stack([x.sum(), x.mean()]), (3,)),
    "hstack": (lambda m, x, y: m.hstack([x, y]), (3,), (2,)),
    "vstack": (lambda m, x, y: m.vstack([x, y]), (3,), (2, 3)),
    "where": (lambda m, x, y, c: m.where(c, x, y), (2, 3), (3,), MASK),
    "where_scalars": (lambda m, c: m.where(c, 1.0, 0.0), MASK),
    "where_alone": (lambda m, c: m.where(c), MASK),
    "broadcast_tensors": (lambda m, x, y: m.broadcast_tensors(x, y), (2, 1), (1, 3)),
    "meshgrid": (lambda m, x, y: m.meshgrid(x, y, indexing="ij"), (2,), (3,)),
    "meshgrid_xy": (lambda m, x, y, z: m.meshgrid(x, y, z, indexing="xy"), (2,), (3,), (4,)),
    "atleast_1d": (lambda m, x: m.atleast_1d(x.sum()), (3,)),
}  # fmt: skip
# Without inputs: only the dtype and the values are compared.
MADE: dict[str, Any] = {
    "zeros": lambda m: m.zeros(2, 3),
    "zeros_of": lambda m: m.zeros((2, 0), dtype=m.int32),
    "ones": lambda m: m.ones([3], dtype=m.float64),
    "full": lambda m: m.full((2, 2), 7),
    "full_float": lambda m: m.full((2,), 1.5),
    "full_bool": lambda m: m.full((2,), True),
    "full_dtype": lambda m: m.full((), 3, dtype=m.float16),
    "zeros_like": lambda m: m.zeros_like(m.ones(2, dtype=m.int8)),
    "ones_like": lambda m: m.ones_like(m.zeros(2, 3), dtype=m.int64),
    "full_like": lambda m: m.full_like(m.zeros(2), 2.5),
    "arange": lambda m: m.arange(5),
    "arange_from": lambda m: m.arange(2, 9, 3),
    "arange_down": lambda m: m.arange(5, 1, -1),
    "arange_float": lambda m: m.arange(0, 1, 0.1),
    "arange_float_end": lambda m: m.arange(3.0),
    "arange_dtype": lambda m: m.arange(4, dtype=m.float32),
    "linspace": lambda m: m.linspace(-1, 2, 7),
    "linspace_one": lambda m: m.linspace(3, 5, 1),
    "eye": lambda m: m.eye(3),
    "eye_wide": lambda m: m.eye(2, 3, dtype=m.int64),
    "tensor": lambda m: m.tensor([[1, 2], [3, 4]]),
    "tensor_float": lambda m: m.tensor([1, 2.5]),
    "tensor_bool": lambda m: m.tensor([True, False]),
    "tensor_scalar": lambda m: m.tensor(3.5),
    "tensor_empty": lambda m: m.tensor([]),
    "tensor_dtype": lambda m: m.tensor([1.7, 2.2], dtype=m.int32),
    "tensor_array": lambda m: m.tensor(np.array([1.0, 2.0])),
    "as_tensor": lambda m: m.as_tensor([1.0, 2.0]),
    "as_tensor_array": lambda m: m.as_tensor(np.array([1.0, 2.0])),
    "as_tensor_dtype": lambda m: m.as_tensor([1, 2], dtype=m.float32),
    "as_tensor_int": lambda m: m.as_tensor(3),
}


test_gradients, test_float32, test_as_pytorch = parity.proofs(CASES, *parity.METHODS)


@pytest.mark.parametrize("name", MADE)
def test_made_as_pytorch_makes_it(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is compared with where it is installed")
    found, expected = MADE[name](samara), MADE[name](torch)
    assert found.dtype.name == str(expected.dtype).removeprefix("torch.")
    assert tuple(found.shape) == tuple(expected.shape)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)


def test_values() -> None:
    assert samara.arange(2, 9, 3).tolist() == [2, 5, 8]
    assert samara.linspace(0, 1, 3).tolist() == [0, 0.5, 1]
    assert samara.eye(2).tolist() == [[1, 0], [0, 1]]
    assert samara.full((2,), 3).dtype == np.int64
    assert samara.tensor([]).dtype == np.float32
    assert samara.empty(2, 3).shape == (2, 3)
    assert samara.arange(samara.tensor(3)).tolist() == [0, 1, 2]


def test_everything_can_require_gradients_and_name_the_device() -> None:
    makes: list[Any] = [
        lambda **k: samara.zeros(2, **k),
        lambda **k: samara.ones(2, **k),
        lambda **k: samara.full((2,), 1.0, **k),
        lambda **k: samara.zeros_like(samara.ones(2), **k),
        lambda **k: samara.rand(2, **k),
        lambda **k: samara.randn(2, **k),
        lambda **k: samara.tensor([1.0], **k),
        lambda **k: samara.arange(2.0, **k),
        lambda **k: samara.ones_like(samara.ones(2), **k),
        lambda **k: samara.full_like(samara.ones(2), 3.0, **k),
        lambda **k: samara.empty_like(samara.ones(2), **k),
        lambda **k: samara.rand_like(samara.ones(2), **k),
        lambda **k: samara.randn_like(samara.ones(2), dtype=samara.float64, **k),
        lambda **k: samara.empty(2, pin_memory=True, **k),
        lambda **k: samara.eye(2, **k),
        lambda **k: samara.linspace(0, 1, 3, **k),
        lambda **k: samara.randint(3, (2,), dtype=samara.float32, **k),
        lambda **k: samara.normal(0.0, 1.0, (2,), **k),
        lambda **k: samara.normal(samara.zeros(2), samara.ones(2), **k),
        lambda **k: samara.ones(2).new_ones(3, **k),
        lambda **k: samara.FloatTensor([1.0]).new_empty(2, **k),
    ]
    for make in makes:
        x = make(requires_grad=True, device="cpu")
        assert x.requires_grad
        assert x.is_leaf


def test_tensor_copies_and_as_tensor_does_not() -> None:
    array = np.zeros(2, np.float32)
    assert not np.shares_memory(samara.tensor(array).numpy(), array)
    assert np.shares_memory(samara.as_tensor(array).numpy(), array)
    x = samara.tensor(array)
    assert samara.as_tensor(x) is x
    assert samara.as_tensor(x, dtype=samara.float64).dtype == np.float64
    assert not np.shares_memory(samara.tensor(x).numpy(), x.numpy())


def test_random_numbers_repeat_and_have_their_distribution() -> None:
    draws: list[Any] = [
        lambda: samara.rand(4000),
        lambda: samara.randn(4000),
        lambda: samara.randint(2, 7, (4000,)),
        lambda: samara.randint(5, (4000,)),
        lambda: samara.randperm(4000),
        lambda: samara.bernoulli(samara.full((4000,), 0.3)),
        lambda: samara.normal(2.0, 3.0, (4000,)),
        lambda: samara.rand_like(samara.zeros(4000)),
        lambda: samara.randn_like(samara.zeros(4000)),
        lambda: samara.multinomial(samara.tensor([1.0, 3.0, 0.0]), 4000, replacement=True),
    ]
    found = []
    for draw in draws:
        samara.manual_seed(11)
        a = draw()
        samara.manual_seed(11)
        assert a.tolist() == draw().tolist()
        assert a.tolist() != draw().tolist()
        found.append(a.numpy())
    rand, randn, ints, below, perm, coins, normal, _, _, drawn = found
    assert 0 <= rand.min() < rand.max() < 1
    assert abs(rand.mean() - 0.5) < 0.03
    assert abs(randn.mean()) < 0.08
    assert abs(randn.std() - 1) < 0.05
    assert set(ints) == {2, 3, 4, 5, 6}
    assert set(below) == {0, 1, 2, 3, 4}
    assert sorted(perm) == list(range(4000))
    assert abs(coins.mean() - 0.3) < 0.04
    assert abs(normal.mean() - 2) < 0.2
    assert abs(normal.std() - 3) < 0.15
    assert set(drawn) == {0, 1}
    assert abs((drawn == 1).mean() - 0.75) < 0.04


def test_multinomial_without_replacement() -> None:
    weights = samara.tensor([[1.0, 2.0, 0.0, 3.0]] * 50)
    found = samara.multinomial(weights, 3).numpy()
    assert all(sorted(row) == [0, 1, 3] for row in found)
    with pytest.raises(SamaraError, match="too few"):
        samara.multinomial(weights, 4)


def test_generators_of_ones_own() -> None:
    a, b = samara.Generator(5), samara.Generator(5)
    samara.manual_seed(0)
    first = samara.rand(3)
    assert samara.rand(3, generator=a).tolist() == samara.rand(3, generator=b).tolist()
    samara.manual_seed(0)
    assert samara.rand(3).tolist() == first.tolist()


def test_comparisons_of_whole_tensors() -> None:
    x = samara.tensor([1.0, 2.0])
    assert samara.equal(x, x.clone())
    assert not samara.equal(x, samara.ones(3))
    assert samara.allclose(x, x + 1e-7)
    assert not samara.allclose(x, x + 1e-2)
    assert samara.allclose(x, x + 1e-2, atol=0.1)
    nan = samara.tensor([float("nan")])
    assert not samara.allclose(nan, nan)
    assert samara.allclose(nan, nan, equal_nan=True)


def test_errors() -> None:
    with pytest.raises(ShapeError, match="at least one"):
        samara.cat([])
    with pytest.raises(ShapeError, match="at least one"):
        samara.stack([])
    with pytest.raises(ShapeError):
        samara.cat([samara.zeros(2, 3), samara.zeros(2, 4)])
    with pytest.raises(ShapeError):
        samara.stack([samara.zeros(2), samara.zeros(3)])


def test_normal_numbers_by_element() -> None:
    samara.manual_seed(0)
    drawn = samara.normal(samara.tensor([0.0, 100.0]), samara.tensor([[1.0], [0.0]]))
    assert drawn.shape == (2, 2)
    assert drawn[1].tolist() == [0, 100]
    assert abs(samara.normal(samara.zeros(5000), 2.0).std().item() - 2) < 0.1
    assert samara.normal(0.0, samara.ones(3)).dtype == np.float32
    assert samara.randperm(4, dtype=samara.int32, device="cpu").dtype == np.int32
