# SPDX-License-Identifier: Apache-2.0
"""Einstein sums as matrix products."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from samara.exporter.frontend.counterparts import name_counterparts
from samara.exporter.frontend.operands import as_tensor, axis_of
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.ir import einsum as plan
from samara.exporter.types import ShapeError

__all__ = ["einsum", "tensordot"]


class _TensorOps:
    """The operations that `plan.einsum` needs, on Tensors."""

    def shape(self, t: Any) -> Sequence[Any]:
        return tuple(t.shape)

    def sum(self, t: Any, axes: Sequence[int]) -> Any:
        return t.sum(tuple(axes))

    def permute(self, t: Any, axes: Sequence[int]) -> Any:
        return t.permute(*axes)

    def diagonal(self, t: Any, first: int, second: int) -> Any:
        return t.diagonal(0, first, second)

    def reshape(self, t: Any, shape: Sequence[Any]) -> Any:
        return t.reshape(tuple(shape))

    def expand(self, t: Any, shape: Sequence[Any]) -> Any:
        return t.expand(*shape)

    def matmul(self, a: Any, b: Any) -> Any:
        return a.matmul(b)

    def mul(self, a: Any, b: Any) -> Any:
        return a * b


def einsum(equation: str, *operands: Any) -> Tensor:
    """Sum of products of elements of the operands, whose axes the equation names.

    "bij,bjk->bik": letters left of the arrow name axes. Axes whose letters are missing on the right
    are summed. Without an arrow the letters that occur once are kept, in alphabetical order. "..."
    stands for axes that broadcast. Operands are combined from left to right, each pair by one
    (batched) matrix product. Raises ShapeError if sizes of one letter differ.
    """
    given = (
        operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    )
    result: Tensor = plan.einsum(_TensorOps(), equation, [as_tensor(t) for t in given])
    return result


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sum over the last `dims` axes of a and the first `dims` of b, or over the axes in two lists."""
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            raise ShapeError(
                f"{dims} dimensions of tensors of {a.ndim} and {b.ndim} dimensions cannot be summed",
                fix=f"use a value from 0 to {min(a.ndim, b.ndim)}",
            )
        axes_a = list(range(a.ndim - dims, a.ndim))
        axes_b = list(range(dims))
    else:
        axes_a, axes_b = ([axis_of(t, d) for d in ds] for ds, t in zip(dims, (a, b), strict=True))
    letters = iter(string.ascii_letters)
    la = [next(letters) for _ in range(a.ndim)]
    lb = [next(letters) for _ in range(b.ndim)]
    for i, j in zip(axes_a, axes_b, strict=True):
        lb[j] = la[i]
    out = [c for i, c in enumerate(la) if i not in axes_a]
    out += [c for j, c in enumerate(lb) if j not in axes_b]
    return einsum(f"{''.join(la)},{''.join(lb)}->{''.join(out)}", a, b)


name_counterparts(globals(), __all__, "torch")
