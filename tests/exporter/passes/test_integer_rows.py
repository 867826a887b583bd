# SPDX-License-Identifier: Apache-2.0
"""Sums, means, softmax, norms and interpolation between dequantize and quantize."""

from __future__ import annotations

from dataclasses import replace
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

from samara.exporter.ir import Builder, Program, Value
from samara.exporter.ir.program import QUANTIZATION
from samara.exporter.passes import fuse_quantized
from samara.exporter.types import Quant, f32_bits

A, B = Quant.per_tensor(0.05, 3), Quant.per_tensor(0.02, -20)
Y = Quant.per_tensor(0.07, -9)


def fused(build: Any) -> Program:
    return fuse_quantized.PASS.run(program(build))


@pytest.mark.parametrize(("op", "row"), [("add", "qadd"), ("sub", "qadd"), ("mul", "qmul")])
def test_of_two_tensors(op: str, row: str) -> None:
    def build(b: Builder) -> Value:
        y = b.op(op, real(b, "a", [2, 3, 8], A), real(b, "b", [3, 1], B))
        return in_steps(b, b.op("clamp", y, lo=-2.0, hi=2.5), Y)

    after = integer(build)
    assert ops(after) == {row: 1}
    assert (after.main.nodes[0].attrs["lo"], after.main.nodes[0].attrs["hi"]) == (-38, 27)


@pytest.mark.parametrize(("op", "row"), [("add", "qadd"), ("sub", "qadd"), ("mul", "qmul")])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("kind", ["real", "int8", "int8 per channel"])
def test_by_a_constant(op: str, row: str, swapped: bool, kind: str) -> None:
    def build(b: Builder) -> Value:
        x = real(b, "a", [5, 6], A)
        if kind == "real":
            c = b.const(normal(6))
        else:
            quant = (
                B if kind == "int8" else Quant.per_axis([0.01, 0.02, 0.01, 0.01, 0.005, 1e-4], 0)
            )
            c = real_constant(b, bytes_like(6), quant)
        return in_steps(b, b.op(op, *((c, x) if swapped else (x, c))), Y)

    assert ops(integer(build)) == {row: 1}


def test_by_an_inverse() -> None:
    def build(b: Builder) -> Value:
        c = b.const(np.array([0.5, 3.0, -1.5], np.float32))
        return in_steps(b, b.op("div", real(b, "a", [5, 3], A), c), Y)

    assert ops(integer(build)) == {"qmul": 1}


def test_a_term_too_coarse_for_the_result_stays_real() -> None:
    """Steps of 1 / 127 of the constant would be coarser than the result's, so the sum stays real."""

    def build(b: Builder) -> Value:
        c = b.const(np.array([100.0, 0.3, 0.01], np.float32))
        return in_steps(b, b.op("add", real(b, "a", [5, 3], A), c), Y)

    assert ops(fused(build))["add"] == 1


@pytest.mark.parametrize("divisor", [0.0, 1e-45, np.nan])
def test_a_division_by_next_to_nothing_stays_real(divisor: float) -> None:
    def build(b: Builder) -> Value:
        c = b.const(np.array([divisor, 1.0], np.float32))
        return in_steps(b, b.op("div", real(b, "a", [5, 2], A), c), Y)

    assert ops(fused(build))["div"] == 1


def test_average_pools() -> None:
    def build(b: Builder) -> Value:
        y = b.op(
            "avg_pool", real(b, "x", [1, 6, 7, 3], A), kernel=(3, 2), strides=(2, 1),
            dilations=(1, 1), pads=(1, 0, 0, 1), extend=(0, 0), count_include_pad=False,
        )  # fmt: skip
        return in_steps(b, y, Y)

    after = integer(build)
    assert ops(after) == {"qavg_pool": 1}
    assert not after.main.nodes[0].attrs["dequantized"]


@pytest.mark.parametrize(("scale", "dequantized"), [(0.1, True), (2.0**64, True), (2.0**65, False)])
def test_average_pools_of_files(scale: float, dequantized: bool) -> None:
    """Ties round as in the source framework; sums with the largest scales may overflow there."""
    quant = Quant.per_tensor(scale, 3)

    def build(b: Builder) -> Value:
        y = b.op(
            "avg_pool", real(b, "x", [1, 8, 8, 40], quant), kernel=(2, 2), strides=(2, 2),
            dilations=(1, 1), pads=(0,) * 4, extend=(0, 0), count_include_pad=False,
        )  # fmt: skip
        return in_steps(b, y, quant)

    before = replace(program(build), metadata={QUANTIZATION: "imported"})
    after = fuse_quantized.PASS.run(before)
    assert ops(after) == {"qavg_pool": 1}
    assert after.main.nodes[0].attrs["dequantized"] == dequantized
    x = bytes_like(1, 8, 8, 40)
    want, got = before.run({"x": x})["out0"], after.run({"x": x})["out0"]
    assert np.abs(want.astype(int) - got).max() <= 1


@pytest.mark.parametrize("keep", [False, True])
def test_means(keep: bool) -> None:
    def build(b: Builder) -> Value:
        y = b.op("reduce_mean", real(b, "x", ["n", 5, 4], A), axes=(0, 1), keepdims=keep)
        return in_steps(b, y, B)

    assert ops(integer(build)) == {"qmean": 1}


@pytest.mark.parametrize("coordinate", ["half_pixel", "align_corners", "asymmetric"])
@pytest.mark.parametrize("sizes", [(9,), (9, 4)])
def test_linear_resizing(coordinate: str, sizes: tuple[int, ...]) -> None:
    def build(b: Builder) -> Value:
        x = real(b, "x", [1, *(5, 6)[: len(sizes)], 2], A)
        y = b.op(
            "resize", x, sizes=sizes, scales=(0,) * len(sizes), mode="linear", coordinate=coordinate
        )
        return in_steps(b, y, Y)

    assert ops(integer(build)) == {"qresize": 1}


def test_linear_resizing_by_factors() -> None:
    def build(b: Builder) -> Value:
        x = real(b, "x", [1, 5, 6, 2], A)
        scales = (f32_bits(2.0), f32_bits(1.5))
        y = b.op("resize", x, sizes=(10, 9), scales=scales, mode="linear", coordinate="asymmetric")
        return in_steps(b, y, Y)

    assert ops(integer(build)) == {"qresize": 1}


@pytest.mark.parametrize("attrs", [{"mode": "cubic"}, {"mode": "linear", "antialias": True}])
def test_other_resizing_stays_real(attrs: dict[str, Any]) -> None:
    def build(b: Builder) -> Value:
        x = real(b, "x", [1, 5, 6, 2], A)
        return in_steps(b, b.op("resize", x, sizes=(3, 4), scales=(0, 0), **attrs), Y)

    assert ops(fused(build))["resize"] == 1


def test_softmax_in_its_own_steps() -> None:
    def build(b: Builder) -> Value:
        y = b.op("softmax", real(b, "x", [3, 10], A), axis=-1)
        return in_steps(b, y, Quant.per_tensor(1 / 256, -128))

    assert ops(integer(build)) == {"qsoftmax": 1}


def test_softmax_in_others() -> None:
    def build(b: Builder) -> Value:
        y = b.op("softmax", real(b, "x", [3, 10], A), axis=0)
        return in_steps(b, y, Quant.per_tensor(1 / 255, -100))

    assert ops(integer(build)) == {"qsoftmax": 1, "requantize": 1}


def test_softmax_in_much_finer_ones_stays_real() -> None:
    def build(b: Builder) -> Value:
        y = b.op("softmax", real(b, "x", [3, 1000], A), axis=-1)
        return in_steps(b, y, Quant.per_tensor(1e-4, -128))

    assert ops(fused(build))["softmax"] == 1


@pytest.mark.parametrize("extra", [0, 1, 2])
@pytest.mark.parametrize("axis", [-1, 1])
def test_layer_norm(extra: int, axis: int) -> None:
    def build(b: Builder) -> Value:
        shape = (3, 4, 16)
        more = [b.const(normal(*shape[axis:], seed=i)) for i in range(extra)]
        y = b.op("layer_norm", real(b, "x", shape, A), *more, axis=axis, eps=1e-5)
        return in_steps(b, y, B)

    assert ops(integer(build)) == {"qlayer_norm": 1}


@pytest.mark.parametrize("extra", [0, 1])
def test_rms_norm(extra: int) -> None:
    def build(b: Builder) -> Value:
        more = [b.const(normal(16)) for _ in range(extra)]
        y = b.op("rms_norm", real(b, "x", [3, 16], A), *more, axis=-1, eps=1e-3)
        return in_steps(b, y, B)

    assert ops(integer(build)) == {"qrms_norm": 1}


def test_a_norm_by_computed_scales_stays_real() -> None:
    def build(b: Builder) -> Value:
        y = b.op("rms_norm", real(b, "x", [3, 16], A), b.input("s", "f32", [16]), axis=-1, eps=1e-3)
        return in_steps(b, y, B)

    assert ops(fused(build))["rms_norm"] == 1
