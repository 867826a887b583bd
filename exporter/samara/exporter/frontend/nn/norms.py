# SPDX-License-Identifier: Apache-2.0
"""Normalisation layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from samara.exporter.frontend import creation, tape
from samara.exporter.frontend.nn import functional as F
from samara.exporter.frontend.nn import statistics
from samara.exporter.frontend.nn.functional.normalization import (
    instance_statistics,
    move_statistics,
    normalize_by_batch,
)
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.nn.parameter import Parameter
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import ShapeError


class _Running(Module):
    """Scale, shift and running statistics per channel."""

    ranks: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        place: Any = {"dtype": dtype, "device": device}
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self.weight = Parameter(creation.ones(num_features, **place)) if affine else None
        shift = affine and bias
        self.bias = Parameter(creation.zeros(num_features, **place)) if shift else None
        tracked = track_running_stats
        mean = creation.zeros(num_features, **place) if tracked else None
        self.register_buffer("running_mean", mean)
        self.register_buffer(
            "running_var", creation.ones(num_features, **place) if tracked else None
        )
        count = creation.tensor(0, dtype=np.int64)
        self.register_buffer("num_batches_tracked", count if tracked else None)

    def _check(self, x: Tensor) -> None:
        if x.ndim not in self.ranks:
            raise ShapeError(
                f"{type(self).__name__} needs {' or '.join(map(str, self.ranks))} dimensions, got "
                f"{list(x.shape)}"
            )
        if x.shape[1] != self.num_features:
            raise ShapeError(
                f"{type(self).__name__} has {self.num_features} features, the input {x.shape[1]}"
            )

    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, nothing seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}"


class _BatchNorm(_Running):
    """Batch normalisation."""

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        if self.training and self.track_running_stats and self.running_mean is not None:
            y, *batch = normalize_by_batch(input, self.weight, self.bias, self.eps)
            statistics.take(self, *batch)
            return y
        by_batch = self.training or self.running_mean is None
        return F.batch_norm(
            input,
            None if by_batch else self.running_mean,
            None if by_batch else self.running_var,
            self.weight,
            self.bias,
            by_batch,
            eps=self.eps,
        )

    def _move_statistics(self, mean: Tensor, variance: Tensor) -> None:
        """Count a batch, and move the running statistics by its mean and unbiased variance."""
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.num_batches_tracked is not None:
            with tape.no_grad():
                self.num_batches_tracked.add_(1)
            if self.momentum is None:  # a plain mean over all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        move_statistics(self.running_mean, self.running_var, mean, variance, momentum)


class BatchNorm1d(_BatchNorm):
    """Of [N, C] or [N, C, L].

    >>> nn.BatchNorm1d(3)(samara.ones(2, 3, 8)).shape
    (2, 3, 8)
    """

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Of [N, C, H, W].

    >>> nn.BatchNorm2d(3)(samara.ones(2, 3, 8, 8)).shape
    (2, 3, 8, 8)
    """

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Of [N, C, D, H, W].

    >>> nn.BatchNorm3d(3)(samara.ones(2, 3, 8, 8, 8)).shape
    (2, 3, 8, 8, 8)
    """

    ranks = (5,)


class _InstanceNorm(_Running):
    """Instance normalisation."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        own = self.training or not self.track_running_stats
        if own and self.running_mean is not None:
            statistics.take(self, *instance_statistics(input))
        return F.instance_norm(
            input,
            None if own else self.running_mean,
            None if own else self.running_var,
            self.weight,
            self.bias,
            own,
            eps=self.eps,
        )

    def _move_statistics(self, mean: Tensor, variance: Tensor) -> None:
        """Move the running statistics by a batch's mean and unbiased variance."""
        momentum = 0.1 if self.momentum is None else self.momentum
        move_statistics(self.running_mean, self.running_var, mean, variance, momentum)


class InstanceNorm1d(_InstanceNorm):
    """Of [N, C, L].

    >>> nn.InstanceNorm1d(3)(samara.ones(2, 3, 8)).shape
    (2, 3, 8)
    """

    ranks = (3,)


class InstanceNorm2d(_InstanceNorm):
    """Of [N, C, H, W].

    >>> nn.InstanceNorm2d(3)(samara.ones(2, 3, 8, 8)).shape
    (2, 3, 8, 8)
    """

    ranks = (4,)


class InstanceNorm3d(_InstanceNorm):
    """Of [N, C, D, H, W].

    >>> nn.InstanceNorm3d(3)(samara.ones(2, 3, 8, 8, 8)).shape
    (2, 3, 8, 8, 8)
    """

    ranks = (5,)


class LayerNorm(Module):
    """Over the last dimensions.

    >>> nn.LayerNorm(4)(samara.ones(2, 4)).shape
    (2, 4)
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        self.normalized_shape = tuple(shape)
        self.eps = eps
        place: Any = {"dtype": dtype, "device": device}
        size = self.normalized_shape
        self.weight = Parameter(creation.ones(*size, **place)) if elementwise_affine else None
        shift = elementwise_affine and bias
        self.bias = Parameter(creation.zeros(*size, **place)) if shift else None

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


class RMSNorm(Module):
    """Root mean square over the last dimensions.

    >>> nn.RMSNorm(4)(samara.ones(2, 4)).shape
    (2, 4)
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        self.normalized_shape = tuple(shape)
        self.eps = eps
        ones = creation.ones(*self.normalized_shape, dtype=dtype, device=device)
        self.weight = Parameter(ones) if elementwise_affine else None

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


class GroupNorm(Module):
    """Over groups of channels.

    >>> nn.GroupNorm(2, 4)(samara.ones(1, 4, 8)).shape
    (1, 4, 8)
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ShapeError(f"{num_channels} channels cannot be cut into {num_groups} groups")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        place: Any = {"dtype": dtype, "device": device}
        self.weight = Parameter(creation.ones(num_channels, **place)) if affine else None
        shift = affine and bias
        self.bias = Parameter(creation.zeros(num_channels, **place)) if shift else None

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}"


class LocalResponseNorm(Module):
    """Across neighbouring channels.

    >>> nn.LocalResponseNorm(2)(samara.ones(1, 4, 8, 8)).shape
    (1, 4, 8, 8)
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.config: tuple[Any, ...] = (size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, *self.config)
