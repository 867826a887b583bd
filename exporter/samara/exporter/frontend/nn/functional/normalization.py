# SPDX-License-Identifier: Apache-2.0
"""Normalisation layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from samara.exporter import ops
from samara.exporter.frontend import tape
from samara.exporter.frontend.nn.functional.channel_order import channels_first, channels_last
from samara.exporter.frontend.reshaping import product
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.ops.autodiff import beside
from samara.exporter.types import ArgumentError, DType
from samara.pybridge.errors import ShapeError


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel (dimension 1) of mean 0 and variance 1, times weight, plus bias.

    (Ioffe and Szegedy 2015, arXiv:1502.03167.) In training by the batch's statistics, which move
    the running ones: new = (1 - momentum) * old + momentum * batch, with the unbiased variance.
    """
    if input.ndim < 2:
        raise ShapeError(f"batch_norm needs at least 2 dimensions, got {list(input.shape)}")
    if training:
        if running_mean is None or running_var is None:
            return _by_batch(input, weight, bias, eps)[0]
        y, mean, variance = normalize_by_batch(input, weight, bias, eps)
        move_statistics(running_mean, running_var, mean, variance, momentum)
        return y
    if running_mean is None or running_var is None:
        raise ArgumentError("batch_norm outside training needs running statistics")
    gain = ops.rsqrt(ops.add(running_var, eps))
    gain = gain if weight is None else ops.mul(gain, weight)
    offset = ops.neg(ops.mul(running_mean, gain))
    offset = offset if bias is None else ops.add(offset, bias)
    if input.ndim == 2:
        return ops.add(ops.mul(input, gain), offset)
    return channels_first(ops.add(ops.mul(channels_last(input), gain), offset))


def normalize_by_batch(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`batch_norm` in training, and what moves the running statistics, without gradients: the mean
    and the unbiased variance of each channel [C]."""
    y, mean, var, count = _by_batch(input, weight, bias, eps)
    with tape.no_grad():
        return y, mean.detach(), unbiased(input, var.detach(), count)


def unbiased(x: Any, variance: Any, count: Any) -> Any:
    """The unbiased variance of `count` values (symbolic beside a traced `x`) from their variance."""
    if isinstance(count, int):
        return variance * (count / (count - 1))
    n = beside(x, ops.dims, values=(count,), dtype=DType.F32, scalar=True)
    return variance * (n / (n - 1.0))


def move_statistics(
    running_mean: Any, running_var: Any, mean: Any, variance: Any, momentum: float
) -> None:
    """Move running statistics towards a batch's mean and unbiased variance, in place."""
    with tape.no_grad():
        running_mean.mul_(1 - momentum).add_(mean * momentum)
        running_var.mul_(1 - momentum).add_(variance * momentum)


def _by_batch(input: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any, Any]:
    """The normalised input, mean and variance of each channel, and of how many values."""
    x = input if input.ndim == 2 else channels_last(input)
    count = product(x.shape[:-1])
    if isinstance(count, int) and count < 2:
        raise ShapeError(
            f"batch_norm in training needs more than one value per channel, got {list(input.shape)}",
            fix="use a larger batch, or .eval()",
        )
    y, mean, var = ops.batch_norm(x, weight, bias, eps=eps)
    return y if input.ndim == 2 else channels_first(y), mean, var, count


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """The last dimensions of mean 0 and variance 1, times weight, plus bias (arXiv:1607.06450)."""
    axis = _last(input, normalized_shape, "layer_norm")
    return ops.layer_norm(input, weight, bias, axis=axis, eps=eps)


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """The last dimensions divided by their root mean square, times weight (arXiv:1910.07467)."""
    axis = _last(input, normalized_shape, "rms_norm")
    if eps is None:
        eps = 2.0**-52 if input.dtype.itemsize == 8 else 2.0**-23
    return ops.rms_norm(input, weight, axis=axis, eps=eps)


def _last(x: Any, shape: Sequence[int], what: str) -> int:
    axis = x.ndim - len(shape)
    if axis < 0 or any(n != m for n, m in zip(x.shape[axis:], shape, strict=True)):
        raise ShapeError(f"{what} over {list(shape)} of a tensor of shape {list(x.shape)}")
    return axis


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Groups of channels (dimension 1) of each sample of mean 0 and variance 1 (arXiv:1803.08494)."""
    channels: Any = input.shape[1]  # symbolic in a trace
    if isinstance(channels, int) and channels % num_groups:
        raise ShapeError(f"{channels} channels cannot be cut into {num_groups} groups")
    return channels_first(
        ops.group_norm(channels_last(input), weight, bias, groups=num_groups, eps=eps)
    )


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of each sample of mean 0 and variance 1 (arXiv:1607.08022)."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if running_mean is not None and running_var is not None:
        move_statistics(running_mean, running_var, *instance_statistics(input), momentum)
    return channels_first(ops.group_norm(channels_last(input), weight, bias, groups=0, eps=eps))


def instance_statistics(input: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and unbiased variance of each channel [C], as means over the samples, without gradients."""
    with tape.no_grad():
        var, mean = input.detach().var_mean(tuple(range(2, input.ndim)))
        return mean.mean(0), var.mean(0)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divided by a power of the squares of neighbouring channels (Krizhevsky et al. 2012)."""
    y = ops.lrn(channels_last(input), size=size, alpha=alpha, beta=beta, bias=k)
    return channels_first(y)
