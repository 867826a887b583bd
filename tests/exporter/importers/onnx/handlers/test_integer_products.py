# SPDX-License-Identifier: Apache-2.0
"""Products of integers: zero points of every kind, sums at the borders of int32."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, Case, agree, kinds, scalar

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import ShapeError


def product(a: Array, b: Array) -> Array:
    total: Array = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)
    return total


@pytest.mark.parametrize("depth", [1, 255, 1040, 33026])
def test_every_sum_is_exact(depth: int) -> None:
    """Extremes in both operands; zero points, known or not, one or one per row and column."""
    a = np.full((3, depth), 255, np.uint8)
    b = np.full((depth, 4), 255, np.uint8)
    a[1, ::2] = 0
    b[:, 1] = 0
    b[-1, 2] = 254
    b[::3, 3] = 7
    rows, columns = np.array([0, 255, 3], np.uint8), np.array([255, 1, 0, 128], np.uint8)
    one = scalar(200, np.uint8)
    for zeros in ((), (one,), (one, one), (rows, columns), (one, columns)):
        full = [np.zeros((), np.uint8)] * (2 - len(zeros))
        z_a, z_b = (z.astype(np.int64) for z in (*zeros, *full))
        want = {"y0": product(a - z_a.reshape(-1, 1), b - z_b)}
        for constants in ((), (1,), (1, 2, 3), (2, 3)):
            Case("MatMulInteger", [a, b, *zeros], {}, 10, constants).gives(want)


def test_known_zero_points_cost_one_product() -> None:
    a, b = np.full((3, 9), 255, np.uint8), np.full((9, 4), 255, np.uint8)
    columns = np.arange(4, dtype=np.uint8)
    for zeros, constants, products in (
        ([], (1,), 1),
        ([scalar(9, np.uint8), columns], (1, 2, 3), 1),
        ([scalar(9, np.uint8), columns], (1,), 4),
        ([scalar(9, np.uint8)], (1,), 2),
    ):
        case = Case("MatMulInteger", [a, b, *zeros], {}, 10, constants)
        assert kinds(import_onnx(case.model())).count("qmatmul") == products


def test_sums_beyond_int32_wrap() -> None:
    """As an int32 accumulator does: 40000 products of 255 by 255 are more than 2^31."""
    a, b = np.full((1, 40000), 255, np.uint8), np.full((40000, 2), 255, np.uint8)
    assert product(a, b).max() < 0
    Case("MatMulInteger", [a, b], {}, 10, (1,)).gives({"y0": product(a, b)})


def test_negative_extremes() -> None:
    """Operands of -255: int8 less a zero point of 127, which no 8-bit type holds."""
    for depth in (200, 300, 5000, 20000):
        a = np.full((2, depth), -128, np.int8)
        b = np.full((depth, 3), -128, np.int8)
        b[:, 1] = 127
        b[::2, 2] = 126
        zero = scalar(127, np.int8)
        for constants in ((2, 3), (1, 2, 3)):
            want = {"y0": product(a.astype(np.int16) - 127, b.astype(np.int16) - 127)}
            Case("MatMulInteger", [a, b, zero, zero], {}, 10, constants).gives(want)


def test_sums_of_an_unknown_length() -> None:
    rng = np.random.default_rng(4)
    inputs = [
        # 7 bits: without VNNI, ONNX Runtime saturates products with uint8.
        rng.integers(0, 256, (3, 70)).astype(np.uint8), rng.integers(-64, 64, (70, 5)).astype(np.int8),
        scalar(9, np.uint8), scalar(-4, np.int8),
    ]  # fmt: skip
    Case("MatMulInteger", inputs, {}, 10, (2, 3), symbolic=True).check_native()


@pytest.mark.parametrize("op", ["QLinearConv", "QLinearMatMul"])
@pytest.mark.parametrize("known", [True, False])
def test_sums_are_scaled_as_whole_numbers(op: str, known: bool) -> None:
    """0.1 times a sum that ends in 5 is a tie, which sums of rounded tenths miss. Known parameters
    make it one row.
    """
    rng = np.random.default_rng(5)
    x, w = (1, 8, 9, 9), (6, 8, 3, 3)
    if op == "QLinearMatMul":
        x, w = (40, 30), (30, 50)  # type: ignore[assignment]
    inputs = [
        rng.integers(0, 20, x).astype(np.uint8), scalar(0.1), scalar(9, np.uint8),
        rng.integers(-9, 10, w).astype(np.int8), scalar(1.0), scalar(0, np.int8), scalar(1.0), scalar(128, np.uint8),
    ]  # fmt: skip
    case = Case(op, inputs, {}, 13, tuple(range(1, 8)) if known else (2, 3, 5))
    made = kinds(case.check_native())
    assert made.count("qconv") + made.count("qmatmul") == 1
    assert ("mul" in made) is not known
    assert not known or "quantize" not in made


def test_one_row_refuses_sums_that_leave_int32() -> None:
    """They wrap before they are scaled."""
    a, b = np.full((1, 40000), 255, np.uint8), np.full((40000, 2), 255, np.uint8)
    one, zero = scalar(1.0), scalar(0, np.uint8)
    inputs = [a, one, zero, b, one, zero, scalar(2.0**24), scalar(130, np.uint8)]
    case = Case("QLinearMatMul", inputs, {}, 13, tuple(range(1, 8)))
    program = import_onnx(case.model())
    want = np.rint(product(a, b).astype(np.float32) * np.float32(2.0**-24)) + 130
    agree(program.run(case.feeds()), {"y0": want.astype(np.uint8)})
    assert "mul" in kinds(program)


def test_a_convolution_of_many_products() -> None:
    x, w = np.full((1, 33000, 1), 255, np.uint8), np.full((1, 33000, 1), 200, np.uint8)
    want = np.full((1, 1, 1), 33000 * 255 * 200, np.int32)
    Case("ConvInteger", [x, w], {}, 10).gives({"y0": want})


def test_what_is_no_byte() -> None:
    a, b = np.zeros((2, 3), np.uint8), np.zeros((3, 2), np.int16)
    Case("MatMulInteger", [a, b], {}, 10).refused(ShapeError, "expected int8 or uint8")
