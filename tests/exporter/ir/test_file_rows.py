# SPDX-License-Identifier: Apache-2.0
"""Decoding rows of a file: indices, dtypes, quantization, refusals."""

from __future__ import annotations

import pytest

from samara.exporter.ir.file_rows import dtype_of, indices_among, quant_of
from samara.exporter.types import DType, ModelFormatError, Quant


def test_indices_stay_below_the_count() -> None:
    assert indices_among((0, 2, 1), 3, "inputs") == [0, 2, 1]
    for wrong in (3, -1):
        with pytest.raises(ModelFormatError, match=f"^inputs: there is no {wrong} among 3$"):
            indices_among([0, wrong], 3, "inputs")


def test_dtypes_by_code() -> None:
    assert all(dtype_of(int(t), "x") is t for t in DType)
    with pytest.raises(ModelFormatError, match=r"^'x' has the unknown dtype 99$"):
        dtype_of(99, "'x'")


def test_quantization_by_axis_and_block() -> None:
    row = {"scales": [0.5, 0.25], "zero_points": [0, 3], "axis": 1, "block": 0}
    assert quant_of(row) == Quant((0.5, 0.25), (0, 3), 1)
    assert quant_of({**row, "scales": [0.5], "zero_points": [1], "axis": -1}) == Quant((0.5,), (1,))
    assert quant_of(None) is None
