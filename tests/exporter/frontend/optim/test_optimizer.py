# SPDX-License-Identifier: Apache-2.0
"""What optimisers share: groups, closures, state, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara import optim
from samara.exporter.frontend import native
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge import op as bridge
from samara.pybridge.errors import SamaraError, ShapeError

KINDS: dict[str, Any] = {
    "sgd": lambda p, **k: optim.SGD(p, **{"lr": 0.1, "momentum": 0.9, **k}),
    "sgd_dampened": lambda p, **k: optim.SGD(
        p, **{"lr": 0.1, "momentum": 0.9, "dampening": 0.5, **k}
    ),
    "adam": lambda p, **k: optim.Adam(p, **k),
    "adamw": lambda p, **k: optim.AdamW(p, **k),
    "amsgrad": lambda p, **k: optim.AdamW(p, **{"amsgrad": True, **k}),
    "adagrad": lambda p, **k: optim.Adagrad(
        p, **{"lr": 0.1, "initial_accumulator_value": 0.1, **k}
    ),
    "rmsprop": lambda p, **k: optim.RMSprop(p, **{"momentum": 0.9, "centered": True, **k}),
}


def params(dtype: Any = np.float32) -> list[Tensor]:
    source = np.random.default_rng(0)
    return [
        samara.from_numpy(source.standard_normal(s).astype(dtype)).requires_grad_()
        for s in ((3, 4), (5,), ())
    ]


def step(optimizer: Any, given: list[Tensor], seed: int) -> None:
    source = np.random.default_rng(seed)
    for p in given:
        p.grad = samara.tensor(source.standard_normal(p.shape).astype(p.dtype))
    optimizer.step()


def values(given: list[Tensor]) -> list[Any]:
    return [p.detach().numpy().tolist() for p in given]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_resuming_is_bit_equal(kind: str, dtype: Any, tmp_path: Path) -> None:
    straight = params(dtype)
    optimizer = KINDS[kind](straight)
    for i in range(3):
        step(optimizer, straight, i)
    halfway = [p.detach().clone() for p in straight]
    path = tmp_path / "state.safetensors"
    samara.save({"optimizer": optimizer.state_dict()}, path)
    kept = optimizer.state_dict()
    for stored in (samara.load(path)["optimizer"], kept):
        again = [p.clone().requires_grad_() for p in halfway]
        other = KINDS[kind](again, lr=0.7)
        other.load_state_dict(stored)
        assert other.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]
        if stored is not kept:
            for i in range(3, 6):
                step(other, again, i)
            resumed = values(again)
    for i in range(3, 6):
        step(optimizer, straight, i)
    assert values(straight) == resumed


def test_a_loaded_state_is_a_copy() -> None:
    given = params()
    a, b = KINDS["adam"](given), KINDS["adam"](params())
    step(a, given, 0)
    state = a.state_dict()
    b.load_state_dict(state)
    first = next(iter(b.state.values()))["exp_avg"]
    assert not np.shares_memory(first.numpy(), state["state"][0]["exp_avg"].numpy())


def test_groups() -> None:
    a, b, c = params()
    optimizer = optim.SGD([{"params": [a], "lr": 1.0}, {"params": b}], lr=0.5)
    optimizer.add_param_group({"params": [c], "momentum": 0.9})
    assert [g["lr"] for g in optimizer.param_groups] == [1.0, 0.5, 0.5]
    assert [g["momentum"] for g in optimizer.param_groups] == [0, 0, 0.9]
    before = values([a, b, c])
    for p in (a, b, c):
        p.grad = samara.ones(*p.shape)
    optimizer.step()
    for p, old, rate in zip((a, b, c), before, (1.0, 0.5, 0.5), strict=True):
        np.testing.assert_allclose(p.detach().numpy(), np.array(old) - rate, rtol=1e-6)
    with pytest.raises(SamaraError, match="twice"):
        optimizer.add_param_group({"params": [a]})
    with pytest.raises(SamaraError, match="leaves"):
        optimizer.add_param_group({"params": [a * 2]})


def test_one_call_for_all_float32_parameters() -> None:
    given = params()
    optimizer = optim.AdamW(given)
    step(optimizer, given, 0)
    before, missed = bridge.run_counts().get("adam", 0), native.fallbacks.copy()
    versions = [p._version[0] for p in given]
    step(optimizer, given, 1)
    assert bridge.run_counts()["adam"] == before + 3
    assert native.fallbacks == missed
    assert [p._version[0] for p in given] == [v + 1 for v in versions]


def test_parameters_without_gradients_stay() -> None:
    a, b, _ = params()
    optimizer = optim.Adam([a, b])
    before = values([b])
    a.grad = samara.ones(3, 4)
    optimizer.step()
    assert values([b]) == before
    assert len(optimizer.state) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_strided_gradients_and_parameters(kind: str) -> None:
    results = []
    for how in range(3):
        p = samara.arange(12).float().reshape(3, 4)
        if how == 2:
            p = p.t().contiguous().t()
        p.requires_grad_()
        optimizer = KINDS[kind]([p])
        for i in range(3):
            g = samara.tensor(np.random.default_rng(i).standard_normal((3, 4)).astype(np.float32))
            p.grad = g.t().contiguous().t() if how else g
            optimizer.step()
        assert p.is_contiguous() == (how < 2)
        results.append(p.detach().numpy())
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(results[0], results[2], rtol=1e-5)


def test_zero_grad() -> None:
    given: list[Any] = list(params())
    a, b, _ = given
    optimizer = optim.SGD([a, b])
    a.grad = samara.ones(3, 4)
    held = a.grad
    optimizer.zero_grad(set_to_none=False)
    assert a.grad is not None
    assert held.sum() == 0
    assert b.grad is None
    optimizer.zero_grad()
    assert [p.grad for p in given] == [None] * 3


def test_zero_grad_of_gradients_with_a_graph() -> None:
    a: Any = samara.ones(2, requires_grad=True)
    (a * a).sum().backward(create_graph=True)
    optim.SGD([a]).zero_grad(set_to_none=False)
    assert not a.grad.requires_grad
    assert a.grad.tolist() == [0, 0]


def test_closures_and_hooks() -> None:
    (a, *_) = params()
    optimizer = optim.SGD([a], lr=0.1)
    seen: list[Any] = []
    handle = optimizer.register_step_post_hook(seen.append)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = (a * a).sum()
        loss.backward()
        return loss

    with samara.no_grad():
        first = optimizer.step(closure)
        second = optimizer.step(closure)
    assert float(second) < float(first)
    assert seen == [optimizer] * 2
    handle()
    optimizer.step()
    assert len(seen) == 2
    assert samara.is_grad_enabled()


@pytest.mark.parametrize("kind", KINDS)
def test_maximize_is_the_negative_gradient(kind: str) -> None:
    up, down = params(), params()
    first, second = KINDS[kind](up, maximize=True), KINDS[kind](down)
    for i in range(3):
        step(first, up, i)
        source = np.random.default_rng(i)
        for p in down:
            p.grad = samara.tensor(-source.standard_normal(p.shape).astype(np.float32))
        second.step()
    for a, b in zip(up, down, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_rate_may_be_a_tensor(kind: str) -> None:
    plain, given = params(), params()
    lr = samara.tensor(0.03)
    a, b = KINDS[kind](plain, lr=0.03), KINDS[kind](given, lr=lr)
    for i in range(4):
        if i == 2:
            a.param_groups[0]["lr"] = 0.01
            lr.fill_(0.01)
        step(a, plain, i)
        step(b, given, i)
    assert values(plain) == values(given)


def test_wrong_settings() -> None:
    given = params()
    wrongs: list[Any] = [
        lambda: optim.SGD(given, lr=-1.0),
        lambda: optim.SGD(given, nesterov=True),
        lambda: optim.Adam(given, betas=(1.0, 0.9)),
        lambda: optim.Adam(given, eps=-1.0),
        lambda: optim.AdamW(given, weight_decay=-0.1),
        lambda: optim.RMSprop(given, alpha=-0.1),
        lambda: optim.Adagrad(given, lr_decay=-0.1),
        lambda: optim.SGD([]),
        lambda: optim.SGD(given[0]),
        lambda: optim.SGD([given[0] * 2]),
    ]
    for wrong in wrongs:
        with pytest.raises(SamaraError):
            wrong()


def test_states_of_other_parameters_are_refused() -> None:
    given = params()
    optimizer = KINDS["adam"](given)
    step(optimizer, given, 0)
    state = optimizer.state_dict()
    with pytest.raises(SamaraError, match="groups"):
        KINDS["adam"](given[:2]).load_state_dict(state)
    with pytest.raises(ShapeError, match="exp_avg"):
        KINDS["adam"](given[::-1]).load_state_dict(state)
    assert repr(optimizer).startswith("Adam(lr=")


def test_a_state_of_pytorch_loads() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is compared with where it is installed")
    kinds: dict[str, Any] = {
        "SGD": {"momentum": 0.9, "dampening": 0.5}, "Adam": {"amsgrad": True}, "AdamW": {},
        "RMSprop": {}, "Adagrad": {"lr_decay": 0.1},
    }  # fmt: skip
    for kind, settings in kinds.items():
        given = params()
        theirs = [torch.from_numpy(p.detach().numpy().copy()).requires_grad_() for p in given]
        other = getattr(torch.optim, kind)(theirs, lr=0.01, **settings)
        own = getattr(optim, kind)(given, lr=0.5, **settings)
        for i in range(6):
            source = np.random.default_rng(i)
            grads = [source.standard_normal(tuple(p.shape)).astype(np.float32) for p in given]
            for q, g in zip(theirs, grads, strict=True):
                q.grad = torch.from_numpy(g)
            other.step()
            if i < 3:
                continue
            if i == 3:
                state = other.state_dict()
                arrays = {
                    k: {n: v.numpy() for n, v in s.items()} for k, s in state["state"].items()
                }
                known = {"lr", "momentum", "dampening", "weight_decay", "nesterov", "betas", "eps",
                         "alpha", "centered", "maximize", "params", "amsgrad", "lr_decay"}  # fmt: skip
                groups = [{k: v for k, v in g.items() if k in known} for g in state["param_groups"]]
                own.load_state_dict({"state": arrays, "param_groups": groups})
                with samara.no_grad():
                    for p, q in zip(given, theirs, strict=True):
                        p.copy_(samara.from_numpy(q.detach().numpy()))
                continue
            for p, g in zip(given, grads, strict=True):
                p.grad = samara.tensor(g)
            own.step()
        for p, q in zip(given, theirs, strict=True):
            np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-5, atol=1e-6)
