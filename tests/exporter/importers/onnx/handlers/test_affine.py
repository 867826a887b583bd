# SPDX-License-Identifier: Apache-2.0
"""Parameters of quantized tensors: which rows take them, and in which shapes they broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Case, kinds, normal, scalar

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import ShapeError

ROWS = ["quantize", "reinterpret"]
FORMULA = ["div", "round", "add", "clamp", "cast"]


def quantize(scale: Any, zero: Any, shape: tuple[int, ...] = (3, 4), **attrs: Any) -> Case:
    return Case("QuantizeLinear", [normal(*shape), scale, zero], attrs, 21, (1, 2))


@pytest.mark.parametrize(
    ("scale", "zero", "rows"),
    [
        (scalar(0.1), scalar(3, np.uint8), ROWS),
        (np.full(1, 0.1, np.float32), np.full(1, 3, np.int8), ROWS),
        (np.full(4, 0.1, np.float32), np.arange(4, dtype=np.int8), ROWS),
        (scalar(0.1), scalar(3, np.int16), FORMULA),
        (scalar(1e-40), scalar(3, np.uint8), ["div", *ROWS]),
    ],
)
def test_which_rows(scale: Any, zero: Any, rows: list[str]) -> None:
    """Bytes with constant, normal scales have rows of their own."""
    program = quantize(scale, zero, axis=1).check_native()
    assert kinds(program) == rows


def test_one_scale_for_an_axis_of_any_length() -> None:
    """A vector of one element is a scalar, whatever the axis says."""
    one = (np.full(1, 0.1, np.float32), np.full(1, 3, np.uint8))
    for shape, axis in (((3, 4), 1), ((5,), 0), ((), 0), ((2, 1, 3), -1)):
        quantize(*one, shape, axis=axis).check_native()


def test_what_does_not_fit() -> None:
    four = (np.full(4, 0.1, np.float32), np.zeros(4, np.uint8))
    with pytest.raises(ShapeError, match="4 scales or zero points for 3 indices"):
        import_onnx(quantize(*four, axis=0).model())
    with pytest.raises(ShapeError, match="out of range for rank 2"):
        import_onnx(quantize(*four, axis=2).model())
    matrix = (np.full((2, 2), 0.1, np.float32), np.zeros((2, 2), np.uint8))
    with pytest.raises(ShapeError, match="blocked parameters"):
        import_onnx(quantize(*matrix, axis=1, block_size=3).model())
