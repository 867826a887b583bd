# SPDX-License-Identifier: Apache-2.0
"""Distributions over two values and over classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import creation
from samara.exporter.frontend.distributions.base import Distribution, one_of
from samara.exporter.frontend.operands import broadcast_shapes
from samara.exporter.frontend.random import generator_of
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.pybridge.errors import ShapeError


def clamped(probs: Tensor) -> Tensor:
    """Probabilities away from 0 and 1 by the dtype's eps, so that their logarithms are finite."""
    eps = float(np.finfo(probs.dtype).eps)
    return probs.maximum(eps).minimum(1 - eps)  # bounds of clamp are float32


def _unit(p: Any) -> Any:
    return (p >= 0) & (p <= 1)


class Bernoulli(Distribution):
    """1 with probability `probs`, or sigmoid(`logits`), and 0 otherwise; one of them is given.

    Raises ArgumentError if probs are not from 0 to 1, logits are NaN, or a value is not 0 or 1.

    PyTorch: `torch.distributions.Bernoulli`.

    >>> coin = samara.distributions.Bernoulli(probs=samara.tensor([0.25, 0.5]))
    >>> [round(v, 4) for v in coin.log_prob(samara.ones(2)).tolist()]
    [-1.3863, -0.6931]
    >>> coin.sample((4,)).shape
    (4, 2)
    """

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        given = one_of("Bernoulli", probs, logits)
        super().__init__(given.shape, (), validate_args)
        if probs is not None:
            self.probs = self._checked("probs", given, _unit, "from 0 to 1")
            safe = clamped(given)
            self.logits = safe.log() - (-safe).log1p()
        else:
            self.logits = self._checked("logits", given, lambda x: ~np.isnan(x), "a real number")
            self.probs = given.sigmoid()

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        """1 or 0; NaN where both are as likely."""
        likely = ops.where(self.probs.ge(0.5), 1.0, self.probs * 0.0)
        return ops.where(self.probs.eq(0.5), float("nan"), likely)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1.0 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw 0 or 1 in the dtype of the parameter [*sample_shape, *batch_shape]."""
        drawn = generator_of(None).uniform(self._sizes(sample_shape))
        return wrap(np.asarray(drawn < self.probs._data, self.probs.dtype))

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the probability of `value`."""
        x = self._value(value, lambda x: (x == 0) | (x == 1), "0 or 1").to(self.logits.dtype)
        return self._expected(x)

    def entropy(self) -> Tensor:
        """-p log(p) - (1 - p) log(1 - p)."""
        return -self._expected(self.probs)

    def _expected(self, share: Tensor) -> Tensor:
        """The mean of the logarithms of both probabilities, that of 1 counting by `share`."""
        return -(share * ops.softplus(-self.logits) + (1.0 - share) * ops.softplus(self.logits))


class Categorical(Distribution):
    """Classes 0 .. n-1 by `probs`, which are scaled to sum 1, or by `logits`; one of them is given.

    The last axis holds the classes, the others are the batch. Raises ArgumentError if probs are
    negative or sum to 0, logits are NaN, or a value is no class.

    PyTorch: `torch.distributions.Categorical`.

    >>> policy = samara.distributions.Categorical(probs=samara.tensor([[1.0, 3.0], [1.0, 1.0]]))
    >>> policy.probs.tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    >>> [round(v, 4) for v in policy.log_prob(samara.tensor([1, 0])).tolist()]
    [-0.2877, -0.6931]
    """

    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        given = one_of("Categorical", probs, logits)
        if given.ndim == 0:
            raise ShapeError("Categorical needs an axis of classes, got a tensor of 0 dimensions")
        super().__init__(given.shape[:-1], (), validate_args)
        if probs is not None:
            self._checked("probs", given, lambda p: (p >= 0).all(-1), "at least 0")
            self._checked("probs", given, lambda p: p.sum(-1) > 0, "of a positive sum")
            self.probs = given / given.sum(-1, keepdim=True)
            self.logits = clamped(self.probs).log()
        else:
            self._checked("logits", given, lambda x: ~np.isnan(x), "a real number")
            self.logits = given - given.logsumexp(-1, keepdim=True)
            self.probs = self.logits.softmax(-1)

    @property
    def mean(self) -> Tensor:
        """NaN: classes are no numbers."""
        return self.probs.detach().sum(-1) * float("nan")

    @property
    def variance(self) -> Tensor:
        """NaN: classes are no numbers."""
        return self.mean

    @property
    def mode(self) -> Tensor:
        """The most likely classes, int64 [*batch_shape]."""
        return self.probs.argmax(-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw classes, int64 [*sample_shape, *batch_shape]."""
        sizes = self._sizes(sample_shape)
        count = int(np.prod(tuple(sample_shape), dtype=np.int64))
        drawn = creation.multinomial(self.probs.detach(), count, replacement=True)
        return drawn.movedim(-1, 0).reshape(*sizes) if drawn.ndim > 1 else drawn.reshape(*sizes)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All classes, int64 [n, *batch_shape]; [n, 1, ..] unless `expand`."""
        n = self.probs.shape[-1]
        classes = creation.arange(n).reshape(-1, *(1 for _ in self._batch_shape))
        return classes.expand(n, *self._batch_shape) if expand else classes

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the probability of the classes `value`."""
        n = self.logits.shape[-1]
        x = self._value(value, lambda x: (x >= 0) & (x < n) & (x == np.floor(x)), "a class").long()
        shape = broadcast_shapes(x.shape, self._batch_shape)
        logits = self.logits.expand(*shape, n)
        return logits.gather(-1, x.expand(*shape).unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Tensor:
        """-sum(p log(p)); a class of probability 0 adds 0."""
        lowest = float(np.finfo(self.logits.dtype).min)
        return -(self.logits.maximum(lowest) * self.probs).sum(-1)
