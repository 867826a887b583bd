# SPDX-License-Identifier: Apache-2.0
"""The layout pass: transposes sink, merge and cancel."""

from __future__ import annotations

from typing import Any

import pytest
from tests.exporter.passes.programs import (
    apply,
    bytes_like,
    conv,
    normal,
    ops,
    program,
    real_constant,
)

from samara.exporter.ir import Builder, Value
from samara.exporter.ir.relayout import transposes_left
from samara.exporter.passes import PIPELINE, layout, run_passes
from samara.exporter.types import Quant

FIRST, LAST = (0, 3, 1, 2), (0, 2, 3, 1)


def nchw_conv(b: Builder, x: Value, out: int, **attrs: Any) -> Value:
    """A convolution in an importer's form: transpose, convolve, transpose."""
    y = conv(b, b.op("transpose", x, perm=LAST), out, **attrs)
    value: Value = b.op("transpose", y, perm=FIRST)
    return value


def interior(p: Any) -> list[str]:
    return [t.name for t in transposes_left(p) if t.interior]


def between(make: Any) -> Any:
    """conv → make → conv, channels first."""
    return program(
        lambda b: nchw_conv(b, make(b, nchw_conv(b, b.input("x", "f32", [1, 4, 6, 6]), 8)), 4)
    )


# Operators between two convolutions that leave no transpose.
FOLLOWERS = {
    "nothing": lambda b, y: y,
    "relu": lambda b, y: b.op("relu", y),
    "scale": lambda b, y: b.op("mul", y, b.const(normal(8, 1, 1))),
    "scalar": lambda b, y: b.op("mul", y, 2.0),
    "residual": lambda b, y: b.op("add", y, b.op("relu", y)),
    "concat": lambda b, y: b.op("concat", y, b.op("exp", y), axis=1),
    "split": lambda b, y: b.op("split", y, axis=1, sizes=[3, 5])[1],
    "pad": lambda b, y: b.op("pad", y, pads=[0, 0, 1, 1, 0, 0, 1, 1]),
    "slice": lambda b, y: b.op("slice", y, begin=[0, 0, 1, 0], end=[1, 8, 5, 6], step=[1, 1, 2, 1]),
    "softmax": lambda b, y: b.op("softmax", y, axis=1),
    "reduce": lambda b, y: b.op("sub", y, b.op("reduce_mean", y, axes=(2, 3), keepdims=True)),
    "squeeze and excite": lambda b, y: b.op(
        "mul",
        y,
        b.op("sigmoid", nchw_conv(b, b.op("reduce_mean", y, axes=(2, 3), keepdims=True), 8)),
    ),
    "prelu": lambda b, y: b.op("prelu", y, b.const(normal(8, 1, 1))),
}


@pytest.mark.parametrize("name", FOLLOWERS)
def test_nothing_is_left_between_two_convolutions(name: str) -> None:
    after = apply(layout.PASS, between(FOLLOWERS[name]))
    assert interior(after) == []


def test_channel_shuffle_keeps_one_transpose() -> None:
    def shuffle(b: Builder, y: Value) -> Value:
        z = b.op("transpose", b.op("reshape", y, shape=[1, 2, 4, 6, 6]), perm=(0, 2, 1, 3, 4))
        value: Value = b.op("reshape", z, shape=[1, 8, 6, 6])
        return value

    assert len(interior(apply(layout.PASS, between(shuffle)))) == 1


def test_flatten_before_matmul_permutes_the_weights() -> None:
    def build(b: Builder) -> Value:
        y = nchw_conv(b, b.input("x", "f32", [2, 3, 4, 5]), 6)
        value: Value = b.op("matmul", b.op("reshape", y, shape=[2, 120]), b.const(normal(120, 7)))
        return value

    after = apply(layout.PASS, program(build))
    assert interior(after) == []
    assert ops(after)["transpose"] == 1  # of the input


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_dequantized_weights_are_permuted_as_int8(axis: int | None) -> None:
    """The int8 data is transposed, unless the matrix rows that move have their own scales."""
    scales = normal(1 if axis is None else (120, 7)[axis]) ** 2 + 0.01
    quant = Quant.per_tensor(0.1, 3) if axis is None else Quant.per_axis(scales, axis)

    def build(b: Builder) -> Value:
        y = nchw_conv(b, b.input("x", "f32", [2, 3, 4, 5]), 6)
        w = real_constant(b, bytes_like(120, 7), quant)
        value: Value = b.op("matmul", b.op("reshape", y, shape=[2, 120]), w)
        return value

    after = apply(layout.PASS, program(build))
    assert ops(after)["dequantize"] == 1
    assert (interior(after) == []) is (axis != 0)


def test_a_dequantized_constant_is_a_constant() -> None:
    """It does not stop transposes: the int8 data is transposed."""

    def add(b: Builder, y: Value) -> Value:
        c = real_constant(b, bytes_like(8, 1, 1), Quant.per_axis([0.1 * i for i in range(1, 9)], 0))
        value: Value = b.op("add", y, c)
        return value

    assert interior(apply(layout.PASS, between(add))) == []


def test_transposed_weights_are_permuted_too() -> None:
    def build(b: Builder) -> Value:
        y = nchw_conv(b, b.input("x", "f32", [2, 3, 4, 5]), 6)
        flat = b.op("reshape", y, shape=[2, 120])
        value: Value = b.op("matmul", flat, b.const(normal(7, 120)), transpose_w=True)
        return value

    assert interior(apply(layout.PASS, program(build))) == []


def test_reshape_of_whole_axes_lets_a_transpose_pass() -> None:
    def build(b: Builder) -> Value:
        y = nchw_conv(b, b.input("x", "f32", ["n", 3, 4, 4]), 8)
        y = b.op("transpose", y, perm=LAST)
        n = y.type.shape[0]
        value: Value = b.op("softmax", b.op("reshape", y, shape=[n, 64, 2]), axis=-1)
        return value

    assert ops(apply(layout.PASS, program(build)))["transpose"] == 1


def test_what_is_elementwise_before_the_first_convolution_hoists_to_the_input() -> None:
    def build(b: Builder) -> Value:
        x = b.input("x", "f32", [1, 3, 4, 4])
        return nchw_conv(b, b.op("div", b.op("sub", x, b.const(normal(3, 1, 1))), 2.0), 4)

    assert interior(apply(layout.PASS, program(build))) == []


def test_a_barrier_keeps_its_transposes() -> None:
    def barrier(b: Builder, y: Value) -> Value:
        value: Value = b.op("scatter_nd", y, b.const([[0]]), b.const(normal(1, 8, 6, 6)))
        return value

    after = apply(layout.PASS, between(barrier))
    assert len(interior(after)) == 2


def test_the_pipeline_leaves_an_input_and_an_output_transpose() -> None:
    after, _ = run_passes(between(FOLLOWERS["residual"]), PIPELINE, check=True)
    assert ops(after)["transpose"] == 2
    assert interior(after) == []
