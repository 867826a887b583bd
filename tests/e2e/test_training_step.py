# SPDX-License-Identifier: Apache-2.0
"""A whole training step as a function of a file: twenty of them in C follow the eager ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara import nn, optim

STEPS, BATCH = 20, 32
LOSS_RTOL = 1e-5
WEIGHT_TOL = 1e-4  # of the largest element


def _model() -> Any:
    """A CNN with batch-norm. A bias before batch-norm has a gradient of zero, which AdamW would
    turn into steps by rounding errors, so the convolutions have none."""
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU()),
        nn.MaxPool2d(2),
        *(nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU()),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 10),
    )


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "adamw": lambda p: optim.AdamW(p, lr=2e-3, weight_decay=0.05),
    "sgd": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=True),
}


def _batches() -> list[tuple[Any, Any]]:
    images, labels = (t.numpy() for t in samara.data.digits(train=True).tensors)
    order = np.random.default_rng(0).permutation(len(images))[: STEPS * BATCH]
    chosen = order.reshape(STEPS, BATCH)
    return [(images[rows], labels[rows]) for rows in chosen]


def _state(model: Any) -> dict[str, Any]:
    return {name: np.array(t.numpy()) for name, t in model.state_dict().items()}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_in_c_follow_eager(name: str, tmp_path: Path) -> None:
    samara.manual_seed(0)
    model = _model()
    optimizer = OPTIMIZERS[name](model.parameters())
    batches = _batches()
    examples = tuple(map(samara.from_numpy, batches[0]))

    def train_step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    infer = samara.trace(model.eval(), examples[0], variables=True)
    model.train()
    before = _state(model)
    program = samara.trace(train_step, examples)
    assert all(np.array_equal(before[n], v) for n, v in _state(model).items())

    losses: dict[bool, list[float]] = {}
    weights: dict[bool, dict[str, Any]] = {}
    for passes in (False, True):
        file = tmp_path / f"{name}{passes}.samara"
        report = samara.export({"infer": infer, "train_step": program}, file, optimize=passes)
        session = samara.Session(file, function="train_step", threads=2)
        losses[passes] = [float(session.run({"x": x, "y": y})["loss"]) for x, y in batches]
        weights[passes] = {n: session.state[n] for n in before}
        nodes = len(report.program.functions["train_step"].nodes)
        print(
            f"{name}, {'after' if passes else 'before'} the passes: {nodes} nodes,"
            f" {session.arena_bytes:,} bytes of arena"
        )

    eager = [float(train_step(*map(samara.from_numpy, batch))["loss"].item()) for batch in batches]
    assert eager[-1] < 0.75 * eager[0]
    after = _state(model)
    for passes in (False, True):
        np.testing.assert_allclose(losses[passes], eager, rtol=LOSS_RTOL)
        for n, want in after.items():
            got = weights[passes][n]
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            assert np.abs(got - want).max() <= WEIGHT_TOL * np.abs(want).max(), n
            assert not np.array_equal(want, before[n]), n


# ---- what a step may do besides ----


def _second_pair() -> tuple[Any, Any, Any]:
    """A layer, another one like it, and SGD for the first."""
    samara.manual_seed(1)
    layer, other = nn.Linear(4, 4), nn.Linear(4, 4)
    return layer, other, optim.SGD(layer.parameters(), lr=0.1)


def _target_without_gradient(x: Any, layer: Any, other: Any) -> Any:
    with samara.no_grad():
        target = layer(x).tanh()
    return ((layer(x) - target) ** 2 * target).sum()


def _detached_in_a_branch(x: Any, layer: Any, other: Any) -> Any:
    h = layer(x)
    if x.sum() > -100:
        y = h.detach() * h
    else:
        y = h
    return y.sum()


def _detached_in_a_loop(x: Any, layer: Any, other: Any) -> Any:
    h = layer(x)
    for _ in range(samara.tensor(3)):
        h = h + 0.1 * h.detach() * layer(h)
    return (h**2).sum()


def _clamped_before(x: Any, layer: Any, other: Any) -> Any:
    with samara.no_grad():
        layer.weight.clamp_(-0.1, 0.1)
    return (layer(x) ** 2).sum()


def _rounded_straight_through(x: Any, layer: Any, other: Any) -> Any:
    h = layer(x)
    return (samara.autograd.straight_through((8 * h).round() / 8, h) ** 2).sum()


LOSSES = (
    _target_without_gradient,
    _detached_in_a_branch,
    _detached_in_a_loop,
    _clamped_before,
    _rounded_straight_through,
)


@pytest.mark.parametrize("loss_of", LOSSES)
def test_a_step_stops_gradients_where_eager_does(
    loss_of: Any, tmp_path: Path, rng: np.random.Generator
) -> None:
    layer, other, optimizer = _second_pair()

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(x, layer, other)
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    _compare(step, layer, tmp_path, rng)


def test_two_steps_clipping_and_an_average_in_one_function(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    layer, other, optimizer = _second_pair()

    def step(x: Any) -> Any:
        for _ in range(2):
            optimizer.zero_grad()
            for scale in (1.0, 0.5):  # gradients add up
                loss = (layer(scale * x) ** 2).mean()
                loss.backward()
            nn.utils.clip_grad_norm_(layer.parameters(), 0.1)
            optimizer.step()
        with samara.no_grad():
            for average, p in zip(other.parameters(), layer.parameters(), strict=True):
                average.mul_(0.9).add_(p, alpha=0.1)
        return {"loss": loss, "average": other.weight + 0}

    _compare(step, layer, tmp_path, rng)


def _compare(step: Any, layer: Any, tmp_path: Path, rng: np.random.Generator) -> None:
    """Three steps in C, of a file that script made, and three eager ones."""
    inputs = rng.standard_normal((3, 5, 4)).astype(np.float32)
    before = _state(layer)
    program = samara.script(step, samara.from_numpy(inputs[0]))
    samara.export(program, tmp_path / "step.samara")
    session = samara.Session(tmp_path / "step.samara", threads=1)
    for x in inputs:
        got, want = session.run({"x": x}), step(samara.from_numpy(x))
        for name, value in want.items():
            np.testing.assert_allclose(got[name], value.detach().numpy(), rtol=1e-5, atol=1e-6)
    (weight,) = (v for n, v in session.state.items() if n.endswith("weight") and "other" not in n)
    np.testing.assert_allclose(weight, layer.weight.detach().numpy(), rtol=1e-5, atol=1e-6)
    assert not np.array_equal(before["weight"], _state(layer)["weight"])
