# SPDX-License-Identifier: Apache-2.0
"""Quantized operators of com.microsoft: within one step of onnxruntime, in both runtimes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, Case, agree, native, scalar

from samara.exporter.importers.onnx import import_onnx

MS = "com.microsoft"
RNG = np.random.default_rng(1)


def quantized(*shape: int, dtype: type = np.uint8) -> Array:
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, shape, dtype, endpoint=True)


def step(value: float) -> Array:
    return scalar(value)


def zero(value: int, dtype: type = np.uint8) -> Array:
    return np.array(value, dtype)


BYTES = pytest.mark.parametrize("dtype", [np.uint8, np.int8])


@BYTES
@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_qlinear_binary(op: str, dtype: type) -> None:
    inputs = [
        quantized(2, 3, 4, dtype=dtype), step(0.05), zero(3, dtype),
        quantized(3, 1, dtype=dtype), step(0.02), zero(9, dtype), step(0.1), zero(7, dtype),
    ]  # fmt: skip
    Case(op, inputs, {}, 13, (1, 2, 4, 5, 6, 7), domain=MS, steps=1).check_native()


@BYTES
@pytest.mark.parametrize(
    ("op", "attrs", "scale"),
    [
        ("QLinearSigmoid", {}, 1 / 256),
        ("QLinearLeakyRelu", {"alpha": 0.2}, 0.05),
        ("QLinearSoftmax", {"axis": -1, "opset": 13}, 1 / 256),
        ("QLinearSoftmax", {"axis": 1, "opset": 11}, 1 / 256),
    ],
)
def test_qlinear_unary(op: str, attrs: dict[str, Any], scale: float, dtype: type) -> None:
    inputs = [
        quantized(2, 3, 4, dtype=dtype),
        step(0.05),
        zero(3, dtype),
        step(scale),
        zero(np.iinfo(dtype).min, dtype),
    ]
    Case(op, inputs, attrs, 13, (1, 2, 3, 4), domain=MS, steps=1).check_native()


@BYTES
@pytest.mark.parametrize("last", [0, 1])
def test_qlinear_pools(last: int, dtype: type) -> None:
    inputs = [
        quantized(*((1, 6, 6, 3) if last else (1, 3, 6, 6)), dtype=dtype),
        step(0.05), zero(3, dtype), step(0.06), zero(4, dtype),
    ]  # fmt: skip
    attrs = {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1], "channels_last": last}
    for op, more in (
        ("QLinearAveragePool", attrs),
        ("QLinearAveragePool", {**attrs, "count_include_pad": 1}),
        ("QLinearGlobalAveragePool", {"channels_last": last}),
    ):
        Case(op, inputs, more, 13, (1, 2, 3, 4), domain=MS, steps=1).check_native()


@BYTES
def test_qlinear_reduce_mean(dtype: type) -> None:
    """onnxruntime keeps no CPU kernel of it: the definition is the witness."""
    x = quantized(2, 3, 4, dtype=dtype)
    inputs = [x, step(0.05), zero(3, dtype), step(0.02), zero(7, dtype)]
    info = np.iinfo(dtype)
    for axes, keep in (([1], 1), ([-1, 0], 0), (None, 1)):
        attrs: dict[str, Any] = (
            {"keepdims": keep} if axes is None else {"axes": axes, "keepdims": keep}
        )
        mean = (x.astype(np.float64) - 3).mean(
            None if axes is None else tuple(axes), keepdims=bool(keep)
        )
        want = np.clip(np.rint(mean * 0.05 / 0.02) + 7, info.min, info.max).astype(dtype)
        case = Case("QLinearReduceMean", inputs, attrs, 13, (1, 2, 3, 4), domain=MS)
        program = import_onnx(case.model())
        agree(program.run(case.feeds()), {"y0": want}, steps=1)
        agree(native(program, case.feeds())[0], {"y0": want}, steps=1)


@BYTES
def test_qlinear_where(dtype: type) -> None:
    inputs = [
        np.random.default_rng(3).random((2, 3, 4)) < 0.5, quantized(3, 4, dtype=dtype), step(0.05), zero(3, dtype),
        quantized(2, 1, 4, dtype=dtype), step(0.02), zero(9, dtype), step(0.1), zero(7, dtype),
    ]  # fmt: skip
    Case("QLinearWhere", inputs, {}, 13, (2, 3, 5, 6, 7, 8), domain=MS, steps=1).check_native()


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_parameters_at_run_time(op: str) -> None:
    """Scales and zero points that are inputs of the graph."""
    inputs: list[Array | None] = [
        quantized(2, 3, 4), step(0.05), zero(3), quantized(2, 3, 4), step(0.02), zero(9), step(0.1), zero(7),
    ]  # fmt: skip
    Case(op, inputs, {}, 13, (), domain=MS, steps=1).check_native()


def test_qlinear_concat() -> None:
    inputs = [
        step(0.05), zero(3), quantized(2, 3), step(0.04), zero(9), quantized(2, 2), step(0.07), zero(100),
    ]  # fmt: skip
    Case(
        "QLinearConcat", inputs, {"axis": 1}, 13, (0, 1, 3, 4, 6, 7), domain=MS, steps=1
    ).check_native()


@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_dynamic_quantize_lstm(direction: str, per_column: bool) -> None:
    """onnxruntime quantizes the operands of each step as well: near, not equal."""
    d, i, h = 1 + (direction == "bidirectional"), 5, 4
    rng = np.random.default_rng(5)
    scale = rng.uniform(0.003, 0.006, (d, 4 * h) if per_column else d).astype(np.float32)
    zero = np.zeros(scale.shape, np.int8)
    weights = [rng.integers(-128, 128, (d, size, 4 * h)).astype(np.int8) for size in (i, h)]
    inputs: list[Array | None] = [
        rng.standard_normal((6, 2, i)).astype(np.float32), *weights,
        rng.standard_normal((d, 8 * h)).astype(np.float32), None, None, None, None, scale, zero, scale, zero,
    ]  # fmt: skip
    case = Case(
        "DynamicQuantizeLSTM", inputs, {"hidden_size": h, "direction": direction}, 17,
        (1, 2, 3, 8, 9, 10, 11), outputs=3, domain=MS, atol=2e-2,
    )  # fmt: skip
    case.check_native()
