# SPDX-License-Identifier: Apache-2.0
"""LSTM, GRU and RNN against onnxruntime: directions, lengths, initial states, batch-first layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, Case, kinds, normal

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import ShapeError, UnsupportedError

CLOSE: Any = {"rtol": 1e-4, "atol": 1e-5}
T, N, I, H = 4, 3, 5, 2  # steps, batch, inputs, hidden
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
OUTPUTS = {"LSTM": 3, "GRU": 2, "RNN": 2}
DIRECTIONS = ("forward", "reverse", "bidirectional")


def inputs(
    op: str, direction: str, *, bias: bool, lengths: bool, initial: bool, peepholes: bool = False
) -> list[Array | None]:
    d, g = 1 + (direction == "bidirectional"), GATES[op]
    out: list[Array | None] = [
        normal(T, N, I),
        normal(d, g * H, I, seed=1),
        normal(d, g * H, H, seed=2),
        normal(d, 2 * g * H, seed=3) if bias else None,
        np.array([4, 1, 3], np.int32) if lengths else None,
        normal(d, N, H, seed=5) if initial else None,
    ]
    if op == "LSTM":
        out += [normal(d, N, H, seed=6) if initial else None]
        out += [normal(d, 3 * H, seed=7)] if peepholes else []
    while out[-1] is None:
        out.pop()
    return out


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("initial", [False, True])
def test_recurrence(op: str, direction: str, bias: bool, lengths: bool, initial: bool) -> None:
    given = inputs(op, direction, bias=bias, lengths=lengths, initial=initial)
    attrs = {"hidden_size": H, "direction": direction}
    Case(op, given, attrs, 14, (1, 2, 3), OUTPUTS[op], **CLOSE).check()


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("initial", [False, True])
def test_batch_first(op: str, direction: str, initial: bool) -> None:
    """layout=1 is the other layout with the first two axes of the data swapped."""
    given = inputs(op, direction, bias=True, lengths=False, initial=initial)
    attrs = {"hidden_size": H, "direction": direction}
    plain = Case(op, given, attrs, 14, (1, 2, 3), OUTPUTS[op])
    moved = list(given)
    for i in (0, 5, 6):
        if i < len(moved) and (data := moved[i]) is not None:
            moved[i] = np.swapaxes(data, 0, 1).copy()
    first = Case(op, moved, {**attrs, "layout": 1}, 14, (1, 2, 3), OUTPUTS[op])
    want, got = (c.run() for c in (plain, first))
    np.testing.assert_array_equal(got["y0"], want["y0"].transpose(2, 0, 1, 3))
    for name in list(want)[1:]:
        np.testing.assert_array_equal(got[name], want[name].transpose(1, 0, 2))


def test_symbolic_time_and_batch() -> None:
    for op in GATES:
        given = inputs(op, "bidirectional", bias=True, lengths=True, initial=True)
        attrs = {"hidden_size": H, "direction": "bidirectional"}
        Case(op, given, attrs, 14, (1, 2, 3), OUTPUTS[op], symbolic=True, **CLOSE).check()


@pytest.mark.parametrize("attrs", [{"clip": 0.3}, {"input_forget": 1}])
def test_lstm_attributes(attrs: dict[str, Any]) -> None:
    given = inputs("LSTM", "forward", bias=True, lengths=False, initial=True)
    Case("LSTM", given, {"hidden_size": H, **attrs}, 14, (1, 2, 3), 3, **CLOSE).check()


def test_peepholes() -> None:
    given = inputs("LSTM", "bidirectional", bias=True, lengths=False, initial=True, peepholes=True)
    attrs = {"hidden_size": H, "direction": "bidirectional"}
    Case("LSTM", given, attrs, 14, (1, 2, 3), 3, **CLOSE).check()


@pytest.mark.parametrize("after", [0, 1])
def test_gru_reset(after: int) -> None:
    given = inputs("GRU", "forward", bias=True, lengths=False, initial=True)
    attrs = {"hidden_size": H, "linear_before_reset": after}
    Case("GRU", given, attrs, 14, (1, 2, 3), 2, **CLOSE).check()


@pytest.mark.parametrize(
    ("op", "names"), [("LSTM", ["Sigmoid", "Tanh", "Tanh"]), ("GRU", ["Sigmoid", "Tanh"])]
)
def test_activations(op: str, names: list[str]) -> None:
    given = inputs(op, "forward", bias=False, lengths=False, initial=False)
    case = Case(op, given, {"hidden_size": H, "activations": names}, 14, (1, 2), OUTPUTS[op])
    assert "loop" not in kinds(import_onnx(case.model()))
    unknown = Case(op, given, {"hidden_size": H, "activations": ["Sine", *names[1:]]}, 14, (1, 2))
    unknown.refused(UnsupportedError, "activation 'sine'")
    few = Case(op, given, {"hidden_size": H, "activations": names[1:]}, 14, (1, 2))
    few.refused(ShapeError, "activations, expected")


def test_only_some_outputs() -> None:
    given = inputs("LSTM", "forward", bias=False, lengths=False, initial=False)
    Case("LSTM", given, {"hidden_size": H}, 14, (1, 2), 1, **CLOSE).check()


def test_opset_7() -> None:
    given = inputs("GRU", "reverse", bias=True, lengths=False, initial=False)
    Case("GRU", given, {"hidden_size": H, "direction": "reverse"}, 7, (1, 2, 3), 2, **CLOSE).check()
