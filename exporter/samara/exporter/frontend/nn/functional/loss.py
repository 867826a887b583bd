# SPDX-License-Identifier: Apache-2.0
"""Losses."""

from __future__ import annotations

import math
from typing import Any

from samara.exporter import ops
from samara.exporter.frontend.nn.functional.channel_order import channels_last
from samara.exporter.frontend.operands import cast, pair
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import ShapeError


def reduced(loss: Any, reduction: str) -> Tensor:
    """`loss` itself ("none"), its mean or its sum."""
    if reduction == "none":
        return loss
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    raise ArgumentError(f"there is no reduction {reduction!r}", fix="mean, sum or none")


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """-log softmax of logits [N, C, …] at the classes target [N, …], or against probabilities.

    `weight` [C] scales classes; the mean is over the weights of the targets. Rows whose target is
    `ignore_index` do not count.
    """
    if target.dtype.kind == "f":
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing)
    x, shape = _rows(input, target)
    loss, _, share = ops.cross_entropy(
        x,
        target.reshape(-1),
        weight,
        label_smoothing=label_smoothing,
        ignore_index=ignore_index,
    )
    if reduction == "mean":
        return ops.div(loss.sum(), share.detach().sum())
    return loss.reshape(shape) if reduction == "none" else reduced(loss, reduction)


def _rows(input: Any, target: Any) -> tuple[Any, tuple[Any, ...]]:
    """Logits as [rows, C], and the target's shape."""
    expected = (*input.shape[:1], *input.shape[2:]) if input.ndim > 1 else ()
    if tuple(target.shape) != expected:
        raise ShapeError(
            f"classes of shape {list(target.shape)} for scores of shape {list(input.shape)}",
            fix=f"the classes need shape {list(expected)}",
        )
    classes = input.shape[1] if input.ndim > 1 else input.shape[0]
    x = channels_last(input) if input.ndim > 2 else input
    return x.reshape((-1, classes)), expected


def _soft_cross_entropy(
    input: Any, target: Any, weight: Any, reduction: str, smoothing: float
) -> Any:
    dim = 1 if input.ndim > 1 else 0
    classes = input.shape[dim]
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    logs = input.log_softmax(dim)
    if weight is not None:
        logs = logs * weight.reshape((classes,) + (1,) * (input.ndim - dim - 1))
    loss = -(logs * target).sum(dim)
    if reduction == "mean":
        rows = 1 if loss.ndim == 0 else input.numel() // classes
        return loss.sum() / rows
    return reduced(loss, reduction)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log probabilities [N, C, …] at the classes target [N, …]."""
    x, shape = _rows(input, target)
    rows = target.reshape(-1)
    counted = ops.logical_not(ops.eq(rows, ignore_index))
    safe = ops.where(counted, rows, 0)
    picked = -ops.gather_elements(x, safe.unsqueeze(1), axis=1, wrap=False).squeeze(1)
    share = cast(counted, input.dtype)
    if weight is not None:
        share = share * ops.gather(weight, safe, axis=0, wrap=False)
    loss = picked * share
    if reduction == "mean":
        return loss.sum() / share.sum()
    return loss.reshape(shape) if reduction == "none" else reduced(loss, reduction)


def mse_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """(input - target)²."""
    away = _apart(input, target)
    return reduced(away * away, reduction)


def l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """|input - target|."""
    return reduced(_apart(input, target).abs(), reduction)


def smooth_l1_loss(
    input: Tensor, target: Tensor, *, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """Squares below `beta`, straight lines above: 0.5 d² / beta or |d| - 0.5 beta."""
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    loss = _bent(_apart(input, target), beta)
    return reduced(loss if beta == 1 else loss * (1.0 / beta), reduction)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0
) -> Tensor:
    """0.5 d² below `delta`, delta * (|d| - 0.5 delta) above."""
    return reduced(_bent(_apart(input, target), delta), reduction)


def _bent(d: Tensor, bound: float) -> Tensor:
    """0.5 d² below `bound`, bound * (|d| - 0.5 bound) above: m * (d - 0.5 m) with m = d clamped."""
    m = d.clamp(-bound, bound)
    return m * (d - m * 0.5)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """-(t log p + (1 - t) log(1 - p)); the logarithms end at -100."""
    _same_shape(input, target)
    p = input
    edge = None
    if input._symbolic or input._requires_grad:
        # At 0 and 1 the slope is that of PyTorch, (input - target) / 1e-12.
        inside = ops.logical_and(ops.lt(0.0, input), ops.lt(input, 1.0))
        p = ops.where(inside, input, input.detach())
        edge = ops.where(inside, 0.0, input) * ((input - target).detach() * 1e12)
    loss = -(target * p.log().clamp(min=-100) + (1 - target) * (1 - p).log().clamp(min=-100))
    if edge is not None:
        loss = loss + (edge - edge.detach())
    return reduced(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of sigmoid(input), without overflow."""
    _same_shape(input, target)
    lost = ops.softplus(-input)  # -log sigmoid
    if pos_weight is None:
        loss = (1 - target) * input + lost
    else:
        loss = (1 - target) * input + ((pos_weight - 1) * target + 1) * lost
    return reduced(loss if weight is None else loss * weight, reduction)


def kl_div(
    input: Tensor, target: Tensor, *, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """target * (log target - input); "batchmean" divides the sum by the batch. The gradient by a
    target of 0 is NaN, as in PyTorch."""
    x, t = pair(input, target)
    if log_target:
        loss = t.exp() * (t - x)
    else:
        loss = t.xlogy(t) - t * x
    if reduction == "batchmean":
        return loss.sum() / x.shape[0]
    return reduced(loss, reduction)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Inner product over the product of norms, neither below `eps`."""
    a = x1.norm(2, dim).clamp(min=eps)
    b = x2.norm(2, dim).clamp(min=eps)
    return (x1 * x2).sum(dim) / (a * b)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, *, reduction: str = "mean"
) -> Tensor:
    """1 - cos where target is 1, max(0, cos - margin) where it is -1."""
    cos = cosine_similarity(input1, input2, -1)
    return reduced(ops.where(target > 0, 1 - cos, (cos - margin).clamp(min=0)), reduction)


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, *, reduction: str = "mean"
) -> Tensor:
    """x where target is 1, max(0, margin - x) where it is -1."""
    return reduced(ops.where(target > 0, input, (margin - input).clamp(min=0)), reduction)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, *, reduction: str = "mean"
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin)."""
    return reduced((-target * (input1 - input2) + margin).clamp(min=0), reduction)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    *,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """exp(x) - t x, or x - t log(x + eps) without `log_input`.

    `full` adds Stirling's term t log t - t + log(2 pi t) / 2 where t > 1.
    """
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        more = target * target.log() - target + (target * (2 * math.pi)).log() * 0.5
        loss = loss + ops.where(target > 1, more, 0.0)
    return reduced(loss, reduction)


def _apart(input: Any, target: Any) -> Any:
    x, t = pair(input, target)
    return ops.sub(x, t)


def _same_shape(input: Any, target: Any) -> None:
    if tuple(input.shape) != tuple(target.shape):
        raise ShapeError(
            f"a target of shape {list(target.shape)} for an input of shape {list(input.shape)}"
        )
