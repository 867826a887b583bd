# SPDX-License-Identifier: Apache-2.0
"""Attention fusion."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import apply, normal, ops, program

from samara.exporter.ir import Builder, Node, Program, Value
from samara.exporter.passes import PIPELINE, fuse_attention, run_passes

LEAD = [2, 3]  # batch, heads
S, T, D, DV = 5, 7, 4, 6


def qkv(b: Builder, lead: list[int] = LEAD) -> tuple[Value, Value, Value]:
    return (
        b.input("q", "f32", [*lead, S, D]),
        b.input("k", "f32", [*lead, T, D]),
        b.input("v", "f32", [*lead, T, DV]),
    )


def scores(b: Builder, q: Value, k: Value) -> Value:
    value: Value = b.op("matmul", q, k, transpose_w=True)
    return value


def weighed(b: Builder, s: Value, v: Value, **attrs: Any) -> Value:
    value: Value = b.op("matmul", b.op("softmax", s), v, **attrs)
    return value


def fused(before: Program) -> Program:
    return apply(fuse_attention.PASS, before)


def only(p: Program) -> Node:
    """The attention node of a program without other nodes."""
    assert ops(p) == {"attention": 1}
    return p.main.nodes[0]


def test_the_plain_form() -> None:
    def build(b: Builder) -> Any:
        q, k, v = qkv(b)
        return weighed(b, scores(b, q, k), v)

    node = only(fused(program(build)))
    assert (node.attrs["scale"], node.attrs["causal"], node.attrs["layout"]) == (1.0, False, "bhsd")
    assert len(node.inputs) == 3
    assert len(node.absorbed) == 2


@pytest.mark.parametrize("lead", [[], [3], [2, 1, 3]])
def test_ranks(lead: list[int]) -> None:
    def build(b: Builder) -> Any:
        q, k, v = qkv(b, lead)
        return weighed(b, scores(b, q, k), v)

    assert only(fused(program(build))).outputs[0].type.static_shape() == (*lead, S, DV)


SCALED: dict[str, Callable[[Builder, Value, Value], Value]] = {
    "times": lambda b, q, k: b.op("mul", 0.5, scores(b, q, k)),
    "over": lambda b, q, k: b.op("div", scores(b, q, k), 2.0),
    "q": lambda b, q, k: scores(b, b.op("mul", q, 0.5), k),
    "both": lambda b, q, k: scores(
        b, b.op("mul", q, math.sqrt(0.5)), b.op("mul", k, math.sqrt(0.5))
    ),
    "twice": lambda b, q, k: b.op("mul", b.op("div", scores(b, b.op("div", q, 3.0), k), 2.0), 3.0),
}


@pytest.mark.parametrize("form", SCALED)
def test_factors_become_the_scale(form: str) -> None:
    def build(b: Builder) -> Any:
        q, k, v = qkv(b)
        return weighed(b, SCALED[form](b, q, k), v)

    assert only(fused(program(build))).attrs["scale"] == pytest.approx(0.5)


@pytest.mark.parametrize("shape", [[S, T], [2, 1, 1, T], [1, 3, S, 1], []])
def test_the_mask(shape: list[int]) -> None:
    def build(b: Builder) -> Any:
        q, k, v = qkv(b)
        s = b.op("mul", scores(b, q, k), 0.5)
        return weighed(b, b.op("add", b.input("mask", "f32", shape), s), v)

    node = only(fused(program(build)))
    assert node.inputs[3] is not None
    assert node.inputs[3].name == "mask"


def test_a_mask_that_became_a_residual() -> None:
    def build(b: Builder) -> Any:
        q, k, v = qkv(b)
        mask = b.input("mask", "f32", [*LEAD, S, T])
        return weighed(b, b.op("add", scores(b, q, k), mask), v)

    after, _ = run_passes(program(build), PIPELINE, check=True)
    node = only(after)
    assert node.inputs[3] is not None
    assert node.inputs[3].name == "mask"


def test_a_causal_mask_is_no_mask() -> None:
    def build(b: Builder) -> Any:
        q, k, v = qkv(b)
        mask = np.triu(np.full((S, T), -np.inf, np.float32), 1)
        return weighed(b, b.op("add", scores(b, q, k), b.const(mask)), v)

    node = only(fused(program(build)))
    assert node.attrs["causal"]
    assert len(node.inputs) == 3


@pytest.mark.parametrize("shape", [(S, 1), (1, T), (T,)])
def test_a_constant_mask_that_hides_nothing_stays_one(shape: tuple[int, ...]) -> None:
    def build(b: Builder) -> Any:
        q, k, v = qkv(b)
        return weighed(b, b.op("add", scores(b, q, k), b.const(np.zeros(shape, np.float32))), v)

    node = only(fused(program(build)))
    assert not node.attrs["causal"]
    assert len(node.inputs) == 4


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("shape", [[S, T], [2, 1, 1, T], []])
def test_a_choice_is_a_mask(shape: list[int], swapped: bool) -> None:
    def build(b: Builder) -> Any:
        q, k, v = qkv(b)
        seen, low = b.input("seen", "bool", shape), b.const(np.float32(-3e38))
        s = b.op("mul", scores(b, q, k), 0.5)
        return weighed(b, b.op("where", seen, *((low, s) if swapped else (s, low))), v)

    after = fused(program(build))
    assert ops(after) == {"where": 1, "attention": 1}
    feeds = {
        v.name: np.full(shape, swapped) if v.name == "seen" else normal(*v.type.static_shape())
        for v in after.main.inputs
    }
    (a,), (b,) = (p.run(feeds).values() for p in (program(build), after))
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)  # all keys hidden: all weigh the same


def test_masks_are_added_up() -> None:
    def build(b: Builder) -> Any:
        q, k, v = qkv(b)
        seen, low = b.const(np.tri(S, T, T - S, dtype=bool)), b.const(np.float32(-3e38))
        s = b.op("where", seen, b.op("mul", scores(b, q, k), 0.5), low)
        return weighed(b, b.op("add", s, b.input("mask", "f32", [2, 1, 1, T])), v)

    assert ops(fused(program(build))) == {"add": 1, "attention": 1}


def test_a_chosen_causal_mask_is_no_mask() -> None:
    def build(b: Builder) -> Any:
        q, k, v = qkv(b)
        seen, low = b.const(np.tri(S, T, dtype=bool)), b.const(np.float32(-np.inf))
        return weighed(b, b.op("where", seen, scores(b, q, k), low), v)

    node = only(fused(program(build)))
    assert node.attrs["causal"]
    assert len(node.inputs) == 3


def test_a_number_that_does_not_hide_is_no_mask() -> None:
    def build(b: Builder) -> Any:
        q, k, v = qkv(b)
        low = b.const(np.float32(-10))
        s = b.op("where", b.input("seen", "bool", [S, T]), scores(b, q, k), low)
        return weighed(b, s, v)

    assert "attention" not in ops(fused(program(build)))


def _no_nan(b: Builder, weights: Value) -> Value:
    zero = b.const(np.zeros(1, np.float32))
    value: Value = b.op("where", b.op("isnan", weights), zero, weights)
    return value


def _own_and_before(b: Builder) -> Value:
    """Of each row the keys before it, and its own, counted from the last."""
    rows = b.op("reshape", b.op("iota", length=S, start=T - S), shape=(S, 1))
    seen = b.op("le", b.op("iota", length=T), rows)
    value: Value = b.op("where", seen, np.float32(0), b.const(np.float32(-np.inf)))
    return value


@pytest.mark.parametrize("masked", [False, True])
def test_weights_that_are_no_nan_need_no_check(masked: bool) -> None:
    """As torch's exporter writes scaled_dot_product_attention."""

    def build(b: Builder) -> Any:
        q, k, v = qkv(b)
        s = scores(b, q, k)
        s = b.op("add", s, _own_and_before(b)) if masked else s
        return b.op("matmul", _no_nan(b, b.op("softmax", s)), v)

    found = ops(fused(program(build)))
    assert found["attention"] == 1
    assert "isnan" not in found


def test_weights_that_may_be_nan_stay_checked() -> None:
    def build(b: Builder) -> Any:
        q, k, v = qkv(b)
        low = b.const(np.float32(-np.inf))
        mask = b.op("where", b.input("seen", "bool", [S, T]), np.float32(0), low)
        return b.op("matmul", _no_nan(b, b.op("softmax", b.op("add", scores(b, q, k), mask))), v)

    assert "attention" not in ops(fused(program(build)))


def test_weights_with_another_reader_stay() -> None:
    def build(b: Builder) -> Any:
        q, k, v = qkv(b)
        weights = b.op("softmax", scores(b, q, k))
        return b.op("matmul", _no_nan(b, weights), v), b.op("neg", weights)

    assert "attention" not in ops(fused(program(build)))


@pytest.mark.parametrize("swapped", [False, True])
def test_one_head_of_keys_is_shared(swapped: bool) -> None:
    def build(b: Builder) -> Any:
        perm = (0, 2, 1, 3)
        if swapped:
            q = b.op("transpose", b.input("q", "f32", [2, S, 3, D]), perm=perm)
            k, v = (
                b.op("transpose", b.input(n, "f32", [2, T, 1, size]), perm=perm)
                for n, size in (("k", D), ("v", DV))
            )
        else:
            q = b.input("q", "f32", [2, 3, S, D])
            k, v = b.input("k", "f32", [2, 1, T, D]), b.input("v", "f32", [2, 1, T, DV])
        return weighed(b, scores(b, q, k), v)

    (node,) = (n for n in fused(program(build)).main.nodes if n.op.name == "attention")
    assert node.attrs["groups"] == 3


def test_heads_of_values_alone_are_not_shared() -> None:
    def build(b: Builder) -> Any:
        q, k = b.input("q", "f32", [2, 3, S, D]), b.input("k", "f32", [2, 3, T, D])
        return weighed(b, scores(b, q, k), b.input("v", "f32", [2, 1, T, DV]))

    assert "attention" not in ops(fused(program(build)))


# ---- transposes ----


def heads(b: Builder, name: str, rows: int, size: int, perm: tuple[int, ...]) -> Value:
    value: Value = b.op("transpose", b.input(name, "f32", [2, rows, 3, size]), perm=perm)
    return value


def test_heads_are_read_and_written_where_they_lie() -> None:
    def build(b: Builder) -> Any:
        q, k = heads(b, "q", S, D, (0, 2, 1, 3)), heads(b, "k", T, D, (0, 2, 3, 1))
        v = heads(b, "v", T, DV, (0, 2, 1, 3))
        y = weighed(b, b.op("matmul", q, k), v)
        return b.op("transpose", y, perm=(0, 2, 1, 3))

    node = only(fused(program(build)))
    assert node.attrs["layout"] == "bshd"
    assert node.outputs[0].type.static_shape() == (2, S, 3, DV)


def test_a_transpose_follows_where_the_result_is_wanted_by_heads() -> None:
    def build(b: Builder) -> Any:
        q, k = heads(b, "q", S, D, (0, 2, 1, 3)), heads(b, "k", T, D, (0, 2, 1, 3))
        v = heads(b, "v", T, DV, (0, 2, 1, 3))
        y = weighed(b, scores(b, q, k), v)
        return [y, b.op("transpose", y, perm=(0, 2, 1, 3))]

    after = fused(program(build))
    assert ops(after) == {"attention": 1, "transpose": 2}
    assert after.main.nodes[0].attrs["layout"] == "bshd"


def test_rows_first_of_rank_3() -> None:
    def build(b: Builder) -> Any:
        q, k, v = (
            b.op("transpose", b.input(n, "f32", [r, 3, d]), perm=(1, 0, 2))
            for n, r, d in (("q", S, D), ("k", T, D), ("v", T, DV))
        )
        return b.op("transpose", weighed(b, scores(b, q, k), v), perm=(1, 0, 2))

    assert only(fused(program(build))).attrs["layout"] == "bshd"


def test_one_operand_by_heads_keeps_the_others_transposed() -> None:
    def build(b: Builder) -> Any:
        _, k, v = qkv(b)
        return weighed(b, scores(b, heads(b, "rows", S, D, (0, 2, 1, 3)), k), v)

    after = fused(program(build))
    assert ops(after) == {"attention": 1, "transpose": 1}
    assert after.main.nodes[-1].attrs["layout"] == "bhsd"


def test_keys_by_columns_need_a_transpose_before_them() -> None:
    def build(b: Builder) -> Any:
        q, _, v = qkv(b)
        return weighed(b, b.op("matmul", q, b.input("kt", "f32", [*LEAD, D, T])), v)

    assert ops(fused(program(build))) == {"matmul": 2, "softmax": 1}


# ---- what stays ----


def _used_again(b: Builder, q: Value, k: Value, v: Value) -> Any:
    s = scores(b, q, k)
    return [weighed(b, s, v), s]


def _weights_used_again(b: Builder, q: Value, k: Value, v: Value) -> Any:
    w = b.op("softmax", scores(b, q, k))
    return [b.op("matmul", w, v), w]


def _other_axis(b: Builder, q: Value, k: Value, v: Value) -> Any:
    return b.op("matmul", b.op("softmax", scores(b, q, k), axis=2), v)


def _scaled_mask(b: Builder, q: Value, k: Value, v: Value) -> Any:
    s = b.op("add", scores(b, q, k), b.input("mask", "f32", [S, T]))
    return weighed(b, b.op("mul", s, 0.5), v)


def _scaled_residual(b: Builder, q: Value, k: Value, v: Value) -> Any:
    mask = b.input("mask", "f32", [*LEAD, S, T])
    s = b.op("matmul", q, k, None, mask, transpose_w=True)
    return weighed(b, b.op("mul", s, 0.5), v)


def _clamped(b: Builder, q: Value, k: Value, v: Value) -> Any:
    return weighed(b, b.op("matmul", q, k, transpose_w=True, lo=0.0), v)


def _activated(b: Builder, q: Value, k: Value, v: Value) -> Any:
    return weighed(b, scores(b, q, k), v, post="tanh")


def _weights(b: Builder, q: Value, k: Value, v: Value) -> Any:
    return weighed(b, scores(b, q, b.const(normal(*LEAD, T, D))), v)


def _shared(b: Builder, q: Value, k: Value, v: Value) -> Any:
    return weighed(b, scores(b, q, b.input("one", "f32", [T, D])), v)


def _wider(b: Builder, q: Value, k: Value, v: Value) -> Any:
    s = b.op("add", scores(b, q, k), b.input("mask", "f32", [4, 1, 1, S, T]))
    return weighed(b, s, v)


@pytest.mark.parametrize(
    "form",
    [
        _used_again, _weights_used_again, _other_axis, _scaled_mask, _scaled_residual, _clamped,
        _activated, _weights, _shared, _wider,
    ],
)  # fmt: skip
def test_what_stays(form: Callable[[Builder, Value, Value, Value], Any]) -> None:
    before = program(lambda b: form(b, *qkv(b)))
    assert fused(before) is not None
    assert ops(fused(before)) == ops(before)


def test_symbolic_sizes() -> None:
    def build(b: Builder) -> Any:
        q = b.input("q", "f32", ["n", 2, "s", D])
        k, v = b.input("k", "f32", ["n", 2, "t", D]), b.input("v", "f32", ["n", 2, "t", D])
        return weighed(b, b.op("mul", scores(b, q, k), 0.5), v)

    assert [str(d) for d in only(fused(program(build))).outputs[0].type.shape] == [
        "n",
        "2",
        "s",
        "4",
    ]
