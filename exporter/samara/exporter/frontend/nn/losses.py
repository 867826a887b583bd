# SPDX-License-Identifier: Apache-2.0
"""Losses as modules."""

from __future__ import annotations

from typing import Any

from samara.exporter.frontend.nn import functional as F
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.tensor import Tensor


class _Loss(Module):
    """Holds the settings of a function of (input, target)."""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        for name in ("weight", "pos_weight"):
            if name in settings:
                self.register_buffer(name, settings.pop(name))
        self.settings = settings

    def extra_repr(self) -> str:
        return ", ".join(f"{k}={v}" for k, v in self.settings.items())


class CrossEntropyLoss(_Loss):
    """`functional.cross_entropy`.

    >>> round(nn.CrossEntropyLoss()(samara.zeros(1, 2), samara.tensor([1])).item(), 4)
    0.6931
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        *,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(
            weight=weight,
            ignore_index=ignore_index,
            reduction=reduction,
            label_smoothing=label_smoothing,
        )

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(input, target, weight=self.weight, **self.settings)


class CTCLoss(_Loss):
    """`functional.ctc_loss`.

    >>> scores = samara.zeros(2, 1, 3).log_softmax(2)
    >>> round(nn.CTCLoss()(scores, samara.tensor([[1]]), [2], [1]).exp().item(), 4)
    3.0
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(blank=blank, reduction=reduction, zero_infinity=zero_infinity)

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, **self.settings)


class NLLLoss(_Loss):
    """`functional.nll_loss`.

    >>> nn.NLLLoss()(samara.tensor([[-1.0, -2.0]]), samara.tensor([1])).item()
    2.0
    """

    def __init__(
        self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__(weight=weight, ignore_index=ignore_index, reduction=reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, **self.settings)


class MSELoss(_Loss):
    """`functional.mse_loss`.

    >>> nn.MSELoss()(samara.zeros(2), samara.tensor([1.0, 3.0])).item()
    5.0
    """

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, **self.settings)


class L1Loss(_Loss):
    """`functional.l1_loss`.

    >>> nn.L1Loss()(samara.zeros(2), samara.tensor([1.0, 3.0])).item()
    2.0
    """

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, **self.settings)


class SmoothL1Loss(_Loss):
    """`functional.smooth_l1_loss`.

    >>> nn.SmoothL1Loss()(samara.zeros(1), samara.tensor([3.0])).item()
    2.5
    """

    def __init__(self, *, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction=reduction, beta=beta)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, **self.settings)


class HuberLoss(_Loss):
    """`functional.huber_loss`.

    >>> nn.HuberLoss()(samara.zeros(1), samara.tensor([3.0])).item()
    2.5
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction, delta=delta)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, **self.settings)


class BCELoss(_Loss):
    """`functional.binary_cross_entropy`.

    >>> round(nn.BCELoss()(samara.tensor([0.5]), samara.ones(1)).item(), 4)
    0.6931
    """

    def __init__(self, weight: Tensor | None = None, *, reduction: str = "mean") -> None:
        super().__init__(weight=weight, reduction=reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, **self.settings)


class BCEWithLogitsLoss(_Loss):
    """`functional.binary_cross_entropy_with_logits`.

    >>> round(nn.BCEWithLogitsLoss()(samara.zeros(1), samara.ones(1)).item(), 4)
    0.6931
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        *,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight=weight, reduction=reduction, pos_weight=pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, weight=self.weight, pos_weight=self.pos_weight, **self.settings
        )


class KLDivLoss(_Loss):
    """`functional.kl_div`.

    >>> nn.KLDivLoss(reduction="sum")(samara.zeros(1), samara.ones(1)).item()
    0.0
    """

    def __init__(self, *, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction=reduction, log_target=log_target)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, **self.settings)


class PoissonNLLLoss(_Loss):
    """`functional.poisson_nll_loss`.

    >>> nn.PoissonNLLLoss()(samara.zeros(1), samara.ones(1)).item()
    1.0
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        *,
        eps: float = 1e-8,
        reduction: str = "mean",
    ) -> None:
        super().__init__(log_input=log_input, full=full, eps=eps, reduction=reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(input, target, **self.settings)


class HingeEmbeddingLoss(_Loss):
    """`functional.hinge_embedding_loss`.

    >>> nn.HingeEmbeddingLoss()(samara.tensor([0.25]), samara.tensor([-1.0])).item()
    0.75
    """

    def __init__(self, margin: float = 1.0, *, reduction: str = "mean") -> None:
        super().__init__(margin=margin, reduction=reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, **self.settings)


class CosineEmbeddingLoss(_Loss):
    """`functional.cosine_embedding_loss`.

    >>> nn.CosineEmbeddingLoss()(samara.ones(1, 2), samara.ones(1, 2), samara.ones(1)).shape
    ()
    """

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__(margin=margin, reduction=reduction)

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, **self.settings)


class MarginRankingLoss(_Loss):
    """`functional.margin_ranking_loss`.

    >>> nn.MarginRankingLoss()(samara.zeros(1), samara.ones(1), samara.ones(1)).item()
    1.0
    """

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__(margin=margin, reduction=reduction)

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, **self.settings)


class TripletMarginLoss(_Loss):
    """`functional.triplet_margin_loss`.

    >>> round(nn.TripletMarginLoss()(samara.zeros(1, 2), samara.zeros(1, 2), samara.ones(1, 2)).item(), 3)
    0.0
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        *,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin=margin, p=p, eps=eps, swap=swap, reduction=reduction)

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(anchor, positive, negative, **self.settings)


class TripletMarginWithDistanceLoss(_Loss):
    """`functional.triplet_margin_with_distance_loss`.

    >>> round(nn.TripletMarginWithDistanceLoss()(samara.zeros(1, 2), samara.zeros(1, 2), samara.ones(1, 2)).item(), 3)
    0.0
    """

    def __init__(
        self,
        *,
        distance_function: Any = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(
            distance_function=distance_function, margin=margin, swap=swap, reduction=reduction
        )

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, **self.settings)


class SoftMarginLoss(_Loss):
    """`functional.soft_margin_loss`.

    >>> round(nn.SoftMarginLoss()(samara.zeros(1), samara.ones(1)).item(), 4)
    0.6931
    """

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, **self.settings)


class MultiLabelSoftMarginLoss(_Loss):
    """`functional.multilabel_soft_margin_loss`.

    >>> round(nn.MultiLabelSoftMarginLoss()(samara.zeros(1, 2), samara.ones(1, 2)).item(), 4)
    0.6931
    """

    def __init__(self, weight: Tensor | None = None, *, reduction: str = "mean") -> None:
        super().__init__(weight=weight, reduction=reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, **self.settings)


class MultiMarginLoss(_Loss):
    """`functional.multi_margin_loss`.

    >>> nn.MultiMarginLoss()(samara.zeros(1, 2), samara.tensor([1])).item()
    0.5
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        *,
        reduction: str = "mean",
    ) -> None:
        super().__init__(p=p, margin=margin, weight=weight, reduction=reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(input, target, weight=self.weight, **self.settings)


class GaussianNLLLoss(_Loss):
    """`functional.gaussian_nll_loss`.

    >>> nn.GaussianNLLLoss()(samara.zeros(2), samara.zeros(2), samara.ones(2)).item()
    0.0
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(full=full, eps=eps, reduction=reduction)

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, **self.settings)


class PairwiseDistance(Module):
    """`functional.pairwise_distance`.

    >>> round(nn.PairwiseDistance()(samara.zeros(1, 2), samara.tensor([[3.0, 4.0]])).item(), 3)
    5.0
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """`functional.cosine_similarity`.

    >>> nn.CosineSimilarity()(samara.ones(3, 2), samara.ones(3, 2)).shape
    (3,)
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
