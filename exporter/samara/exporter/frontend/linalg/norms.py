# SPDX-License-Identifier: Apache-2.0
"""Norms of vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from samara.exporter import ops
from samara.exporter.frontend.eager_only import refuse_traced
from samara.exporter.frontend.linalg.matrices import shaped
from samara.exporter.frontend.linalg.spectral import svdvals
from samara.exporter.frontend.operands import as_tensor, axis_of, cast, listed
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import ShapeError, UnsupportedError

_ORDERS = "'fro', 'nuc', 1, -1, 2, -2, inf or -inf"


def vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """sum(|x|^ord)^(1 / ord) over `dim` (default: all elements), which become one vector.

    ord: a number; inf is the largest |x|, -inf the smallest, 0 counts elements that are not 0.
    Raises UnsupportedError for integers without `dtype`. It exports.

    PyTorch: `torch.linalg.vector_norm`.

    >>> samara.linalg.vector_norm(samara.tensor([3.0, -4.0])).item()
    5.0
    """
    if not isinstance(ord, (int, float)):
        raise ArgumentError(f"linalg.vector_norm: ord is {ord!r}", fix="a number, inf or -inf")
    return _floats("vector_norm", x, dtype).norm(ord, dim, keepdim)


def matrix_norm(
    A: Tensor,
    ord: float | str = "fro",
    dim: tuple[int, int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """The norm of the matrices that A has in two dimensions `dim` (rows, columns).

    ord: "fro" (Frobenius), "nuc" (sum of singular values), 2 and -2 (largest and smallest singular
    value), 1 and -1 (largest and smallest sum of |A| over a column), inf and -inf (over a row). Those
    of singular values do not export.

    PyTorch: `torch.linalg.matrix_norm`.

    >>> samara.linalg.matrix_norm(samara.tensor([[1.0, -2.0], [3.0, 4.0]]), 1).item()
    6.0
    """
    x = shaped("matrix_norm", _floats("matrix_norm", A, dtype))
    given = listed(dim)
    if len(given) != 2 or axis_of(x, given[0]) == axis_of(x, given[1]):
        raise ShapeError(f"linalg.matrix_norm needs two dimensions, got {dim}")
    rows, columns = (axis_of(x, d) for d in given)
    if ord == "fro":
        return x.norm(2, (rows, columns), keepdim)
    if ord in (1, -1, math.inf, -math.inf):
        summed, other = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = x.abs().sum(summed, keepdim=True)
        reduce = ops.reduce_max if ord > 0 else ops.reduce_min
        return _without(reduce(sums, axes=(other,), keepdims=True), rows, columns, keepdim)
    if ord not in ("nuc", 2, -2):
        raise ArgumentError(f"linalg.matrix_norm: ord is {ord!r}", fix=_ORDERS)
    refuse_traced(f"linalg.matrix_norm with ord={ord!r}", x)
    values = svdvals(x.movedim((rows, columns), (-2, -1)))
    if ord == "nuc":
        out = values.sum(-1)
    else:
        out = values.amax(-1) if ord == 2 else values.amin(-1)
    if keepdim:
        for a in sorted((rows, columns)):
            out = out.unsqueeze(a)
    return out


def norm(
    A: Tensor,
    ord: float | str | None = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """`vector_norm` or `matrix_norm`, by the arguments.

    Without `ord` the 2-norm over `dim`, or over all elements. With `ord` the norm of vectors for one
    dimension, of matrices for two; without `dim`, A must have one or two dimensions.

    PyTorch: `torch.linalg.norm`.

    >>> samara.linalg.norm(samara.ones(2, 2), "fro").item()
    2.0
    """
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    axes = tuple(range(A.ndim)) if dim is None else listed(dim)
    if len(axes) == 1:
        return vector_norm(A, ord, axes, keepdim, dtype=dtype)  # type: ignore[arg-type]
    if len(axes) == 2:
        return matrix_norm(A, ord, axes, keepdim, dtype=dtype)
    raise ShapeError(
        f"linalg.norm with ord={ord!r} over {len(axes)} dimensions of shape {list(A.shape)}",
        fix="name one dimension (vectors) or two (matrices) with dim",
    )


def _floats(name: str, value: Any, dtype: Any) -> Any:
    x = as_tensor(value)
    if dtype is not None:
        x = cast(x, dtype)
    if x.dtype.kind != "f":
        raise UnsupportedError(f"linalg.{name} of {x.dtype}", fix="call .float() first")
    return x


def _without(x: Any, rows: int, columns: int, keepdim: bool) -> Any:
    return x if keepdim else x.squeeze((rows, columns))
