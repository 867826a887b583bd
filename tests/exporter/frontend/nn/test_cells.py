# SPDX-License-Identifier: Apache-2.0
"""Recurrent cells: float32, PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.frontend import parity

import samara
from samara.pybridge.errors import ShapeError, UnsupportedError

CASES: parity.Cases = {
    "rnn": (lambda m: m.nn.RNNCell(3, 4), (2, 3), (2, 4)),
    "rnn_relu": (lambda m: m.nn.RNNCell(3, 4, nonlinearity="relu", bias=False), (2, 3), (2, 4)),
    "rnn_zeros": (lambda m: m.nn.RNNCell(3, 4), (2, 3)),
    "lstm_zeros": (lambda m: m.nn.LSTMCell(3, 4), (2, 3)),
    "lstm_vector": (lambda m: m.nn.LSTMCell(3, 4), (3,)),
    "gru": (lambda m: m.nn.GRUCell(3, 4), (2, 3), (2, 4)),
    "gru_zeros": (lambda m: m.nn.GRUCell(3, 4, bias=False), (2, 3)),
}


test_float32, test_exported, test_as_pytorch = parity.proofs(CASES, *parity.LAYERS)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_a_cell_is_a_step_of_the_layer(name: str) -> None:
    samara.manual_seed(0)
    layer, cell = getattr(samara.nn, name)(3, 4), getattr(samara.nn, name + "Cell")(3, 4)
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in layer.state_dict().items()})
    x = samara.randn(5, 2, 3)
    expected, _ = layer(x)
    state = None
    for t in range(5):
        state = cell(x[t], state)
        h = state[0] if name == "LSTM" else state
        np.testing.assert_allclose(h.detach().numpy(), expected[t].detach().numpy(), atol=1e-6)


def test_errors() -> None:
    with pytest.raises(ShapeError, match="needs a state"):
        samara.nn.GRUCell(3, 4)(samara.zeros(2, 3), samara.zeros(2, 5))
    with pytest.raises(ShapeError, match="of 3 inputs"):
        samara.nn.LSTMCell(3, 4)(samara.zeros(2, 4))
    with pytest.raises(UnsupportedError, match="nonlinearity"):
        samara.nn.RNNCell(3, 4, nonlinearity="sin")
