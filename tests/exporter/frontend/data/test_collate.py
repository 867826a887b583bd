# SPDX-License-Identifier: Apache-2.0
"""Samples made a batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from samara.exporter.frontend.creation import from_numpy
from samara.exporter.frontend.data import default_collate, default_convert
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import SamaraError, ShapeError


class Pair(NamedTuple):
    a: Any
    b: Any


@pytest.mark.parametrize(
    ("batch", "dtype", "value"),
    [
        ([1, 2], np.int64, [1, 2]),
        ([1.5, 2], np.float64, [1.5, 2]),
        ([True, False], np.bool_, [True, False]),
        ([np.float32(1), np.float32(2)], np.float32, [1, 2]),
        ([np.ones(2, np.int8)] * 2, np.int8, [[1, 1], [1, 1]]),
        ([from_numpy(np.ones(1, np.float16))] * 3, np.float16, [[1], [1], [1]]),
    ],
)
def test_numbers_become_tensors(batch: list[Any], dtype: Any, value: Any) -> None:
    out = default_collate(batch)
    assert isinstance(out, Tensor)
    assert out.dtype == dtype
    assert out.tolist() == value


def test_structures_keep_their_shape() -> None:
    sample = {"x": np.zeros(2), "y": (1, "one"), "z": Pair(2.0, [3])}
    out = default_collate([sample, sample])
    assert out["x"].shape == (2, 2)
    assert isinstance(out["y"], list)
    assert out["y"][0].tolist() == [1, 1]
    assert out["y"][1] == ["one", "one"]
    assert isinstance(out["z"], Pair)
    assert out["z"].b[0].tolist() == [3, 3]
    assert default_collate([b"a", b"b"]) == [b"a", b"b"]


def test_gradients_pass_through() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    default_collate([x, x]).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2]


def test_what_does_not_fit() -> None:
    with pytest.raises(ShapeError, match=r"shapes \[2\], \[3\]"):
        default_collate([np.zeros(2), np.zeros(3)])
    with pytest.raises(ShapeError, match=r"have \[1, 2\] parts"):
        default_collate([(1,), (1, 2)])
    with pytest.raises(SamaraError, match="type object"):
        default_collate([object()])


def test_a_sample_without_a_batch() -> None:
    out = default_convert({"x": np.zeros(2), "y": (np.float32(1), "t"), "z": Pair(1, [np.int8(2)])})
    assert isinstance(out["x"], Tensor)
    assert isinstance(out["y"][0], Tensor)
    assert out["y"][1] == "t"
    assert isinstance(out["z"], Pair)
    assert out["z"].a == 1
    assert out["z"].b[0].tolist() == 2
