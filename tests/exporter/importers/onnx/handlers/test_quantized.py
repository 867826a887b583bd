# SPDX-License-Identifier: Apache-2.0
"""Quantized operators: within one step of onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, Case, normal, scalar

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import UnsupportedError

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
@pytest.mark.parametrize("constants", [(1, 2), ()])
def test_quantize_linear(dtype: type, constants: tuple[int, ...]) -> None:
    inputs = [normal(3, 4) * 10, step(0.13), zero(5, dtype)]
    Case("QuantizeLinear", inputs, {}, 13, constants, steps=1).check()


@BYTES
@pytest.mark.parametrize("constants", [(1, 2), ()])
def test_dequantize_linear(dtype: type, constants: tuple[int, ...]) -> None:
    Case(
        "DequantizeLinear",
        [quantized(3, 4, dtype=dtype), step(0.13), zero(5, dtype)],
        {},
        13,
        constants,
    ).check()


@BYTES
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_per_axis(dtype: type, axis: int) -> None:
    x = normal(3, 4) * 10
    count = x.shape[axis]
    scales = np.linspace(0.1, 0.4, count).astype(np.float32)
    zeros: Any = np.arange(count).astype(dtype)
    for constants in ((1, 2), ()):
        Case("QuantizeLinear", [x, scales, zeros], {"axis": axis}, 13, constants, steps=1).check()
        Case(
            "DequantizeLinear",
            [quantized(3, 4, dtype=dtype), scales, zeros],
            {"axis": axis},
            13,
            constants,
        ).check()


def test_no_zero_point() -> None:
    Case("QuantizeLinear", [normal(3, 4), step(0.02)], {}, 13, (1,), steps=1).check()
    Case("DequantizeLinear", [quantized(3, 4), step(0.02)], {}, 13, (1,)).check()
    bias = np.array([100, -2000, 70000], np.int32)
    Case("DequantizeLinear", [bias, step(0.02)], {}, 13, (0, 1)).check()


def test_constant_weights() -> None:
    Case(
        "DequantizeLinear",
        [quantized(3, 4, dtype=np.int8), step(0.1), zero(0, np.int8)],
        {},
        13,
        (0, 1, 2),
    ).check()


def test_what_is_refused() -> None:
    blocked = Case(
        "DequantizeLinear", [quantized(4, 4), normal(2, 4)], {"axis": 0, "block_size": 2}, 21
    )
    with pytest.raises(UnsupportedError, match="blocked"):
        import_onnx(blocked.model())


def test_dynamic() -> None:
    for x in (normal(3, 4), np.abs(normal(3, 4)) + 1, -np.abs(normal(3, 4)) - 1):
        case = Case("DynamicQuantizeLinear", [x], {}, 11, outputs=3, steps=1)
        case.check()


@BYTES
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("attrs", [{}, {"pads": [1, 1, 1, 1], "strides": [2, 2]}, {"group": 2}])
def test_qlinear_conv(dtype: type, per_channel: bool, bias: bool, attrs: dict[str, Any]) -> None:
    inputs = [
        quantized(1, 4, 7, 7, dtype=dtype), step(0.05), zero(3, dtype),
        quantized(6, 4 // attrs.get("group", 1), 3, 3, dtype=np.int8),
        np.linspace(0.01, 0.03, 6).astype(np.float32) if per_channel else step(0.02),
        np.zeros(6, np.int8) if per_channel else zero(0, np.int8),
        step(0.3), zero(7, dtype),
    ]  # fmt: skip
    inputs += [np.arange(-300, 300, 100).astype(np.int32)] * bias
    Case("QLinearConv", inputs, attrs, 13, tuple(range(1, 9)), steps=1).check()


@BYTES
def test_qlinear_matmul(dtype: type) -> None:
    inputs = [
        quantized(3, 8, dtype=dtype), step(0.05), zero(3, dtype),
        quantized(8, 5, dtype=dtype), step(0.02), zero(9, dtype), step(0.3), zero(7, dtype),
    ]  # fmt: skip
    Case("QLinearMatMul", inputs, {}, 13, tuple(range(1, 8)), steps=1).check()


@BYTES
@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_qlinear_binary(op: str, dtype: type) -> None:
    inputs = [
        quantized(2, 3, 4, dtype=dtype), step(0.05), zero(3, dtype),
        quantized(3, 1, dtype=dtype), step(0.02), zero(9, dtype), step(0.1), zero(7, dtype),
    ]  # fmt: skip
    Case(op, inputs, {}, 13, (1, 2, 4, 5, 6, 7), domain=MS, steps=1).check()


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
    Case(op, inputs, attrs, 13, (1, 2, 3, 4), domain=MS, steps=1).check()


@BYTES
def test_qlinear_pools(dtype: type) -> None:
    inputs = [
        quantized(1, 3, 6, 6, dtype=dtype),
        step(0.05),
        zero(3, dtype),
        step(0.06),
        zero(4, dtype),
    ]
    attrs = {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}
    constants = (1, 2, 3, 4)
    Case("QLinearAveragePool", inputs, attrs, 13, constants, domain=MS, steps=1).check()
    Case(
        "QLinearGlobalAveragePool", inputs, {"channels_last": 0}, 13, constants, domain=MS, steps=1
    ).check()
    with pytest.raises(UnsupportedError, match="channels_last"):
        import_onnx(
            Case(
                "QLinearGlobalAveragePool", inputs, {"channels_last": 1}, 13, constants, domain=MS
            ).model()
        )


def test_qlinear_concat() -> None:
    inputs = [
        step(0.05), zero(3), quantized(2, 3), step(0.04), zero(9), quantized(2, 2), step(0.07), zero(100),
    ]  # fmt: skip
    Case("QLinearConcat", inputs, {"axis": 1}, 13, (0, 1, 3, 4, 6, 7), domain=MS, steps=1).check()


@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("outputs", ["quantized", "float"])
def test_qgemm(trans_b: int, outputs: str) -> None:
    b = quantized(5, 8, dtype=np.int8) if trans_b else quantized(8, 5, dtype=np.int8)
    inputs = [
        quantized(3, 8), step(0.05), zero(3), b, step(0.02), zero(0, np.int8), np.arange(5).astype(np.int32) * 50,
    ]  # fmt: skip
    inputs += [step(0.3), zero(7)] if outputs == "quantized" else []
    attrs = {"transB": trans_b, "alpha": 1.0}
    constants = tuple(range(1, len(inputs)))
    Case("QGemm", inputs, attrs, 13, constants, domain=MS, steps=1, rtol=1e-4, atol=1e-4).check()


def test_a_chain_between_quantize_and_dequantize() -> None:
    """QDQ: float operators between the two ends."""
    inputs = [quantized(3, 8), scalar(0.05, np.float16), zero(3)]
    case = Case("DequantizeLinear", inputs, {}, 19, (1, 2), reference=True, rtol=2e-3, atol=1e-3)
    case.check()
