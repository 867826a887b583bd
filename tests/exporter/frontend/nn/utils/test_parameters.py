# SPDX-License-Identifier: Apache-2.0
"""Gradient clipping, and parameters as vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samara
from samara.nn import utils
from samara.pybridge.errors import SamaraError

GRADS = [np.array([[3.0, -4.0]]), np.array([12.0]), np.zeros(2)]


def _parameters(m: Any) -> list[Any]:
    out = []
    for g in GRADS:
        p = m.nn.Parameter(m.zeros(*g.shape, dtype=m.float64))
        p.grad = m.tensor(g)
        out.append(p)
    return [*out, m.nn.Parameter(m.zeros(1))]


@pytest.mark.parametrize(("bound", "order"), [(1.0, 2.0), (20.0, 2.0), (2.0, 1.0), (5.0, np.inf)])
def test_norms_as_pytorch(bound: float, order: float) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is compared with where it is installed")
    mine, theirs = _parameters(samara), _parameters(torch)
    found = utils.clip_grad_norm_(mine, bound, order)
    expected = torch.nn.utils.clip_grad_norm_(theirs, bound, order)
    assert found.item() == pytest.approx(expected.item(), rel=1e-12)
    for p, q in zip(mine[:3], theirs[:3], strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-12)
    assert mine[3].grad is None


def test_the_norm_is_bounded() -> None:
    parameters = _parameters(samara)
    assert utils.clip_grad_norm_(parameters, 6.5).item() == 13
    clipped = np.concatenate([p.grad.numpy().reshape(-1) for p in parameters[:3]])
    np.testing.assert_allclose(clipped, [1.5, -2, 6, 0, 0], rtol=1e-6)
    assert utils.clip_grad_norm_(parameters[3], 1.0).item() == 0


def test_an_infinite_norm_is_an_error_on_demand() -> None:
    (p, *_) = _parameters(samara)
    p.grad.fill_(np.inf)
    with pytest.raises(SamaraError, match="inf"):
        utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)


def test_values() -> None:
    parameters = _parameters(samara)
    utils.clip_grad_value_(parameters, 3.5)
    assert [p.grad.tolist() for p in parameters[:2]] == [[[3, -3.5]], [3.5]]


def test_vectors() -> None:
    layer: Any = samara.nn.Linear(2, 3)
    vector = utils.parameters_to_vector(layer.parameters())
    assert vector.shape == (9,)
    utils.vector_to_parameters(samara.arange(9).float(), layer.parameters())
    assert layer.weight.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert layer.bias.tolist() == [6, 7, 8]
