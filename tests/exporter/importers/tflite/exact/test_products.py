# SPDX-License-Identifier: Apache-2.0
"""Convolutions and matrix products that give TFLite's own integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, T, const


def _bytes(rng: Any, kind: str, *shape: int) -> Any:
    low, high = (0, 256) if kind == "uint8" else (-128, 128)
    return rng.integers(low, high, shape).astype(kind)


def _scale(rng: Any, low: float = 1e-3, high: float = 0.1) -> float:
    return float(np.float32(np.exp(rng.uniform(np.log(low), np.log(high)))))


def _conv(
    seed: int, kind: str, kernel: tuple[int, ...], channels: int, axis: int, per_channel: bool
) -> tuple[list[T], T]:
    """Inputs x, w, bias and the output; the bias has the scale that the kernels ask for."""
    rng = np.random.default_rng(seed)
    zeros = [int(z) for z in _bytes(rng, kind, 3)]
    given = _scale(rng)
    x = T(_bytes(rng, kind, 2, 7, 6, channels), scale=given, zero=zeros[0])
    count = kernel[axis] if per_channel else 1
    scales = [_scale(rng, 1e-3, 0.02) for _ in range(count)]
    w = const(
        _bytes(rng, kind, *kernel),
        scale=scales,
        zero=zeros[1] if kind == "uint8" else 0,
        axis=axis,
    )
    sums = [float(np.float32(given) * np.float32(s)) for s in scales]
    bias = const(
        rng.integers(-9000, 9000, kernel[axis]).astype(np.int32), scale=sums, zero=0, axis=0
    )
    size = float(np.prod(kernel) / kernel[axis]) ** 0.5
    out = float(np.float32(sums[0] * 60 * size * rng.uniform(0.3, 2)))
    y = T(kind=kind.upper(), shape=(), scale=out, zero=zeros[2])
    return [x, w, bias], y


_CASES = [("int8", True), ("int8", False), ("uint8", False)]


@pytest.mark.parametrize(("kind", "per_channel"), _CASES)
@pytest.mark.parametrize("seed", range(4))
def test_conv_2d(kind: str, per_channel: bool, seed: int) -> None:
    inputs, y = _conv(seed, kind, (5, 3, 3, 4), 4, 0, per_channel)
    options = {
        "padding": ["SAME", "VALID"][seed % 2], "stride_w": 1 + seed % 2, "stride_h": 1,
        "fused_activation_function": ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"][seed],
    }  # fmt: skip
    Case("CONV_2D", inputs, [y], options).check(exact=True)


@pytest.mark.parametrize(("kind", "per_channel"), _CASES)
@pytest.mark.parametrize("seed", range(4))
def test_depthwise_conv_2d(kind: str, per_channel: bool, seed: int) -> None:
    inputs, y = _conv(seed, kind, (1, 3, 3, 8), 4, 3, per_channel)
    options = {
        "padding": ["SAME", "VALID"][seed % 2], "stride_w": 1, "stride_h": 1, "depth_multiplier": 2,
        "fused_activation_function": ["NONE", "RELU", "RELU6", "NONE"][seed],
    }  # fmt: skip
    Case("DEPTHWISE_CONV_2D", inputs, [y], options).check(exact=True)


@pytest.mark.parametrize(("kind", "per_channel"), _CASES)
@pytest.mark.parametrize("seed", range(4))
def test_fully_connected(kind: str, per_channel: bool, seed: int) -> None:
    (x, w, bias), y = _conv(seed, kind, (9, 6 * 4), 4, 0, per_channel)
    inputs = [x, w, bias if seed % 2 else None]
    Case("FULLY_CONNECTED", inputs, [y], {}, version=4).check(exact=True)


@pytest.mark.parametrize(("kind", "per_channel"), _CASES)
@pytest.mark.parametrize("seed", range(2))
def test_transpose_conv(kind: str, per_channel: bool, seed: int) -> None:
    (x, w, bias), y = _conv(seed, kind, (5, 3, 3, 4), 4, 0, per_channel)
    size = const(np.array([2, 14, 12, 5], np.int32))
    options = {"padding": "SAME", "stride_w": 2, "stride_h": 2}
    Case("TRANSPOSE_CONV", [size, w, x, bias], [y], options, version=3).check(exact=True)


def _short(
    seed: int, kernel: tuple[int, ...], axis: int, per_channel: bool, kind: str
) -> tuple[list[T | None], T]:
    """int16 x, int8 weights and a bias of this type (none if empty), and the output."""
    rng = np.random.default_rng(seed)
    given = _scale(rng, 1e-5, 1e-4)
    x = T(rng.integers(-32768, 32768, (2, 7, 6, 4)).astype(np.int16), scale=given)
    count = kernel[axis] if per_channel else 1
    scales = [_scale(rng, 1e-3, 0.02) for _ in range(count)]
    w = const(_bytes(rng, "int8", *kernel), scale=scales, axis=axis)
    sums = [float(np.float32(given) * np.float32(s)) for s in scales]
    bias = None
    if kind:
        numbers = rng.integers(-900000, 900000, kernel[axis]).astype(kind)
        bias = const(numbers, scale=sums, axis=0)
    size = float(np.prod(kernel) / kernel[axis]) ** 0.5
    y = T(kind="INT16", shape=(), scale=float(np.float32(sums[0] * 80 * size)))
    return [x, w, bias], y


@pytest.mark.parametrize("kind", ["int64", "int32"])
@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_conv_2d_of_int16(kind: str, per_channel: bool, seed: int) -> None:
    inputs, y = _short(seed, (5, 3, 3, 4), 0, per_channel, kind)
    options = {
        "padding": ["SAME", "VALID"][seed % 2], "stride_w": 1 + seed % 2, "stride_h": 1,
        "fused_activation_function": ["NONE", "RELU", "NONE"][seed],
        "quantized_bias_type": kind.upper(),
    }  # fmt: skip
    Case("CONV_2D", inputs, [y], options, version=8).check(exact=True)


@pytest.mark.parametrize("seed", range(3))
def test_depthwise_conv_2d_of_int16(seed: int) -> None:
    inputs, y = _short(seed, (1, 3, 3, 8), 3, seed > 0, "int64")
    options = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "depth_multiplier": 2}
    Case("DEPTHWISE_CONV_2D", inputs, [y], options, version=5).check(exact=True)


@pytest.mark.parametrize("kind", ["int64", "int32", ""])
@pytest.mark.parametrize("seed", range(3))
def test_fully_connected_of_int16(kind: str, seed: int) -> None:
    inputs, y = _short(seed, (9, 24), 0, seed == 2, kind)
    options = {"quantized_bias_type": kind.upper() if kind else "INT64"}
    Case("FULLY_CONNECTED", inputs, [y], options, version=11).check(exact=True)


@pytest.mark.parametrize("seed", range(4))
def test_batch_matmul(seed: int) -> None:
    rng = np.random.default_rng(seed)
    swapped = {"adj_x": seed % 2 == 1, "adj_y": seed > 1}
    a = _bytes(rng, "int8", 2, *((6, 9) if seed % 2 else (9, 6)))
    b = _bytes(rng, "int8", 2, *((5, 6) if seed > 1 else (6, 5)))
    scales = [_scale(rng) for _ in range(2)]
    zeros = _bytes(rng, "int8", 2)
    x, y = (T(v, scale=s, zero=int(z)) for v, s, z in zip((a, b), scales, zeros, strict=True))
    out = float(np.float32(scales[0] * scales[1] * 150))
    made = T(kind="INT8", shape=(), scale=out, zero=5)
    Case("BATCH_MATMUL", [x, y], [made], swapped, version=2).check(exact=True)
