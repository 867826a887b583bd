# SPDX-License-Identifier: Apache-2.0
"""Operators of single elements: what the suite of cases does not say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import KINDS, Case, T

from samara.exporter.types import SamaraError, ShapeError

RNG = np.random.default_rng(0)


def _floats(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def test_symbolic_sizes_that_broadcast() -> None:
    a, b = T(_floats(3, 4), signature=[-1, 4]), T(_floats(1, 4))
    program = Case("ADD", [a, b], options={"fused_activation_function": "RELU"}).check()
    assert [n.op.name for n in program.main.nodes] == ["add", "relu"]
    assert program.main.outputs[0].type.shape[0] == program.main.inputs[0].type.shape[0]


def test_results_have_the_names_of_tensors() -> None:
    program = Case("TANH", [T(_floats(3))], [T(kind="FLOAT32", shape=(), name="y")]).check()
    assert [v.name for v in program.main.outputs] == ["y"]


def test_quantized_operators_are_dequantized_and_quantized() -> None:
    x = T(np.arange(-5, 5, dtype=np.int8), scale=0.5, zero=1)
    out = T(kind="INT8", shape=(), scale=1 / 128, zero=0)
    program = Case("TANH", [x], [out]).check()
    names = [n.op.name for n in program.main.nodes]
    assert names == ["dequantize", "tanh", "quantize"]


def test_an_activation_that_is_not_known() -> None:
    Case("ADD", [T(_floats(3)), T(_floats(3))], options={"fused_activation_function": "SIGN_BIT"}).refused(
        SamaraError, "SIGN_BIT"
    )  # fmt: skip


def test_an_activation_of_unsigned_integers() -> None:
    a, b = (T(RNG.integers(0, 9, 5).astype(np.uint32)) for _ in range(2))
    options = {"fused_activation_function": "RELU6"}
    Case("MUL", [a, b], [T(kind="UINT32", shape=())], options).check()


@pytest.mark.parametrize(
    ("kind", "to"), [("int32", "int16"), ("int8", "int32"), ("int64", "uint8")]
)
def test_bitcast_keeps_the_bytes(kind: str, to: str) -> None:
    x = RNG.integers(-99, 99, (3, 4)).astype(kind)
    outputs = [T(kind=KINDS[to], shape=())]
    Case("BITCAST", [T(x)], outputs, steps=0).check()


def test_bitcast_of_an_axis_that_does_not_fit() -> None:
    x = T(np.zeros((3, 3), np.int8))
    Case("BITCAST", [x], [T(kind="INT32", shape=(3,))]).refused(ShapeError, "must have 4 elements")


def test_an_empty_range() -> None:
    options = {"min": 1.0, "max": 1.0, "num_bits": 8}
    Case("FAKE_QUANT", [T(_floats(3))], options=options).refused(ShapeError, "is empty")


def test_floor_div_has_the_sign_of_the_quotient() -> None:
    a, b = np.array([7, -7, 7, -7], np.int32), np.array([2, 2, -2, -2], np.int32)
    Case("FLOOR_DIV", [T(a), T(b)], [T(kind="INT32", shape=())], steps=0).check()
    Case("FLOOR_MOD", [T(a), T(b)], [T(kind="INT32", shape=())], steps=0).check()
