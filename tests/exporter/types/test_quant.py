# SPDX-License-Identifier: Apache-2.0
"""Tests of quantization parameters and their refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from samara.exporter.types import Quant, QuantizationError


def test_per_tensor_rounds_to_float32() -> None:
    quant = Quant.per_tensor(0.1, -3)
    assert quant.scale == float(np.float32(0.1))
    assert quant.zero_point == -3
    assert quant.is_per_tensor
    assert not quant.is_symmetric
    assert quant.expected_count((2, 3)) == 1
    assert quant == Quant.per_tensor(0.1, -3)
    assert hash(quant) == hash(Quant.per_tensor(0.1, -3))
    assert str(quant) == "scale=0.1, zero_point=-3"


def test_per_axis_and_per_block() -> None:
    quant = Quant.per_axis(np.array([0.5, 0.25], np.float32), axis=1)
    assert quant.expected_count((7, 2)) == 2
    assert quant.is_symmetric
    assert quant.scale_array().dtype == np.float32
    assert quant.scale_array().tolist() == [0.5, 0.25]
    assert quant.zero_point_array().tolist() == [0, 0]
    assert quant.with_axis(0).axis == 0
    blocks = Quant.per_block([0.5] * 6, axis=1, block=32, zero_points=[1] * 6)
    assert blocks.expected_count((2, 70)) == 6
    assert blocks.expected_count((2, 64)) == 4
    assert blocks.zero_points == (1,) * 6
    assert str(blocks) == "6 scales, axis=1, block=32"
    with pytest.raises(QuantizationError):
        _ = quant.scale
    with pytest.raises(QuantizationError):
        _ = quant.zero_point
    with pytest.raises(QuantizationError):
        quant.expected_count((7,))


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 1e-39, 1e-46, 1e39])
def test_unusable_scales_are_refused(scale: float) -> None:
    with pytest.raises(QuantizationError, match="scale 0"):
        Quant.per_tensor(scale)
    with pytest.raises(QuantizationError, match="scale 0"):
        Quant((scale,), (0,))


def test_smallest_normal_scale_is_accepted() -> None:
    assert Quant.per_tensor(2.0**-126).scale == 2.0**-126


@pytest.mark.parametrize(
    ("scales", "zero_points", "axis", "block", "message"),
    [
        ((), (), None, None, "0 scales"),
        ((1.0,), (0, 0), None, None, "1 scales with 2"),
        ((1.0, 1.0), (0, 0), None, None, "without an axis"),
        ((1.0,), (0,), None, 4, "without an axis"),
        ((1.0,), (0,), -1, None, "counts from the end"),
        ((1.0,), (0,), 0, 0, "block size 0"),
        ((1.0,), (128,), None, None, "zero point 0 is 128"),
        ((1.0,), (-129,), None, None, "zero point 0 is -129"),
        ((0.1,), (0,), None, None, "not exactly a float32"),
    ],
)
def test_inconsistent_parameters_are_refused(
    scales: tuple[float, ...],
    zero_points: tuple[int, ...],
    axis: int | None,
    block: int | None,
    message: str,
) -> None:
    with pytest.raises(QuantizationError, match=message):
        Quant(scales, zero_points, axis, block)
