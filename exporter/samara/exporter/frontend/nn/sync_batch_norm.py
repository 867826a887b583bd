# SPDX-License-Identifier: Apache-2.0
"""SyncBatchNorm: batch normalisation by the statistics of the batches of all ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.frontend.autograd import Function
from samara.exporter.frontend.distributed.collectives import all_gather_into_tensor, all_reduce
from samara.exporter.frontend.distributed.group import ProcessGroup, group_of, is_initialized
from samara.exporter.frontend.nn import statistics
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.nn.norms import _BatchNorm
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.exporter.types import ShapeError
from samara.pybridge.errors import SamaraError

Array = np.ndarray[Any, Any]


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of [N, C, …] over the samples of all ranks in training.

    Ranks may have different numbers of samples. Without a process group, with one rank and in
    evaluation it is an ordinary BatchNorm. It cannot be used inside `DistributedDataParallel.shards`,
    where every shard is a batch of its own.

    PyTorch: `torch.nn.SyncBatchNorm`.

    >>> def normalise():
    ...     layer = nn.SyncBatchNorm(1, affine=False)
    ...     x = samara.tensor([[1.0], [3.0]]) if samara.distributed.get_rank() else samara.zeros(2, 1)
    ...     return round(layer(x).sum().item(), 3)
    >>> samara.distributed.run_threads(normalise, 2)
    [-1.633, 1.633]
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: ProcessGroup | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype
        )
        self.process_group = process_group

    def _check(self, x: Tensor) -> None:
        if x.ndim < 2:
            raise ShapeError(f"SyncBatchNorm needs at least 2 dimensions, got {list(x.shape)}")
        self.ranks = (x.ndim,)
        super()._check(x)

    def forward(self, input: Tensor) -> Tensor:
        by_batch = self.training or self.running_mean is None
        if not by_batch or input._symbolic or not is_initialized():
            return super().forward(input)
        group = group_of(self.process_group)
        if group.size() == 1:
            return super().forward(input)
        if statistics.records() is not None:
            raise SamaraError(
                "SyncBatchNorm cannot be used inside shards(), where every shard is a batch of its own",
                fix="use BatchNorm",
            )
        self._check(input)
        moments = _Moments(input, group)
        if self.training and self.track_running_stats and self.running_mean is not None:
            unbiased = moments.variance * (moments.count / max(moments.count - 1, 1))
            dtype = self.running_mean.dtype
            self._move_statistics(wrap(moments.mean.astype(dtype)), wrap(unbiased.astype(dtype)))
        y: Tensor = _Normalise.apply(input, self.weight, self.bias, self.eps, moments)
        return y

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """`module` with every BatchNorm in it replaced by a SyncBatchNorm of the same state.

        >>> type(nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm2d(3))).__name__
        'SyncBatchNorm'
        """
        if isinstance(module, _BatchNorm) and not isinstance(module, cls):
            made = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
            )
            for table in ("_parameters", "_buffers"):
                for name, value in getattr(module, table).items():
                    setattr(made, name, value)
            made.training = module.training
            return made
        for name, child in list(module.named_children()):
            setattr(module, name, cls.convert_sync_batchnorm(child, process_group))
        return module


class _Moments:
    """Mean and variance [C] over the samples of all ranks, in float64, and how many values they are of.

    Each rank's own moments are combined by the formula of Chan, Golub and LeVeque (1979).
    """

    def __init__(self, input: Tensor, group: ProcessGroup) -> None:
        self.group = group
        x = _by_channel(input._data)
        own = np.zeros((3, x.shape[0]), np.float64)
        if x.shape[1]:
            own[0], own[1], own[2] = x.mean(1, np.float64), x.var(1, np.float64), x.shape[1]
        whole = np.empty((group.size(), *own.shape), np.float64)
        all_gather_into_tensor(wrap(whole), wrap(own), group)
        means, variances, counts = whole[:, 0], whole[:, 1], whole[:, 2]
        self.count = int(counts[:, 0].sum())
        if self.count < 2:
            raise ShapeError(
                f"batch normalisation in training got {self.count} values per channel over all ranks",
                fix="use a larger batch, or .eval()",
            )
        self.mean = (counts * means).sum(0) / self.count
        self.variance = (counts * (variances + (means - self.mean) ** 2)).sum(0) / self.count


class _Normalise(Function):
    """(x - mean) / sqrt(variance + eps) * weight + bias, where the moments depend on all ranks' x."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, bias: Any, eps: float, moments: _Moments) -> Any:
        data = x._data
        ctx.moments = moments
        ctx.scale = 1.0 / np.sqrt(moments.variance + eps)
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        y = (data - _over(moments.mean, data)) * _over(ctx.scale, data)
        if weight is not None:
            y = y * _over(weight._data, data)
        if bias is not None:
            y = y + _over(bias._data, data)
        return wrap(y.astype(data.dtype, copy=False))

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        x, weight = ctx.saved_tensors
        data, slope, moments = x._data, dy._data, ctx.moments
        normal = (data - _over(moments.mean, data)) * _over(ctx.scale, data)
        sums = np.stack(
            [
                _by_channel(slope).sum(1, dtype=np.float64),
                _by_channel(slope * normal).sum(1, dtype=np.float64),
            ]
        )
        own = sums.copy()
        all_reduce(wrap(sums), group=moments.group)
        means = sums / moments.count
        dx = slope - _over(means[0], data) - normal * _over(means[1], data)
        gain = ctx.scale if weight is None else ctx.scale * weight._data
        dx = (dx * _over(gain, data)).astype(data.dtype, copy=False)
        d_weight = None if weight is None else wrap(own[1].astype(weight._data.dtype))
        d_bias = wrap(own[0].astype(data.dtype)) if ctx.has_bias else None
        return wrap(dx), d_weight, d_bias, None, None


def _by_channel(x: Array) -> Array:
    """[N, C, …] as [C, N x …]."""
    return np.moveaxis(x, 1, 0).reshape(x.shape[1], -1)


def _over(channels: Array, x: Array) -> Array:
    """[C] in the dtype of x, for broadcasting over it."""
    return channels.astype(x.dtype).reshape(-1, *[1] * (x.ndim - 2))
