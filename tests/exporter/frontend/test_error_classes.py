# SPDX-License-Identifier: Apache-2.0
"""Errors of eager code are SamaraErrors of the class that PyTorch raises in the same place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import samara
from samara import nn
from samara.nn import functional as F

t = samara.ones


def _twice() -> None:
    a = samara.ones(2, requires_grad=True)
    loss = (a * a).sum()
    loss.backward()
    loss.backward()


CASES: dict[str, tuple[Callable[[], Any], type[Exception]]] = {
    "matmul": (lambda: t(2, 3) @ t(2, 3), RuntimeError),
    "add": (lambda: t(2, 3) + t(2, 4), RuntimeError),
    "mm": (lambda: samara.mm(t(2, 3), t(2, 3)), RuntimeError),
    "bmm": (lambda: samara.bmm(t(2, 3), t(2, 3)), RuntimeError),
    "cat": (lambda: samara.cat([t(2, 3), t(3, 4)]), RuntimeError),
    "stack": (lambda: samara.stack([t(2), t(3)]), RuntimeError),
    "reshape": (lambda: t(2, 3).reshape(4, 2), RuntimeError),
    "expand": (lambda: t(2, 3).expand(3, 3), RuntimeError),
    "conv2d": (lambda: F.conv2d(t(1, 3, 8, 8), t(4, 2, 3, 3)), RuntimeError),
    "Linear": (lambda: nn.Linear(3, 4)(t(2, 5)), RuntimeError),
    "backward twice": (_twice, RuntimeError),
    "backward of many": (lambda: samara.ones(3, requires_grad=True).backward(), RuntimeError),
    "backward of none": (lambda: t(1).sum().backward(), RuntimeError),
    "in place on a leaf": (lambda: samara.ones(2, requires_grad=True).add_(1), RuntimeError),
    "integers with gradients": (lambda: samara.tensor([1], requires_grad=True), RuntimeError),
    "load_state_dict": (lambda: nn.Linear(2, 2).load_state_dict({}), RuntimeError),
    "truth": (lambda: bool(t(2)), RuntimeError),
    "zeros": (lambda: samara.zeros(-2), RuntimeError),
    "arange": (lambda: samara.arange(0, 5, 0), RuntimeError),
    "linspace": (lambda: samara.linspace(0, 1, -1), RuntimeError),
    "einsum": (lambda: samara.einsum("ij,jk->ik", t(2, 3), t(2, 3)), RuntimeError),
    "device": (lambda: t(2).to("cuda"), RuntimeError),
    "index": (lambda: t(3)[5], IndexError),
    "indices": (lambda: t(3)[0, 0], IndexError),
    "dim of sum": (lambda: t(2, 3).sum(dim=4), IndexError),
    "dim of softmax": (lambda: samara.softmax(t(2, 3), dim=5), IndexError),
    "dim of transpose": (lambda: t(2, 3).transpose(0, 5), IndexError),
    "dim of unsqueeze": (lambda: t(2, 3).unsqueeze(5), IndexError),
    "dim of cat": (lambda: samara.cat([t(2), t(2)], dim=3), IndexError),
    "dim of size": (lambda: t(2, 3).size(5), IndexError),
    "select": (lambda: t(2, 3).select(0, 7), IndexError),
    "embedding": (lambda: nn.Embedding(3, 2)(samara.tensor([5])), IndexError),
    "dataset": (lambda: samara.data.TensorDataset(t(3))[5], IndexError),
    "len": (lambda: len(samara.tensor(1.0)), TypeError),
    "iter": (lambda: list(samara.tensor(1.0)), TypeError),
    "tensor of text": (lambda: samara.tensor("a"), TypeError),
    "text added": (lambda: t(2) + "a", TypeError),
    "size of text": (lambda: samara.zeros("a"), TypeError),
    "from_numpy": (lambda: samara.from_numpy([1]), TypeError),
    "parameter": (lambda: setattr(nn.Linear(2, 2), "weight", t(2, 2)), TypeError),
    "register_parameter": (lambda: nn.Module().register_parameter("a", 3), TypeError),  # type: ignore[arg-type]
    "register_buffer": (lambda: nn.Module().register_buffer("a", 3), TypeError),  # type: ignore[arg-type]
    "add_module": (lambda: nn.Module().add_module("a", 3), TypeError),  # type: ignore[arg-type]
    "optimizer of a tensor": (lambda: samara.optim.SGD(t(1), lr=0.1), TypeError),
    "dtype": (lambda: t(2).to(dtype="nope"), TypeError),
    "ragged": (lambda: samara.tensor([[1], [1, 2]]), ValueError),
    "optimizer of nothing": (lambda: samara.optim.SGD([], lr=0.1), ValueError),
    "learning rate": (lambda: samara.optim.SGD([nn.Parameter(t(1))], lr=-1.0), ValueError),
    "dropout": (lambda: F.dropout(t(2), p=2.0), ValueError),
    "batch norm": (lambda: nn.BatchNorm2d(3)(t(2, 3)), ValueError),
    "cross entropy": (lambda: F.cross_entropy(t(2, 3), samara.tensor([0])), ValueError),
    "batch size": (lambda: samara.data.DataLoader([1], batch_size=0), ValueError),
    "groups": (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError),
    "missing file": (lambda: samara.load("none"), FileNotFoundError),
    "missing folder": (lambda: samara.save({}, "none/a"), FileNotFoundError),
}


@pytest.mark.parametrize("name", CASES)
def test_the_class_is_that_of_pytorch(name: str) -> None:
    call, kind = CASES[name]
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, samara.SamaraError)
