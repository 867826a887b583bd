# SPDX-License-Identifier: Apache-2.0
"""Optimiser steps: known answers, some hundred steps against PyTorch, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import InferContext, OpSpec
from samara.exporter.types import ShapeError, TensorType

STEPS = 20
State = tuple[np.ndarray, ...]
Step = Callable[[np.ndarray, np.ndarray, State, np.ndarray], tuple[np.ndarray, State]]


def f32(value: Any) -> np.ndarray:
    return np.asarray(value, np.float32)


def test_sgd_by_hand() -> None:
    p, g, lr = f32([1, 2]), f32([0.5, -1]), f32(0.5)
    assert ops.sgd(p, g, lr)[0].tolist() == [0.75, 2.5]
    assert ops.sgd(p, g, lr, weight_decay=0.5)[0].tolist() == [0.5, 2.0]
    assert ops.sgd(p, g, lr, maximize=True)[0].tolist() == [1.25, 1.5]
    moved, buffer = ops.sgd(p, g, lr, f32([4, 4]), momentum=0.5)
    assert (moved.tolist(), buffer.tolist()) == ([-0.25, 1.5], [2.5, 1.0])
    moved, buffer = ops.sgd(p, g, lr, f32([4, 4]), momentum=0.5, nesterov=True)
    assert (moved.tolist(), buffer.tolist()) == ([0.125, 2.25], [2.5, 1.0])


def test_the_first_step_is_not_dampened() -> None:
    p, g, lr, old = f32([1.0]), f32([0.5]), f32(1), f32([np.nan])
    how = {"momentum": 0.5, "dampening": 0.5}
    assert ops.sgd(p, g, lr, old, f32(1), **how)[1].tolist() == [0.5]
    assert ops.sgd(p, g, lr, f32([1.0]), f32(2), **how)[1].tolist() == [0.75]


def test_float64_stays() -> None:
    p = np.array([1.0, 1 / 3])
    for got in ops.adam(p, p, p, p, np.array(0.1), np.array(3.0)):
        assert got.dtype == np.float64


def sgd(**how: Any) -> Step:
    def step(p: np.ndarray, g: np.ndarray, state: State, t: np.ndarray) -> Any:
        new, *rest = ops.sgd(p, g, f32(0.05), *(state or (None,)), t, **how)
        return new, tuple(rest)

    return step


def adam(**how: Any) -> Step:
    def step(p: np.ndarray, g: np.ndarray, state: State, t: np.ndarray) -> Any:
        new, *rest = ops.adam(p, g, *state, f32(0.05), t, **how)
        return new, tuple(rest)

    return step


def rmsprop(**how: Any) -> Step:
    def step(p: np.ndarray, g: np.ndarray, state: State, t: np.ndarray) -> Any:
        more = list(state[1:])
        mean = more.pop(0) if how.get("centered") else None
        buffer = more.pop(0) if how.get("momentum") else None
        new, *rest = ops.rmsprop(p, g, state[0], f32(0.05), mean, buffer, **how)
        return new, tuple(rest)

    return step


CASES = [
    ("SGD", sgd, {}, 0),
    ("SGD", sgd, {"momentum": 0.9}, 1),
    ("SGD", sgd, {"momentum": 0.9, "dampening": 0.3, "maximize": True}, 1),
    ("SGD", sgd, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, 1),
    ("Adam", adam, {}, 2),
    ("Adam", adam, {"weight_decay": 0.1, "betas": (0.8, 0.95), "eps": 1e-3}, 2),
    ("AdamW", adam, {"weight_decay": 0.1, "maximize": True}, 2),
    ("RMSprop", rmsprop, {"weight_decay": 0.1}, 1),
    ("RMSprop", rmsprop, {"centered": True, "alpha": 0.9}, 2),
    ("RMSprop", rmsprop, {"momentum": 0.5, "centered": True, "maximize": True}, 3),
]


@pytest.mark.parametrize(("name", "make", "how", "states"), CASES)
def test_like_pytorch(name: str, make: Any, how: dict[str, Any], states: int) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(len(name) + states)
    p = f32(rng.normal(size=(5, 7)))
    other = torch.nn.Parameter(torch.tensor(p))
    optimizer = getattr(torch.optim, name)([other], lr=0.05, **how)
    attrs = {k: v for k, v in how.items() if k not in ("betas", "eps")}
    if name == "AdamW":
        attrs["decoupled"] = True
    if "betas" in how:
        attrs |= {"beta1": how["betas"][0], "beta2": how["betas"][1], "epsilon": how["eps"]}
    step = make(**attrs)
    state: State = tuple(np.zeros_like(p) for _ in range(states))
    for t in range(1, STEPS + 1):
        g = f32(rng.normal(size=p.shape))
        other.grad = torch.tensor(g)
        optimizer.step()
        p, state = step(p, g, state, f32(t))
    np.testing.assert_allclose(p, other.detach().numpy(), rtol=2e-6, atol=4e-6)


def refusal(op: OpSpec, shapes: list[Any], **attrs: Any) -> str:
    types = [None if s is None else TensorType.of("f32", s) for s in shapes]
    with pytest.raises(ShapeError) as caught:
        op.infer(InferContext(op, types, op.complete(attrs)))
    return str(caught.value)


def test_refusals() -> None:
    p: list[Any] = [(3,), (3,)]
    assert "takes no buffer" in refusal(ops.sgd, [*p, (), (3,)])
    assert "needs buffer" in refusal(ops.sgd, [*p, ()], momentum=0.5)
    assert "needs step" in refusal(ops.sgd, [*p, (), (3,)], momentum=0.5, dampening=0.1)
    assert "nesterov needs momentum" in refusal(ops.sgd, [*p, ()], nesterov=True)
    assert "lr has rank 1" in refusal(ops.sgd, [*p, (1,)])
    assert "must be" in refusal(ops.sgd, [(3,), (4,), ()])
    assert "needs mean" in refusal(ops.rmsprop, [*p, (3,), ()], centered=True)
    assert "takes no buffer" in refusal(ops.rmsprop, [*p, (3,), (), None, (3,)])
