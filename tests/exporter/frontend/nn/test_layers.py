# SPDX-License-Identifier: Apache-2.0
"""Linear and convolution layers: float32, PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.frontend import parity

import samara
from samara.pybridge.errors import SamaraError, ShapeError

CASES: parity.Cases = {
    "identity": (lambda m: m.nn.Identity(4), (2, 3)),
    "flatten": (lambda m: m.nn.Flatten(), (2, 3, 4)),
    "flatten_part": (lambda m: m.nn.Flatten(0, 1), (2, 3, 4)),
    "unflatten": (lambda m: m.nn.Unflatten(1, (2, 3)), (2, 6)),
    "linear": (lambda m: m.nn.Linear(3, 4), (2, 3)),
    "linear_no_bias": (lambda m: m.nn.Linear(3, 4, bias=False), (2, 5, 3)),
    "bilinear": (lambda m: m.nn.Bilinear(3, 4, 5), (2, 3), (2, 4)),
    "conv1d": (lambda m: m.nn.Conv1d(2, 3, 3, 2, 1), (2, 2, 7)),
    "conv1d_circular": (lambda m: m.nn.Conv1d(2, 3, 3, padding=2, padding_mode="circular"), (2, 2, 7)),
    "conv2d": (lambda m: m.nn.Conv2d(2, 4, 3, padding=1, groups=2), (2, 2, 5, 5)),
    "conv2d_reflect": (lambda m: m.nn.Conv2d(2, 4, 3, padding=1, padding_mode="reflect", bias=False), (2, 2, 5, 5)),
    "conv2d_same": (lambda m: m.nn.Conv2d(2, 4, 3, padding="same", dilation=2), (2, 2, 5, 5)),
    "conv2d_replicate_same": (lambda m: m.nn.Conv2d(2, 4, 3, padding="same", padding_mode="replicate"), (2, 2, 5, 5)),
    "conv3d": (lambda m: m.nn.Conv3d(1, 2, (1, 2, 3), stride=(1, 2, 1)), (1, 1, 2, 4, 4)),
    "conv_transpose1d": (lambda m: m.nn.ConvTranspose1d(2, 3, 3, 2, 1, 1), (2, 2, 4)),
    "conv_transpose2d": (lambda m: m.nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, 2, True, 1), (1, 4, 3, 3)),
    "conv_transpose3d": (lambda m: m.nn.ConvTranspose3d(2, 2, 2, bias=False), (1, 2, 2, 2, 2)),
}  # fmt: skip


test_float32, test_exported, test_as_pytorch = parity.proofs(CASES, *parity.LAYERS)


def test_output_size_of_a_transposed_convolution() -> None:
    layer = samara.nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)
    x = samara.zeros(1, 2, 4, 4)
    assert layer(x, output_size=(8, 7)).shape == (1, 3, 8, 7)
    with pytest.raises(ShapeError):
        layer(x, output_size=(10, 7))


def test_errors() -> None:
    with pytest.raises(ShapeError, match="groups"):
        samara.nn.Conv2d(3, 4, 3, groups=2)
    with pytest.raises(SamaraError):
        samara.nn.Linear(3, 4)(samara.zeros(2, 5))
    with pytest.raises(SamaraError, match="cuda"):
        samara.nn.Linear(3, 4, device="cuda")


def test_dtype() -> None:
    layer = samara.nn.Conv2d(1, 2, 3, dtype=samara.float64)
    assert {p.dtype for p in layer.parameters()} == {np.dtype("float64")}


def test_initial_weights_lie_within_pytorchs_bounds() -> None:
    samara.manual_seed(0)
    layer = samara.nn.Conv2d(8, 64, 3)
    bound = 1 / np.sqrt(8 * 9)
    for p in layer.parameters():
        assert 0.9 * bound < abs(p.detach().numpy()).max() <= bound
