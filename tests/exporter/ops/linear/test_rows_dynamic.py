# SPDX-License-Identifier: Apache-2.0
"""Dynamic quantization: matrix rows of every kind, and refusals of the shape rules."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter.ops import InferContext, get_op
from samara.exporter.ops.linear.rows_dynamic import dynamically_quantized
from samara.exporter.types import Quant, ShapeError, TensorType


def test_a_row_fills_its_range() -> None:
    x = np.array([[0.5, -2.0, 1.0, 0.25]], np.float32)
    q, scale = dynamically_quantized(x, (1,))
    assert q.tolist() == [[32, -127, 64, 16]]  # 31.75, 63.5 (half to even) and 15.875
    assert scale.tolist() == [[np.float32(2) / np.float32(127)]]


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_gives_nan(odd: float) -> None:
    x = np.array([[1, odd, 2], [1, 2, 3]], np.float32)
    q, scale = dynamically_quantized(x, (1,))
    assert not q[0].any()
    assert np.isnan(scale[0]).all()
    assert np.isfinite(scale[1]).all()


@pytest.mark.parametrize("size", [0.0, 1e-44, 1e-38])
def test_a_row_of_nearly_nothing_counts_as_zeros(size: float) -> None:
    q, scale = dynamically_quantized(np.full((1, 3), size, np.float32), (1,))
    assert not q.any()
    assert scale.tolist() == [[0]]


def test_each_image_has_its_scale() -> None:
    x = np.stack([np.full((2, 2, 1), 1.0), np.full((2, 2, 1), 100.0)]).astype(np.float32)
    quant = Quant.per_tensor(1.0)
    attrs = {"strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0)}
    op = get_op("conv_dynamic")
    got = op.evaluate([x, np.ones((1, 1, 1, 1), np.int8)], op.complete(attrs), [None, quant])
    assert np.allclose(got[:, 0, 0, 0], [1, 100])


def test_what_is_refused() -> None:
    op = get_op("matmul_dynamic")

    def infer(w: TensorType, *more: TensorType) -> None:
        x = TensorType.of("f32", (2, 3))
        op.infer(InferContext(op, [x, w, *more], op.complete({})))

    whole = Quant.per_tensor(0.5)
    infer(TensorType.of("qs8", (3, 4), whole))
    infer(TensorType.of("qs8", (3, 4), Quant.per_axis([1, 2, 3, 4], 1)))
    with pytest.raises(ShapeError, match="index of axis 1"):
        infer(TensorType.of("qs8", (3, 4), Quant.per_axis([1, 2, 3], 0)))
    with pytest.raises(ShapeError, match="float32"):
        infer(TensorType.of("f32", (3, 4)))
    with pytest.raises(ShapeError, match="rank"):
        infer(TensorType.of("qs8", (1, 3, 4), whole))
    with pytest.raises(ShapeError, match="int32"):
        infer(TensorType.of("qs8", (3, 4), whole), TensorType.of("i32", (4,)))
