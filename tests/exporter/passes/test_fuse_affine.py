# SPDX-License-Identifier: Apache-2.0
"""Affine fusion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import apply, conv, normal, ops, program

from samara.exporter.ir import Builder
from samara.exporter.passes import fuse_affine


def follow(*steps: tuple[str, Any]) -> Any:
    def build(b: Builder) -> Any:
        y = conv(b, b.input("x", "f32", [1, 4, 4, 2]), 3, 3)
        for op, constant in steps:
            y = b.op(op, y, b.const(constant))
        return y

    return program(build)


@pytest.mark.parametrize("op", ["mul", "add", "sub", "div"])
def test_a_channel_constant_goes_into_the_convolution(op: str) -> None:
    assert ops(apply(fuse_affine.PASS, follow((op, normal(3) + 3)))) == {"conv": 1}


def test_batch_normalization_vanishes() -> None:
    after = apply(fuse_affine.PASS, follow(("mul", normal(3)), ("add", normal(3, seed=5))))
    assert ops(after) == {"conv": 1}
    assert after.main.nodes[0].inputs[2] is not None
    assert len(after.main.nodes[0].absorbed) == 2


def test_a_scalar_constant_counts_for_every_channel() -> None:
    assert ops(apply(fuse_affine.PASS, follow(("mul", np.float32(0.3))))) == {"conv": 1}


def test_a_constant_along_another_axis_stays() -> None:
    assert ops(apply(fuse_affine.PASS, follow(("mul", normal(2, 1))))) == {"conv": 1, "mul": 1}


@pytest.mark.parametrize("transposed", [False, True])
def test_matmul_takes_both(transposed: bool) -> None:
    def build(b: Builder) -> Any:
        w = normal(4, 5).T.copy() if transposed else normal(4, 5)
        y = b.op("matmul", b.input("x", "f32", [2, 4]), b.const(w), transpose_w=transposed)
        return b.op("add", b.op("mul", y, b.const(normal(5))), b.const(normal(5, seed=3)))

    assert ops(apply(fuse_affine.PASS, program(build))) == {"matmul": 1}


@pytest.mark.parametrize(("second", "turned"), [("add", False), ("add", True), ("sub", False)])
def test_both_after_anything_else_are_a_depthwise_convolution(second: str, turned: bool) -> None:
    def build(b: Builder) -> Any:
        x = b.op("relu", b.input("x", "f32", [1, 4, 4, 8]))
        y, offset = b.op("mul", x, b.const(normal(8))), b.const(normal(8, seed=3))
        return b.op(second, *((offset, y) if turned else (y, offset)))

    after = apply(fuse_affine.PASS, program(build))
    assert ops(after) == {"relu": 1, "conv": 1}
    assert after.main.nodes[1].attrs["groups"] == 8


def test_volumes_stay() -> None:
    def build(b: Builder) -> Any:
        y = b.op("mul", b.input("x", "f32", [1, 2, 4, 4, 8]), b.const(normal(8)))
        return b.op("add", y, b.const(normal(8, seed=3)))

    assert "conv" not in ops(apply(fuse_affine.PASS, program(build)))


@pytest.mark.parametrize("channels", [3, 8])
def test_a_scale_alone_and_few_channels_stay(channels: int) -> None:
    def build(b: Builder) -> Any:
        y = b.op("mul", b.input("x", "f32", [1, 4, 4, channels]), b.const(normal(channels)))
        return b.op("add", y, b.const(normal(channels, seed=3))) if channels < 8 else y

    assert "conv" not in ops(apply(fuse_affine.PASS, program(build)))


def test_an_offset_less_the_product_stays() -> None:
    def build(b: Builder) -> Any:
        y = b.op("mul", b.input("x", "f32", [1, 4, 4, 8]), b.const(normal(8)))
        return b.op("sub", b.const(normal(8, seed=3)), y)

    assert "conv" not in ops(apply(fuse_affine.PASS, program(build)))


def test_a_result_that_is_used_twice_stays() -> None:
    def build(b: Builder) -> Any:
        y = conv(b, b.input("x", "f32", [1, 4, 4, 2]), 3)
        return b.op("add", b.op("mul", y, b.const(normal(3))), y)

    assert ops(apply(fuse_affine.PASS, program(build))) == {"conv": 1, "mul": 1, "add": 1}


def test_a_factor_that_overflows_stays() -> None:
    before = follow(("mul", np.float32(3e38)), ("mul", np.float32(3e38)))
    assert ops(fuse_affine.PASS.run(before))["mul"] >= 1
