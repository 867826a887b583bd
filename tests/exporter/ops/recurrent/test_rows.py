# SPDX-License-Identifier: Apache-2.0
"""Known answers of LSTM and GRU."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import InferContext
from samara.exporter.types import Dim, ShapeError, Sym, TensorType


def sig(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def full(*shape: int, value: float = 1.0) -> np.ndarray:
    return np.full(shape, value, np.float32)


def test_one_lstm_step() -> None:
    bias = np.array([[0, 1, 2, 3, 0, 0, 0, 0]], np.float32)  # i, o, f, c
    c0 = full(1, 1, 1, value=2)
    y, h, c = ops.lstm(
        full(1, 1, 1), full(1, 4, 1), full(1, 4, 1), bias, None, full(1, 1, 1), c0, hidden=1
    )
    i, o, f, g = sig(2), sig(3), sig(4), math.tanh(5)
    want = f * 2 + i * g
    np.testing.assert_allclose(c.ravel(), want, rtol=1e-6)
    np.testing.assert_allclose(h.ravel(), o * math.tanh(want), rtol=1e-6)
    np.testing.assert_array_equal(y[0], h)


def test_peepholes_see_old_and_new_cell() -> None:
    p = np.array([[1, 2, 3]], np.float32)  # i, o, f
    zero = full(1, 4, 1, value=0)
    _, h, c = ops.lstm(full(1, 1, 1), zero, zero, None, None, None, full(1, 1, 1), p, hidden=1)
    want = sig(3)  # i * tanh(0) adds nothing
    np.testing.assert_allclose(c.ravel(), want, rtol=1e-6)
    np.testing.assert_allclose(h.ravel(), sig(2 * want) * math.tanh(want), rtol=1e-6)


def test_one_gru_step() -> None:
    w, r = full(1, 3, 1, value=0), full(1, 3, 1)
    bias = np.array([[0, 1, 2, 0, 0, 5]], np.float32)  # z, r, h of w; then of r
    h0 = full(1, 1, 1, value=0.5)
    z, reset = sig(0.5), sig(1.5)
    for before, state in ((False, reset * 0.5 + 5), (True, reset * (0.5 + 5))):
        _, h = ops.gru(full(1, 1, 1), w, r, bias, None, h0, hidden=1, linear_before_reset=before)
        want = (1 - z) * math.tanh(2 + state) + z * 0.5
        np.testing.assert_allclose(h.ravel(), want, rtol=1e-6)


def test_lengths_freeze_the_state() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(4, 2, 3)).astype(np.float32)
    w, r = (rng.normal(size=(1, 12, n)).astype(np.float32) for n in (3, 4))
    y, h = ops.gru(x, w, r, None, np.array([4, 2], np.int32), hidden=4)
    short, last = ops.gru(x[:2], w, r, hidden=4)
    np.testing.assert_array_equal(y[2:, :, 1], 0)
    np.testing.assert_allclose(h[:, 1], last[:, 1], rtol=1e-6)
    np.testing.assert_allclose(y[:2, :, 1], short[:, :, 1], rtol=1e-6)
    # In reverse, a sequence starts at its own last element.
    back, state = ops.gru(x, w, r, None, np.array([4, 2], np.int32), hidden=4, direction="reverse")
    alone, ended = ops.gru(x[:2, 1:], w, r, hidden=4, direction="reverse")
    np.testing.assert_allclose(back[:2, :, 1:], alone, rtol=1e-6)
    np.testing.assert_allclose(state[:, 1:], ended, rtol=1e-6)


def test_shapes() -> None:
    t, n = Dim.atom(Sym("t")), Dim.atom(Sym("n"))
    shapes: list[tuple[Any, ...]] = [(t, n, 3), (2, 16, 3), (2, 16, 4)]
    attrs = ops.lstm.complete({"hidden": 4, "direction": "bidirectional"})
    ctx = InferContext(ops.lstm, [TensorType.of("f32", s) for s in shapes], attrs)
    assert [y.shape for y in ops.lstm.infer(ctx)] == [(t, 2, n, 4), (2, n, 4), (2, n, 4)]
    attrs = ops.lstm.complete({"hidden": 4})
    ctx = InferContext(ops.lstm, [TensorType.of("f32", s) for s in shapes], attrs)
    with pytest.raises(ShapeError, match="axis 0 of w"):
        ops.lstm.infer(ctx)
