# SPDX-License-Identifier: Apache-2.0
"""Reductions, sorting and cumulative methods of tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import dtypes
from samara.exporter.frontend.operands import (
    as_tensor,
    axes_of,
    axis_of,
    cast,
    floating,
    is_tensor,
)
from samara.exporter.ops.autodiff import beside
from samara.exporter.types import DType
from samara.pybridge.errors import ShapeError, UnsupportedError

if TYPE_CHECKING:
    from samara.exporter.frontend.tensor import Tensor

Dims = int | Sequence[int] | None


class ValuesIndices(NamedTuple):
    """The result of max, min, sort, topk and median along a dimension."""

    values: Tensor
    indices: Tensor


class ReduceMethods:
    """Reductions. `dim` is one dimension, several, or None for all."""

    __slots__ = ()

    def sum(self: Any, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
        """Sum; integers and bools accumulate in int64."""
        x = self if dtype is None else cast(self, dtype)
        if x.dtype.kind != "f":
            x = cast(x, dtypes.int64)
        return ops.reduce_sum(x, axes=axes_of(x, dim), keepdims=keepdim)

    def mean(self: Any, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
        """Mean of floating point numbers."""
        x = _float_only(self if dtype is None else cast(self, dtype), "mean")
        return ops.reduce_mean(x, axes=axes_of(x, dim), keepdims=keepdim)

    def prod(self: Any, dim: Dims = None, keepdim: bool = False) -> Tensor:
        """Product."""
        x = self if self.dtype.kind == "f" else cast(self, dtypes.int64)
        return ops.reduce_prod(x, axes=axes_of(x, dim), keepdims=keepdim)

    def amax(self: Any, dim: Dims = None, keepdim: bool = False) -> Tensor:
        """Largest element. Equal largest elements share the gradient."""
        return ops.reduce_max(self, axes=_some(self, dim), keepdims=keepdim)

    def amin(self: Any, dim: Dims = None, keepdim: bool = False) -> Tensor:
        """Smallest element. Equal smallest elements share the gradient."""
        return ops.reduce_min(self, axes=_some(self, dim), keepdims=keepdim)

    @overload
    def max(self: Any, dim: None = None, keepdim: bool = False) -> Tensor: ...
    @overload
    def max(self: Any, dim: int, keepdim: bool = False) -> ValuesIndices: ...
    @overload
    def max(self: Any, dim: Tensor) -> Tensor: ...
    def max(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        """Without `dim` the largest element; along a dimension (values, indices); of a tensor `maximum`."""
        return self._max_or_min(dim, keepdim, largest=True)

    @overload
    def min(self: Any, dim: None = None, keepdim: bool = False) -> Tensor: ...
    @overload
    def min(self: Any, dim: int, keepdim: bool = False) -> ValuesIndices: ...
    @overload
    def min(self: Any, dim: Tensor) -> Tensor: ...
    def min(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        """Without `dim` the smallest element; along a dimension (values, indices); of a tensor `minimum`."""
        return self._max_or_min(dim, keepdim, largest=False)

    def _max_or_min(self: Any, dim: Any, keepdim: bool, largest: bool) -> Any:
        if dim is None:
            return self.amax() if largest else self.amin()
        if is_tensor(dim) or not hasattr(dim, "__index__"):
            return self.maximum(dim) if largest else self.minimum(dim)
        dim = axis_of(self, dim)
        if self.ndim == 0:
            return ValuesIndices(self.clone(), self.argmax(dim))
        indices = (self.argmax if largest else self.argmin)(dim, keepdim=True)
        values = self.gather(dim, indices)
        if not keepdim:
            values, indices = values.squeeze(dim), indices.squeeze(dim)
        return ValuesIndices(values, indices)

    def argmax(self: Any, dim: int | None = None, keepdim: bool = False) -> Tensor:
        """Index of the first largest element; of the flattened tensor without `dim`."""
        return _index_of(ops.argmax, self, dim, keepdim)

    def argmin(self: Any, dim: int | None = None, keepdim: bool = False) -> Tensor:
        """Index of the first smallest element; of the flattened tensor without `dim`."""
        return _index_of(ops.argmin, self, dim, keepdim)

    def var(
        self: Any,
        dim: Dims = None,
        unbiased: bool = True,
        keepdim: bool = False,
        *,
        correction: float | None = None,
    ) -> Tensor:
        """Variance: squared distances from the mean, summed and divided by count - `correction` (1)."""
        return self._moments(dim, unbiased, keepdim, correction)[0]

    def std(
        self: Any,
        dim: Dims = None,
        unbiased: bool = True,
        keepdim: bool = False,
        *,
        correction: float | None = None,
    ) -> Tensor:
        """Square root of `var`."""
        return _root(self._moments(dim, unbiased, keepdim, correction)[0])

    def var_mean(
        self: Any,
        dim: Dims = None,
        unbiased: bool = True,
        keepdim: bool = False,
        *,
        correction: float | None = None,
    ) -> tuple[Tensor, Tensor]:
        """(var, mean)."""
        return self._moments(dim, unbiased, keepdim, correction)

    def _moments(
        self: Any, dim: Dims, unbiased: bool, keepdim: bool, correction: float | None
    ) -> tuple[Any, Any]:
        x = _float_only(self, "var")
        axes = axes_of(x, dim)
        count: Any = 1
        for a in axes:
            count = count * x.shape[a]
        less = (1 if unbiased else 0) if correction is None else correction
        mean = ops.reduce_mean(x, axes=axes, keepdims=True)
        away = ops.sub(x, mean)
        total = ops.reduce_sum(ops.mul(away, away), axes=axes, keepdims=keepdim)
        if isinstance(count, int):
            left = max(count - less, 0)
            var = total * (1.0 / left) if left else ops.div(total, 0.0)
        else:
            number = beside(x, ops.dims, values=(count,), dtype=DType.F32, scalar=True)
            var = ops.div(total, ops.sub(number, float(less)))
        return var, mean if keepdim else ops.reduce_sum(mean, axes=axes, keepdims=False)

    def norm(self: Any, p: float | str = 2, dim: Dims = None, keepdim: bool = False) -> Tensor:
        """Vector norm of order p (a number, inf, or "fro")."""
        x = floating(self)
        axes = axes_of(x, dim)
        if p in (2, "fro"):
            return _root(ops.reduce_sum(ops.mul(x, x), axes=axes, keepdims=keepdim))
        if not isinstance(p, (int, float)):
            raise UnsupportedError(f"there is no norm {p!r}", fix="pass a number or 'fro' as p")
        size = ops.abs(x)
        if p == math.inf:
            return ops.reduce_max(size, axes=axes, keepdims=keepdim)
        if p == -math.inf:
            return ops.reduce_min(size, axes=axes, keepdims=keepdim)
        if p == 0:
            return cast(size > 0, x.dtype).sum(dim, keepdim)
        if p == 1:
            return ops.reduce_sum(size, axes=axes, keepdims=keepdim)
        powers = _power(size, p) if 0 < p < 1 else size.pow(p)
        return _power(ops.reduce_sum(powers, axes=axes, keepdims=keepdim), 1.0 / p)

    def logsumexp(self: Any, dim: Dims, keepdim: bool = False) -> Tensor:
        """log(sum(exp(self))), without overflow."""
        x = floating(self)
        axes = axes_of(x, dim)
        top = ops.reduce_max(x.detach(), axes=axes, keepdims=True)
        top = ops.where(ops.isinf(top), 0.0, top)  # infinity minus infinity would be NaN
        total = ops.reduce_sum(ops.exp(ops.sub(x, top)), axes=axes, keepdims=True)
        out = ops.add(ops.log(total), top)
        return out if keepdim else ops.reduce_sum(out, axes=axes, keepdims=False)

    def any(self: Any, dim: Dims = None, keepdim: bool = False) -> Tensor:
        """Whether any element is not 0."""
        return _over(ops.reduce_max, _truths(self), dim, keepdim, False)

    def all(self: Any, dim: Dims = None, keepdim: bool = False) -> Tensor:
        """Whether no element is 0."""
        return _over(ops.reduce_min, _truths(self), dim, keepdim, True)

    def count_nonzero(self: Any, dim: Dims = None) -> Tensor:
        """Number of elements that are not 0."""
        return self.ne(0).sum(dim)

    def softmax(self: Any, dim: int, dtype: Any = None) -> Tensor:
        """exp(self) / sum(exp(self)) along `dim`."""
        x = floating(self) if dtype is None else cast(self, dtype)
        return _lined(lambda v: ops.softmax(v, axis=axis_of(v, dim)), x)

    def log_softmax(self: Any, dim: int, dtype: Any = None) -> Tensor:
        """log(softmax(self, dim))."""
        x = floating(self) if dtype is None else cast(self, dtype)
        return _lined(lambda v: ops.log_softmax(v, axis=axis_of(v, dim)), x)

    def cumsum(self: Any, dim: int, *, dtype: Any = None) -> Tensor:
        """Cumulative sums along `dim`; integers and bools accumulate in int64."""
        x = self if dtype is None else cast(self, dtype)
        x = x if x.dtype.kind == "f" or dtype is not None else cast(x, dtypes.int64)
        return _lined(lambda v: ops.cumsum(v, axis=axis_of(v, dim)), x)

    def cummax(self: Any, dim: int) -> ValuesIndices:
        """The largest element so far along `dim`, and its index: the last one of equal elements, and of
        NaN, which counts as the largest. The gradient goes to that element. It exports if the size of
        `dim` is fixed, otherwise UnsupportedError.

        PyTorch: `torch.Tensor.cummax`.

        >>> values, indices = samara.tensor([1.0, 3.0, 2.0]).cummax(0)
        >>> values.tolist(), indices.tolist()
        ([1.0, 3.0, 3.0], [0, 1, 1])
        """
        return _lined(lambda v: _running(v, axis_of(v, dim), largest=True), self)

    def cummin(self: Any, dim: int) -> ValuesIndices:
        """The smallest element so far along `dim`, and its index, as `cummax`."""
        return _lined(lambda v: _running(v, axis_of(v, dim), largest=False), self)

    def topk(
        self: Any, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True
    ) -> ValuesIndices:
        """The k largest (or smallest) along `dim`, in order."""
        n = self.shape[axis_of(self, dim)] if self.ndim else 1
        if isinstance(n, int) and isinstance(k, int) and not 0 <= k <= n:
            raise ShapeError(f"topk of {k} elements, the dimension has {n} elements")
        axis = axis_of(self, dim)
        got = _lined(lambda v: ops.top_k(v, k=k, axis=axis, largest=largest), self)
        return ValuesIndices(*got)

    def sort(
        self: Any, dim: int = -1, descending: bool = False, stable: bool = False
    ) -> ValuesIndices:
        """Sort along `dim`; the sort is stable."""
        n = self.shape[axis_of(self, dim)] if self.ndim else 1
        return self.topk(n, dim, largest=descending)

    def argsort(self: Any, dim: int = -1, descending: bool = False) -> Tensor:
        """The indices that `sort` returns."""
        return self.sort(dim, descending).indices

    def kthvalue(self: Any, k: int, dim: int = -1, keepdim: bool = False) -> ValuesIndices:
        """The k-th smallest along `dim`, counted from 1."""
        if k < 1:
            raise ShapeError(f"kthvalue counts from 1, got {k}")
        values, indices = self.topk(k, dim, largest=False)
        axis = axis_of(self, dim)
        if self.ndim == 0:
            return ValuesIndices(values, indices)
        found = ValuesIndices(values.narrow(axis, k - 1, 1), indices.narrow(axis, k - 1, 1))
        return found if keepdim else ValuesIndices(*(t.squeeze(axis) for t in found))

    @overload
    def median(self: Any, dim: None = None, keepdim: bool = False) -> Tensor: ...
    @overload
    def median(self: Any, dim: int, keepdim: bool = False) -> ValuesIndices: ...
    def median(self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        """The lower middle element: of all, or (values, indices) along `dim`."""
        if dim is None:
            flat = self.reshape(-1)
            middle = flat.kthvalue((flat.shape[0] + 1) // 2, 0).values
            if not self._symbolic and not self._requires_grad:
                return middle
            # All elements that equal the median share the gradient, as in `amax`.
            other = ops.logical_or(ops.lt(flat, middle), ops.lt(middle, flat))
            return ops.reduce_max(ops.where(other, -math.inf, flat), axes=(0,))
        n = self.shape[axis_of(self, dim)] if self.ndim else 1
        return self.kthvalue((n + 1) // 2, dim, keepdim)


def _some(x: Any, dim: Dims) -> tuple[int, ...]:
    """The axes that `dim` names. ShapeError if one is empty, because it has no largest element."""
    axes = axes_of(x, dim)
    for a in axes:
        if isinstance(x.shape[a], int) and x.shape[a] == 0:
            raise ShapeError(f"dimension {a} of {list(x.shape)} has no largest or smallest element")
    return axes


def _truths(x: Any) -> Any:
    return x if x.dtype == dtypes.bool_ else x.ne(0)


def _over(op: Any, x: Any, dim: Dims, keepdim: bool, empty: bool) -> Any:
    """A reduction of bools. The result over no elements is `empty`."""
    axes = axes_of(x, dim)
    if all(isinstance(x.shape[a], int) and x.shape[a] for a in axes):
        return op(x, axes=axes, keepdims=keepdim)
    counts = ops.reduce_sum(cast(x.eq(not empty), dtypes.int64), axes=axes, keepdims=keepdim)
    return counts.eq(0) if empty else counts.ne(0)


def _index_of(op: Any, x: Any, dim: int | None, keepdim: bool) -> Any:
    """argmax or argmin; with `keepdim` and no `dim`, every dimension keeps size 1."""
    if dim is None or x.ndim == 0:
        axis_of(x, 0 if dim is None else dim)
        found = op(x.reshape(-1), axis=0, keepdims=False)
        return found.reshape((1,) * x.ndim) if keepdim else found
    return op(x, axis=axis_of(x, dim), keepdims=keepdim)


def _lined(function: Any, x: Any) -> Any:
    """`function` along a dimension; a 0-d tensor counts as a vector of one element."""
    if x.ndim:
        return function(x)
    got = function(x.reshape(1))
    return (
        ValuesIndices(*(t.reshape(()) for t in got)) if isinstance(got, tuple) else got.reshape(())
    )


def _running(x: Any, axis: int, largest: bool) -> ValuesIndices:
    """The running extremum of x along an axis, as values and int64 indices."""
    find = _traced_places if x._symbolic else _places
    indices = find(x.detach(), axis, largest)
    return ValuesIndices(x.gather(axis, indices), indices)


def _places(x: Any, axis: int, largest: bool) -> Any:
    """The indices of an eager running extremum."""
    array = x._data
    best = (np.maximum if largest else np.minimum).accumulate(array, axis)
    found = np.equal(array, best) | np.not_equal(array, array)  # NaN differs from itself
    along = np.arange(array.shape[axis]).reshape(-1, *(1,) * (array.ndim - axis - 1))
    return as_tensor(np.maximum.accumulate(np.where(found, along, 0), axis))


def _traced_places(x: Any, axis: int, largest: bool) -> Any:
    """The same for a traced tensor, in log2(n) steps.

    After a step, position i knows the extremum of the last 1, 2, 4 … elements up to i. Combining the
    results of i - step and i doubles that number.
    """
    n = x.shape[axis]
    if not isinstance(n, int):
        name = "cummax" if largest else "cummin"
        raise UnsupportedError(
            f"{name} along a dimension of symbolic size {n} cannot be part of a Program",
            fix="trace with a fixed size of that dimension",
        )
    along = np.arange(n).reshape(-1, *(1,) * (x.ndim - axis - 1))
    places = as_tensor(along).expand(x.shape)
    step = 1
    while step < n:
        first, late = x.narrow(axis, 0, n - step), x.narrow(axis, step, n - step)
        keep = ops.le(first, late) if largest else ops.le(late, first)
        if x.dtype.kind == "f":
            keep = ops.logical_or(keep, ops.isnan(late))
        at = ops.where(keep, places.narrow(axis, step, n - step), places.narrow(axis, 0, n - step))
        places = ops.concat(places.narrow(axis, 0, step), at, axis=axis)
        late = ops.where(keep, late, first)
        x = ops.concat(x.narrow(axis, 0, step), late, axis=axis)
        step *= 2
    return places


def _root(x: Any) -> Any:
    """sqrt(x) with gradient 0 at 0: PyTorch's subgradient of a norm."""
    if not x._symbolic and (not x._requires_grad or x._data.all()):
        return ops.sqrt(x)
    none = ops.eq(x, 0.0)
    return ops.where(none, 0.0, ops.sqrt(ops.where(none, 1.0, x)))


def _power(x: Any, p: float) -> Any:
    """x ** p for x >= 0, with gradient 0 at 0, as `_root`."""
    if p < 0 or (not x._symbolic and (not x._requires_grad or x._data.all())):
        return x.pow(p)
    none = ops.eq(x, 0.0)
    return ops.where(none, 0.0, ops.where(none, 1.0, x).pow(p))


def _float_only(x: Any, what: str) -> Any:
    if x.dtype.kind != "f":
        raise UnsupportedError(f"{what} of {x.dtype} is not defined", fix="call .float() first")
    return x
