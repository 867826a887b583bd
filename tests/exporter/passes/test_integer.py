# SPDX-License-Identifier: Apache-2.0
"""Demanded forms of tensors, and int8 tensors behind operators that move them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.exporter.passes.programs import bytes_like, program, real, real_constant

from samara.exporter.ir import Builder, Rewriter, Value
from samara.exporter.ops import all_ops, get_op
from samara.exporter.passes._integer import Integers, Target, data_inputs, parameters
from samara.exporter.types import Quant

Q = Quant.per_tensor(0.5, 10)


def test_numbers_in_steps_are_those_of_quantize() -> None:
    x = np.array([0.25, 0.75, -1.25, np.inf, -np.inf, np.nan, 1e30], np.float32)
    want = get_op("quantize").evaluate([x], {"scales": (0.5,), "zero_points": (10,), "axis": -1})
    np.testing.assert_array_equal(Target(Q).of(x), want)
    np.testing.assert_array_equal(Target(Q, 5, 11).of(x), np.clip(want, 5, 11))


@pytest.mark.parametrize(
    ("lo", "hi", "want"),
    [(-1.0, 2.0, (8, 14)), (0.0, math.inf, (10, 127)), (-math.inf, 0.3, (-128, 11))],
)
def test_clamps_in_steps(lo: float, hi: float, want: tuple[int, int]) -> None:
    target = Target(Q).clamped(lo, hi)
    assert (target.lo, target.hi) == want
    x = np.linspace(-5, 5, 201, dtype=np.float32)
    np.testing.assert_array_equal(target.of(x), Target(Q).of(np.clip(x, lo, hi)))


def test_the_parameters_of_nodes() -> None:
    assert parameters(Q) == {"scales": (0.5,), "zero_points": (10,), "axis": -1}
    assert parameters(Quant.per_axis([1, 2], 1))["axis"] == 1


def test_every_move_takes_int8_or_chooses_among_numbers() -> None:
    for name in [op.name for op in all_ops() if op.may_move]:
        spec = get_op(name)
        assert "qs8" in spec.dtypes or name in ("where", "reduce_max", "reduce_min")


def test_what_computes_is_no_move() -> None:
    def build(b: Builder) -> list[Value]:
        x = real(b, "x", [1, 4, 4, 2], Q)
        i = b.const(np.zeros((1, 4, 4, 2), np.int64))
        return [
            b.op("exp", x),
            b.op("scatter_elements", x, i, x, axis=0, reduction="add"),
            b.op("resize", x, sizes=(8, 8), scales=(0, 0), mode="linear"),
            b.op("pad", x, b.op("reduce_sum", x, axes=(0, 1, 2, 3)), pads=(0,) * 8),
            b.op("pad", x, b.const(np.float32(1)), pads=(0,) * 8),
            b.op("resize", x, sizes=(8, 8), scales=(0, 0), mode="nearest"),
        ]

    f = program(build).main
    found = [data_inputs(f.producer()[v]) for v in f.outputs]
    assert found == [None, None, None, None, (0,), (0,)]


def test_parameters_are_seen_through_moves() -> None:
    def build(b: Builder) -> list[Value]:
        x, y = real(b, "x", [2, 3], Q), real(b, "y", [2, 3], Quant.per_tensor(0.1))
        w = real_constant(b, bytes_like(2, 3), Quant.per_axis([1, 2], 0))
        return [
            b.op("concat", x, b.op("reshape", x, shape=(2, 3)), axis=0),
            b.op("concat", x, y, axis=0),
            b.op("transpose", w, perm=(1, 0)),
            b.op("reshape", w, shape=(3, 2)),
            b.op("neg", x),
        ]

    p = program(build)
    ctx = Integers(Rewriter(p.main, p))
    assert [ctx.quant_of(v) for v in p.main.outputs] == [
        Q, None, Quant.per_axis([1, 2], 1), None, None,
    ]  # fmt: skip
    assert [ctx.whole(v) for v in p.main.outputs][2] is None


def test_one_move_for_all_who_ask() -> None:
    def build(b: Builder) -> Value:
        value: Value = b.op("exp", b.op("transpose", real(b, "x", [2, 3], Q), perm=(1, 0)))
        return value

    p = program(build)
    r = Rewriter(p.main, p)
    ctx, last = Integers(r), p.main.nodes[-1]
    moved = last.inputs[0]
    assert moved is not None
    first = ctx.source(moved, last)
    assert first.type.quant == Q
    assert ctx.source(moved, last) is first


def test_the_numbers_of_a_dequantized_constant() -> None:
    def build(b: Builder) -> list[Value]:
        w = real_constant(b, [1, 20], Q)
        return [b.op("neg", w), b.op("neg", real(b, "x", [2], Q))]

    p = program(build)
    ctx = Integers(Rewriter(p.main, p))
    constant, computed = (n.inputs[0] for n in p.main.nodes if n.op.name == "neg")
    known = ctx.known(constant)
    assert known is not None
    assert known.tolist() == [-4.5, 5.0]
    assert ctx.known(computed) is None
    assert ctx.known(None) is None
