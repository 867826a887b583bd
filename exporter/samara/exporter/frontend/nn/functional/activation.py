# SPDX-License-Identifier: Apache-2.0
"""Activations and dropout."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from samara.exporter import ops
from samara.exporter.frontend.operands import axis_of, cast, floating
from samara.exporter.frontend.random import Generator, generator_of
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ArgumentError

_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0)."""
    return input.relu_() if inplace else ops.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6)."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Clamped to [min_val, max_val]."""
    return _into(input, inplace, lambda x: ops.clamp(x, lo=min_val, hi=max_val, open=True))


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where x >= 0, else negative_slope * x."""
    return _into(input, inplace, lambda x: ops.leaky_relu(x, alpha=negative_slope))


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """`leaky_relu` with a slope drawn for every element from [lower, upper); their middle without
    `training` (Xu et al. 2015, arXiv:1505.00853)."""
    if lower > upper:
        raise ArgumentError(
            f"rrelu with slopes from {lower} to {upper}", fix="lower is at most upper"
        )
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    drawn = ops.random_uniform(generator_of(None).key(input), shape=input.shape)
    slope = cast(drawn, input.dtype) * (upper - lower) + lower
    return _into(input, inplace, lambda x: ops.where(ops.le(x, 0.0), x * slope, x))


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`leaky_relu` with a learned slope: one, or one per channel (dimension 1)."""
    if weight.ndim == 1 and input.ndim > 1 and weight.shape[0] != 1:
        weight = weight.reshape((weight.shape[0],) + (1,) * (input.ndim - 2))
    return ops.prelu(input, weight)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, else alpha * (exp(x) - 1)."""
    return _into(input, inplace, lambda x: ops.elu(x, alpha=alpha))


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Self-normalising elu (Klambauer et al. 2017, arXiv:1706.02515)."""
    return _into(input, inplace, lambda x: ops.elu(x, alpha=_SELU_ALPHA) * _SELU_SCALE)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)."""
    return _into(input, inplace, lambda x: ops.elu(x * (1.0 / alpha), alpha=1.0) * alpha)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x * Phi(x), by erf or by the tanh formula (Hendrycks and Gimpel, arXiv:1606.08415)."""
    return ops.gelu(input, approximate=approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
    return _into(input, inplace, lambda x: ops.silu(x))


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x)) (Misra, arXiv:1908.08681)."""
    return _into(input, inplace, lambda x: ops.mul(x, ops.tanh(ops.softplus(x))))


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * relu6(x + 3) / 6."""
    return _into(input, inplace, lambda x: ops.hard_swish(x))


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(x + 3) / 6."""
    return _into(input, inplace, lambda x: ops.hard_sigmoid(x, alpha=1 / 6, beta=0.5))


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return ops.sigmoid(floating(input))


def tanh(input: Tensor) -> Tensor:
    return ops.tanh(floating(input))


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x > threshold."""
    scaled = input if beta == 1 else input * beta
    out = ops.softplus(scaled)
    out = out if beta == 1 else out * (1.0 / beta)
    return ops.where(scaled > threshold, input, out)


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    return input / (input.abs() + 1.0)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""
    return input - input.tanh()


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by lambd, but not past it."""
    return input - input.clamp(-lambd, lambd)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x where |x| > lambd, else 0."""
    return ops.where(input.abs() > lambd, input, 0.0)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where x > threshold, else value."""
    return _into(input, inplace, lambda x: ops.where(x > threshold, x, value))


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x))."""
    return -ops.softplus(-input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along `dim` times the sigmoid of the second."""
    a, b = input.chunk(2, dim)
    return a * b.sigmoid()


def softmax(input: Tensor, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """exp(x) / sum(exp(x)) along `dim`."""
    return input.softmax(_dim(input, dim), dtype)


def log_softmax(input: Tensor, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """log(softmax(x))."""
    return input.log_softmax(_dim(input, dim), dtype)


def softmin(input: Tensor, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """softmax(-x)."""
    return (-input).softmax(_dim(input, dim), dtype)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x / max(norm(x), eps) along `dim`."""
    return input / input.norm(p, dim, keepdim=True).clamp(min=eps)


def dropout(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Each element becomes 0 with probability p, the others grow by 1 / (1 - p).

    (Srivastava et al. 2014.) Which ones is decided by the generator's Philox stream, so seeds
    repeat it, and an exported training step continues the same stream.
    """
    _probability(p)
    if not training or p == 0:
        return input
    key = generator_of(generator).key(input)
    return _into(input, inplace, lambda x: ops.dropout(x, key, p=p))


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Whole channels of [N, C, L] (or [C, L])."""
    return _channel_dropout(input, p, training, inplace, 1)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Whole channels of [N, C, H, W] (or [C, H, W])."""
    return _channel_dropout(input, p, training, inplace, 2)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Whole channels of [N, C, D, H, W] (or [C, D, H, W])."""
    return _channel_dropout(input, p, training, inplace, 3)


def _channel_dropout(input: Any, p: float, training: bool, inplace: bool, n: int) -> Tensor:
    _probability(p)
    if not training or p == 0:
        return input
    from samara.exporter.frontend.creation import ones

    mask = ones((*input.shape[: input.ndim - n], *(1,) * n), dtype=input.dtype)
    key = generator_of(None).key(mask)
    return _into(input, inplace, lambda x: x * ops.dropout(mask, key, p=p))


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps mean and variance of selu networks."""
    _probability(p)
    if not training or p == 0:
        return input
    from samara.exporter.frontend.creation import ones_like

    low = -_SELU_ALPHA * _SELU_SCALE
    a = 1.0 / math.sqrt((1 - p) * (1 + p * low * low)) if p < 1 else 0.0
    mask = ones_like(input)
    keep = ops.dropout(mask, generator_of(None).key(mask), p=p) * (1 - p)
    return _into(input, inplace, lambda x: (x * keep + (1.0 - keep) * low) * a + (-a * p * low))


def _probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise ArgumentError(f"dropout with p = {p}", fix="p is a probability, 0 to 1")


def _dim(input: Tensor, dim: int | None) -> int:
    if dim is None:
        return 0 if input.ndim in (0, 1, 3) else 1
    return axis_of(input, dim)


def _into(input: Any, inplace: bool, function: Callable[[Any], Tensor]) -> Tensor:
    """function(input), in the memory of input where `inplace`."""
    if not inplace:
        return function(input)
    input._touch()
    if input._symbolic or input._records():
        return input._change(function)
    return input._become(function(input))
