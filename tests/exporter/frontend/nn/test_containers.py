# SPDX-License-Identifier: Apache-2.0
"""Modules that hold modules or parameters."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import parity

import samara
from samara import nn
from samara.pybridge.errors import UnknownNameError


def nested(m: Any) -> Any:
    """All containers in one module."""

    class Net(m.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = m.nn.ModuleList([m.nn.Linear(3, 3), m.nn.Linear(3, 3)])
            self.layers.append(m.nn.Linear(3, 3))
            self.named = m.nn.ModuleDict({"act": m.nn.Tanh(), "out": m.nn.Linear(3, 2)})
            self.scales = m.nn.ParameterList([m.nn.Parameter(m.ones(1)), m.nn.Parameter(m.ones(3))])
            self.tail = m.nn.Sequential(m.nn.ReLU(), m.nn.Linear(2, 2))

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = self.named["act"](layer(x)) * self.scales[0] + self.scales[1]
            return self.tail(self.named["out"](x))

    return Net()


CASES: parity.Cases = {
    "nested": (nested, (2, 3)),
    "sequential": (lambda m: m.nn.Sequential(m.nn.Linear(3, 4), m.nn.GELU()), (2, 3)),
}


test_float32, test_exported, test_as_pytorch = parity.proofs(CASES, *parity.LAYERS)


def test_sequential() -> None:
    a, b, c = nn.ReLU(), nn.Tanh(), nn.Sigmoid()
    net = nn.Sequential(a, b)
    net.append(c)
    assert list(net) == [a, b, c]
    assert len(net) == 3
    assert net[-1] is c
    assert list(net[1:]) == [b, c]
    assert isinstance(net[:1], nn.Sequential)
    net[0] = c
    assert net[0] is c
    net.insert(1, a)
    assert list(net) == [c, a, b, c]
    named = nn.Sequential({"first": a, "second": b})
    assert [n for n, _ in named.named_children()] == ["first", "second"]


def test_module_list() -> None:
    a, b = nn.ReLU(), nn.Tanh()
    found = nn.ModuleList[nn.Module]([a]).extend([b])
    assert list(found) == [a, b]
    assert isinstance(found[:1], nn.ModuleList)
    with pytest.raises(NotImplementedError):
        found(1)


def test_module_dict() -> None:
    found = nn.ModuleDict[nn.Module]({"a": nn.ReLU()})
    found["b"] = nn.Tanh()
    found.update({"c": nn.Sigmoid()})
    assert (list(found), list(found.keys()), len(found)) == (["a", "b", "c"],) * 2 + (3,)
    assert "b" in found
    del found["b"]
    assert [type(m).__name__ for m in found.values()] == ["ReLU", "Sigmoid"]
    assert [k for k, _ in found.items()] == ["a", "c"]


def test_parameter_list() -> None:
    found = nn.ParameterList([samara.ones(2)])
    found.append(nn.Parameter(samara.zeros(3)))
    assert [tuple(p.shape) for p in found] == [(2,), (3,)]
    assert len(found) == 2
    assert list(found.state_dict()) == ["0", "1"]
    assert isinstance(found[0], nn.Parameter)


def test_parameter_dicts_are_dicts_of_parameters() -> None:
    own = nn.Parameter(samara.ones(2))
    held = nn.ParameterDict({"b": own, "a": samara.zeros(3)})
    held["keys"] = samara.ones(1)  # the name of a method
    held["note"] = 7
    assert list(held) == list(held.keys()) == ["b", "a", "keys", "note"]
    assert list(reversed(held)) == ["note", "keys", "a", "b"]
    assert held["b"] is own
    assert isinstance(held["a"], nn.Parameter)
    assert list(held.state_dict()) == ["b", "a", "keys"]
    assert len(list(held.parameters())) == 3
    assert held.setdefault("a", own) is held["a"]
    assert held.get("none") is None
    held["b"] = samara.zeros(4)  # keeps its place
    assert list(held.state_dict()) == list(held)[:3]
    assert held.pop("keys").tolist() == [1]
    assert held.copy()["b"] is held["b"]
    held["a"] = "text"
    assert list(held.state_dict()) == ["b"]
    assert "a" in held
    assert held.fromkeys(["x", "y"], own)["y"] is own
    assert len({held, held}) == 1

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.ParameterDict({"k": samara.ones(2)})

        def forward(self, x: samara.Tensor) -> samara.Tensor:
            out: samara.Tensor = x * self.w["k"]
            return out

    again = copy.deepcopy(Net())
    again.load_state_dict({"w.k": samara.full((2,), 3.0)})
    assert samara.trace(again, samara.ones(2)).run({"x": np.ones(2, np.float32)})[
        "output"
    ].tolist() == [3, 3]
    with pytest.raises(KeyError):
        held["none"]
    for wrong in ("a.b", ""):
        for value in (1, own):
            with pytest.raises(UnknownNameError):
                held[wrong] = value
