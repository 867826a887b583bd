# SPDX-License-Identifier: Apache-2.0
"""Known answers of conversions to, from and between quantized tensors."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import InferContext
from samara.exporter.types import Quant, QuantizationError, ShapeError, TensorType


def test_quantize_rounds_halves_to_even_and_saturates() -> None:
    x = np.array([0.25, 0.75, -0.25, 1000, -1000, np.nan], np.float32)
    got = ops.quantize(x, scales=(0.5,), zero_points=(3,))
    # 0.5 -> 0, 1.5 -> 2, -0.5 -> 0, then the zero point.
    assert got.tolist() == [3, 5, 3, 127, -128, 3]


def test_dequantize_is_the_inverse_where_it_can_be() -> None:
    quant = Quant.per_axis([0.5, 0.25], 1, [0, 7])
    x = np.array([[-4, 7], [2, 127]], np.int8)
    real = ops.dequantize.evaluate([x], {}, [quant])
    np.testing.assert_array_equal(real, np.array([[-2, 0], [1, 30]], np.float32))
    again = ops.quantize(real, scales=quant.scales, zero_points=quant.zero_points, axis=1)
    np.testing.assert_array_equal(again, x)


def test_requantize_multiplies_once() -> None:
    x = np.array([10, -10, 127], np.int8)
    attrs = ops.requantize.complete({"scales": (0.4,), "zero_points": (-1,)})
    got = ops.requantize.evaluate([x], attrs, [Quant.per_tensor(0.1, 0)])
    # 10 * (0.1 / 0.4) = 2.5, which is a tie in float32 too.
    assert np.float32(0.1) / np.float32(0.4) == 0.25
    assert got.tolist() == [1, -3, 31]


def test_reinterpret_keeps_order() -> None:
    x = np.array([0, 127, 128, 255], np.uint8)
    signed = ops.reinterpret(x, to="i8")
    assert signed.tolist() == [-128, -1, 0, 127]
    np.testing.assert_array_equal(ops.reinterpret(signed, to="u8"), x)


def test_types_carry_the_parameters() -> None:
    x = TensorType.of("f32", (2, 3))
    attrs = ops.quantize.complete({"scales": (1, 2, 3), "zero_points": (0, 0, 0), "axis": 1})
    (y,) = ops.quantize.infer(InferContext(ops.quantize, [x], attrs))
    assert y == TensorType.of("qs8", (2, 3), Quant.per_axis([1, 2, 3], 1))
    attrs = ops.quantize.complete({"scales": (1, 2), "zero_points": (0, 0), "axis": 1})
    with pytest.raises(ShapeError, match="one scale per index"):
        ops.quantize.infer(InferContext(ops.quantize, [x], attrs))
    attrs = ops.quantize.complete({"scales": (0.0,), "zero_points": (0,)})
    with pytest.raises(QuantizationError):
        ops.quantize.infer(InferContext(ops.quantize, [x], attrs))
