# SPDX-License-Identifier: Apache-2.0
"""Sizes of tensors: tuples with a product."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

import samara
from samara.exporter.frontend.size import Size


def test_a_tuple_with_a_product() -> None:
    x: Any = samara.zeros(2, 3, 4)
    assert (x.shape.numel(), x.size().numel(), samara.tensor(1.0).shape.numel()) == (24, 24, 1)
    assert x.shape[1:].numel() == 12
    five = (5,)
    assert (x.shape[-1], x.shape[:2] + five, (five + x.shape[2:]).numel()) == (4, (2, 3, 5), 20)
    as_tuple: object = x.shape
    assert isinstance(as_tuple, tuple)
    assert as_tuple == (2, 3, 4)
    assert repr(x.shape) == "(2, 3, 4)"
    assert hash(x.shape) == hash((2, 3, 4))
    assert pickle.loads(pickle.dumps(x.shape)).numel() == 24
    assert np.zeros(x.shape).shape == x.shape
    assert samara.ones(x.shape).numel() == samara.zeros(x.size()).shape.numel()
    assert Size(()).numel() == 1


def test_symbolic_sizes() -> None:
    def f(x: Any) -> Any:
        return x.reshape(x.shape.numel()) * x.shape[1:].numel()

    x = np.ones((2, 3), np.float32)
    program = samara.trace(f, (samara.tensor(x),), dynamic={"x": {0: "n"}})
    got = program.run({"x": np.ones((5, 3), np.float32)})["output"]
    np.testing.assert_array_equal(got, np.full(15, 3.0))
