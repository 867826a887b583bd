# SPDX-License-Identifier: Apache-2.0
"""Modules: members, state, modes, conversions, hooks, text."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara import nn
from samara.pybridge.errors import SamaraError, ShapeError


class Net(nn.Module):
    """Two layers, a buffer that is stored and one that is not."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.rest = nn.Sequential(nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.5))
        self.scale = nn.Parameter(samara.ones(1))
        self.register_buffer("seen", samara.zeros(2))
        self.register_buffer("cache", samara.zeros(5), persistent=False)

    def forward(self, x: Any) -> Any:
        return self.rest(self.first(x)) * self.scale


KEYS = [
    *("scale", "seen", "first.weight", "first.bias", "rest.0.weight", "rest.0.bias"),
    *("rest.0.running_mean", "rest.0.running_var", "rest.0.num_batches_tracked"),
]


def test_members() -> None:
    net: Any = Net()
    assert list(net.state_dict()) == KEYS
    learned = [k for k in KEYS if "running" not in k and k not in ("seen", KEYS[-1])]
    assert [n for n, _ in net.named_parameters()] == learned
    assert [n for n, _ in net.named_buffers()] == ["seen", "cache", *KEYS[6:]]
    assert [n for n, _ in net.named_children()] == ["first", "rest"]
    every = ["", "first", "rest", "rest.0", "rest.1", "rest.2"]
    assert [n for n, _ in net.named_modules()] == every
    assert net.get_submodule("rest.0") is net.rest[0]
    assert net.get_parameter("first.weight") is net.first.weight
    assert "scale" in dir(net)
    with pytest.raises(AttributeError, match="no module"):
        net.get_submodule("rest.9")
    with pytest.raises(AttributeError, match="no parameter"):
        net.get_parameter("first.scale")
    with pytest.raises(AttributeError, match="no attribute"):
        net.third  # noqa: B018


def test_a_shared_parameter_is_counted_once_and_stored_twice() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    assert len(list(net.parameters())) == 3
    assert list(net.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_attributes() -> None:
    net: Any = Net()
    net.scale = None
    assert "scale" not in net.state_dict()
    with pytest.raises(TypeError, match="parameter"):
        net.scale = samara.ones(1)
    with pytest.raises(TypeError, match="buffer"):
        net.seen = 3
    with pytest.raises(TypeError, match="module"):
        net.first = 3
    net.seen = samara.ones(2)
    assert net.state_dict()["seen"].tolist() == [1, 1]
    del net.first
    assert [n for n, _ in net.named_children()] == ["rest"]
    net.tag = "plain"
    assert net.tag == "plain"
    for bad in ("", "a.b"):
        with pytest.raises(SamaraError, match="cannot be the name"):
            net.register_buffer(bad, None)


def test_init_must_run_first() -> None:
    class Early(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.Linear(1, 1)

    with pytest.raises(SamaraError, match="super"):
        Early()


def test_state_round_trip(tmp_path: Path) -> None:
    samara.manual_seed(0)
    net: Any = Net()
    other: Any = Net()
    net(samara.randn(5, 3))
    samara.save(net.state_dict(), tmp_path / "net.safetensors")
    result = other.load_state_dict(samara.load(tmp_path / "net.safetensors"))
    assert result == ([], [])
    for a, b in zip(net.state_dict().values(), other.state_dict().values(), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
        assert not np.shares_memory(a.numpy(), b.numpy())


def test_state_that_does_not_fit() -> None:
    net: Any = Net()
    state = dict(net.state_dict())
    before = net.first.bias.detach().numpy().copy()
    state["first.bias"] = samara.full((4,), 9.0)
    del state["scale"]
    state["more"] = samara.zeros(1)
    with pytest.raises(SamaraError, match=r"(?s)Unexpected.*\"more\".*Missing.*\"scale\""):
        net.load_state_dict(state)
    np.testing.assert_array_equal(net.first.bias.detach().numpy(), before)
    assert net.load_state_dict(state, strict=False) == (["scale"], ["more"])
    assert net.first.bias.tolist() == [9, 9, 9, 9]
    state = dict(net.state_dict()) | {"seen": samara.zeros(3), "first.bias": samara.zeros(4)}
    with pytest.raises(ShapeError, match=r"seen: .* shape \[3\] .* is \[2\]"):
        net.load_state_dict(state)
    assert net.first.bias.tolist() == [9, 9, 9, 9]


def test_modes_and_gradients() -> None:
    net: Any = Net()
    assert not net.eval().rest[2].training
    assert net.train().rest[2].training
    net(samara.randn(4, 3)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad(set_to_none=False)
    assert all((p.grad.numpy() == 0).all() for p in net.parameters() if p.grad is not None)
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net.requires_grad_(False)
    assert not net(samara.randn(4, 3)).requires_grad


def test_conversions() -> None:
    net = Net().double()
    assert {t.dtype.name for t in net.state_dict().values()} == {"float64", "int64"}
    assert net.to("cpu").float().first.weight.dtype == samara.float32
    assert net.to(samara.float16).cpu().half() is net
    with pytest.raises(SamaraError, match="cuda"):
        net.to("cuda")


def test_deep_copies_share_nothing() -> None:
    net: Any = Net()
    twin = copy.deepcopy(net)
    assert list(twin.state_dict()) == KEYS
    assert isinstance(twin.first.weight, nn.Parameter)
    with samara.no_grad():
        twin.first.weight.fill_(7.0)
    assert (net.first.weight.detach().numpy() != 7).all()


def test_apply_visits_children_first() -> None:
    order: list[str] = []
    Net().apply(lambda m: order.append(type(m).__name__))
    assert order == ["Linear", "BatchNorm1d", "ReLU", "Dropout", "Sequential", "Net"]


def test_hooks() -> None:
    layer = nn.Linear(2, 2, bias=False)
    x = samara.ones(1, 2)
    plain = layer(x).detach().numpy()
    before = layer.register_forward_pre_hook(lambda m, args: (args[0] * 2.0,))
    after = layer.register_forward_hook(lambda m, args, out: out + 1.0)
    np.testing.assert_allclose(layer(x).detach().numpy(), plain * 2 + 1, rtol=1e-6)
    before.remove()
    before.remove()
    with after:
        np.testing.assert_allclose(layer(x).detach().numpy(), plain + 1, rtol=1e-6)
    np.testing.assert_array_equal(layer(x).detach().numpy(), plain)
    seen: list[Any] = []
    with layer.register_full_backward_hook(lambda m, _, dy: seen.append(dy[0].numpy())):
        layer(x).sum().backward()
    np.testing.assert_array_equal(seen, [[[1, 1]]])


def test_forward_is_needed() -> None:
    with pytest.raises(NotImplementedError, match="forward"):
        nn.Module()(1)


def test_text() -> None:
    text = repr(Net())
    assert "(first): Linear(in_features=3, out_features=4, bias=True)" in text
    assert "    (2): Dropout(p=0.5, inplace=False)" in text
    assert repr(nn.ReLU(True)) == "ReLU(inplace=True)"
