# SPDX-License-Identifier: Apache-2.0
"""The float program that is observed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import conv, normal, ops, program
from tests.exporter.quantize.programs import agreement, cnn, samples

from samara.exporter.ir import Builder, Program, verify
from samara.exporter.passes import PIPELINE, difference, run_passes, sample_inputs
from samara.exporter.quantize._float import FLOAT_PASSES, float_program, unfuse, widen
from samara.exporter.types import DType

X = [1, 6, 6, 4]
POSTS: list[dict[str, Any]] = [
    {"lo": 0.0},
    {"lo": -0.5, "hi": 0.5},
    {"lo": 0.0, "post": "tanh"},
    *({"post": p} for p in ("sigmoid", "hard_swish", "silu", "gelu", "gelu_tanh")),
    {"post": "leaky_relu", "post_alpha": 0.2},
    {"post": "elu", "post_alpha": 0.7},
    {"post": "hard_sigmoid", "post_alpha": 0.3, "post_beta": 0.4},
]


def same(a: Program, b: Program) -> None:
    feeds = sample_inputs(a, a.entries[0])
    assert feeds is not None
    want, got = a.run(feeds), b.run(feeds)
    for name in want:
        assert difference(got[name], want[name]) <= 1.0


@pytest.mark.parametrize("attrs", POSTS)
@pytest.mark.parametrize("residual", [False, True])
def test_epilogues_are_taken_apart(attrs: dict[str, Any], residual: bool) -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", X)
        other = b.input("r", "f32", [1, 6, 6, 3]) if residual else None
        return conv(b, x, 3, residual=other, **attrs)

    before = program(build)
    after = unfuse(before)
    verify(after)
    same(before, after)
    node = next(n for n in after.main.nodes if n.op.name == "conv")
    assert len(node.inputs) == 2
    assert (node.attrs["post"], node.attrs["lo"], node.attrs["hi"]) == ("none", -np.inf, np.inf)
    assert node.name == before.main.nodes[0].name
    assert ops(after)["add"] == residual


def test_a_plain_product_is_left_as_it_is() -> None:
    p = program(lambda b: conv(b, b.input("x", "f32", X), 3))
    assert unfuse(p) is p


def test_an_optimized_program_gives_the_same_float_program() -> None:
    p = cnn()
    again = float_program(run_passes(p, PIPELINE)[0])
    assert ops(again) == ops(float_program(p))
    assert agreement(p, again, samples()) > 100


def test_clamps_stay_separate() -> None:
    assert ops(float_program(cnn()))["relu"] == 2
    names = {p.name for p in FLOAT_PASSES}
    assert not names & {"fuse_activation", "fuse_residual", "fuse_attention", "fuse_quantized"}
    assert {"fuse_affine", "fuse_pad", "layout"} <= names


def test_half_precision_is_widened_between_its_borders() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f16", [2, 8])
        y = b.op("matmul", x, b.const(normal(8, 4).astype(np.float16)))
        y = b.op("relu", b.op("cast", b.op("cast", y, to=DType.F32), to=DType.F16))
        return [y, b.op("cast", b.op("reduce_sum", y, axes=(1,)), to=DType.I32)]

    before = program(build)
    after = widen(before)
    verify(after)
    assert [v.type.dtype for v in after.main.inputs] == [DType.F16]
    assert [v.type.dtype for v in after.main.outputs] == [DType.F16, DType.I32]
    (product,) = [n for n in after.main.nodes if n.op.name == "matmul"]
    assert product.outputs[0].type.dtype is DType.F32
    feeds = {"x": normal(2, 8).astype(np.float16)}
    want, got = before.run(feeds), after.run(feeds)
    assert got["out0"] == pytest.approx(want["out0"], abs=2e-2)


def test_float32_is_left_alone() -> None:
    p = cnn()
    assert widen(p) is p
