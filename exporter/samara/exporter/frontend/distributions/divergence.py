# SPDX-License-Identifier: Apache-2.0
"""The Kullback-Leibler divergence between distributions of one kind."""

from __future__ import annotations

import math

from samara.exporter import ops
from samara.exporter.frontend.distributions.base import Distribution
from samara.exporter.frontend.distributions.discrete import Bernoulli, Categorical
from samara.exporter.frontend.distributions.normal import Normal
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import UnsupportedError


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """KL(p || q) in nats; the batch shapes broadcast.

    p and q are both Normal, Bernoulli or Categorical. Raises UnsupportedError, which is a
    NotImplementedError, for other pairs.

    >>> normal = samara.distributions.Normal
    >>> samara.distributions.kl_divergence(normal(0.0, 1.0), normal(1.0, 1.0)).item()
    0.5
    """
    if isinstance(p, Normal) and isinstance(q, Normal):
        return _normal(p, q)
    if isinstance(p, Bernoulli) and isinstance(q, Bernoulli):
        return _bernoulli(p, q)
    if isinstance(p, Categorical) and isinstance(q, Categorical):
        return _categorical(p, q)
    raise UnsupportedError(
        f"there is no divergence of {type(p).__name__} from {type(q).__name__}",
        fix="use two Normal, two Bernoulli or two Categorical distributions",
    )


def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).square()
    distance = ((p.loc - q.loc) / q.scale).square()
    return (ratio + distance - 1.0 - ratio.log()) * 0.5


def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    """p (log p - log q) + (1 - p) (log(1 - p) - log(1 - q)); a probability of 0 adds 0."""
    one = p.probs * (ops.softplus(-q.logits) - ops.softplus(-p.logits))
    zero = (1.0 - p.probs) * (ops.softplus(q.logits) - ops.softplus(p.logits))
    one = ops.where(q.probs.eq(0.0) & p.probs.gt(0.0), math.inf, one)
    zero = ops.where(q.probs.eq(1.0) & p.probs.lt(1.0), math.inf, zero)
    one = ops.where(p.probs.eq(0.0), 0.0, one)
    return one + ops.where(p.probs.eq(1.0), 0.0, zero)


def _categorical(p: Categorical, q: Categorical) -> Tensor:
    parts = p.probs * (p.logits - q.logits)
    parts = ops.where(q.probs.eq(0.0), math.inf, parts)
    return ops.where(p.probs.eq(0.0), 0.0, parts).sum(-1)
