# SPDX-License-Identifier: Apache-2.0
"""RNN operators, several calls in one session."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, T, const
from tests.exporter.importers.tflite.recurrent_models import (
    check_calls,
    floats,
    integers,
    state,
)

from samara.exporter.types import ShapeError, UnsupportedError


def _cell(rng: np.random.Generator, kind: str, inputs: int, units: int) -> list[T]:
    """Weights, recurrent weights and bias."""

    def matrix(columns: int) -> T:
        if kind == "float":
            return const(floats(rng, units, columns))
        return integers(rng, units, columns, scale=0.005)

    return [matrix(inputs), matrix(units), const(floats(rng, units))]


def _checked(case: Case, rng: np.random.Generator) -> None:
    check_calls(case, [[floats(rng, *f.shape) for f in case.feeds()] for _ in range(3)])


def _options(function: str = "TANH", **more: Any) -> dict[str, Any]:
    return {"fused_activation_function": function, **more}


@pytest.mark.parametrize("kind", ["float", "hybrid"])
@pytest.mark.parametrize("function", ["NONE", "TANH", "RELU", "RELU6", "RELU_N1_TO_1"])
def test_rnn(kind: str, function: str) -> None:
    rng = np.random.default_rng(0)
    inputs = [T(floats(rng, 2, 5)), *_cell(rng, kind, 5, 6), state(2, 6)]
    _checked(Case("RNN", inputs, options=_options(function), atol=2e-6), rng)


@pytest.mark.parametrize("kind", ["float", "hybrid"])
@pytest.mark.parametrize("time_major", [False, True])
def test_sequence(kind: str, time_major: bool) -> None:
    rng = np.random.default_rng(1)
    batch = 2 if time_major else 3
    inputs = [T(floats(rng, 3, 2, 5)), *_cell(rng, kind, 5, 6), state(batch, 6)]
    options = _options(time_major=time_major)
    out = T(kind="FLOAT32", shape=(3, 2, 6))
    _checked(Case("UNIDIRECTIONAL_SEQUENCE_RNN", inputs, [out], options, atol=2e-6), rng)


# Left out is what LiteRT computes wrongly: with int8 weights it runs a time-major sequence once per step, and where
# the batch comes first the second cell does not see an auxiliary input without weights.
_BIDIRECTIONAL = [
    *((kind, aux, False) for kind in ("float", "hybrid") for aux in ("", "weights")),
    *(("float", aux, True) for aux in ("", "weights", "input")),
]


@pytest.mark.parametrize(("kind", "aux", "time_major"), _BIDIRECTIONAL)
@pytest.mark.parametrize("merged", [False, True])
def test_bidirectional(kind: str, aux: str, time_major: bool, merged: bool) -> None:
    rng = np.random.default_rng(2)
    batch = 2 if time_major else 3
    second = T(floats(rng, 3, 2, 5)) if aux else None
    other: list[T | None] = [None, None]
    if aux == "weights":
        other = [_cell(rng, kind, 5, u)[0] for u in (6, 4)]
    inputs = [
        *(T(floats(rng, 3, 2, 5)), *_cell(rng, kind, 5, 6), state(batch, 6)),
        *(*_cell(rng, kind, 5, 4), state(batch, 4)),
        *(second, *other),
    ]
    outputs = [T(kind="FLOAT32", shape=())] * (1 if merged else 2)
    options = _options(time_major=time_major, merge_outputs=merged)
    _checked(Case("BIDIRECTIONAL_SEQUENCE_RNN", inputs, outputs, options, atol=2e-6), rng)


def test_refusals() -> None:
    rng = np.random.default_rng(3)
    cell = _cell(rng, "float", 5, 6)
    x = T(floats(rng, 2, 5))
    kept = const(np.zeros((2, 6), np.float32))
    Case("RNN", [x, *cell, kept]).refused(UnsupportedError, "no variable tensor")
    Case("RNN", [T(floats(rng, 5)), *cell, state(2, 6)]).refused(ShapeError, "expected rank 2")
    options = _options("SIGN_BIT")
    Case("RNN", [x, *cell, state(2, 6)], options=options).refused(UnsupportedError, "SIGN_BIT")
