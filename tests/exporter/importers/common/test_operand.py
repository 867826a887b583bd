# SPDX-License-Identifier: Apache-2.0
"""Tensors whose elements are known as dims."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter.importers.common.operand import (
    MAX_SHAPE_ELEMENTS,
    Poison,
    Ratio,
    Scaled,
    as_shape_data,
    shape_data,
)
from samara.exporter.ir import constant
from samara.exporter.types import DType, as_dim, f32_bits, sym


def test_static_data() -> None:
    data = shape_data([[1, 2], [3, 4]], DType.I32)
    assert data.is_static()
    assert data.array().tolist() == [[1, 2], [3, 4]]
    assert data.array().dtype == np.int32


def test_symbolic_data() -> None:
    data = shape_data([sym("n"), 2])
    assert not data.is_static()
    assert data.dims() == (sym("n"), as_dim(2))


def test_products_and_quotients() -> None:
    n = sym("n")
    scaled, ratio = Scaled(n, as_dim(f32_bits(0.5))), Ratio(n, as_dim(3))
    assert scaled.floor().evaluate({"n": 7}) == 3
    assert ratio.floor().evaluate({"n": 8}) == 2
    assert not shape_data([scaled, ratio], DType.F32).is_static()


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.bool_])
def test_small_constants_are_seen(dtype: type) -> None:
    data = as_shape_data(constant("c", np.array([[1, 0]], dtype)))
    assert data is not None
    assert data.array().tolist() == [[1, 0]]


def test_what_is_data() -> None:
    assert as_shape_data(constant("c", np.ones(3, np.float32))) is None
    assert as_shape_data(constant("c", np.ones(MAX_SHAPE_ELEMENTS + 1, np.int64))) is None
    assert as_shape_data(Poison("")) is None
    data = shape_data([1])
    assert as_shape_data(data) is data
