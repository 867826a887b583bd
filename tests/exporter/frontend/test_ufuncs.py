# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions on tensors: the tensors' operations where there are, NumPy's elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.frontend import _ufuncs

X = np.array([0.25, 0.5, 0.75], np.float32)
Y = np.array([2.0, 0.5, -1.0], np.float32)
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "invert")


@pytest.mark.parametrize("name", _ufuncs._UNARY)
def test_of_one(name: str) -> None:
    x: Any = X + 1 if name == "arccosh" else X
    x = np.array([1, 6]) if name in BITS else x
    got = getattr(np, name)(samara.tensor(x))
    assert isinstance(got, samara.Tensor)
    np.testing.assert_allclose(got.numpy(), getattr(np, name)(x), 1e-5)


@pytest.mark.parametrize("name", [*_ufuncs._OPERATORS, *_ufuncs._BINARY])
def test_of_two(name: str) -> None:
    x, y = (np.array([1, 6, 3]), np.array([3, 5, 3])) if name in BITS else (X, Y)
    want = getattr(np, name)(x, y)
    for a, b in (
        (samara.tensor(x), samara.tensor(y)),
        (x, samara.tensor(y)),
        (samara.tensor(x), y),
    ):
        got = getattr(np, name)(a, b)
        assert isinstance(got, samara.Tensor)
        np.testing.assert_allclose(got.numpy(), want, 1e-5)


def test_gradients_and_traces() -> None:
    x: Any = samara.tensor(X).requires_grad_()
    np.sqrt(np.multiply(X, x)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full(3, 0.5), 1e-6)
    program = samara.trace(lambda x: np.exp(np.maximum(x, 0.5)), (samara.tensor(X),))
    np.testing.assert_allclose(program.run({"x": X})["output"], np.exp(np.maximum(X, 0.5)), 1e-6)


def test_operators_of_arrays() -> None:
    t: Any = samara.tensor(Y)
    results: list[Any] = [
        (X + t, X + Y),
        (X - t, X - Y),
        (X / t, X / Y),
        (np.float32(2) * t, 2 * Y),
        (t > X, X < Y),
        (X @ t, X @ Y),
    ]
    for got, want in results:
        assert isinstance(got, samara.Tensor)
        np.testing.assert_allclose(got.numpy(), want, 1e-6)
    assert (np.ones(3) + t).dtype == (t + np.ones(3)).dtype


def test_what_numpy_alone_has() -> None:
    t: Any = samara.tensor(X)
    got = np.cbrt(t)
    assert isinstance(got, samara.Tensor)
    np.testing.assert_allclose(got.numpy(), np.cbrt(X), 1e-6)
    whole, part = np.divmod(t, 0.5)
    np.testing.assert_allclose((whole * 0.5 + part).numpy(), X, 1e-6)
    fraction, exponent = np.frexp(t)
    assert (fraction.numpy() * 2.0 ** exponent.numpy()).tolist() == X.tolist()
    with pytest.raises(TypeError, match=r"np\.cbrt has no counterpart"):
        np.cbrt(t.requires_grad_())
    with pytest.raises(TypeError, match=r"np\.cbrt has no counterpart"):
        samara.trace(np.cbrt, (samara.tensor(X),), input_names=["x"])


def test_arrays_that_are_written() -> None:
    t, out = samara.tensor(Y), np.zeros(3, np.float32)
    assert np.add(X, t, out=out) is out
    np.testing.assert_array_equal(out, X + Y)
    into: Any = out
    into += t
    assert into is out
    np.testing.assert_array_equal(out, X + Y + Y)
    with pytest.raises(TypeError, match="cannot write into a tensor"):
        np.add(X, X, out=t)  # type: ignore[call-overload]


def test_what_is_refused() -> None:
    t = samara.tensor(X)
    with pytest.raises(TypeError, match=r"np\.add\.reduce of a tensor"):
        np.add.reduce(t)
    with pytest.raises(TypeError, match=r"np\.multiply\.outer"):
        np.multiply.outer(t, t)
    with pytest.raises(TypeError, match="takes no dtype"):
        np.add(t, t, dtype=np.float64)
