# SPDX-License-Identifier: Apache-2.0
"""Embedding layers."""

from __future__ import annotations

from typing import Any

from samara.exporter.frontend import creation
from samara.exporter.frontend.nn import functional as F
from samara.exporter.frontend.nn import init
from samara.exporter.frontend.nn.functional.linear import padding_row
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.nn.parameter import Parameter
from samara.exporter.frontend.tensor import Tensor


class _Table(Module):
    """A learned table of rows; the row `padding_idx` begins with zeros."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None, **place: Any
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.weight = Parameter(creation.empty(num_embeddings, embedding_dim, **place))
        init.normal_(self.weight)
        if padding_idx is not None:
            self.padding_idx = padding_row(padding_idx, num_embeddings)
            self.weight._data[self.padding_idx] = 0


class Embedding(_Table):
    """Rows of weight [num_embeddings, embedding_dim]; `padding_idx` is zero and not learned.

    >>> nn.Embedding(10, 4)(samara.tensor([1, 2, 3])).shape
    (3, 4)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, dtype=dtype, device=device)

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None
    ) -> Embedding:
        """An Embedding with the given rows, fixed unless `freeze` is False."""
        rows, width = embeddings.shape
        out = cls(rows, width, padding_idx)
        out.weight = Parameter(embeddings.clone(), requires_grad=not freeze)
        return out

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"


class EmbeddingBag(_Table):
    """Sums, means or largest elements of bags of rows (`functional.embedding_bag`).

    >>> nn.EmbeddingBag(10, 4)(samara.tensor([[1, 2], [3, 4]])).shape
    (2, 4)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        *,
        mode: str = "mean",
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, dtype=dtype, device=device)
        self.mode = mode

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            mode=self.mode,
            per_sample_weights=per_sample_weights,
            padding_idx=self.padding_idx,
        )

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"
