# SPDX-License-Identifier: Apache-2.0
"""Tensors that a module owns."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import samara
from samara import nn
from samara.pybridge.errors import SamaraError


def test_takes_over_the_memory() -> None:
    x = samara.ones(2)
    p = nn.Parameter(x)
    assert np.shares_memory(p.detach().numpy(), x.numpy())
    assert p.requires_grad
    assert p.is_leaf
    assert isinstance(p, samara.Tensor)
    assert not nn.Parameter(x, requires_grad=False).requires_grad


def test_results_are_plain_tensors() -> None:
    p = nn.Parameter(samara.ones(2))
    assert type(p + 1.0) is samara.Tensor
    assert type(p * p) is samara.Tensor


def test_integers_cannot_be_learned() -> None:
    with pytest.raises(SamaraError, match="int64"):
        nn.Parameter(samara.tensor([1]))
    assert nn.Parameter(samara.tensor([1]), requires_grad=False).tolist() == [1]


def test_a_deep_copy_is_one_too() -> None:
    p = nn.Parameter(samara.ones(2), requires_grad=False)
    q = copy.deepcopy(p)
    assert isinstance(q, nn.Parameter)
    assert not q.requires_grad
    assert not np.shares_memory(q.numpy(), p.numpy())


def test_text() -> None:
    assert repr(nn.Parameter(samara.ones(1))).startswith("Parameter containing:\ntensor(")
