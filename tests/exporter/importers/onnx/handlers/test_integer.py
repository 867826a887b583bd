# SPDX-License-Identifier: Apache-2.0
"""Products of integers: bit-equal to onnxruntime, in the interpreter and in the C runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, Case, kinds, normal, scalar

from samara.exporter.types import ShapeError

MS = "com.microsoft"
BYTES = pytest.mark.parametrize("dtype", [np.uint8, np.int8])
GEOMETRIES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((1, 3, 7, 8), (5, 3, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((2, 4, 9, 9), (6, 2, 3, 2), {"group": 2, "strides": [2, 1], "pads": [0, 1, 2, 0]}),
    ((1, 6, 8, 8), (6, 1, 3, 3), {"group": 6, "dilations": [2, 2], "pads": [2, 2, 2, 2]}),
    ((1, 4, 6, 6), (8, 4, 1, 1), {}),
    ((1, 3, 17), (4, 3, 5), {"strides": [2], "auto_pad": "SAME_UPPER"}),
    ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2), {"pads": [1, 0, 0, 0, 1, 1]}),
    ((1, 40, 5, 5), (6, 40, 3, 3), {"pads": [1, 1, 1, 1]}),  # 360 products
]


def some(rng: np.random.Generator, shape: Sequence[int], dtype: Any) -> Array:
    """Any bytes, the extremes often."""
    info = np.iinfo(dtype)
    data = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    pick = rng.random(shape)
    data[pick < 0.1] = info.min
    data[pick > 0.9] = info.max
    return data


def weights(rng: np.random.Generator, shape: Sequence[int], dtype: Any) -> Array:
    """Random weights. int8 has 7 bits: ONNX Runtime's sums of products with uint8 saturate at 16 bits on
    processors without VNNI.
    """
    data = some(rng, shape, dtype)
    return data // 2 if dtype == np.int8 else data


def given(case: Case, at_run_time: bool) -> Case:
    """The case with all but the first input as initializers, or with none."""
    constants = [] if at_run_time else [i for i, x in enumerate(case.inputs) if i and x is not None]
    return Case(case.op, case.inputs, case.attrs, case.opset, constants, domain=case.domain)


WHEN = pytest.mark.parametrize("at_run_time", [False, True])


@WHEN
@BYTES
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_conv_integer(geometry: Any, dtype: type, at_run_time: bool) -> None:
    rng = np.random.default_rng(1)
    x, w, attrs = geometry
    inputs = [
        some(rng, x, np.uint8),
        weights(rng, w, dtype),
        scalar(131, np.uint8),
        scalar(3, dtype),
    ]
    for count in (2, 3, 4):
        given(Case("ConvInteger", inputs[:count], attrs, 10), at_run_time).check_native()


@WHEN
@pytest.mark.parametrize(
    ("dtype", "w_dtype"), [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)]
)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_qlinear_conv(geometry: Any, dtype: type, w_dtype: type, at_run_time: bool) -> None:
    rng = np.random.default_rng(2)
    x, w, attrs = geometry
    o = w[0]
    spread = float(np.prod(w[1:])) ** 0.5 * 70 * 70 * 0.02 * 0.01 / 60
    for per_channel in (False, True):
        if per_channel and w_dtype is np.uint8:
            continue
        inputs = [
            some(rng, x, dtype), scalar(0.02), scalar(5, dtype), weights(rng, w, w_dtype),
            np.linspace(0.004, 0.02, o).astype(np.float32) if per_channel else scalar(0.01),
            np.zeros(o, w_dtype) if per_channel else scalar(7, w_dtype),
            scalar(spread), scalar(9, dtype),
            rng.integers(-20000, 20000, o).astype(np.int32),
        ]  # fmt: skip
        for count in (8, 9):
            given(Case("QLinearConv", inputs[:count], attrs, 13), at_run_time).check_native()


@BYTES
def test_ties_and_saturation(dtype: type) -> None:
    """A multiplier of 1/2 makes every second sum a tie; a bias takes sums beyond 2^24."""
    rng = np.random.default_rng(3)
    x, w = some(rng, (1, 2, 6, 6), dtype), rng.integers(-2, 3, (4, 2, 3, 3)).astype(np.int8)
    bias = np.array([0, 1, 1 << 24, -(1 << 30) - 1], np.int32)
    for y_scale in (2.0, 1 / 64, 2.0**20, 3.0e5):
        inputs = [
            x, scalar(1), scalar(2, dtype), w, scalar(1), scalar(0, np.int8), scalar(y_scale),
            scalar(-3 if dtype is np.int8 else 250, dtype), bias,
        ]  # fmt: skip
        given(Case("QLinearConv", inputs, {}, 13), False).check_native()


@WHEN
@BYTES
@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 8), (8, 5)), ((2, 3, 8), (8, 5)), ((2, 1, 3, 8), (4, 8, 5)), ((1, 600), (600, 33))],
)
def test_matmul_integer(a: Any, b: Any, dtype: type, at_run_time: bool) -> None:
    rng = np.random.default_rng(5)
    inputs = [some(rng, a, np.uint8), weights(rng, b, dtype), scalar(131, np.uint8)]
    zeros = [scalar(3, dtype)]
    if len(b) == 2:  # onnxruntime takes no others for stacks of matrices
        zeros.append((np.arange(b[-1]) % 90).astype(dtype))
    for zero in zeros:
        for count in (2, 3, 4):
            case = Case("MatMulInteger", [*inputs, zero][:count], {}, 10)
            given(case, at_run_time).check_native()


def test_vectors_and_zero_points_per_row() -> None:
    """onnx.reference: onnxruntime takes neither."""
    rng = np.random.default_rng(6)
    a, b = some(rng, (3, 8), np.uint8), some(rng, (8, 5), np.uint8)
    rows = np.array([1, 200, 90], np.uint8)
    want = (a.astype(np.int32) - rows[:, None].astype(np.int32)) @ b.astype(np.int32)
    for constants in ((), (1, 2)):
        Case("MatMulInteger", [a, b, rows], {}, 10, constants).gives({"y0": want})
    Case("MatMulInteger", [a[0], b], {}, 10, reference=True).check_native()


@WHEN
@BYTES
@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("shapes", [((3, 8), (8, 5)), ((2, 3, 300), (300, 5))])
def test_qlinear_matmul(shapes: Any, per_column: bool, dtype: type, at_run_time: bool) -> None:
    rng = np.random.default_rng(7)
    a, b = shapes
    n = b[-1]
    w_dtype = np.int8 if per_column else dtype
    inputs = [
        some(rng, a, dtype), scalar(0.05), scalar(3, dtype), weights(rng, b, w_dtype),
        np.linspace(0.01, 0.03, n).astype(np.float32) if per_column else scalar(0.02),
        np.zeros(n, w_dtype) if per_column else scalar(9, w_dtype),
        scalar(a[-1] ** 0.5 * 0.06), scalar(7, dtype),
    ]  # fmt: skip
    given(Case("QLinearMatMul", inputs, {}, 13), at_run_time).check_native()


def test_channels_last() -> None:
    rng = np.random.default_rng(8)
    inputs = [
        some(rng, (1, 7, 8, 3), np.uint8), scalar(0.02), scalar(128, np.uint8), weights(rng, (5, 3, 3, 3), np.int8),
        scalar(0.01), scalar(0, np.int8), scalar(0.1), scalar(9, np.uint8),
    ]  # fmt: skip
    attrs = {"channels_last": 1, "pads": [1, 1, 1, 1], "strides": [2, 1]}
    last = given(Case("QLinearConv", inputs, attrs, 13, domain=MS), False)
    assert "transpose" not in kinds(last.check_native())


@pytest.mark.parametrize("turned", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("alpha", [1.0, 0.37])
@BYTES
def test_qgemm(turned: tuple[int, int], alpha: float, dtype: type) -> None:
    rng = np.random.default_rng(9)
    a = some(rng, (8, 3) if turned[0] else (3, 8), dtype)
    b = weights(rng, (5, 8) if turned[1] else (8, 5), np.int8)
    attrs = {"transA": turned[0], "transB": turned[1], "alpha": alpha}
    for per_column in (False, True):
        scales = np.linspace(0.01, 0.03, 5).astype(np.float32) if per_column else scalar(0.02)
        zeros = np.arange(5).astype(np.int8) if per_column else scalar(4, np.int8)
        for c in (np.arange(5), np.arange(15).reshape(3, 5), None):
            bias = None if c is None else (c * 50).astype(np.int32)
            inputs = [a, scalar(0.05), scalar(3, dtype), b, scales, zeros, bias]
            more = [scalar(0.3), scalar(7, dtype)]
            given(Case("QGemm", [*inputs, *more], attrs, 13, domain=MS), False).check_native()
            Case("QGemm", inputs, attrs, 13, tuple(range(1, 6)), domain=MS).check_native()


@WHEN
@pytest.mark.parametrize("bias", [False, True])
def test_float_results(bias: bool, at_run_time: bool) -> None:
    rng = np.random.default_rng(10)
    b = weights(rng, (8, 5), np.int8)
    extra = [normal(5)] if bias else []
    zeros: list[Array | None] = [scalar(100, np.uint8), scalar(-7, np.int8)]
    inputs = [some(rng, (2, 3, 8), np.uint8), b, scalar(0.02), scalar(0.1), *zeros, *extra]
    given(Case("MatMulIntegerToFloat", inputs, {}, 13, domain=MS), at_run_time).check_native()
    per_column = np.linspace(0.1, 0.2, 5).astype(np.float32)
    for scale, zero in (
        (scalar(0.1), zeros[1]), (per_column, np.arange(5).astype(np.int8)), (scalar(0.1), None)
    ):  # fmt: skip
        inputs = [normal(4, 8), b, scale, zero, *extra]
        given(Case("DynamicQuantizeMatMul", inputs, {}, 13, domain=MS), at_run_time).check_native()


def test_what_does_not_fit() -> None:
    rng = np.random.default_rng(11)
    inputs = [some(rng, shape, np.uint8) for shape in ((3, 8), (8, 5))]
    inputs += [scalar(0, np.uint8), np.zeros(4, np.uint8)]
    Case("MatMulInteger", inputs, {}, 10).refused(ShapeError, "4 scales or zero points for 5")


@pytest.mark.parametrize("vectors", [False, True])
def test_parameters_of_unknown_length(vectors: bool) -> None:
    """A vector of parameters whose length is a symbol may be one for all, or one for each index."""
    rng = np.random.default_rng(12)
    columns = np.linspace(0.01, 0.02, 5).astype(np.float32)
    one = (np.full(1, 0.01, np.float32), np.full(1, 4, np.int8))
    s_b, z_b = (columns, np.zeros(5, np.int8)) if vectors else one
    s, z = np.full(1, 0.02, np.float32), np.full(1, 9, np.int8)
    inputs = [some(rng, (3, 8), np.int8), s, z, some(rng, (8, 5), np.int8), s_b, z_b, s * 20, z]
    Case("QLinearMatMul", inputs, {}, 13, symbolic=True).check_native()
    w = some(rng, (5, 3, 2, 2), np.int8)
    inputs = [some(rng, (1, 3, 6, 6), np.int8), s, z, w, s_b, z_b, s * 20, z]
    Case("QLinearConv", inputs, {}, 13, (3,), symbolic=True).check_native()
