# SPDX-License-Identifier: Apache-2.0
"""Twenty steps of every variant against plain numpy formulas and against PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import samara
from samara import optim

Settings = dict[str, Any]
VARIANTS: dict[str, tuple[str, Settings]] = {
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd_decay": ("SGD", {"lr": 0.1, "weight_decay": 0.05}),
    "sgd_momentum": ("SGD", {"lr": 0.05, "momentum": 0.9}),
    "sgd_dampening": ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3}),
    "sgd_nesterov": ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    "sgd_maximize": ("SGD", {"lr": 0.05, "momentum": 0.8, "maximize": True, "weight_decay": 0.01}),
    "adam": ("Adam", {}),
    "adam_settings": ("Adam", {"lr": 0.01, "betas": (0.8, 0.95), "eps": 1e-4, "weight_decay": 0.1}),
    "adam_maximize": ("Adam", {"lr": 0.01, "maximize": True}),
    "adam_amsgrad": ("Adam", {"lr": 0.01, "amsgrad": True, "weight_decay": 0.1}),
    "adamw_amsgrad": (
        "AdamW",
        {"lr": 0.01, "amsgrad": True, "betas": (0.5, 0.9), "maximize": True},
    ),
    "adagrad": ("Adagrad", {}),
    "adagrad_settings": (
        "Adagrad",
        {"lr": 0.1, "lr_decay": 0.05, "weight_decay": 0.1, "initial_accumulator_value": 0.2},
    ),
    "adagrad_maximize": ("Adagrad", {"lr": 0.1, "maximize": True, "eps": 1e-3}),
    "adamw": ("AdamW", {"lr": 0.01}),
    "adamw_decay": ("AdamW", {"lr": 0.01, "weight_decay": 0.3, "betas": (0.5, 0.9)}),
    "rmsprop": ("RMSprop", {}),
    "rmsprop_decay": ("RMSprop", {"lr": 0.02, "alpha": 0.9, "weight_decay": 0.1}),
    "rmsprop_momentum": ("RMSprop", {"lr": 0.02, "momentum": 0.7}),
    "rmsprop_centered": ("RMSprop", {"lr": 0.02, "centered": True, "momentum": 0.7, "eps": 1e-3}),
    "rmsprop_maximize": ("RMSprop", {"lr": 0.02, "maximize": True}),
}
STEPS = 20
SHAPES = ((4, 5), (7,), ())
# Settings of operators are float32, for parameters of float64 too: 0.9 is 0.89999998.
DTYPES = [(np.float32, 3e-6), (np.float64, 1e-6)]


def gradients() -> Iterator[list[Any]]:
    source = np.random.default_rng(3)
    for _ in range(STEPS):
        yield [source.standard_normal(s) for s in SHAPES]


def start() -> list[Any]:
    source = np.random.default_rng(2)
    return [source.standard_normal(s) for s in SHAPES]


def sgd(p: Any, g: Any, s: Settings, o: Settings, t: int) -> Any:
    g = (-g if o.get("maximize") else g) + o.get("weight_decay", 0) * p
    mu = o.get("momentum", 0)
    if mu:
        s["b"] = g if t == 1 else mu * s["b"] + (1 - o.get("dampening", 0)) * g
        g = g + mu * s["b"] if o.get("nesterov") else s["b"]
    return p - o["lr"] * g


def adam(p: Any, g: Any, s: Settings, o: Settings, t: int) -> Any:
    decoupled = o.get("decoupled", False)
    lr, decay = o.get("lr", 1e-3), o.get("weight_decay", 1e-2 if decoupled else 0.0)
    b1, b2 = o.get("betas", (0.9, 0.999))
    g = -g if o.get("maximize") else g
    p, g = (p * (1 - lr * decay), g) if decoupled else (p, g + decay * p)
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
    s["top"] = np.maximum(s["v"], s.get("top", 0)) if o.get("amsgrad") else s["v"]
    m, v = s["m"] / (1 - b1**t), s["top"] / (1 - b2**t)
    return p - lr * m / (np.sqrt(v) + o.get("eps", 1e-8))


def rmsprop(p: Any, g: Any, s: Settings, o: Settings, t: int) -> Any:
    g = (-g if o.get("maximize") else g) + o.get("weight_decay", 0) * p
    a = o.get("alpha", 0.99)
    s["v"] = a * s.get("v", 0) + (1 - a) * g * g
    v = s["v"]
    if o.get("centered"):
        s["m"] = a * s.get("m", 0) + (1 - a) * g
        v = v - s["m"] ** 2
    step = g / (np.sqrt(v) + o.get("eps", 1e-8))
    if o.get("momentum"):
        s["b"] = step = o["momentum"] * s.get("b", 0) + step
    return p - o.get("lr", 1e-2) * step


def adagrad(p: Any, g: Any, s: Settings, o: Settings, t: int) -> Any:
    g = (-g if o.get("maximize") else g) + o.get("weight_decay", 0) * p
    s["sum"] = s.get("sum", o.get("initial_accumulator_value", 0)) + g * g
    rate = o.get("lr", 1e-2) / (1 + (t - 1) * o.get("lr_decay", 0))
    return p - rate * g / (np.sqrt(s["sum"]) + o.get("eps", 1e-10))


FORMULAS: dict[str, Any] = {
    "Adagrad": adagrad,
    "SGD": sgd,
    "Adam": adam,
    "AdamW": lambda p, g, s, o, t: adam(p, g, s, {**o, "decoupled": True}, t),
    "RMSprop": rmsprop,
}


def trained(kind: str, settings: Settings, dtype: Any, m: Any = samara) -> list[Any]:
    """The parameters after all steps, with the module `samara` or `torch`."""
    params = [m.tensor(p.astype(dtype), requires_grad=True) for p in start()]
    optimizer = getattr(m.optim, kind)(params, **settings)
    for grads in gradients():
        for p, g in zip(params, grads, strict=True):
            p.grad = m.tensor(np.asarray(g, dtype))
        optimizer.step()
    found = [p.detach().numpy() for p in params]
    assert all(a.dtype == dtype for a in found)
    return found


def close(found: list[Any], expected: list[Any], tolerance: float) -> None:
    for a, b in zip(found, expected, strict=True):
        assert np.abs(a - b).max() <= tolerance * np.abs(b).max()


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@pytest.mark.parametrize("name", VARIANTS)
def test_formulas(name: str, dtype: Any, tolerance: float) -> None:
    kind, settings = VARIANTS[name]
    expected = start()
    states: list[Settings] = [{} for _ in SHAPES]
    for t, grads in enumerate(gradients(), 1):
        expected = [
            FORMULAS[kind](p, g, s, settings, t)
            for p, g, s in zip(expected, grads, states, strict=True)
        ]
    close(trained(kind, settings, dtype), expected, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@pytest.mark.parametrize("name", VARIANTS)
def test_as_pytorch(name: str, dtype: Any, tolerance: float) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is compared with where it is installed")
    kind, settings = VARIANTS[name]
    close(trained(kind, settings, dtype), trained(kind, settings, dtype, torch), tolerance)


def test_states_have_the_names_of_pytorch() -> None:
    for name, keys in {
        "sgd": set(),
        "sgd_momentum": {"momentum_buffer"},
        "adam": {"step", "exp_avg", "exp_avg_sq"},
        "adam_amsgrad": {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
        "adagrad": {"step", "sum"},
        "rmsprop_centered": {"step", "square_avg", "grad_avg", "momentum_buffer"},
    }.items():
        kind, settings = VARIANTS[name]
        p = samara.ones(2, requires_grad=True)
        optimizer = getattr(optim, kind)([p], **settings)
        p.grad = samara.ones(2)
        optimizer.step()
        state = optimizer.state_dict()["state"]
        assert set(state.get(0, {})) == keys


@pytest.mark.parametrize("kind", ["SGD", "AdamW", "RMSprop"])
def test_half_precision_follows_within_its_digits(kind: str) -> None:
    settings: Settings = {"lr": 0.01, **({"eps": 1e-4} if kind != "SGD" else {})}
    close(trained(kind, settings, np.float16), trained(kind, settings, np.float64), 2e-2)
