# SPDX-License-Identifier: Apache-2.0
"""Convolutions and matrix products between dequantize and quantize."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import (
    bytes_like,
    in_steps,
    integer,
    normal,
    ops,
    program,
    real,
    real_constant,
)

from samara.exporter.ir import Builder, Value
from samara.exporter.passes import fuse_quantized
from samara.exporter.types import DType, Quant

X = Quant.per_tensor(0.02, -5)
Y = Quant.per_tensor(0.4, 7)
W = Quant.per_axis([0.01, 0.02, 0.005, 0.03], 0)


def window(x: Value, w: Value) -> dict[str, Any]:
    s = x.type.rank - 2
    return {"strides": (1,) * s, "dilations": (1,) * s, "pads": (0, 1) * s}


def convolved(
    b: Builder, bias: Any = None, op: str = "conv", w_quant: Quant = W, **attrs: Any
) -> Value:
    x = real(b, "x", [2, 5, 6, 3], X)
    w = real_constant(b, bytes_like(4, 3, 3, 3), w_quant)
    if op == "conv_transpose":
        attrs["output_padding"] = (0, 0)
    value: Value = b.op(op, x, w, None if bias is None else b.const(bias), **window(x, w), **attrs)
    return value


@pytest.mark.parametrize("op", ["conv", "conv_transpose"])
@pytest.mark.parametrize("bias", [None, normal(4)])
def test_convolutions(op: str, bias: Any) -> None:
    after = integer(lambda b: in_steps(b, convolved(b, bias, op), Y))
    assert ops(after) == {f"q{op}": 1}
    (node,) = after.main.nodes
    assert (len(node.inputs) == 3) == (bias is not None)
    assert node.outputs[0].type.quant == Y


def test_a_bias_is_rounded_to_steps_of_the_sums() -> None:
    bias = np.array([0.1, -0.25, 1e9, -1e9], np.float32)
    after = integer(lambda b: in_steps(b, convolved(b, bias), Y))
    made = after.main.nodes[0].inputs[2]
    assert made is not None
    assert made.constant is not None
    x, w = np.float32(0.02), W.scale_array()
    np.testing.assert_array_equal(
        made.constant[:2], np.rint(bias[:2] / (np.float64(x) * w[:2].astype(np.float64)))
    )
    # The room in int32 beside the largest sum of products.
    room = 2**31 - 1 - 27 * 132 * 128
    assert made.constant[2:].tolist() == [room, -room]


def test_an_int32_bias_comes_back_to_the_bit() -> None:
    """QDQ files hold int32 biases in steps of s_x * s_w."""
    whole = np.array([12345, -99999, 2**21 + 1, -3], np.int32)
    steps = np.float32(X.scale) * W.scale_array()
    after = integer(lambda b: in_steps(b, convolved(b, whole.astype(np.float32) * steps), Y))
    made = after.main.nodes[0].inputs[2]
    assert made is not None
    assert made.constant is not None
    np.testing.assert_array_equal(made.constant, whole)


@pytest.mark.parametrize("form", ["epilogue", "clamp", "relu"])
def test_a_clamp_becomes_one_of_steps(form: str) -> None:
    def build(b: Builder) -> Value:
        if form == "epilogue":
            return in_steps(b, convolved(b, lo=-3.0, hi=6.1), Y)
        y = convolved(b)
        y = b.op("relu", y) if form == "relu" else b.op("clamp", y, lo=-3.0, hi=6.1)
        return in_steps(b, y, Y)

    after = integer(build)
    assert ops(after) == {"qconv": 1}
    lo, hi = (7, 127) if form == "relu" else (-1, 22)
    assert (after.main.nodes[0].attrs["lo"], after.main.nodes[0].attrs["hi"]) == (lo, hi)


def test_a_sum_with_a_constant_per_channel_becomes_the_bias() -> None:
    def build(b: Builder) -> Value:
        y = b.op("sub", convolved(b, normal(4)), b.const(normal(4, seed=2)))
        return in_steps(b, b.op("relu", y), Y)

    after = integer(build)
    assert ops(after) == {"qconv": 1}
    assert "main" in after.functions
    assert len(after.main.nodes[0].absorbed) == 3  # the sums, the bias addition, the clamp


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("zero", [0, 9])
def test_matmul_by_weights(turned: bool, zero: int) -> None:
    def build(b: Builder) -> Value:
        axis = 0 if turned else 1
        w = Quant.per_axis([0.01, 0.02, 0.03], axis, [zero, 0, -zero])
        x = real(b, "x", ["n", 6], X)
        w_real = real_constant(b, bytes_like(*((3, 6) if turned else (6, 3))), w)
        y = b.op("matmul", x, w_real, b.const(normal(3)), transpose_w=turned)
        return in_steps(b, y, Y)

    assert ops(integer(build)) == {"qmatmul": 1}


def test_matmul_of_two_computed_tensors() -> None:
    def build(b: Builder) -> Value:
        x, w = real(b, "x", [2, 4, 6], X), real(b, "w", [2, 5, 6], Quant.per_tensor(0.01, 3))
        return in_steps(b, b.op("matmul", x, w, transpose_w=True), Y)

    assert ops(integer(build)) == {"qmatmul": 1}


def test_a_matmul_whose_rows_have_scales_stays() -> None:
    def build(b: Builder) -> Value:
        x = real(b, "x", [4, 3], X)
        w = real_constant(b, bytes_like(3, 5), Quant.per_axis([0.1, 0.2, 0.3], 0))
        return in_steps(b, b.op("matmul", x, w), Y)

    assert ops(fuse_quantized.PASS.run(program(build))) == {
        "dequantize": 1,
        "matmul": 1,
        "quantize": 1,
    }


def test_weights_that_are_moved() -> None:
    def build(b: Builder) -> Value:
        x = real(b, "x", [4, 3], X)
        w = real_constant(b, bytes_like(5, 3), Quant.per_axis([0.1, 0.2, 0.3, 0.1, 0.1], 0))
        return in_steps(b, b.op("matmul", x, b.op("transpose", w, perm=(1, 0))), Y)

    assert ops(integer(build)) == {"qmatmul": 1}


def test_another_activation_stays_real() -> None:
    """An operand without parameters keeps the product in float."""
    after = fuse_quantized.PASS.run(
        program(lambda b: in_steps(b, b.op("sigmoid", convolved(b)), Y))
    )
    assert ops(after)["sigmoid"] == 1
    assert ops(after)["quantize"] == 1


def test_sums_that_may_leave_int32_stay_real() -> None:
    def build(b: Builder) -> Value:
        x = real(b, "x", [1, 200_000], X)
        return in_steps(b, b.op("matmul", x, real(b, "w", [200_000, 1], X)), Y)

    assert ops(fuse_quantized.PASS.run(program(build)))["matmul"] == 1


def test_a_result_that_someone_else_needs_stays_real() -> None:
    def build(b: Builder) -> list[Value]:
        y = convolved(b)
        return [in_steps(b, y, Y), b.op("exp", y)]

    assert ops(fuse_quantized.PASS.run(program(build)))["quantize"] == 1


@pytest.mark.parametrize("whole", [True, False])
def test_a_result_that_nothing_quantizes(whole: bool) -> None:
    """The product becomes an integer one with scaled sums. A bias in their steps is included, another one stays."""
    bias = normal(4)
    if whole:
        bias = np.array([5, -1000, 123456, 0], np.float32) * np.float32(X.scale) * W.scale_array()
    before = program(lambda b: convolved(b, bias, lo=-2.0, hi=3.0))
    after = fuse_quantized.PASS.run(before)
    rows = {"qconv": 1, "cast": 1, "mul": 1, "clamp": 1}
    assert ops(after) == (rows if whole else {**rows, "add": 1})
    assert after.main.nodes[0].outputs[0].type.dtype is DType.I32
    feeds = {"x": bytes_like(2, 5, 6, 3, seed=3)}
    got, want = after.run(feeds)["out0"], before.run(feeds)["out0"]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_a_bias_of_no_number_stays_real() -> None:
    bias = np.array([0.0, np.inf, 1.0, np.nan], np.float32)
    after = fuse_quantized.PASS.run(program(lambda b: in_steps(b, convolved(b, bias), Y)))
    assert "quantize" in ops(after)
