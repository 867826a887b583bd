# SPDX-License-Identifier: Apache-2.0
"""The normal distribution against its formulas, its gradients, and the moments of its samples."""

from __future__ import annotations

import math

import numpy as np

import samara
from samara.autograd import gradcheck
from samara.distributions import Normal

LOC = np.array([[0.0], [1.5]])
SCALE = np.array([0.5, 1.0, 3.0])


def test_formulas_and_gradients() -> None:
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-6)):
        d = Normal(samara.tensor(LOC.astype(dtype)), samara.tensor(SCALE.astype(dtype)))
        value = samara.tensor(np.full((4, 2, 3), 0.7, dtype))
        z = (0.7 - LOC) / SCALE
        wanted = {
            "log": (d.log_prob(value)[0], -z * z / 2 - np.log(SCALE * math.sqrt(2 * math.pi))),
            "cdf": (d.cdf(value)[0], np.vectorize(math.erf)(z / math.sqrt(2)) / 2 + 0.5),
            "entropy": (d.entropy()[0], 0.5 * np.log(2 * math.pi * math.e * SCALE**2)),
            "mean": (d.mean, LOC + 0 * SCALE),
            "mode": (d.mode, LOC + 0 * SCALE),
            "variance": (d.variance[0], SCALE**2),
            "stddev": (d.stddev[0], SCALE),
        }
        for name, (found, expected) in wanted.items():
            assert found.dtype == dtype
            np.testing.assert_allclose(found.numpy(), expected, tolerance, tolerance, err_msg=name)
    loc, scale = (samara.tensor(a, requires_grad=True) for a in (LOC, SCALE))
    x = samara.full((2, 3), 0.3, dtype=samara.float64)
    assert gradcheck(lambda m, s: (Normal(m, s).log_prob(x), Normal(m, s).entropy()), (loc, scale))


def test_samples() -> None:
    samara.manual_seed(0)
    loc = samara.tensor([1.0, -2.0], requires_grad=True)
    scale = samara.tensor([0.5, 2.0], requires_grad=True)
    d = Normal(loc, scale)
    drawn = d.rsample((20000,))
    np.testing.assert_allclose(drawn.detach().numpy().mean(0), [1, -2], atol=0.05)
    np.testing.assert_allclose(drawn.detach().numpy().std(0), [0.5, 2], rtol=0.02)
    drawn.sum().backward()
    assert loc.grad is not None
    assert scale.grad is not None
    assert loc.grad.tolist() == [20000] * 2
    noise = (drawn - loc) / scale  # the gradient of the scale is the sum of the noise
    np.testing.assert_allclose(scale.grad.numpy(), noise.sum(0).detach().numpy(), rtol=1e-3)
    samara.manual_seed(0)
    assert samara.equal(d.sample((20000,)), drawn.detach())
