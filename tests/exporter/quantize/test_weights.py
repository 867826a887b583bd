# SPDX-License-Identifier: Apache-2.0
"""Weights in fewer bits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.exporter.passes.programs import normal
from tests.exporter.quantize.programs import held as data

from samara.exporter.ir import Value, constant
from samara.exporter.quantize import _weights
from samara.exporter.quantize._weights import (
    block_weights,
    constant_operand,
    dead_channels,
    half_weights,
    int8_weights,
    sqnr_db,
)
from samara.exporter.types import DType, Quant, QuantizationError


def weights(*shape: int, seed: int = 0) -> Value:
    return constant("w", normal(*shape, seed=seed))


@pytest.mark.parametrize("axis", [0, 1, None])
def test_int8(axis: int | None) -> None:
    w = weights(6, 40)
    made = int8_weights(w, "w.q8", axis)
    q = made.value.type.quant
    assert q is not None
    assert q.axis == axis
    scale = q.scale_array().astype(np.float64)
    wide = scale if axis != 0 else scale[:, None]
    assert np.array_equal(made.back, data(made.value) * wide)
    assert np.abs(made.back - data(w)).max() <= 0.5 * scale.max() * (1 + 1e-6)
    assert np.abs(data(made.value).astype(int)).max() == 127
    assert made.record.sqnr_db == pytest.approx(sqnr_db(data(w), made.back))
    assert made.record.bytes_after == 240 + 4 * len(scale)


def test_least_scales_are_kept() -> None:
    made = int8_weights(weights(2, 8), "w.q8", 0, np.array([1.0, 0.0]))
    assert made.value.type.quant is not None
    assert made.value.type.quant.scales[0] == 1.0
    assert made.value.type.quant.scales[1] < 0.1


def test_dead_channels() -> None:
    w = normal(4, 3)
    w[[0, 2]] = 0
    assert dead_channels(w, 0) == (0, 2)
    assert dead_channels(w, 1) == ()
    assert dead_channels(w, None) == ()


@pytest.mark.parametrize("block", [32, 64, 128])
@pytest.mark.parametrize(("bits", "zeros"), [(4, False), (4, True), (8, False)])
@pytest.mark.parametrize("k", [32, 100, 128])
def test_blocks(block: int, bits: int, zeros: bool, k: int) -> None:
    w = weights(5, k)
    made = block_weights(w, data(w), "w.q", block, bits, zeros)
    count = -(-k // block)
    assert data(made.scales).shape == (5, count)
    assert data(made.values).shape == (5, k)
    assert made.values.type.dtype is (DType.I8 if bits == 8 else DType.U4 if zeros else DType.I4)
    assert (made.zero_points is not None) == zeros
    scale = np.repeat(data(made.scales).astype(np.float64), block, axis=1)[:, :k]
    q = data(made.values).astype(np.float64)
    if made.zero_points is not None:
        q = q - np.repeat(data(made.zero_points).astype(np.float64), block, axis=1)[:, :k]
    assert np.array_equal(made.back, q * scale)
    # float16 scales may be half of 2^-11 short, and a quarter of the range may be clipped.
    error = np.abs(made.back - data(w))
    assert np.mean(error <= scale * (0.5 + 16 / 2048)) > (0.85 if bits == 4 else 0.99)
    assert (error <= scale * (0.5 + (16 / 0.75 - 15 if bits == 4 else 0.5))).all()


def test_clipping_a_little_beats_holding_everything() -> None:
    w = weights(64, 32)
    made = block_weights(w, data(w), "q", 32, 4, False)
    scale = np.abs(data(w)).max(axis=1, keepdims=True) / 7
    plain = np.clip(np.rint(data(w) / scale), -7, 7) * scale
    assert made.record.sqnr_db > sqnr_db(data(w), plain) + 0.5
    assert data(made.values).astype(int).min() == -8


def test_zero_points_help_where_values_are_on_one_side() -> None:
    w = constant("w", np.abs(normal(4, 64)) + 1)
    plain, shifted = (block_weights(w, data(w), "q", 32, 4, z) for z in (False, True))
    assert shifted.record.sqnr_db > plain.record.sqnr_db + 3


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_scales_beyond_float16_are_float32(factor: float) -> None:
    w = constant("w", normal(2, 32) * np.float32(factor))
    made = block_weights(w, data(w), "q", 32, 4, False)
    assert data(made.scales).dtype == np.float32
    assert made.record.sqnr_db > 15


def test_many_rows_are_done_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    w = weights(50, 70)
    for zeros in (False, True):
        whole = block_weights(w, data(w), "q", 32, 4, zeros)
        with monkeypatch.context() as patch:
            patch.setattr(_weights, "_PIECE", 1000)
            pieces = block_weights(w, data(w), "q", 32, 4, zeros)
        assert np.array_equal(pieces.back, whole.back)
        assert np.array_equal(data(pieces.values), data(whole.values))


def test_a_block_of_zeros() -> None:
    w = constant("w", np.zeros((2, 32), np.float32))
    for zeros in (False, True):
        made = block_weights(w, data(w), "q", 32, 4, zeros)
        assert not made.back.any()
        assert made.record.sqnr_db == math.inf


def test_half() -> None:
    made = half_weights(weights(3, 4), "h")
    assert made is not None
    assert made.value.type.dtype is DType.F16
    assert made.record.sqnr_db > 60
    assert half_weights(constant("w", np.array([1e6], np.float32)), "h") is None


def test_constants_of_sums() -> None:
    made = constant_operand(constant("c", np.array([0.5, -1, 9], np.float32)), "c.q8",
                            Quant.per_tensor(0.5, 3))  # fmt: skip
    assert data(made).tolist() == [4, 1, 21]
    assert made.type.dtype is DType.QS8


def test_signal_to_noise() -> None:
    ones = np.ones(4)
    assert sqnr_db(ones, ones * 0.9) == pytest.approx(20)
    assert sqnr_db(ones, ones) == math.inf
    assert sqnr_db(ones * 0, ones) == -math.inf


def test_what_is_not_finite_is_refused_by_name() -> None:
    w = constant("layer.weight", np.array([[np.nan, 1]], np.float32))
    with pytest.raises(QuantizationError, match=r"'layer\.weight'"):
        int8_weights(w, "q", 0)
    with pytest.raises(QuantizationError, match=r"'layer\.weight'"):
        block_weights(w, data(w), "q", 32, 4, False)
