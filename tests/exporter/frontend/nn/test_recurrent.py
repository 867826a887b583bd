# SPDX-License-Identifier: Apache-2.0
"""RNN, LSTM and GRU over sequences: float32, packed sequences, traces, PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import parity

import samara
from samara.exporter.frontend import native
from samara.pybridge.errors import ShapeError, UnsupportedError

LENGTHS = [3, 5, 2]


def lstm_with_states(m: Any) -> Any:
    """An LSTM whose states are separate arguments."""

    class Layer(m.nn.LSTM):  # type: ignore[misc]
        def forward(self, x: Any, h: Any, c: Any) -> Any:
            return super().forward(x, (h, c))

    return Layer(3, 4, 2, bidirectional=True)


def packed(m: Any, layer: Any) -> Any:
    """A layer whose input is packed and whose output is padded again."""
    rnn = m.nn.utils.rnn

    class Layer(m.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any) -> Any:
            lengths = m.tensor(LENGTHS)
            sequence = rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
            out, state = self.layer(sequence)
            return *rnn.pad_packed_sequence(out, padding_value=-1.0), state

    return Layer()


CASES: parity.Cases = {
    "lstm": (lambda m: m.nn.LSTM(3, 4), (5, 2, 3)),
    "lstm_layers": (lambda m: m.nn.LSTM(3, 4, num_layers=2, bidirectional=True), (5, 2, 3)),
    "lstm_batch_first": (lambda m: m.nn.LSTM(3, 4, batch_first=True, bias=False), (2, 5, 3)),
    "lstm_unbatched": (lambda m: m.nn.LSTM(3, 4, 2), (5, 3)),
    "gru": (lambda m: m.nn.GRU(3, 4), (5, 2, 3)),
    "gru_states": (lambda m: m.nn.GRU(3, 4, 2), (5, 2, 3), (2, 2, 4)),
    "gru_both": (lambda m: m.nn.GRU(3, 4, num_layers=2, bidirectional=True, batch_first=True), (2, 5, 3), (4, 2, 4)),
    "gru_unbatched": (lambda m: m.nn.GRU(3, 4, bias=False), (5, 3), (1, 4)),
    "rnn": (lambda m: m.nn.RNN(3, 4), (5, 2, 3)),
    "rnn_relu": (lambda m: m.nn.RNN(3, 4, 2, "relu", bidirectional=True), (5, 2, 3), (4, 2, 4)),
    "rnn_batch_first": (lambda m: m.nn.RNN(3, 4, batch_first=True, bias=False), (2, 5, 3)),
    "lstm_states": (lstm_with_states, (5, 2, 3), (4, 2, 4), (4, 2, 4)),
    "lstm_packed": (lambda m: packed(m, m.nn.LSTM(3, 4, 2, bidirectional=True)), (5, 3, 3)),
    "gru_packed": (lambda m: packed(m, m.nn.GRU(3, 4, bidirectional=True)), (5, 3, 3)),
    "rnn_packed": (lambda m: packed(m, m.nn.RNN(3, 4, bidirectional=True)), (5, 3, 3)),
}  # fmt: skip


test_float32, test_exported, test_as_pytorch = parity.proofs(CASES, *parity.LAYERS)


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_a_trace_gives_what_eager_gives(name: str) -> None:
    samara.manual_seed(0)
    layer = getattr(samara.nn, name)(3, 4, 2, bidirectional=True).eval()
    x = samara.randn(5, 2, 3)
    expected = layer(x)[0].detach().numpy()
    dynamic = {"input": {1: "batch"}} if name == "RNN" else {"input": {0: "steps", 1: "batch"}}
    program = samara.trace(lambda input: layer(input)[0], x, dynamic=dynamic)
    wide = np.concatenate([x.numpy()] * 2, axis=1)
    (found,) = program.run({"input": wide}).values()
    np.testing.assert_allclose(found[:, 2:], expected, atol=1e-6)


def test_rnn_over_a_symbolic_number_of_steps_says_why_not() -> None:
    layer = samara.nn.RNN(3, 4)
    with pytest.raises(UnsupportedError, match="steps"):
        samara.trace(
            lambda input: layer(input)[0], samara.zeros(5, 2, 3), dynamic={"input": {0: "steps"}}
        )


def test_dropout_between_layers() -> None:
    samara.manual_seed(0)
    layer = samara.nn.LSTM(3, 8, 2, dropout=0.5)
    x = samara.randn(4, 2, 3)
    first, second = layer(x)[0].detach().numpy(), layer(x)[0].detach().numpy()
    assert (first != second).any()
    layer.eval()
    np.testing.assert_array_equal(layer(x)[0].detach().numpy(), layer(x)[0].detach().numpy())


def test_no_numpy_stands_in_for_the_kernels() -> None:
    native.fallbacks.clear()
    layer = samara.nn.LSTM(3, 8, 2, bidirectional=True)
    layer(samara.randn(4, 2, 3))[0].sum().backward()
    gru = samara.nn.GRU(3, 8)
    gru(samara.randn(4, 2, 3))[0].sum().backward()
    assert not native.fallbacks


def test_errors() -> None:
    with pytest.raises(UnsupportedError, match="proj_size"):
        samara.nn.LSTM(3, 4, proj_size=2)
    layer = samara.nn.GRU(3, 4)
    with pytest.raises(ShapeError, match="of 3 inputs"):
        layer(samara.zeros(5, 2, 4))
    with pytest.raises(ShapeError, match="first states"):
        layer(samara.zeros(5, 2, 3), samara.zeros(1, 3, 4))
    with pytest.raises(UnsupportedError, match="nonlinearity"):
        samara.nn.RNN(3, 4, nonlinearity="sin")
