# SPDX-License-Identifier: Apache-2.0
"""Quantized fusion: operators on int8 data, moved nodes, unchanged nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import (
    bytes_like,
    conv,
    in_steps,
    integer,
    normal,
    ops,
    program,
    real,
    real_constant,
)

from samara.exporter.ir import Builder, Value
from samara.exporter.passes import PIPELINE, fuse_quantized, run_passes
from samara.exporter.types import DType, Quant

Q, R = Quant.per_tensor(0.05, -20), Quant.per_tensor(0.08, 5)

ONE: dict[str, Callable[[Builder, Value], Any]] = {
    "transpose": lambda b, x: b.op("transpose", x, perm=(0, 3, 1, 2)),
    "reshape": lambda b, x: b.op("reshape", x, shape=(4, -1 * -18)),
    "slice": lambda b, x: b.op(
        "slice", x, begin=(0, 1, 0, 0), end=(1, 4, 6, 3), step=(1, 2, 1, 1)
    ),
    "pad": lambda b, x: b.op("pad", x, pads=(0, 1, 2, 0) * 2),
    "pad by a number": lambda b, x: b.op("pad", x, b.const(np.float32(1.5)), pads=(0, 1, 2, 0) * 2),
    "pad by edges": lambda b, x: b.op("pad", x, pads=(0, 1, 1, 0) * 2, mode="edge"),
    "expand": lambda b, x: b.op("expand", x, shape=(2, 4, 6, 3)),
    "tile": lambda b, x: b.op("tile", x, repeats=(1, 2, 1, 3)),
    "gather": lambda b, x: b.op("gather", x, b.const(np.array([2, 0], np.int64)), axis=1),
    "max_pool": lambda b, x: b.op(
        "max_pool", x, kernel=(2, 2), strides=(2, 2), dilations=(1, 1), pads=(1, 0, 0, 1)
    ),
    "reduce_max": lambda b, x: b.op("reduce_max", x, axes=(1, 2), keepdims=True),
    "nearest": lambda b, x: b.op(
        "resize", x, sizes=(8, 3), scales=(0, 0), mode="nearest", coordinate="asymmetric"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE)
def test_moves_are_exact(name: str) -> None:
    after = integer(lambda b: in_steps(b, ONE[name](b, real(b, "x", [1, 4, 6, 3], Q)), Q), steps=0)
    wanted = {"reduce_max": {"reduce_max": 1, "reinterpret": 2}, "nearest": {"resize": 1}}
    assert ops(after) == wanted.get(name, {name.split()[0]: 1})


@pytest.mark.parametrize("name", ONE)
def test_other_parameters_cost_one_requantize(name: str) -> None:
    after = integer(lambda b: in_steps(b, ONE[name](b, real(b, "x", [1, 4, 6, 3], Q)), R))
    assert ops(after)["requantize"] == 1


def test_two_moves_in_a_row() -> None:
    def build(b: Builder) -> Value:
        x = b.op("transpose", real(b, "x", [2, 3, 4], Q), perm=(2, 0, 1))
        return in_steps(b, b.op("reshape", x, shape=(4, 6)), Q)

    assert ops(integer(build, steps=0)) == {"transpose": 1, "reshape": 1}


def test_there_and_back_vanishes() -> None:
    def build(b: Builder) -> Value:
        x = in_steps(b, real(b, "x", [5], Q), Q)
        value: Value = b.op("reshape", x, shape=(5, 1))
        return value

    assert ops(integer(build, steps=0)) == {"reshape": 1}


def test_an_output_keeps_a_tensor_of_its_own() -> None:
    after = fuse_quantized.PASS.run(program(lambda b: in_steps(b, real(b, "x", [5], Q), Q)))
    assert after.main.outputs[0] not in after.main.inputs


def test_other_parameters_are_requantized() -> None:
    assert ops(integer(lambda b: in_steps(b, real(b, "x", [300], Q), R))) == {"requantize": 1}


def test_parts_of_a_concat_get_its_parameters() -> None:
    def build(b: Builder) -> Value:
        parts = [real(b, "x", [2, 3], Q), real(b, "y", [2, 4], R), b.const(normal(2, 2))]
        return in_steps(b, b.op("concat", *parts, axis=1), R)

    assert ops(integer(build)) == {"requantize": 1, "concat": 1}


def test_a_real_part_of_a_concat_is_quantized_alone() -> None:
    def build(b: Builder) -> Value:
        parts = [real(b, "x", [2, 3], Q), b.op("exp", b.input("y", "f32", [2, 4]))]
        return in_steps(b, b.op("concat", *parts, axis=1), Q)

    after = fuse_quantized.PASS.run(program(build))
    assert ops(after) == {"exp": 1, "quantize": 1, "concat": 1}


def test_what_products_make_is_joined() -> None:
    """The convolutions get the parameters demanded of the concat."""

    def build(b: Builder) -> Value:
        x = real(b, "x", [1, 4, 4, 2], Q)
        parts = [_convolved(b, x), b.op("relu", _convolved(b, x))]
        return in_steps(b, b.op("reshape", b.op("concat", *parts, axis=3), shape=(1, 96)), R)

    assert ops(integer(build)) == {"qconv": 2, "concat": 1, "reshape": 1}


def _convolved(b: Builder, x: Value) -> Value:
    w = real_constant(b, bytes_like(3, 1, 1, 2), Quant.per_tensor(0.01))
    value: Value = b.op("conv", x, w, strides=(1, 1), dilations=(1, 1), pads=(0,) * 4)
    return value


def test_a_clamp_behind_a_pool_behind_a_product() -> None:
    def build(b: Builder) -> Value:
        y = b.op("relu", _convolved(b, real(b, "x", [1, 4, 4, 2], Q)))
        y = b.op("max_pool", y, kernel=(2, 2), strides=(2, 2), dilations=(1, 1), pads=(0,) * 4)
        return in_steps(b, b.op("clamp", y, lo=-1.0, hi=3.0), R)

    after = integer(build)
    assert ops(after) == {"qconv": 1, "max_pool": 1}
    assert (after.main.nodes[0].attrs["lo"], after.main.nodes[0].attrs["hi"]) == (5, 43)


def test_parts_of_a_split() -> None:
    def build(b: Builder) -> list[Value]:
        left, right = b.op("split", real(b, "x", [2, 6], Q), axis=1, sizes=(2, 4))
        return [in_steps(b, left, Q), in_steps(b, b.op("sin", right), R)]

    assert ops(integer(build)) == {"split": 1, "qlookup": 1}


def test_where_chooses_among_bytes() -> None:
    def build(b: Builder) -> Value:
        cond = b.input("c", "bool", [4, 5])
        return in_steps(b, b.op("where", cond, real(b, "x", [5], Q), real(b, "y", [4, 1], R)), R)

    assert ops(integer(build)) == {"requantize": 1, "where": 1}


def test_real_users_keep_their_dequantize() -> None:
    def build(b: Builder) -> list[Value]:
        x = real(b, "x", [4], Q)
        return [in_steps(b, b.op("relu", x), Q), b.op("exp", x)]

    after = fuse_quantized.PASS.run(program(build))
    assert ops(after) == {"qlookup": 1, "dequantize": 1, "exp": 1}


def test_constants_that_stay_dequantized_become_real() -> None:
    def build(b: Builder) -> Value:
        w = real_constant(b, bytes_like(3, 1, 1, 2), Quant.per_tensor(0.01))
        value: Value = b.op(
            "conv", b.input("x", "f32", [1, 4, 4, 2]), w,
            strides=(1, 1), dilations=(1, 1), pads=(0,) * 4,
        )  # fmt: skip
        return value

    before = program(build)
    after = run_passes(before, PIPELINE, check=True)[0]
    assert ops(after) == {"conv": 1}
    w = after.main.nodes[0].inputs[1]
    assert w is not None
    assert w.type.dtype is DType.F32


def test_a_real_program_is_left_alone() -> None:
    before = program(lambda b: conv(b, b.input("x", "f32", [1, 4, 4, 2]), 3))
    assert fuse_quantized.PASS.run(before) is before


def test_names_stay_and_what_vanishes_is_remembered() -> None:
    def build(b: Builder) -> Value:
        y = b.op("conv", real(b, "x", [1, 4, 4, 2], Q),
                 real_constant(b, bytes_like(3, 1, 1, 2), Quant.per_tensor(0.01)),
                 strides=(1, 1), dilations=(1, 1), pads=(0,) * 4, name="layer")  # fmt: skip
        y = b.op("quantize", b.op("relu", y, name="active"), outputs=["made"],
                 scales=R.scales, zero_points=R.zero_points, axis=-1)  # fmt: skip
        value: Value = b.op("reshape", y, shape=(48,))
        return value

    node = fuse_quantized.PASS.run(program(build)).main.nodes[0]
    assert (node.op.name, node.name, node.outputs[0].name) == ("qconv", "layer", "made")
    assert set(node.absorbed) == {"layer", "active"}


def test_a_layout_is_settled_around_bytes() -> None:
    """Transposes cancel across quantize and dequantize, and int8 constants are transposed."""

    def build(b: Builder) -> Value:
        x = b.op("transpose", real(b, "x", [1, 2, 4, 4], Q), perm=(0, 2, 3, 1))
        y = b.op("transpose", _convolved(b, x), perm=(0, 3, 1, 2))
        y = b.op("dequantize", in_steps(b, y, R))
        c = real_constant(b, bytes_like(3, 1, 1), Quant.per_tensor(0.03, 2))
        y = b.op("dequantize", in_steps(b, b.op("add", y, c), R))
        y = b.op("reduce_mean", y, axes=(2, 3), keepdims=False)
        return in_steps(b, y, R)

    after = run_passes(program(build), PIPELINE, check=True)[0]
    assert ops(after) == {"transpose": 1, "qconv": 1, "qadd": 1, "qmean": 1}


@pytest.mark.parametrize("kind", ["i8", "u8"])
def test_bytes_that_move_stay_quantized(kind: str) -> None:
    """QOperator files have plain int8 tensors between their operators."""

    def build(b: Builder) -> Value:
        y = b.op("reinterpret", in_steps(b, b.op("sin", real(b, "x", [1, 4, 4, 2], Q)), R), to=kind)
        y = b.op("max_pool", y, kernel=(2, 2), strides=(2, 2), dilations=(1, 1), pads=(1, 0, 0, 1))
        y = b.op("transpose", b.op("reshape", y, shape=(2, 4)), perm=(1, 0))
        value: Value = b.op("reinterpret", y, to="qs8", scales=R.scales, zero_points=R.zero_points)
        return value

    after = integer(build, steps=0)
    assert ops(after) == {"qlookup": 1, "max_pool": 1, "reshape": 1, "transpose": 1}


def test_bytes_that_mean_something_else_stay() -> None:
    def build(b: Builder) -> list[Value]:
        y = b.op("reinterpret", b.input("x", "qs8", [4, 4], Q), to="u8")
        other = b.op("reinterpret", b.op("transpose", y, perm=(1, 0)), to="qs8",
                     scales=R.scales, zero_points=R.zero_points)  # fmt: skip
        padded = b.op("reinterpret", b.op("pad", y, pads=(1, 0, 0, 0)), to="qs8",
                      scales=Q.scales, zero_points=Q.zero_points)  # fmt: skip
        return [other, padded]

    assert ops(integer(build, steps=0))["reinterpret"] == 3


def test_a_real_input_is_turned_as_bytes() -> None:
    def build(b: Builder) -> Value:
        x = b.op("transpose", b.input("x", "f32", [2, 3, 4]), perm=(1, 2, 0))
        return in_steps(b, b.op("neg", real_of(b, in_steps(b, x, Q))), Q)

    def real_of(b: Builder, x: Value) -> Value:
        value: Value = b.op("dequantize", x)
        return value

    before = program(build)
    after = fuse_quantized.PASS.run(before)
    assert [n.op.name for n in after.main.nodes] == ["quantize", "transpose", "qlookup"]
    feeds = {"x": normal(2, 3, 4)}
    np.testing.assert_array_equal(after.run(feeds)["out0"], before.run(feeds)["out0"])


@pytest.mark.parametrize("same", [True, False])
def test_a_clamp_behind_quantize_goes_into_the_row_before(same: bool) -> None:
    def build(b: Builder) -> Value:
        x = b.op("clamp", _convolved(b, real(b, "x", [1, 4, 4, 2], Q)), lo=-9.0, hi=2.0)
        y = b.op("dequantize", in_steps(b, x, R))
        return in_steps(b, b.op("clamp", y, lo=-1.0, hi=3.0), R if same else Q)

    after = integer(build)
    assert ops(after) == ({"qconv": 1} if same else {"qconv": 1, "qlookup": 1})
    lo, hi = after.main.nodes[0].attrs["lo"], after.main.nodes[0].attrs["hi"]
    assert (lo, hi) == ((-7, 30) if same else (-107, 30))


def test_a_result_that_is_used_before_its_clamp_keeps_it() -> None:
    def build(b: Builder) -> list[Value]:
        x = in_steps(b, _convolved(b, real(b, "x", [1, 4, 4, 2], Q)), R)
        y = b.op("relu", b.op("dequantize", x))
        return [in_steps(b, y, R), b.op("reshape", x, shape=(48,))]

    assert ops(integer(build))["qlookup"] == 1


def test_two_tables_are_one() -> None:
    def build(b: Builder) -> Value:
        y = b.op("dequantize", in_steps(b, b.op("sin", real(b, "x", [300], Q)), R))
        return in_steps(b, b.op("exp", y), Q)

    assert ops(integer(build, steps=0)) == {"qlookup": 1}


@pytest.mark.parametrize("op", ["slice", "relu", "neg"])
@pytest.mark.parametrize("source", ["int8", "real"])
def test_long_chains(op: str, source: str) -> None:
    """A long chain does not exceed Python's recursion limit."""
    size = 2000

    def build(b: Builder) -> Value:
        x = (
            real(b, "x", [size], Q)
            if source == "int8"
            else b.op("exp", b.input("x", "f32", [size]))
        )
        for i in range(size - 1):
            attrs: Any = {"begin": (0,), "end": (size - 1 - i,), "step": (1,)}
            x = b.op(op, x, **(attrs if op == "slice" else {}))
        return in_steps(b, x, Q)

    before = program(build)
    after = fuse_quantized.PASS.run(before)
    feeds = {"x": bytes_like(size) if source == "int8" else normal(size)}
    np.testing.assert_array_equal(after.run(feeds)["out0"], before.run(feeds)["out0"])
