# SPDX-License-Identifier: Apache-2.0
"""Changes in place of views and of their bases, with gradients recorded."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.frontend.checks import grad_of

import samara
from samara.exporter.frontend import _views
from samara.pybridge.errors import SamaraError


def test_a_changed_view_changes_its_base() -> None:
    w = samara.ones(3, 4).requires_grad_()
    y = w * 2.0
    row, corner = y[1], y.t()[:2, :2]
    row.mul_(3.0)
    row += w[0]
    corner += 1  # a view from before the change
    assert y.tolist() == [[3, 3, 2, 2], [8, 8, 7, 7], [2, 2, 2, 2]]
    assert row.tolist() == [8, 8, 7, 7]
    (y.sum() + row.sum()).backward()
    assert grad_of(w).tolist() == [[4, 4, 4, 4], [12, 12, 12, 12], [2, 2, 2, 2]]


def test_a_base_starts_to_learn_by_its_view() -> None:
    w = samara.ones(4).requires_grad_()
    a = samara.zeros(2, 4)
    row, other = a[1], a[0]
    row += w
    assert a.requires_grad
    (a * samara.arange(8.0).reshape(2, 4)).sum().backward()
    assert grad_of(w).tolist() == [4, 5, 6, 7]
    assert (other * 2.0).requires_grad


def test_a_view_of_a_leaf_is_refused() -> None:
    w = samara.ones(3).requires_grad_()
    with pytest.raises(SamaraError, match="leaf"):
        w[:2].add_(1.0)
    with samara.no_grad():
        w[:2].add_(1.0)
    assert w.tolist() == [2, 2, 1]


def test_memory_of_ones_own_is_not_copied() -> None:
    w = samara.ones(3).requires_grad_()
    y = w * 2.0
    assert _views.alone(y)
    seen = y.detach()
    assert not _views.alone(y)
    y.relu_()
    assert np.shares_memory(seen.numpy(), y.detach().numpy())


@pytest.mark.parametrize("layer", ["conv", "batch_norm", "conv_transpose"])
def test_activations_in_place_after_layers(layer: str) -> None:
    samara.manual_seed(0)
    nn = samara.nn
    made = {
        "conv": nn.Conv2d(2, 3, 3),
        "batch_norm": nn.BatchNorm2d(2),
        "conv_transpose": nn.ConvTranspose2d(2, 3, 3, 2),
    }[layer]
    x = samara.randn(2, 2, 5, 5)
    grads = []
    for inplace in (False, True):
        made.zero_grad()
        out = nn.LeakyReLU(0.2, inplace)(nn.ReLU6(inplace)(made(x)))
        out += 1.0
        out.view(2, -1)[:, :3] *= 2.0
        out.square().sum().backward()
        grads.append(made.weight.grad.numpy().copy())
    assert np.array_equal(*grads)
