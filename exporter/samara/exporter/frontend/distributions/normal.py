# SPDX-License-Identifier: Apache-2.0
"""The normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from samara.exporter.frontend.distributions.base import Distribution, parameters
from samara.exporter.frontend.random import generator_of
from samara.exporter.frontend.tensor import Tensor, wrap


class Normal(Distribution):
    """Normal distributions with mean `loc` and standard deviation `scale`, which broadcast.

    Raises ArgumentError if a scale is not positive or a loc is NaN.

    PyTorch: `torch.distributions.Normal`.

    >>> scale = samara.tensor([1.0, 2.0], requires_grad=True)
    >>> normal = samara.distributions.Normal(0.0, scale)
    >>> normal.rsample((3,)).shape
    (3, 2)
    >>> [round(v, 4) for v in normal.log_prob(1.0).tolist()]
    [-1.4189, -1.7371]
    """

    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        (self.loc, self.scale), shape = parameters(loc, scale)
        super().__init__(shape, (), validate_args)
        self._checked("loc", self.loc, lambda x: ~np.isnan(x), "a real number")
        self._checked("scale", self.scale, lambda x: x > 0, "positive")

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.scale * self.scale

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw loc + scale * noise [*sample_shape, *batch_shape]."""
        noise = generator_of(None).normal(self._sizes(sample_shape))
        return self.loc + self.scale * wrap(noise.astype(self.loc.dtype))

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density at `value`."""
        x = self._value(value, lambda x: ~np.isnan(x), "a real number")
        z = (x - self.loc) / self.scale
        return z * z * -0.5 - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def cdf(self, value: Any) -> Tensor:
        """The probability of at most `value`."""
        x = self._value(value, lambda x: ~np.isnan(x), "a real number")
        return (((x - self.loc) / self.scale) * math.sqrt(0.5)).erf() * 0.5 + 0.5

    def entropy(self) -> Tensor:
        """0.5 + 0.5 log(2 pi) + log(scale)."""
        return self.scale.log() + (0.5 + 0.5 * math.log(2 * math.pi))
