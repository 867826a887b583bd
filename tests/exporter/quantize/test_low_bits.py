# SPDX-License-Identifier: Apache-2.0
"""Schemes without integer activations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import apply, conv, normal, ops, program
from tests.exporter.quantize.programs import PLAIN, agreement, applied, cnn, samples

from samara.exporter.ir import Builder, Program, verify
from samara.exporter.passes import fuse_affine
from samara.exporter.quantize._layers import Applied
from samara.exporter.quantize.recipe import Recipe

X = [1, 6, 6, 4]
WEIGHTS = ("int8-dynamic", "int8-weights", "int4-weights", "int4-dynamic", "fp16")


def made(p: Program, scheme: str, **recipe: Any) -> Applied:
    chosen = Recipe.from_dict({"scheme": scheme, **recipe})
    done = applied(p, None, chosen)
    verify(done.program)
    return done


def dtypes(p: Program) -> list[str]:
    """Of the weights of products and tables."""
    return [v.type.dtype.short for n in p.main.nodes for v in n.inputs[:3] if v is not None
            and v.is_constant and v.type.rank > 1]  # fmt: skip


@pytest.mark.parametrize(
    ("scheme", "want", "least"),
    [
        ("int8-dynamic", {"conv_dynamic": 2, "matmul_dynamic": 1}, 30),
        ("int8-weights", {"conv": 2, "matmul": 1}, 35),
        ("int4-weights", {"conv": 2, "matmul_blocks": 1}, 15),
        ("int4-dynamic", {"conv_dynamic": 2, "matmul_blocks": 1}, 15),
        ("fp16", {"conv": 2, "matmul": 1}, 60),
    ],
)
def test_a_network_under_each_scheme(scheme: str, want: dict[str, int], least: float) -> None:
    p = cnn()
    done = made(p, scheme)
    found = ops(done.program)
    assert {k: found[k] for k in want} == want
    assert found["relu"] == 0  # the epilogues took them
    assert agreement(p, done.program, samples()) > least


def test_weights_are_stored_in_the_scheme_s_type() -> None:
    assert dtypes(made(cnn(), "int8-weights").program) == ["qs8"] * 3
    assert dtypes(made(cnn(), "fp16").program) == ["f16"] * 3
    assert dtypes(made(cnn(), "int4-weights").program) == ["qs8", "qs8", "i4", "f16"]
    assert dtypes(made(cnn(), "int4-dynamic").program) == ["qs8", "qs8", "i4", "f16"]
    assert dtypes(made(cnn(), "int4-weights", zero_points=True).program)[2] == "u4"


def test_activations_are_rounded_by_the_dynamic_schemes() -> None:
    for scheme, want in (("int4-weights", "float32"), ("int4-dynamic", "int8")):
        done = made(cnn(), scheme)
        (node,) = (n for n in done.program.main.nodes if n.op.name == "matmul_blocks")
        assert node.attrs["activations"] == want
        assert next(x for x in done.layers if x.op == "matmul").scheme == scheme


def test_what_a_scheme_cannot_do_is_said() -> None:
    conv = next(x for x in made(cnn(), "int4-dynamic").layers if x.op == "conv")
    assert conv.scheme == "int8-dynamic"
    assert "matrix products" in conv.reason
    first = next(x for x in made(cnn(), "int4-weights").layers if x.op == "conv")
    assert first.scheme == "int8-weights"
    assert "matrix products" in first.reason

    def build(b: Builder) -> Any:
        attrs = {**PLAIN, "strides": (2, 2), "output_padding": (0, 0)}
        w = b.const(normal(3, 2, 2, 4))
        return b.op("conv_transpose", b.input("x", "f32", X), w, **attrs)

    (record,) = made(program(build), "int8-dynamic").layers
    assert record.scheme == "int8-weights"
    assert "no dynamic form" in record.reason


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("scheme", WEIGHTS)
def test_matrix_products_of_both_orders(turned: bool, scheme: str) -> None:
    def build(b: Builder) -> Any:
        w = normal(40, 24)
        y = b.op("matmul", b.input("x", "f32", [3, 40]), b.const(w.T.copy() if turned else w),
                 b.const(normal(24)), transpose_w=turned)  # fmt: skip
        return b.op("relu", y)

    p = program(build)
    done = made(p, scheme)
    assert agreement(p, done.program, [{"x": normal(3, 40, seed=2)}]) > 16


@pytest.mark.parametrize("scheme", ["int8", *WEIGHTS])
def test_embeddings(scheme: str) -> None:
    def build(b: Builder) -> Any:
        ids = b.input("ids", "i64", ["n"])
        y = b.op("gather", b.const(normal(50, 64)), ids, axis=0)
        return b.op("matmul", y, b.const(normal(64, 4, seed=1)))

    p = program(build)
    feeds = [{"ids": np.arange(i, i + 9)} for i in range(0, 40, 4)]
    done = applied(p, feeds if scheme == "int8" else None, Recipe(scheme=scheme))
    want = {"fp16": "gather"}.get(scheme, "gather_blocks")
    assert ops(done.program)[want] == 1
    assert agreement(p, done.program, feeds) > (15 if scheme.startswith("int4") else 25)
    record = next(x for x in done.layers if x.op == "gather")
    alone = {"int8": "int8-weights", "int8-dynamic": "int8-weights", "int4-dynamic": "int4-weights"}
    assert record.scheme == alone.get(scheme, scheme)


def test_computed_weights_and_residuals_stay_float() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [4, 4])
        return b.op("matmul", x, x)

    done = made(program(build), "int8-weights")
    assert [(x.scheme, x.reason) for x in done.layers] == [
        ("float", "int8-weights has no form of it with these operands")
    ]


@pytest.mark.parametrize("scheme", WEIGHTS)
def test_a_factor_per_channel_stays_float(scheme: str) -> None:
    def build(b: Builder) -> Any:
        x = b.op("relu", b.input("x", "f32", [1, 6, 6, 8]))
        return b.op("add", b.op("mul", x, b.const(normal(8))), b.const(normal(8, seed=3)))

    p = apply(fuse_affine.PASS, program(build))
    done = made(p, scheme).program
    assert ops(done) == {"relu": 1, "conv": 1}
    assert dtypes(done) == ["f32"]


def test_values_beyond_float16_stay_float() -> None:
    def build(b: Builder) -> Any:
        return b.op("matmul", b.input("x", "f32", [1, 4]), b.const(normal(4, 4) * np.float32(1e6)))

    assert [x.scheme for x in made(program(build), "fp16").layers] == ["float"]


def test_bodies_are_done_too() -> None:
    def build(b: Builder) -> Any:
        x, c = b.input("x", "f32", X), b.input("c", "bool", [])
        then, other = b.child("then"), b.child("else")
        return b.if_(c, (then, [conv(then, x, 3, seed=1)]), (other, [conv(other, x, 3, seed=2)]))[0]

    p = program(build)
    feeds = [{"x": normal(*X), "c": np.array(c)} for c in (True, False)]
    for scheme, op in (("int8-weights", "conv"), ("int8", "conv_dynamic")):
        done = applied(p, feeds, Recipe(scheme=scheme))
        assert ops(done.program)[op] == 2
        assert agreement(p, done.program, feeds) > 30
        assert sum("bodies of if" in note for note in done.notes) == 1
        used = "int8-dynamic" if scheme == "int8" else scheme
        assert [x.scheme for x in done.layers if x.op == "conv"] == [used] * 2
