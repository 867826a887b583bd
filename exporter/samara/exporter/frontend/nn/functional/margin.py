# SPDX-License-Identifier: Apache-2.0
"""Distances between pairs of rows, losses of margins, and sampling from logits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend.nn.functional.loss import reduced
from samara.exporter.frontend.operands import as_tensor, axis_of, cast, pair
from samara.exporter.frontend.random import generator_of
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import SamaraError


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of x1 - x2 + eps over the last dimension."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    *,
    reduction: str = "mean",
) -> Tensor:
    """max(0, |anchor - positive| - |anchor - negative| + margin).

    With `swap` the negative is measured from the anchor or the positive, whichever is nearer
    (Balntas et al. 2016).
    """
    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=lambda a, b: pairwise_distance(a, b, p, eps),
        margin=margin,
        swap=swap,
        reduction=reduction,
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """As `triplet_margin_loss`, by any distance of two batches of rows."""
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced((near - far + margin).clamp(min=0), reduction)


def soft_margin_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input)), targets 1 or -1."""
    return reduced(ops.softplus(-(target * input)), reduction)


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """Binary cross entropy with logits, averaged over the classes."""
    x, t = pair(input, target)
    loss = t * ops.softplus(-x) + (1.0 - t) * ops.softplus(x)
    return reduced((loss if weight is None else loss * weight).mean(-1), reduction)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
) -> Tensor:
    """Mean over the other classes of max(0, margin - input[target] + input[class]) ** p."""
    scores = input if input.ndim == 2 else input.unsqueeze(0)
    classes = target.reshape(-1, 1)
    gap = ops.relu(scores - scores.gather(1, classes) + margin)
    gap = gap if p == 1 else gap**p
    if weight is not None:
        gap = gap * ops.gather(weight, classes, axis=0, wrap=False)
    count = scores.shape[1]
    others = ops.lt(as_tensor(np.zeros(1, np.int64)), (_classes(count) - classes).abs())
    loss = (gap * cast(others, gap.dtype)).sum(1) / float(count)
    return reduced(loss if input.ndim == 2 else loss.squeeze(0), reduction)


def _classes(count: Any) -> Any:
    return as_tensor(np.arange(count))


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Half of log var + (input - target)² / var (Nix and Weigend 1994); var is at least eps, to
    which no gradient flows. `full` adds the constant."""
    v = as_tensor(var, input)
    if v.ndim == input.ndim - 1:
        v = v.unsqueeze(-1)
    held = ops.where(ops.lt(v.detach(), eps), eps, v)
    loss = (held.log() + (input - target).square() / held) * 0.5
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def gumbel_softmax(
    logits: Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A random choice by the logits that can be differentiated (Jang et al. 2017, 1611.01144).

    With `hard` the result is one-hot, with the gradient of the soft one. Not traceable: it draws.
    """
    if logits._symbolic:
        raise SamaraError(
            "gumbel_softmax draws random numbers", fix="trace softmax of logits / tau instead"
        )
    drawn = generator_of(None).uniform(logits.shape)
    noise = -np.log(np.maximum(-np.log1p(-drawn), np.finfo(np.float32).tiny))
    soft = ((logits + as_tensor(noise.astype(logits.dtype))) / tau).softmax(dim)
    if not hard:
        return soft
    a = axis_of(soft, dim)
    one = soft.detach()
    chosen = (one * 0).scatter(a, one.argmax(a, keepdim=True), 1.0)
    return chosen - one + soft
