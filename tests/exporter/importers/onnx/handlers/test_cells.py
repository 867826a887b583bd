# SPDX-License-Identifier: Apache-2.0
"""Recurrent cells that become loops, against onnxruntime: every activation, and every form of a node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.handlers.test_recurrent import GATES, OUTPUTS, H, inputs
from tests.exporter.importers.onnx.models import Case, agree, kinds, native, normal, witness

from samara.exporter.importers.onnx import import_onnx

CLOSE: Any = {"rtol": 1e-4, "atol": 1e-5}
ACTIVATIONS = {
    "Relu": {},
    "Tanh": {},
    "Sigmoid": {},
    "Softsign": {},
    "Softplus": {},
    "Affine": {"activation_alpha": [0.5], "activation_beta": [0.1]},
    "LeakyRelu": {"activation_alpha": [0.2]},
    "ThresholdedRelu": {"activation_alpha": [0.3]},
    "ScaledTanh": {"activation_alpha": [0.7], "activation_beta": [1.5]},
    "HardSigmoid": {"activation_alpha": [0.3], "activation_beta": [0.4]},
    "Elu": {"activation_alpha": [0.6]},
}
OTHER = {"LSTM": ["Softsign", "Relu", "Tanh"], "GRU": ["HardSigmoid", "Softsign"]}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_rnn_activations(name: str) -> None:
    given = inputs("RNN", "forward", bias=True, lengths=False, initial=True)
    attrs = {"hidden_size": H, "activations": [name], **ACTIVATIONS[name]}
    Case("RNN", given, attrs, 14, (1, 2, 3), 2, **CLOSE).check()


# What functions take by default where the witness takes 0: the numbers of ONNX's operators.
DEFAULTS = {
    "Affine": {"activation_alpha": [1.0], "activation_beta": [0.0]},
    "ThresholdedRelu": {"activation_alpha": [1.0]},
    "ScaledTanh": {"activation_alpha": [1.0], "activation_beta": [1.0]},
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_their_numbers_by_default(name: str) -> None:
    """The LSTM takes names in upper and lower case."""
    given = inputs("LSTM", "forward", bias=True, lengths=False, initial=True)
    attrs = {"hidden_size": H, "activations": ["sigmoid", name.upper(), "Tanh"]}
    case = Case("LSTM", given, attrs, 14, (1, 2, 3), 3, **CLOSE)
    if name not in DEFAULTS:
        case.check()
        return
    explicit = Case("LSTM", given, attrs | DEFAULTS[name], 14, (1, 2, 3), 3)
    agree(case.run(), witness(explicit.model(), case.feeds()), **CLOSE)


@pytest.mark.parametrize("op", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("full", [False, True])
def test_forms(op: str, direction: str, full: bool) -> None:
    peepholes = full and op == "LSTM"
    given = inputs(op, direction, bias=full, lengths=full, initial=full, peepholes=peepholes)
    attrs: dict[str, Any] = {"hidden_size": H, "direction": direction}
    if op in OTHER:
        attrs["activations"] = OTHER[op] * (2 if direction == "bidirectional" else 1)
    case = Case(op, given, attrs, 14, (1, 2, 3), OUTPUTS[op], symbolic=full, **CLOSE)
    assert "loop" in kinds(case.check_native())


def test_attributes() -> None:
    given = inputs("LSTM", "forward", bias=True, lengths=False, initial=True)
    attrs: dict[str, Any] = {"hidden_size": H, "activations": OTHER["LSTM"], "clip": 0.4}
    Case("LSTM", given, {**attrs, "input_forget": 1}, 14, (1, 2, 3), 3, **CLOSE).check()
    given = inputs("RNN", "reverse", bias=True, lengths=False, initial=True)
    attrs = {"hidden_size": H, "direction": "reverse", "clip": 0.2}
    Case("RNN", given, attrs, 14, (1, 2, 3), 2, **CLOSE).check()


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("bias", [False, True])
def test_gru_reset(after: int, bias: bool) -> None:
    given = inputs("GRU", "forward", bias=bias, lengths=False, initial=True)
    attrs = {"hidden_size": H, "activations": OTHER["GRU"], "linear_before_reset": after}
    Case("GRU", given, attrs, 14, (1, 2, 3), 2, **CLOSE).check()


def test_numbers_of_two_directions() -> None:
    """alpha goes to the functions that take one, in order."""
    given = inputs("LSTM", "bidirectional", bias=False, lengths=False, initial=False)
    names = ["Sigmoid", "LeakyRelu", "Tanh", "HardSigmoid", "Elu", "Softsign"]
    attrs: dict[str, Any] = {"hidden_size": H, "direction": "bidirectional", "activations": names}
    attrs |= {"activation_alpha": [0.3, 0.25, 0.5], "activation_beta": [0.45]}
    Case("LSTM", given, attrs, 14, (1, 2), 3, **CLOSE).check()


@pytest.mark.parametrize("op", GATES)
def test_the_usual_activations_as_a_loop(op: str) -> None:
    """A loop gives what the row gives: Affine with 1 and 0 keeps a value as it is, but for rounding."""
    given = inputs(op, "bidirectional", bias=True, lengths=True, initial=True)
    usual = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}[op]
    scaled = [{"Tanh": "ScaledTanh"}.get(name, name) for name in usual]
    attrs: dict[str, Any] = {"hidden_size": H, "direction": "bidirectional"}
    plain = Case(op, given, {**attrs, "activations": usual * 2}, 14, (1, 2, 3), OUTPUTS[op])
    other = Case(op, given, {**attrs, "activations": scaled * 2}, 14, (1, 2, 3), OUTPUTS[op])
    want, got = (c.run() for c in (plain, other))
    for name, w in want.items():
        np.testing.assert_allclose(got[name], w, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", GATES)
def test_batch_first_and_no_steps(op: str) -> None:
    given = inputs(op, "forward", bias=True, lengths=False, initial=True)
    attrs: dict[str, Any] = {"hidden_size": H, "activations": OTHER.get(op, ["Relu"])}
    case = Case(op, given, attrs, 14, (1, 2, 3), OUTPUTS[op], symbolic=True)
    moved = [np.swapaxes(x, 0, 1).copy() if x is not None and i in (0, 5, 6) else x
             for i, x in enumerate(given)]  # fmt: skip
    first = Case(op, moved, {**attrs, "layout": 1}, 14, (1, 2, 3), OUTPUTS[op], symbolic=True)
    want, got = (c.run() for c in (case, first))
    np.testing.assert_array_equal(got["y0"], want["y0"].transpose(2, 0, 1, 3))
    np.testing.assert_array_equal(got["y1"], want["y1"].transpose(1, 0, 2))
    program = import_onnx(case.model())
    empty = {**case.feeds(), "x0": normal(0, *case.feeds()["x0"].shape[1:])}
    for result in (program.run(empty), *native(program, empty)):
        assert result["y0"].shape == (0, 1, 3, H)
        np.testing.assert_array_equal(result["y1"], empty["x5"])


@pytest.mark.parametrize("op", GATES)
def test_half_precision(op: str) -> None:
    """States are kept in float32, so that only the results are rounded."""
    given = inputs(op, "forward", bias=True, lengths=True, initial=True)
    half = [x.astype(np.float16) if x is not None and x.dtype == np.float32 else x for x in given]
    wide = [x.astype(np.float32) if x is not None and x.dtype == np.float16 else x for x in half]
    attrs: dict[str, Any] = {"hidden_size": H, "activations": OTHER.get(op, ["Affine"])}
    case, same = (Case(op, xs, attrs, 14, (1, 2, 3), OUTPUTS[op]) for xs in (half, wide))
    (got,) = native(import_onnx(case.model()), case.feeds())
    want = same.run()
    for name, w in want.items():
        assert got[name].dtype == np.float16
        np.testing.assert_allclose(got[name], w.astype(np.float16), rtol=2e-3, atol=1e-3)
