# SPDX-License-Identifier: Apache-2.0
"""Activations and dropout: gradients, float32, PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import parity
from tests.exporter.frontend.parity import functional as f

import samara
from samara.nn import functional as F
from samara.pybridge.errors import SamaraError

BIG = (3, 5, 7, 101)  # more elements than stay in numpy

PLAIN = (
    *("relu", "selu", "gelu", "silu", "mish", "sigmoid", "tanh"),
    *("softplus", "softsign", "tanhshrink", "logsigmoid", "glu"),
)
CASES: parity.Cases = {
    **{n: (lambda m, x, n=n: getattr(f(m), n)(x), (3, 4)) for n in PLAIN},
    "relu6": (lambda m, x: f(m).relu6(x * 5), (3, 9)),
    "hardtanh": (lambda m, x: f(m).hardtanh(x, -0.5, 0.7), (3, 4)),
    "leaky_relu": (lambda m, x: f(m).leaky_relu(x, 0.2), (3, 4)),
    "prelu_one": (lambda m, x, w: f(m).prelu(x, w), (2, 3, 4), (1,)),
    "prelu_channels": (lambda m, x, w: f(m).prelu(x, w), (2, 3, 4), (3,)),
    "elu": (lambda m, x: f(m).elu(x, 1.5), (3, 4)),
    "celu": (lambda m, x: f(m).celu(x, 0.7), (3, 4)),
    "gelu_tanh": (lambda m, x: f(m).gelu(x, approximate="tanh"), (3, 4)),
    "hardswish": (lambda m, x: f(m).hardswish(x * 3), (3, 5)),
    "hardsigmoid": (lambda m, x: f(m).hardsigmoid(x * 3), (3, 5)),
    "softplus_beta": (lambda m, x: f(m).softplus(x * 10, 2.0, 10.0), (3, 4)),
    "softshrink": (lambda m, x: f(m).softshrink(x, 0.3), (3, 4)),
    "hardshrink": (lambda m, x: f(m).hardshrink(x, 0.3), (3, 4)),
    "threshold": (lambda m, x: f(m).threshold(x, 0.1, -2.0), (3, 4)),
    "glu_dim": (lambda m, x: f(m).glu(x, 0), (4, 3)),
    "softmax": (lambda m, x: f(m).softmax(x, dim=1), (2, 3, 4)),
    "log_softmax": (lambda m, x: f(m).log_softmax(x, dim=-1), (2, 3, 4)),
    "softmin": (lambda m, x: f(m).softmin(x, dim=0), (2, 3)),
    "normalize": (lambda m, x: f(m).normalize(x, dim=1), (2, 3, 2)),
    "normalize_p1": (lambda m, x: f(m).normalize(x, 1.0, -1), (2, 3)),
    "dropout_off": (lambda m, x: f(m).dropout(x, 0.5, training=False), (3, 4)),
    "relu_inplace": (lambda m, x: f(m).relu(x * 1, inplace=True), (3, 4)),
    "leaky_relu_inplace": (lambda m, x: f(m).leaky_relu(x * 1, 0.1, inplace=True), (3, 4)),
}

LARGE = {
    name: (function, BIG)
    for name, (function, *inputs) in CASES.items()
    if len(inputs) == 1 and name != "glu"
} | {"prelu_channels": (CASES["prelu_channels"][0], BIG, (5,))}


test_gradients, test_second_gradients, test_float32, test_exported, test_as_pytorch = parity.proofs(
    CASES, *parity.CALLS
)


@pytest.mark.parametrize("name", LARGE)
def test_float32_large(name: str) -> None:
    if name == "glu_dim":
        pytest.skip("an odd number of rows")
    parity.kernels(name, LARGE)


@pytest.mark.parametrize("name", ["dropout", "dropout1d", "dropout2d", "dropout3d"])
def test_dropout_zeroes_its_share_and_keeps_the_mean(name: str) -> None:
    samara.manual_seed(3)
    x: Any = samara.ones(8, 50, 6, 4, 4, requires_grad=True)
    y = getattr(F, name)(x, 0.3)
    kept = y.detach().numpy() != 0
    channels = {"dropout": 0, "dropout1d": 1, "dropout2d": 2, "dropout3d": 3}[name]
    if channels:  # whole channels go
        whole = kept.reshape(*kept.shape[: 5 - channels], -1)
        assert (whole.all(-1) | ~whole.any(-1)).all()
    share = 1 - kept.mean()
    groups = kept.size / np.prod(kept.shape[5 - channels :])
    assert abs(share - 0.3) < 4 * (0.21 / groups) ** 0.5
    np.testing.assert_allclose(y.detach().numpy()[kept], 1 / 0.7, rtol=1e-6)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())


def test_dropout_repeats_from_a_seed() -> None:
    x = samara.ones(1000)
    samara.manual_seed(5)
    first = [F.dropout(x).numpy(), F.dropout(x).numpy()]
    samara.manual_seed(5)
    second = [F.dropout(x).numpy(), F.dropout(x).numpy()]
    np.testing.assert_array_equal(first, second)
    assert (first[0] != first[1]).any()


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    samara.manual_seed(1)
    x = samara.randn(200_000)
    y = F.alpha_dropout(x, 0.2, training=True).numpy()
    assert abs(y.mean()) < 0.02
    assert abs(y.std() - 1) < 0.02


def test_a_probability_is_one() -> None:
    with pytest.raises(SamaraError, match="with p ="):
        F.dropout(samara.ones(2), 1.5)
    assert (F.dropout(samara.ones(50), 1.0).numpy() == 0).all()
