# SPDX-License-Identifier: Apache-2.0
"""Methods of tensors that call other methods."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend.operands import as_tensor, axis_of, is_tensor, pair
from samara.pybridge.errors import ShapeError

if TYPE_CHECKING:
    from samara.exporter.frontend.tensor import Tensor


class DerivedMethods:
    """Methods that are differentiable and traceable if the methods they call are."""

    __slots__ = ()

    # ---- comparing

    def isclose(
        self: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
    ) -> Tensor:
        """|self - other| <= atol + rtol * |other|, element by element."""
        x, y = pair(self, other)
        near = ops.logical_or(x.eq(y), (x - y).abs().le(y.abs() * rtol + atol) & y.isfinite())
        return ops.logical_or(near, x.isnan() & y.isnan()) if equal_nan else near

    def allclose(
        self: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
    ) -> bool:
        """Whether all elements are close (`isclose`)."""
        return bool(self.isclose(other, rtol, atol, equal_nan).all())

    def equal(self: Any, other: Any) -> bool:
        """Whether shape and elements are the same."""
        return tuple(self.shape) == tuple(other.shape) and bool(self.eq(other).all())

    # ---- arithmetic

    def hypot(self: Any, other: Any) -> Tensor:
        """sqrt(self² + other²) without intermediate overflow. Its gradient at 0 and 0 is
        NaN, as in PyTorch.
        """
        a, b = self.abs(), other.abs()
        large, small = a.maximum(b), a.minimum(b)
        nothing = large.eq(0)
        ratio = small / ops.where(nothing, 1.0, large)
        # If `large` is 0 its root is 0 too, but with an infinite gradient.
        return large * ops.where(nothing, large, ratio * ratio + 1).sqrt()

    def logaddexp(self: Any, other: Any) -> Tensor:
        """log(exp(self) + exp(other))."""
        x, y = pair(self, other)
        shape = (x + y).shape
        return ops.concat(
            x.expand(shape).unsqueeze(0), y.expand(shape).unsqueeze(0), axis=0
        ).logsumexp(0)

    def xlogy(self: Any, other: Any) -> Tensor:
        """self * log(other), and 0 where self is 0. The gradient by other is NaN where both are 0, as in
        PyTorch.
        """
        x, y = pair(self, other)
        x, y = as_tensor(x, y), as_tensor(y, x)
        nothing = x.eq(0)
        # Where self is 0 and log(other) is NaN or infinite, the product would be NaN: use log(1).
        still = ops.logical_and(nothing, ops.logical_or(ops.le(y, 0.0), y.eq(math.inf)))
        if y._data is None or y._requires_grad:
            # The root of 0 is 0 too, but its infinite gradient makes the gradient NaN.
            both = ops.logical_and(nothing, y.eq(0))
            x = ops.where(both, ops.where(both, y, 1.0).sqrt(), x)
        return x * ops.where(still, 1.0, y).log()

    def cross(self: Any, other: Any, dim: int = -1) -> Tensor:
        """Cross product of vectors of three elements along `dim`."""
        a = axis_of(self, dim)
        if self.shape[a] != 3:
            raise ShapeError(f"cross needs 3 elements along {dim}, got {list(self.shape)}")
        out: Tensor = self.roll(-1, a) * other.roll(1, a) - self.roll(1, a) * other.roll(-1, a)
        return out

    def dist(self: Any, other: Any, p: float = 2) -> Tensor:
        """The p-norm of the difference."""
        return (self - other).norm(p)

    def inner(self: Any, other: Any) -> Tensor:
        """Sums of products over the last dimension of both."""
        if self.ndim == 0 or other.ndim == 0:
            return self * other
        shape = (*self.shape[:-1], *other.shape[:-1])
        rows, columns = self.reshape(-1, self.shape[-1]), other.reshape(-1, other.shape[-1])
        return rows.matmul(columns.transpose(0, 1)).reshape(shape)

    # ---- along a dimension

    def cumprod(self: Any, dim: int, *, dtype: Any = None) -> Tensor:
        """Cumulative products along `dim`."""
        x = self if dtype is None else self.to(dtype)
        if x.dtype.kind in "biu":
            x = x.to(np.int64)
        parts = list(x.split(1, dim))
        for i in range(1, len(parts)):
            parts[i] = parts[i - 1] * parts[i]
        return ops.concat(*parts, axis=axis_of(self, dim)) if len(parts) > 1 else x.clone()

    def diff(self: Any, n: int = 1, dim: int = -1) -> Tensor:
        """Differences of adjacent elements, taken `n` times."""
        x = self
        for _ in range(n):
            size = x.shape[axis_of(x, dim)]
            x = x.narrow(dim, 1, size - 1) - x.narrow(dim, 0, size - 1)
        return x

    def quantile(self: Any, q: Any, dim: int | None = None, keepdim: bool = False) -> Tensor:
        """Quantiles, interpolated linearly; the axis of a 1-d `q` comes first."""
        x = (self.flatten() if dim is None else self).sort(0 if dim is None else dim)[0]
        a = 0 if dim is None else axis_of(self, dim)
        places = as_tensor(q, self)
        at = places.detach().reshape(-1) * float(x.shape[a] - 1)
        low = at.floor()
        share = (at - low).reshape(*(-1 if i == a else 1 for i in range(x.ndim)))
        begin, end = low.to(np.int64), at.ceil().to(np.int64)
        out = x.index_select(a, begin).lerp(x.index_select(a, end), share).movedim(a, 0)
        if keepdim:
            out = out.unsqueeze(a + 1) if dim is not None else out.reshape(-1, *(1,) * self.ndim)
        return out.squeeze(0) if places.ndim == 0 else out

    def nansum(self: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
        """The sum of the elements that are not NaN."""
        return ops.where(self.isnan(), 0.0, self).sum(dim, keepdim)

    def nanmean(self: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
        """The mean of the elements that are not NaN."""
        count = self.isnan().logical_not().to(self.dtype).sum(dim, keepdim)
        return self.nansum(dim, keepdim) / count

    def aminmax(
        self: Any, *, dim: int | None = None, keepdim: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The smallest and the largest element."""
        if dim is None:
            return self.min(), self.max()
        return self.amin(dim, keepdim), self.amax(dim, keepdim)

    # ---- matrices, shapes, parts

    def diag(self: Any, diagonal: int = 0) -> Tensor:
        """The diagonal of a matrix, or the matrix with this diagonal."""
        if self.ndim == 2:
            return self.diagonal(diagonal)
        if self.ndim != 1:
            raise ShapeError(f"diag needs a vector or a matrix, got {list(self.shape)}")
        size = self.shape[0] + abs(diagonal)
        at = np.arange(self.shape[0])
        rows, columns = at + max(-diagonal, 0), at + max(diagonal, 0)
        nothing = as_tensor(np.zeros((size, size), self.dtype))
        return ops.scatter_nd(nothing, as_tensor(np.stack((rows, columns), 1)), self)

    def diag_embed(self: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
        """Square matrices with the vectors of the last dimension on a diagonal and zeros elsewhere.

        `offset`: how far that diagonal lies above the main one, below it if negative. dim1, dim2:
        where the rows and columns of the matrices stand in the result.

        PyTorch: `torch.Tensor.diag_embed`.

        >>> samara.tensor([1, 2]).diag_embed(1).tolist()
        [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
        """
        if self.ndim == 0:
            raise ShapeError("diag_embed needs at least one dimension, got a scalar")
        rows, columns = axis_of(self, dim1, 1), axis_of(self, dim2, 1)
        if rows == columns:
            raise ShapeError(f"diag_embed needs two dimensions, got {dim1} and {dim2}")
        size = int(self.shape[-1]) + abs(offset)
        before = (0,) * (self.ndim - 1)
        pads = (*before, max(-offset, 0), *before, max(offset, 0))
        x = ops.pad(self, pads=pads) if offset else self
        on = as_tensor(np.eye(size, k=offset, dtype=bool))
        out = ops.where(on, x.unsqueeze(-1), False if x.dtype.kind == "b" else 0)
        return out.movedim((-2, -1), (rows, columns))

    def trace(self: Any) -> Tensor:
        """The sum of the diagonal of a matrix."""
        return self.diagonal().sum()

    def ravel(self: Any) -> Tensor:
        """All elements in one dimension."""
        return self.reshape(-1)

    def take(self: Any, index: Tensor) -> Tensor:
        """Elements at row-major positions `index`."""
        return ops.gather(self.reshape(-1), index, axis=0)

    def fliplr(self: Any) -> Tensor:
        """Dimension 1 in reverse order."""
        return self.flip(1)

    def flipud(self: Any) -> Tensor:
        """Dimension 0 in reverse order."""
        return self.flip(0)

    def rot90(self: Any, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
        """Rotate by k * 90 degrees from the first of `dims` towards the second."""
        a, b = dims
        turned = {0: lambda x: x, 1: lambda x: x.flip(b).transpose(a, b)}
        turned |= {2: lambda x: x.flip(a).flip(b), 3: lambda x: x.transpose(a, b).flip(b)}
        out: Tensor = turned[k % 4](self)
        return out

    def tensor_split(self: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
        """Split into that many parts of nearly equal size, or at these indices."""
        n, given = self.shape[axis_of(self, dim)], indices_or_sections
        if isinstance(given, int):
            sizes = [n // given + (i < n % given) for i in range(given)]
        else:
            ends = [0, *(min(i, n) if i >= 0 else i + n for i in given), n]
            sizes = [b - a for a, b in itertools.pairwise(ends)]
        parts: tuple[Tensor, ...] = self.split(sizes, dim)
        return parts

    def argwhere(self: Any) -> Tensor:
        """Indices of the elements that are not 0, [count, rank]."""
        return self.nonzero()

    def nelement(self: Any) -> int:
        return int(self.numel())

    def ndimension(self: Any) -> int:
        return int(self.ndim)

    def sum_to_size(self: Any, *size: Any) -> Tensor:
        """Sum over the dimensions in which `size` broadcasts to the shape."""
        shape = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
        return ops.sum_to(self, shape=tuple(shape))

    # ---- in place

    def index_put_(
        self: Any, indices: tuple[Any, ...], values: Any, accumulate: bool = False
    ) -> Tensor:
        """self[indices] = values, or += with every repetition counted."""
        if not accumulate:
            self[indices] = values
            return self
        places = ops.concat(
            *(i.unsqueeze(-1) for i in _broadcast(indices)), axis=len(indices[0].shape)
        )
        shape = (*places.shape[:-1], *self.shape[len(indices) :])
        rows = as_tensor(values, self).expand(*shape)
        return self._change_in(lambda x: ops.scatter_nd(x, places, rows, reduction="add"), rows)

    def fill_diagonal_(self: Any, fill_value: float) -> Tensor:
        """Set the diagonal of a matrix to `fill_value`."""
        n, m = self.shape
        on = np.eye(n, m, dtype=bool)
        return self.masked_fill_(as_tensor(on), fill_value)

    def unsqueeze_(self: Any, dim: int) -> Tensor:
        return self._reshaped(self.unsqueeze(dim))

    def squeeze_(self: Any, dim: Any = None) -> Tensor:
        return self._reshaped(self.squeeze() if dim is None else self.squeeze(dim))

    def transpose_(self: Any, dim0: int, dim1: int) -> Tensor:
        return self._reshaped(self.transpose(dim0, dim1))

    def t_(self: Any) -> Tensor:
        return self._reshaped(self.t())

    def _reshaped(self: Any, view: Any) -> Tensor:
        """Take the shape and memory of `view`, a view of self."""
        self._touch()
        if self._symbolic:
            self._take(view)
        else:
            self._check_change()
            self._data, self._node, self._index = view._data, view._node, view._index
        return self


def _broadcast(indices: Sequence[Any]) -> list[Any]:
    """Index tensors, expanded to their common shape."""
    shape = np.broadcast_shapes(*(tuple(i.shape) for i in indices))
    out = []
    for i in indices:
        if not is_tensor(i) or i.dtype.kind not in "iu":
            raise ShapeError("index_put_ with accumulate takes integer tensors")
        out.append(i.expand(shape))
    return out
