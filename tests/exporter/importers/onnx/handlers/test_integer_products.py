# SPDX-License-Identifier: Apache-2.0
"""Products of integers by float32 kernels: the rule that keeps them exact, at its borders."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, Case, agree, kinds, native, scalar

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import UnsupportedError


def product(a: Array, b: Array) -> Array:
    total: Array = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)
    return total


# 2^24 is 258.01 products of 255 * 255, 4112.06 of 255 * 16 and 16448.2 of 255 * 4.
BORDERS = [
    (1, 1), (258, 1), (259, 2), (4112, 2), (4113, 3), (16448, 3), (16449, 5), (32896, 5), (32897, 1),
]  # fmt: skip


@pytest.mark.parametrize(("depth", "matmuls"), BORDERS)
def test_every_sum_is_exact(depth: int, matmuls: int) -> None:
    """Extremes in both operands, sums near both ends of what a cut allows; the last by int32 rows."""
    a = np.full((3, depth), 255, np.uint8)
    b = np.full((depth, 4), 255, np.uint8)
    a[1, ::2] = 0
    b[:, 1] = 0
    b[-1, 2] = 254
    b[::3, 3] = 7
    for constants in ((), (1,)):
        case = Case("MatMulInteger", [a, b], {}, 10, constants)
        program = import_onnx(case.model())
        want = {"y0": product(a, b)}
        agree(program.run(case.feeds()), want)
        agree(native(program, case.feeds())[0], want)
        if not constants:
            assert kinds(program).count("matmul") == matmuls


def test_negative_extremes() -> None:
    """Operands of -255: int8 less a zero point of 127, which no 8-bit type holds."""
    for depth in (200, 300, 5000, 20000):
        a = np.full((2, depth), -128, np.int8)
        b = np.full((depth, 3), -128, np.int8)
        b[:, 1] = 127
        b[::2, 2] = 126
        zero = scalar(127, np.int8)
        for constants in ((2, 3), (1, 2, 3)):
            case = Case("MatMulInteger", [a, b, zero, zero], {}, 10, constants)
            program = import_onnx(case.model())
            want = {"y0": product(a.astype(np.int16) - 127, b.astype(np.int16) - 127)}
            agree(program.run(case.feeds()), want)
            agree(native(program, case.feeds())[0], want)


def test_small_constants_need_no_cut() -> None:
    """The rule looks at the weights: 5000 products by 1 are one sum."""
    a, b = np.full((2, 5000), 255, np.uint8), np.ones((5000, 3), np.int8)
    program = Case("MatMulInteger", [a, b], {}, 10, (1,)).check_native()
    assert kinds(program).count("matmul") == 1


def test_sums_of_an_unknown_length() -> None:
    rng = np.random.default_rng(4)
    inputs = [
        rng.integers(0, 256, (3, 70)).astype(np.uint8), rng.integers(-128, 128, (70, 5)).astype(np.int8),
        scalar(9, np.uint8), scalar(-4, np.int8),
    ]  # fmt: skip
    Case("MatMulInteger", inputs, {}, 10, (2, 3), symbolic=True).check_native()


@pytest.mark.parametrize("op", ["QLinearConv", "QLinearMatMul"])
def test_a_scale_is_not_folded_into_whole_weights(op: str) -> None:
    """Passes that fold factors into weights would round the products. Here 0.1 times a sum that ends
    in 5 is a tie, which sums of rounded tenths miss.
    """
    rng = np.random.default_rng(5)
    x, w = (1, 8, 9, 9), (6, 8, 3, 3)
    if op == "QLinearMatMul":
        x, w = (40, 30), (30, 50)  # type: ignore[assignment]
    inputs = [
        rng.integers(0, 20, x).astype(np.uint8), scalar(0.1), scalar(9, np.uint8),
        rng.integers(-9, 10, w).astype(np.int8), scalar(1.0), scalar(0, np.int8), scalar(1.0), scalar(128, np.uint8),
    ]  # fmt: skip
    case = Case(op, inputs, {}, 13, tuple(range(1, 8)))
    assert kinds(case.check_native()).count("mul") == 1


def test_a_convolution_of_too_many_products() -> None:
    x, w = np.zeros((1, 33000, 1), np.uint8), np.zeros((1, 33000, 1), np.uint8)
    with pytest.raises(UnsupportedError, match="a sum of 33000 products"):
        import_onnx(Case("ConvInteger", [x, w], {}, 10).model())
