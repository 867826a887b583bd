# SPDX-License-Identifier: Apache-2.0
"""Parameters of quantized tensors: which rows take them, and in which shapes they broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from tests.exporter.importers.onnx.models import (
    Case,
    agree_both,
    kinds,
    normal,
    parse,
    scalar,
    witness,
)

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


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_constants_stay_bytes(dtype: type) -> None:
    """Where they have rows; a single one is the number that it stands for."""
    columns: tuple[Any, Any] = (np.full(4, 0.1, np.float32), np.arange(4).astype(dtype))
    data: Any = np.array([[0, 255, 3, 7], [128, 127, 1, 200]], np.uint8).view(dtype)
    for x, kind in ((data, ["dequantize", "add"]), (data[0, 1], ["add"])):
        axis = "<axis = 1>" if x.ndim else ""
        model = parse(f"""g (float[2, 4] a) => (float[2, 4] y) {{
            r = DequantizeLinear{axis}(x, s, z) y = Add(a, r) }}""")
        s, z = columns if x.ndim else (scalar(0.1), scalar(3, dtype))
        for name, value in (("x", x), ("s", s), ("z", z)):
            model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), name))
        program = import_onnx(model)
        assert kinds(program) == kind
        feeds = {"a": normal(2, 4)}
        agree_both(program, feeds, witness(model, feeds))


def test_one_scale_for_an_axis_of_any_length() -> None:
    """A vector of one element is a scalar, whatever the axis says."""
    one = (np.full(1, 0.1, np.float32), np.full(1, 3, np.uint8))
    for shape, axis in (((3, 4), 1), ((5,), 0), ((), 0), ((2, 1, 3), -1)):
        quantize(*one, shape, axis=axis).check_native()


def test_what_does_not_fit() -> None:
    four = (np.full(4, 0.1, np.float32), np.zeros(4, np.uint8))
    quantize(*four, axis=0).refused(ShapeError, "4 scales or zero points for 3 indices")
    quantize(*four, axis=2).refused(ShapeError, "out of range for rank 2")
    matrix = (np.full((2, 2), 0.1, np.float32), np.zeros((2, 2), np.uint8))
    quantize(*matrix, axis=1, block_size=3).refused(ShapeError, "blocked parameters")
