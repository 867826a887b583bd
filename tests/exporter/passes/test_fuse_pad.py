# SPDX-License-Identifier: Apache-2.0
"""Pad fusion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import apply, conv, ops, program

from samara.exporter.ir import Builder, Program
from samara.exporter.passes import fuse_pad
from samara.exporter.types import DType, Quant

AROUND = (0, 1, 2, 0, 0, 0, 1, 0)


def padded(pads: tuple[int, ...], value: float | None = None, mode: str = "constant") -> Program:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [1, 5, 5, 2])
        filler = None if value is None else b.const(np.float32(value))
        return conv(b, b.op("pad", x, filler, pads=pads, mode=mode), 3, 3, pads=(1, 0, 0, 1))

    return program(build)


def test_zero_padding_joins_the_convolution() -> None:
    after = apply(fuse_pad.PASS, padded(AROUND))
    assert ops(after) == {"conv": 1}
    assert [d.as_int() for d in after.main.nodes[0].attrs["pads"]] == [2, 2, 0, 2]


@pytest.mark.parametrize(
    ("pads", "value", "mode"),
    [
        (AROUND, 1.0, "constant"),
        (AROUND, None, "reflect"),
        ((0, 1, 1, 1, 0, 0, 0, -1), None, "constant"),
        ((0, -1, 0, 0, 0, 0, 0, 0), None, "constant"),
    ],
)
def test_other_padding_stays(pads: tuple[int, ...], value: float | None, mode: str) -> None:
    before = padded(pads, value, mode)
    assert ops(apply(fuse_pad.PASS, before)) == {"pad": 1, "conv": 1}


@pytest.mark.parametrize(("value", "joins"), [(None, True), (-5, True), (0, False)])
def test_a_quantized_convolution_is_padded_by_the_zero_point(
    value: int | None, joins: bool
) -> None:
    quant = Quant.per_tensor(0.1, -5)

    def build(b: Builder) -> Any:
        x = b.input("x", "qs8", [1, 5, 5, 2], quant)
        fill = None if value is None else b.const(np.int8(value), "fill", DType.QS8, quant)
        w = b.const(np.ones((3, 3, 3, 2), np.int8), "w", DType.QS8, Quant.per_tensor(0.02))
        return b.op(
            "qconv", b.op("pad", x, fill, pads=AROUND), w,
            strides=(1, 1), dilations=(1, 1), pads=(1, 0, 0, 1), scale=0.1,
        )  # fmt: skip

    assert ("pad" in ops(apply(fuse_pad.PASS, program(build)))) is not joins
