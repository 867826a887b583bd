# SPDX-License-Identifier: Apache-2.0
"""Activation layers: float32, PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.frontend import parity

import samara
from samara.exporter.frontend.nn import activations

# Layers without arguments; their cases have the names in small letters.
PLAIN = (
    *("ReLU", "ReLU6", "SELU", "GELU", "SiLU", "Mish", "Hardswish", "Hardsigmoid", "Sigmoid"),
    *("Tanh", "Softsign", "Tanhshrink", "LogSigmoid", "PReLU"),
)
CASES: parity.Cases = {
    **{n.lower(): (lambda m, n=n: getattr(m.nn, n)(), (2, 4, 3)) for n in PLAIN},
    "relu_inplace": (
        lambda m: m.nn.Sequential(m.nn.Identity(), m.nn.Linear(3, 3), m.nn.ReLU(inplace=True)),
        (2, 4, 3),
    ),
    "hardtanh": (lambda m: m.nn.Hardtanh(-0.5, 0.8), (2, 4, 3)),
    "leaky": (lambda m: m.nn.LeakyReLU(0.2), (2, 4, 3)),
    "rrelu": (lambda m: m.nn.RReLU().eval(), (2, 4, 3)),
    "elu": (lambda m: m.nn.ELU(0.5), (2, 4, 3)),
    "celu": (lambda m: m.nn.CELU(0.6), (2, 4, 3)),
    "gelu_tanh": (lambda m: m.nn.GELU("tanh"), (2, 4, 3)),
    "softplus": (lambda m: m.nn.Softplus(2.0, 10.0), (2, 4, 3)),
    "softshrink": (lambda m: m.nn.Softshrink(0.3), (2, 4, 3)),
    "hardshrink": (lambda m: m.nn.Hardshrink(0.3), (2, 4, 3)),
    "threshold": (lambda m: m.nn.Threshold(0.1, -1.0), (2, 4, 3)),
    "glu": (lambda m: m.nn.GLU(1), (2, 4, 3)),
    "softmax": (lambda m: m.nn.Softmax(1), (2, 4, 3)),
    "log_softmax": (lambda m: m.nn.LogSoftmax(dim=-1), (2, 4, 3)),
    "softmin": (lambda m: m.nn.Softmin(1), (2, 4, 3)),
    "prelu_channels": (lambda m: m.nn.PReLU(4, 0.1), (2, 4, 3)),
    "dropout_eval": (lambda m: m.nn.Dropout(0.3).eval(), (2, 4, 3)),
    "alpha_dropout_eval": (lambda m: m.nn.AlphaDropout(0.3).eval(), (2, 4, 3)),
}


test_float32, test_exported, test_as_pytorch = parity.proofs(CASES, *parity.LAYERS)


@pytest.mark.parametrize("name", ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout"])
def test_dropout_layers_act_in_training_only(name: str) -> None:
    samara.manual_seed(0)
    layer = getattr(samara.nn, name)(0.5)
    x = samara.ones(4, 8, 3, 3, 3)
    dropped = layer(x).numpy()
    assert len(np.unique(dropped)) == 2
    assert layer.eval()(x) is x


def test_every_activation_is_there() -> None:
    listed = {type(make(samara)).__name__ for make, *_ in CASES.values()}
    source = vars(activations).values()
    own = {v.__name__ for v in source if getattr(v, "__module__", "") == activations.__name__}
    assert {n for n in own - listed if n[0] != "_"} == {"Dropout1d", "Dropout2d", "Dropout3d"}
