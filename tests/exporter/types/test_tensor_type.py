# SPDX-License-Identifier: Apache-2.0
"""Tests of TensorType: refusals, derived values and text."""

from __future__ import annotations

import pytest

from samara.exporter.types import (
    MAX_RANK,
    Dim,
    DType,
    Quant,
    QuantizationError,
    ShapeError,
    TensorType,
    sym,
)

n = sym("n")


def test_text_and_derived_facts() -> None:
    image = TensorType.of("float32", [n, 3, 224, 224])
    assert str(image) == "f32[n, 3, 224, 224]"
    assert str(TensorType.of("i64", [])) == "i64[]"
    assert image.rank == 4
    assert not image.is_static
    assert image.numel() == n * (3 * 224 * 224)
    assert image.symbols() == {"n"}
    assert image == TensorType(DType.F32, (n, Dim.const(3), Dim.const(224), Dim.const(224)))
    assert hash(image) == hash(TensorType.of(DType.F32, [n, 3, 224, 224]))
    assert TensorType.of("f32", []).numel() == 1


def test_ints_become_dims() -> None:
    made = TensorType(DType.F32, (2, 3))  # type: ignore[arg-type]
    assert all(isinstance(dim, Dim) for dim in made.shape)
    assert made.static_shape() == (2, 3)


def test_static_shape_needs_numbers() -> None:
    image = TensorType.of("f32", [n + 1, 3])
    with pytest.raises(ShapeError, match="symbolic"):
        image.static_shape()
    assert image.substitute({"n": 4}).static_shape() == (5, 3)
    assert image.substitute({"n": 4}).is_static


def test_derivations_keep_the_rest() -> None:
    quant = Quant.per_tensor(0.5)
    made = TensorType.of("qs8", [n, 4], quant)
    assert made.with_shape([4 * n]).quant == quant
    assert made.substitute({"n": 2}).quant == quant
    assert made.with_dtype(DType.F32) == TensorType.of("f32", [n, 4])


def test_limits_of_rank_and_size() -> None:
    assert TensorType.of("f32", [1] * MAX_RANK).rank == 8
    with pytest.raises(ShapeError, match="rank 9"):
        TensorType.of("f32", [1] * (MAX_RANK + 1))
    with pytest.raises(ShapeError, match="dim 1 is -1"):
        TensorType.of("f32", [2, -1])
    with pytest.raises(ShapeError, match="dim 0"):
        TensorType.of("f32", [-1 - n])
    assert TensorType.of("f32", [n - 1]).rank == 1


def test_quantization_must_fit() -> None:
    scales = Quant.per_axis([0.5, 0.25], axis=1)
    assert TensorType.of("qs8", [n, 2], scales).quant is scales
    assert TensorType.of("qs8", [2, n], scales).quant is scales
    with pytest.raises(QuantizationError, match="2 scales along axis 1, expected 3"):
        TensorType.of("qs8", [n, 3], scales)
    with pytest.raises(QuantizationError, match="axis 1 of rank 1"):
        TensorType.of("qs8", [2], scales)
    with pytest.raises(QuantizationError, match="i8 has"):
        TensorType.of("i8", [n, 2], scales)
    blocks = Quant.per_block([0.5] * 6, axis=1, block=32)
    assert TensorType.of("qs8", [2, 70], blocks).quant is blocks
    with pytest.raises(QuantizationError, match="expected 4"):
        TensorType.of("qs8", [2, 64], blocks)
