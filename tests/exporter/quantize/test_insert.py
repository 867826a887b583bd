# SPDX-License-Identifier: Apache-2.0
"""Insertion: where pairs go, which parameters are shared, what stays float."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import conv, normal, ops, program
from tests.exporter.quantize.programs import (
    PLAIN,
    POOL,
    agreement,
    applied,
    cnn,
    node_of,
    samples,
)

from samara.exporter.ir import Array, Builder, Program, Value, verify
from samara.exporter.quantize._layers import Applied, LayerRecord
from samara.exporter.quantize.recipe import Recipe

X = [1, 6, 6, 4]


def made(p: Program, feeds: list[dict[str, Array]], **recipe: Any) -> Applied:
    chosen = Recipe.from_dict(recipe)
    done = applied(p, feeds, chosen)
    verify(done.simulated)
    verify(done.program)
    return done


def feeds(count: int = 6) -> list[dict[str, Array]]:
    return [{"x": normal(*X, seed=i)} for i in range(count)]


def between(middle: Callable[[Builder, Value], Value | list[Value]], **recipe: Any) -> Applied:
    """conv, what `middle` makes of it, and a conv over each result."""

    def build(b: Builder) -> list[Value]:
        got = middle(b, conv(b, b.input("x", "f32", X), 4, seed=1))
        values = [got] if isinstance(got, Value) else got
        return [conv(b, v, 3, seed=2 + i) for i, v in enumerate(values)]

    return made(program(build), feeds(), **recipe)


def layer(done: Applied, op: str) -> LayerRecord:
    (found,) = [x for x in done.layers if x.op == op]
    return found


def quant_after(done: Applied, op: str, i: int = 0) -> Any:
    """Parameters of the int8 form of what the only node of this operator makes."""
    (node,) = [n for n in done.simulated.main.nodes if n.op.name == op]
    name = node.outputs[i].name
    quants = [
        n.outputs[0].type.quant
        for n in done.simulated.main.nodes
        if n.op.name == "quantize" and n.inputs[0] is not None and n.inputs[0].name == name
    ]
    return quants[0] if quants else None


# ---- the whole


def test_a_network_becomes_integer_and_keeps_its_answers() -> None:
    p = cnn()
    done = made(p, samples())
    assert agreement(p, done.simulated, samples(seed=9)) > 25
    assert agreement(done.simulated, done.program, samples(seed=9)) > 40
    assert ops(done.program)["qconv"] == 2
    assert not {"conv", "relu", "dequantize"} & set(ops(done.program))


def test_weights_are_symmetric_per_output_channel() -> None:
    done = made(cnn(), samples())
    stored = [v for v in done.simulated.main.values() if v.is_constant and v.type.quant is not None]
    assert [v.type.quant and v.type.quant.axis for v in stored] == [0, 0, 1]
    for v in stored:
        assert v.constant is not None
        assert v.type.quant is not None
        assert v.type.quant.is_symmetric
        assert v.constant.min() >= -127
        axes = tuple(a for a in range(v.constant.ndim) if a != v.type.quant.axis)
        assert (np.abs(v.constant.astype(int)).max(axis=axes) == 127).all()


def test_per_tensor_weights() -> None:
    done = made(cnn(), samples(), granularity="per-tensor")
    quants = [v.type.quant for v in done.simulated.main.values() if v.is_constant and v.type.quant]
    assert len(quants) == 3
    assert all(q.is_per_tensor for q in quants)


def test_float_inputs_and_outputs_stay_float() -> None:
    done = made(cnn(), samples())
    types = [*done.program.main.inputs, *done.program.main.outputs]
    assert [v.type.dtype.short for v in types] == ["f32", "f32"]


def test_int8_borders_are_rounded_even_where_float_would_do() -> None:
    done = made(cnn(), samples(), inputs="int8", outputs="int8")
    assert layer(done, "matmul").quantized is not None
    types = [*done.program.main.inputs, *done.program.main.outputs]
    assert [v.type.dtype.short for v in types] == ["f32", "f32"]  # quantize() takes the ends off
    assert agreement(cnn(), done.program, samples(seed=9)) > 25


def test_the_result_of_the_last_product_is_not_rounded() -> None:
    done = made(cnn(), samples())
    assert layer(done, "matmul").scheme == "int8"
    assert layer(done, "matmul").quantized is None


# ---- clamps


def test_a_convolution_is_observed_behind_its_clamp_only() -> None:
    done = between(lambda b, y: b.op("relu", y), bias_correction=False)
    assert quant_after(done, "relu").zero_point == -128
    first = next(x for x in done.layers if x.op == "conv")
    assert first.output == node_of(done.simulated, "relu").outputs[0].name
    assert ops(done.simulated)["quantize"] == 2
    assert ops(done.program) == {"quantize": 1, "qconv": 2, "cast": 1, "mul": 1}


def test_a_clamp_of_a_tensor_with_another_user_is_a_table() -> None:
    done = between(lambda b, y: [b.op("clamp", y, lo=-0.5, hi=0.5), y])
    assert quant_after(done, "clamp") is not None
    assert ops(done.program)["qlookup"] == 1


# ---- shared parameters


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("reshape", {"shape": (1, 36, 1, 4)}),
        ("transpose", {"perm": (0, 2, 1, 3)}),
        ("slice", {"begin": (0, 1, 1, 0), "end": (1, 5, 5, 4), "step": (1, 1, 1, 1)}),
        ("max_pool", POOL),
        ("pad", {"pads": (0, 1, 1, 0, 0, 1, 1, 0), "mode": "reflect"}),
    ],
)
def test_what_only_moves_keeps_its_parameters(op: str, attrs: dict[str, Any]) -> None:
    done = between(lambda b, y: b.op(op, b.op("sigmoid", y), **attrs))
    assert quant_after(done, op) == quant_after(done, "sigmoid")
    assert "requantize" not in ops(done.program)
    assert layer(done, op).scheme == "int8"


def test_the_parts_of_a_concat_share_their_parameters() -> None:
    def middle(b: Builder, y: Value) -> Any:
        wide = b.op("mul", y, b.const(np.float32(3)), name="wide")
        return conv(b, b.op("concat", b.op("sigmoid", y), b.op("relu", wide), axis=3), 4, seed=5)

    done = between(middle)
    assert quant_after(done, "sigmoid") == quant_after(done, "relu") == quant_after(done, "concat")
    assert "requantize" not in ops(done.program)
    record = layer(done, "sigmoid")
    shared = next(r for r in record.ranges if r.shared_with)
    assert len(shared.shared_with) == 2


def test_a_constant_that_moves_along_is_within_the_range() -> None:
    def middle(b: Builder, y: Value) -> Any:
        value = b.const(np.float32(30))
        return b.op("pad", b.op("relu", y), value, pads=(0, 1, 1, 0, 0, 1, 1, 0))

    done = between(middle)
    q = quant_after(done, "pad")
    assert (127 - q.zero_point) * q.scale >= 30 - q.scale


def test_softmax_has_its_own_parameters_and_keeps_out_of_a_concat() -> None:
    def middle(b: Builder, y: Value) -> Any:
        return b.op("concat", b.op("softmax", y, axis=3), b.op("mul", y, y), axis=3)

    done = between(middle)
    q = quant_after(done, "softmax")
    assert (q.scale, q.zero_point) == (1 / 256, -128)
    assert quant_after(done, "concat") == quant_after(done, "mul") != q
    assert ops(done.program)["requantize"] == 1


# ---- what stays float


def test_pointwise_work_behind_the_last_product_stays_float() -> None:
    def build(b: Builder) -> Any:
        y = conv(b, b.input("x", "f32", X), 4)
        return b.op("mul", b.op("sigmoid", y), b.op("add", y, b.const(np.float32(0.1))))

    done = made(program(build), feeds())
    assert layer(done, "sigmoid").scheme == "float"
    assert ops(done.program)["sigmoid"] == 1


def test_a_layer_may_be_left_alone() -> None:
    name = node_of(cnn(), "conv").outputs[0].name
    done = made(cnn(), samples(), layers={name: {"scheme": "float"}})
    record = next(x for x in done.layers if x.name == name)
    assert (record.scheme, record.reason) == ("float", "the recipe says so")
    assert ops(done.program)["conv"] == 1
    assert ops(done.program)["qconv"] == 1
    assert agreement(cnn(), done.program, samples(seed=9)) > 25


def test_every_layer_may_be_left_alone() -> None:
    p = cnn()
    layers = {n.outputs[0].name: {"scheme": "float"} for n in p.main.nodes}
    done = made(p, samples(), layers=layers)
    assert agreement(p, done.program, samples()) > 100


def test_a_tensor_that_was_never_finite_stays_float() -> None:
    def middle(b: Builder, y: Value) -> Any:
        zero = b.op("sub", y, y)
        return b.op("add", y, b.op("div", zero, zero))

    done = between(middle)
    reasons = {x.op: x.reason for x in done.layers if x.scheme == "float"}
    assert "no finite value" in reasons["add"]


def test_steep_functions_stay_float() -> None:
    done = between(lambda b, y: b.op("exp", y))
    assert layer(done, "exp").scheme == "float"
    assert ops(done.program)["exp"] == 1


def test_both_operands_of_a_product_may_be_computed() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [1, 5, 8])
        k = b.op("matmul", x, b.const(normal(8, 8, seed=1)))
        v = b.op("matmul", x, b.const(normal(8, 8, seed=2)))
        a = b.op("softmax", b.op("matmul", k, v, transpose_w=True), axis=2)
        y = b.op("matmul", a, v)
        return b.op("matmul", y, b.const(normal(8, 3, seed=3)))

    p = program(build)
    data = [{"x": normal(1, 5, 8, seed=i)} for i in range(8)]
    done = made(p, data)
    assert ops(done.program)["qmatmul"] == 5
    assert agreement(p, done.program, data) > 20


# ---- numbers


def test_small_weights_beside_a_large_bias_stay_within_int32() -> None:
    def build(b: Builder) -> Any:
        w = np.full((2, 1, 1, 4), 1e-9, np.float32)
        w[1] = 1
        bias = b.const(np.array([100, 1], np.float32))
        y = b.op("conv", b.input("x", "f32", X), b.const(w), bias, **PLAIN)
        return conv(b, y, 2, seed=4)

    p = program(build)
    done = made(p, feeds())
    assert ops(done.program)["qconv"] == 2
    assert agreement(p, done.program, feeds()) > 30


def test_a_channel_of_zeros_keeps_its_bias() -> None:
    def build(b: Builder) -> Any:
        w = normal(3, 1, 1, 4)
        w[1] = 0
        bias = b.const(np.array([1, 0.037, 2], np.float32))
        return b.op("conv", b.input("x", "f32", X), b.const(w), bias, **PLAIN)

    done = made(program(build), feeds())
    (out,) = done.program.run(feeds()[0]).values()
    assert out[..., 1] == pytest.approx(0.037, rel=0.02)
    assert layer(done, "conv").weights[0].dead_channels == (1,)


def test_the_bias_of_a_float_result_is_part_of_the_sums() -> None:
    done = made(cnn(), samples())
    assert ops(done.program)["add"] == 0
    product = node_of(done.program, "qmatmul")
    assert len(product.inputs) == 3
    assert product.inputs[2] is not None
    assert product.inputs[2].type.dtype.short == "i32"


def test_records_say_what_was_chosen() -> None:
    done = made(cnn(), samples(), observer="minmax")
    first = next(x for x in done.layers if x.op == "conv")
    assert first.inputs == ("x",)
    assert first.ranges[0].tensor == "x"
    assert first.ranges[0].observer == "minmax"
    data = np.stack([s["x"] for s in samples()])
    assert (first.ranges[0].lo, first.ranges[0].hi) == (data.min(), data.max())
    assert first.weights[0].kind == "int8 per channel"
    assert first.weights[0].bytes_after < first.weights[0].bytes_before / 3
    assert first.weights[0].sqnr_db > 30
    assert first.quantized in {v.name for v in done.simulated.main.values()}
