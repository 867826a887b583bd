# SPDX-License-Identifier: Apache-2.0
"""Bringing operands together: scalars, arrays, dtypes, axes, sizes."""

from __future__ import annotations

import numpy as np
import pytest

import samara
from samara.exporter.frontend import operands as operands
from samara.exporter.types import sym
from samara.pybridge.errors import ShapeError


def test_as_tensor() -> None:
    x = samara.ones(2)
    assert operands.as_tensor(x) is x
    array = np.zeros(3)
    assert operands.as_tensor(array).numpy() is array
    half = samara.ones(2).half()
    assert operands.as_tensor(2, half).dtype == np.float16
    assert operands.as_tensor(2.5, half).dtype == np.float16
    assert operands.as_tensor(2.5, samara.tensor([1])).dtype == np.float32
    assert operands.as_tensor(True).dtype == np.bool_
    assert operands.as_tensor([1.0, 2.0]).dtype == np.float32
    with pytest.raises(TypeError):
        operands.as_tensor("text")


def test_pair_leaves_scalars_where_it_can() -> None:
    x = samara.ones(2)
    assert operands.pair(x, 2) == (x, 2) or operands.pair(x, 2)[1] == 2
    assert operands.pair(2.0, x)[0] == 2.0
    a, b = operands.pair(samara.tensor([1]), 2.5)
    assert (a.dtype, b) == (np.dtype("f4"), 2.5)
    a, b = operands.pair(samara.tensor([1]), samara.tensor([True]), floating=True)
    assert a.dtype == b.dtype == np.float32
    assert type(operands.pair(x, np.float64(2))[1]) is float


@pytest.mark.parametrize(("dim", "expected"), [(0, 0), (-1, 2), (2, 2)])
def test_axis_of(dim: int, expected: int) -> None:
    assert operands.axis_of(samara.zeros(2, 3, 4), dim) == expected


def test_axes() -> None:
    x = samara.zeros(2, 3, 4)
    assert operands.axes_of(x, None) == (0, 1, 2)
    assert operands.axes_of(x, ()) == (0, 1, 2)
    assert operands.axes_of(x, (0, -1)) == (0, 2)
    assert operands.axes_of(samara.tensor(1.0), 0) == ()
    assert operands.axis_of(x, 3, extra=1) == 3
    assert operands.axis_of(samara.tensor(1.0), -1) == 0
    with pytest.raises(ShapeError, match="out of range"):
        operands.axis_of(x, 3)
    with pytest.raises(ShapeError, match="out of range"):
        operands.axis_of(x, -4)
    with pytest.raises(ShapeError, match="repeat"):
        operands.axes_of(x, (0, 0))


def test_sizes() -> None:
    assert operands.sizes_of((2, 3)) == (2, 3)
    assert operands.sizes_of(([2, 3],)) == (2, 3)
    sizes = operands.sizes_of((np.int64(2), samara.tensor(3)))
    assert sizes == (2, 3)
    assert all(type(n) is int for n in sizes)
    assert samara.zeros(6).reshape(np.int64(2), -1).shape == (2, 3)
    assert samara.zeros(6).view(np.int64(2), 3).shape == (2, 3)
    assert samara.zeros(3, 4).select(1, np.int64(-1)).shape == (3,)


def test_broadcast_shapes() -> None:
    n = sym("n")
    assert operands.broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    assert operands.broadcast_shapes((n, 1), (1, 3)) == (n, 3)
    assert operands.broadcast_shapes((n,), (4,)) == operands.broadcast_shapes((4,), (n,)) == (4,)
    assert operands.broadcast_shapes((n,), (n,)) == (n,)
    with pytest.raises(ShapeError, match="do not broadcast"):
        operands.broadcast_shapes((2,), (3,))
