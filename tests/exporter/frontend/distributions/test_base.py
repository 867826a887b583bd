# SPDX-License-Identifier: Apache-2.0
"""Shapes, checks and samples of all distributions; densities export and samples do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import samara
from samara.distributions import Bernoulli, Categorical, Distribution, Normal
from samara.pybridge.errors import ArgumentError, ShapeError, UnsupportedError

nan = float("nan")


def test_shapes_and_dtypes() -> None:
    ones = samara.ones
    cases: list[tuple[Distribution, tuple[int, ...], Any]] = [
        (Normal(samara.zeros(3, 1), ones(2)), (3, 2), np.float32),
        (Normal(0, 1), (), np.float32),
        (Normal(ones(2, dtype=samara.float64), 2.0), (2,), np.float64),
        (Bernoulli(ones(4) * 0.5), (4,), np.float32),
        (Bernoulli(logits=ones(2, dtype=samara.float64)), (2,), np.float64),
        (Categorical(ones(5, 3)), (5,), np.int64),
        (Categorical(logits=ones(3)), (), np.int64),
    ]
    for d, batch, dtype in cases:
        assert d.batch_shape == batch
        assert d.event_shape == ()
        assert d.mean.shape == d.variance.shape == d.stddev.shape == batch
        assert d.entropy().shape == d.perplexity().shape == d.mode.shape == batch
        for shape in ((), (7,), (2, 3), (0,)):
            drawn = d.sample(shape)
            assert drawn.shape == (*shape, *batch), d
            assert drawn.dtype == dtype
            assert not drawn.requires_grad
            assert d.log_prob(drawn).shape == drawn.shape
        assert repr(d) == f"{type(d).__name__}(batch_shape={batch}, event_shape=())"


def test_wrong_arguments() -> None:
    tensor = samara.tensor
    wrongs: list[tuple[Callable[[], Any], str]] = [
        (lambda: Normal(0.0, tensor([1.0, -1.0])), r"scale of Normal must be positive.*at \[1\]"),
        (lambda: Normal(nan, 1.0), "loc of Normal"),
        (lambda: Normal(0.0, 1.0).log_prob(nan), "a value of Normal"),
        (lambda: Bernoulli(tensor([1.5])), "from 0 to 1"),
        (lambda: Bernoulli(logits=nan), "logits of Bernoulli"),
        (lambda: Bernoulli(0.5).log_prob(0.5), "0 or 1"),
        (lambda: Bernoulli(), "neither"),
        (lambda: Categorical(samara.ones(2), samara.ones(2)), "both"),
        (lambda: Categorical(tensor([[1.0, 1.0], [-1.0, 2.0]])), r"at least 0.*at \[1\]"),
        (lambda: Categorical(samara.zeros(3)), "positive sum"),
        (lambda: Categorical(samara.ones(2)).log_prob(2), "a class"),
    ]
    for wrong, match in wrongs:
        with pytest.raises(ArgumentError, match=match):
            wrong()
    with pytest.raises(ShapeError, match="0 dimensions"):
        Categorical(1.0)
    with pytest.raises(ShapeError, match="broadcast"):
        Normal(samara.zeros(4), 1.0).log_prob(samara.zeros(3))
    assert Normal(0.0, -1.0, validate_args=False).mean.item() == 0
    Distribution.set_default_validate_args(False)
    try:
        assert float(Bernoulli(2.0).variance) == -2
    finally:
        Distribution.set_default_validate_args(True)
    for discrete in (Bernoulli(0.5), Categorical(samara.ones(2))):
        assert not discrete.has_rsample
        with pytest.raises(UnsupportedError, match="reparametrized"):
            discrete.rsample()
    for missing in ("mean", "mode", "variance"):
        with pytest.raises(NotImplementedError):
            getattr(Distribution(), missing)


def test_densities_export_and_samples_are_refused() -> None:
    def density(x: samara.Tensor, logits: samara.Tensor) -> dict[str, samara.Tensor]:
        policy = Categorical(logits=logits)
        return {
            "normal": Normal(x, x.exp()).log_prob(0.5),
            "policy": policy.log_prob(samara.tensor([1, 0])) + policy.entropy(),
            "coin": Bernoulli(logits=x).log_prob(samara.ones(2)),
        }

    x, logits = samara.tensor([0.1, -1.0]), samara.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0]])
    program = samara.trace(density, (x, logits))
    found = program.run({"x": x.numpy(), "logits": logits.numpy()})
    for name, value in density(x, logits).items():
        np.testing.assert_allclose(found[name], value.numpy(), rtol=1e-5)
    for d in (Normal(0.0, 1.0), Bernoulli(0.5), Categorical(samara.ones(2))):
        with pytest.raises(UnsupportedError, match=f"samples of {type(d).__name__} cannot"):
            samara.trace(lambda x, d=d: x + d.sample((2,)), x)
