# SPDX-License-Identifier: Apache-2.0
"""LSTM operators with weights of all kinds, several calls in one session."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Array, Case, T, const
from tests.exporter.importers.tflite.recurrent_models import (
    TANH,
    check_calls,
    floats,
    lstm_case,
    lstm_cell,
    lstm_checked,
    lstm_feeds,
    lstm_states,
    operators,
    state,
)


@pytest.mark.parametrize("kind", ["float", "hybrid"])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"coupled": True},
        {"peephole": True},
        {"coupled": True, "peephole": True},
        {"options": {"cell_clip": 10.0}},
        {"options": {"time_major": True}},
    ],
)
def test_one_operator(kind: str, more: dict[str, Any]) -> None:
    program = lstm_checked(kind, (2, 4, 5), (5, 6, 6), **more)
    assert "lstm" in operators(program)
    assert "matmul" not in operators(program)


def _bidirectional(
    rng: np.random.Generator, kind: str, x: Array, *, merged: bool, aux: str, **more: Any
) -> Case:
    """aux: "" for none, "weights" for an auxiliary input with weights, "input" for one without."""
    time_major = more.get("time_major", True)
    batch, inputs = x.shape[1 if time_major else 0], x.shape[2]
    sizes = [(inputs, 6, 6)] * 2
    cells = [[*lstm_cell(rng, kind, s), None, None] for s in sizes]
    states = [t for s in sizes for t in lstm_states(kind, batch, s)]
    other: list[T | None] = [None] * 8
    if aux == "weights":
        width = [(inputs + 1, 6, 6)] * 2
        other = [t for s in width for t in lstm_cell(rng, kind, s)[:4]]
    second = None
    if aux:
        size = inputs + 1 if aux == "weights" else inputs
        second = T(floats(rng, *x.shape[:2], size))
    outputs = [T(kind="FLOAT32", shape=())] * (1 if merged else 2)
    options = {**TANH, "time_major": time_major, "merge_outputs": merged}
    return Case(
        "BIDIRECTIONAL_SEQUENCE_LSTM",
        [T(x), *cells[0], *cells[1], *states, second, *other],
        outputs,
        options=options,
        atol=2e-6,
    )


@pytest.mark.parametrize("kind", ["float", "hybrid"])
@pytest.mark.parametrize("aux", ["", "weights", "input"])
@pytest.mark.parametrize(
    ("merged", "time_major", "shape"),
    [(True, True, (3, 2, 5)), (False, False, (2, 3, 5)), (True, False, (1, 3, 5))],
)
def test_bidirectional(
    kind: str, aux: str, merged: bool, time_major: bool, shape: tuple[int, ...]
) -> None:
    """LiteRT mixes up the states of a batch if results are merged and the batch comes first."""
    rng = np.random.default_rng(3)
    x = floats(rng, *shape)
    case = _bidirectional(rng, kind, x, merged=merged, aux=aux, time_major=time_major)
    feeds = [[floats(rng, *f.shape) for f in case.feeds()] for _ in range(2)]
    check_calls(case, feeds)


@pytest.mark.parametrize("kind", ["float", "hybrid", "int8"])
def test_lstm(kind: str) -> None:
    rng = np.random.default_rng(4)
    feeds = lstm_feeds(rng, kind, (2, 5))
    check_calls(lstm_case(rng, kind, feeds[0][0], (5, 6, 6), op="LSTM"), feeds)


def _basic(rng: np.random.Generator, *, variable: bool) -> Case:
    w, b = const(floats(rng, 12, 8)), const(floats(rng, 12))
    h = state(2, 3) if variable else T(floats(rng, 2, 3))
    c = state(2, 3) if variable else T(floats(rng, 2, 3))
    return Case(
        "LSTM",
        [T(floats(rng, 2, 5)), h, w, b, c],
        [T(kind="FLOAT32", shape=())] * 4,
        options={"kernel_type": "BASIC", **TANH},
        version=2,
    )


@pytest.mark.parametrize("variable", [False, True])
def test_basic_kernel(variable: bool) -> None:
    rng = np.random.default_rng(5)
    case = _basic(rng, variable=variable)
    check_calls(case, [[floats(rng, *f.shape) for f in case.feeds()] for _ in range(3)])


def test_basic_kernel_in_uint8() -> None:
    rng = np.random.default_rng(6)

    def byte(*shape: int) -> T:
        return T(rng.integers(0, 256, shape).astype(np.uint8), scale=1 / 128, zero=128)

    w = const(rng.integers(0, 256, (12, 8)).astype(np.uint8), scale=0.01, zero=120)
    b = const(rng.integers(-500, 500, 12).astype(np.int32), scale=0.01 / 128)
    c = T(rng.integers(-2000, 2000, (2, 3)).astype(np.int16), scale=2.0**-11)
    outputs = [
        T(kind="UINT8", shape=(), scale=1 / 128, zero=128),
        T(kind="INT16", shape=(), scale=2.0**-11),
        T(kind="UINT8", shape=(), scale=1 / 128, zero=128),
        T(kind="INT16", shape=(), scale=2.0**-12),
    ]
    options = {"kernel_type": "BASIC", **TANH}
    Case("LSTM", [byte(2, 5), byte(2, 3), w, b, c], outputs, options, steps=2).check()
