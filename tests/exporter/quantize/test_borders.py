# SPDX-License-Identifier: Apache-2.0
"""int8 at the borders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import ops, program

from samara.exporter.ir import Builder, Program, verify
from samara.exporter.quantize._borders import int8_borders
from samara.exporter.quantize.recipe import Recipe


def pairs(shared: bool = False) -> Program:
    """x through quantize and dequantize, a float operator, and such a pair again."""

    def build(b: Builder) -> Any:
        def pair(v: Any, scale: float) -> Any:
            steps = b.op("quantize", v, scales=(scale,), zero_points=(3,), axis=-1)
            return b.op("dequantize", steps)

        x = b.input("x", "f32", [2, 4])
        y = pair(b.op("neg", pair(x, 0.5)), 0.25)
        return [y, b.op("abs", x)] if shared else y

    return program(build)


@pytest.mark.parametrize("inputs", ["float", "int8"])
@pytest.mark.parametrize("outputs", ["float", "int8"])
def test_ends_are_taken_off(inputs: str, outputs: str) -> None:
    after = int8_borders(pairs(), Recipe(inputs=inputs, outputs=outputs))
    verify(after)
    f = after.main
    assert f.inputs[0].type.dtype.short == ("qs8" if inputs == "int8" else "f32")
    assert f.outputs[0].type.dtype.short == ("qs8" if outputs == "int8" else "f32")
    assert f.output_names == ("out0",)
    if inputs == "int8":
        quant = f.inputs[0].type.quant
        assert quant is not None
        assert (quant.scale, quant.zero_point) == (0.5, 3)


def test_answers_stay() -> None:
    p = pairs()
    after = int8_borders(p, Recipe(inputs="int8", outputs="int8"))
    x = np.linspace(-20, 20, 8, dtype=np.float32).reshape(2, 4)
    q = np.clip(np.rint(x / np.float32(0.5)) + 3, -128, 127).astype(np.int8)
    got = after.run({"x": q})["out0"]
    assert np.array_equal((got.astype(np.float32) - 3) * np.float32(0.25), p.run({"x": x})["out0"])


def test_an_input_that_float_operators_use_stays_float() -> None:
    after = int8_borders(pairs(shared=True), Recipe(inputs="int8"))
    assert after.main.inputs[0].type.dtype.short == "f32"
    assert ops(after)["quantize"] == 2


def test_float_borders_change_nothing() -> None:
    p = pairs()
    assert int8_borders(p, Recipe()) is p
