# SPDX-License-Identifier: Apache-2.0
"""Matrix products of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from samara.exporter import ops
from samara.exporter.frontend.operands import as_tensor, pair
from samara.pybridge.errors import ShapeError

if TYPE_CHECKING:
    from samara.exporter.frontend.tensor import Tensor


class LinalgMethods:
    """Matrix products."""

    __slots__ = ()

    def matmul(self: Any, other: Any) -> Tensor:
        """Matrix product. A 1-d operand is a row on the left and a column on the right."""
        x, w = pair(self, other)
        if x.ndim == 0 or w.ndim == 0:
            raise ShapeError("matmul needs operands of at least one dimension")
        row, column = x.ndim == 1, w.ndim == 1
        if row:
            x = x.unsqueeze(0)
        if column:
            w = w.unsqueeze(1)
        out = ops.matmul(x, w)
        if row:
            out = out.squeeze(-2)
        return out.squeeze(-1) if column else out

    def __matmul__(self: Any, other: Any) -> Tensor:
        return self.matmul(other)

    def __rmatmul__(self: Any, other: Any) -> Tensor:
        return as_tensor(other).matmul(self)

    def mm(self: Any, mat2: Tensor) -> Tensor:
        """Product of two matrices."""
        return _ranked(self, mat2, 2, 2)

    def bmm(self: Any, mat2: Tensor) -> Tensor:
        """Products of two batches of matrices."""
        return _ranked(self, mat2, 3, 3)

    def mv(self: Any, vec: Tensor) -> Tensor:
        """Matrix times vector."""
        return _ranked(self, vec, 2, 1)

    def dot(self: Any, other: Tensor) -> Tensor:
        """Inner product of two vectors."""
        return _ranked(self, other, 1, 1)

    def outer(self: Any, vec2: Tensor) -> Tensor:
        """Outer product of two vectors."""
        return self.unsqueeze(1) * vec2.unsqueeze(0)

    def addmm(
        self: Any, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1
    ) -> Tensor:
        """beta * self + alpha * mat1 @ mat2."""
        return self * beta + mat1.mm(mat2) * alpha

    def baddbmm(
        self: Any, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1
    ) -> Tensor:
        """beta * self + alpha * batch1 @ batch2."""
        return self * beta + batch1.bmm(batch2) * alpha


def _ranked(a: Any, b: Any, rank_a: int, rank_b: int) -> Any:
    if a.ndim != rank_a or b.ndim != rank_b:
        raise ShapeError(
            f"the product needs {rank_a} and {rank_b} dimensions, got shapes {list(a.shape)} and "
            f"{list(b.shape)}"
        )
    return a.matmul(b)
