# SPDX-License-Identifier: Apache-2.0
"""SVDF in float32, with int8 weights and in int8, several calls in one session."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, T, const
from tests.exporter.importers.tflite.recurrent_models import (
    check_calls,
    floats,
    integers,
    state,
)

from samara.exporter.types import DType, ShapeError, UnsupportedError

_FILTERS, _MEMORY = 8, 5


def _inputs(rng: np.random.Generator, kind: str, rank: int, bias: bool) -> list[T | None]:
    b = const(floats(rng, _FILTERS // rank)) if bias else None
    x = T(floats(rng, 2, 6))
    if kind == "float":
        w = [const(floats(rng, _FILTERS, n)) for n in (6, _MEMORY)]
    else:
        unsigned = kind == "bytes"
        w = [integers(rng, _FILTERS, n, unsigned=unsigned) for n in (6, _MEMORY)]
    return [x, *w, b, state(2, _FILTERS * _MEMORY)]


@pytest.mark.parametrize("kind", ["float", "hybrid", "bytes"])
@pytest.mark.parametrize(
    ("rank", "bias", "function"), [(1, True, "NONE"), (2, True, "RELU"), (2, False, "NONE")]
)
def test_float_activations(kind: str, rank: int, bias: bool, function: str) -> None:
    rng = np.random.default_rng(0)
    options = {"rank": rank, "fused_activation_function": function}
    case = Case("SVDF", _inputs(rng, kind, rank, bias), options=options, atol=5e-6)
    check_calls(case, [[floats(rng, 2, 6)] for _ in range(_MEMORY + 2)])


@pytest.mark.parametrize(("rank", "bias"), [(1, True), (2, True), (2, False)])
def test_int8(rank: int, bias: bool) -> None:
    rng = np.random.default_rng(1)
    b = const(rng.integers(-9999, 9999, _FILTERS // rank).astype(np.int32), scale=1.0)
    inputs = [
        T(np.zeros((2, 6), np.int8), scale=0.02, zero=-3),
        integers(rng, _FILTERS, 6),
        const(rng.integers(-9999, 9999, (_FILTERS, _MEMORY)).astype(np.int16), scale=2.0**-14),
        b if bias else None,
        T(kind="INT16", shape=(2, _FILTERS * _MEMORY), variable=True, scale=2.0**-12),
    ]
    out = T(kind="INT8", shape=(), scale=0.03, zero=-128)
    options = {"rank": rank, "fused_activation_function": "RELU"}
    case = Case("SVDF", inputs, [out], options, version=3)
    feeds = [[rng.integers(-128, 128, (2, 6)).astype(np.int8)] for _ in range(_MEMORY + 2)]
    program = check_calls(case, feeds)
    assert [v.type.dtype for v in program.variables] == [DType.I16]


def test_refusals() -> None:
    rng = np.random.default_rng(2)
    options = {"rank": 3}
    case = Case("SVDF", _inputs(rng, "float", 1, False), options=options)
    case.refused(ShapeError, "do not fit rank 3")
    inputs = _inputs(rng, "float", 1, False)
    inputs[4] = const(np.zeros((2, _FILTERS * _MEMORY), np.float32))
    case = Case("SVDF", inputs, options={"rank": 1})
    case.refused(UnsupportedError, "no variable tensor")
