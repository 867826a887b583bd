# SPDX-License-Identifier: Apache-2.0
"""Indexing, gathering and scattering methods of tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import dtypes
from samara.exporter.frontend.operands import (
    as_tensor,
    axis_of,
    broadcast_shapes,
    cast,
    is_tensor,
)
from samara.pybridge.errors import RangeError, SamaraError, ShapeError, UnsupportedError

if TYPE_CHECKING:
    from samara.exporter.frontend.tensor import Tensor


class IndexMethods:
    """Reading and writing parts."""

    __slots__ = ()

    def __getitem__(self: Any, index: Any) -> Tensor:
        """Index with slices, integers, None, Ellipsis, integer arrays and masks, as numpy does."""
        out, arrays = _basic(self, _expanded(self, index))
        return _advanced(out, arrays) if arrays else out

    def __setitem__(self: Any, index: Any, value: Any) -> None:
        """Write into a part. Gradients flow to the other elements and to `value`."""
        self._touch(value)
        if self._symbolic or self._records(value):
            self._change(lambda x: _replaced(x, _expanded(self, index), value))
            return
        part, key = _part(self._writable(), _expanded(self, index))
        given = value._data if is_tensor(value) else value
        try:
            part[key] = _fitted(given, 0) if np.size(given) == 1 and is_tensor(value) else given
        except IndexError as error:
            raise RangeError(str(error)) from None
        except (ValueError, TypeError) as error:
            raise ShapeError(
                f"a value of shape {list(np.shape(given))} does not fit the indexed part of a tensor "
                f"of shape {list(self.shape)}: {error}"
            ) from None
        self._version[0] += 1

    def gather(self: Any, dim: int, index: Tensor) -> Tensor:
        """out[i][j] = self[index[i][j]][j] for dim 0, and so on."""
        x = self._cut_like(index, dim)
        return ops.gather_elements(x, index, axis=axis_of(self, dim), wrap=False)

    def take_along_dim(self: Any, indices: Tensor, dim: int | None = None) -> Tensor:
        """As `gather`, but the other dimensions broadcast, and negative indices count from the end.
        Without `dim` both tensors are flattened."""
        if dim is None:
            return ops.gather_elements(self.flatten(), indices.flatten(), axis=0)
        a = axis_of(self, dim)
        shape = [
            n if i == a else max(n, m)
            for i, (n, m) in enumerate(zip(indices.shape, self.shape, strict=True))
        ]
        x = self.expand(*[n if i != a else -1 for i, n in enumerate(shape)])
        return ops.gather_elements(x, indices.expand(*shape), axis=a)

    def scatter(
        self: Any, dim: int, index: Tensor, src: Any, *, reduce: str | None = None
    ) -> Tensor:
        """A copy with self[index[i][j]][j] = src[i][j] for dim 0, and so on."""
        if not is_tensor(src):
            src = as_tensor(np.broadcast_to(np.asarray(src, self.dtype), tuple(index.shape)))
        how = {None: "none", "add": "add", "multiply": "mul"}.get(reduce, "?")
        if how == "?":
            raise UnsupportedError(f"scatter has no reduce {reduce!r}", fix="add or multiply")
        return self._scattered(dim, index, src, how)

    def scatter_add(self: Any, dim: int, index: Tensor, src: Tensor) -> Tensor:
        """As `scatter`, but add to the elements."""
        return self._scattered(dim, index, src, "add")

    def scatter_reduce(
        self: Any, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
    ) -> Tensor:
        """As `scatter`, but combine with the elements there: "sum", "prod", "amax" or "amin"."""
        if not include_self:
            raise UnsupportedError(
                "scatter_reduce always takes in self; include_self=False is not supported",
                fix="scatter the neutral element first",
            )
        how = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}.get(reduce)
        if how is None:
            raise UnsupportedError(
                f"scatter_reduce has no reduce {reduce!r}", fix="sum, prod, amax or amin"
            )
        return self._scattered(dim, index, src, how)

    def _scattered(self: Any, dim: int, index: Any, src: Any, how: str) -> Tensor:
        src = cast(as_tensor(src, self), self.dtype)
        if tuple(src.shape) != tuple(index.shape):
            src = src[tuple(slice(0, n) for n in index.shape)]
        a = axis_of(self, dim)
        if any(
            i != a and n != m for i, (n, m) in enumerate(zip(self.shape, index.shape, strict=True))
        ):
            return _scatter_part(self, a, index, src, how)
        return ops.scatter_elements(self, index, src, axis=a, reduction=how, wrap=False)

    def _cut_like(self: Any, index: Any, dim: int) -> Tensor:
        """The part of self that an index with smaller sizes covers."""
        a = axis_of(self, dim)
        sizes = [n if i == a else index.shape[i] for i, n in enumerate(self.shape)]
        if all(n == m for n, m in zip(sizes, self.shape, strict=True)):
            return self
        return ops.slice(self, begin=(0,) * self.ndim, end=tuple(sizes), step=(1,) * self.ndim)

    def index_select(self: Any, dim: int, index: Tensor) -> Tensor:
        """Select entries of `dim` by a 1-d index."""
        rows = index.reshape(-1) if index.ndim == 0 else index
        return ops.gather(self, rows, axis=axis_of(self, dim), wrap=False)

    def index_add(
        self: Any, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1
    ) -> Tensor:
        """A copy with rows of `source` added at `index`."""
        a = axis_of(self, dim)
        x, rows = self.movedim(a, 0), source.movedim(a, 0)
        rows = rows if alpha == 1 else rows * alpha
        out = ops.scatter_nd(x, index.reshape(-1, 1), rows, reduction="add", wrap=False)
        return out.movedim(0, a)

    def index_copy(self: Any, dim: int, index: Tensor, source: Tensor) -> Tensor:
        """A copy with rows of `source` at `index`."""
        return _copied_rows(self, axis_of(self, dim), index, source, wrap=False)

    def index_fill(self: Any, dim: int, index: Tensor, value: float) -> Tensor:
        """A copy with `value` at `index` of `dim`; negative ones count from the end."""
        a = axis_of(self, dim)
        shape = (*self.shape[:a], index.shape[0], *self.shape[a + 1 :])
        fill = as_tensor(np.asarray(value, self.dtype)).expand(shape)
        return _copied_rows(self, a, index, fill, wrap=True)

    def masked_select(self: Any, mask: Tensor) -> Tensor:
        """The elements where `mask` is true, in row-major order."""
        shape = broadcast_shapes(tuple(self.shape), tuple(mask.shape))
        return self.expand(shape)[mask.expand(shape)]

    def masked_scatter(self: Any, mask: Tensor, source: Tensor) -> Tensor:
        """A copy with the first elements of `source` where `mask` is true."""
        where = mask.expand(self.shape).nonzero()
        return ops.scatter_nd(self, where, source.flatten()[: where.shape[0]])

    @overload
    def nonzero(self: Any, *, as_tuple: Literal[False] = False) -> Tensor: ...
    @overload
    def nonzero(self: Any, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    def nonzero(self: Any, *, as_tuple: bool = False) -> Any:
        """Indices of the elements that are not 0: [count, rank], or a vector per dimension."""
        found = ops.transpose(ops.nonzero(self), perm=(1, 0))
        return found.unbind(1) if as_tuple else found

    @overload
    def unique(
        self: Any,
        sorted: bool = True,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: int | None = None,
    ) -> Tensor: ...
    @overload
    def unique(
        self: Any,
        sorted: bool = True,
        return_inverse: bool = False,
        return_counts: bool = False,
        dim: int | None = None,
    ) -> Tensor | tuple[Tensor, ...]: ...
    def unique(
        self: Any,
        sorted: bool = True,
        return_inverse: bool = False,
        return_counts: bool = False,
        dim: int | None = None,
    ) -> Any:
        """The distinct elements in ascending order, with `return_inverse` the position of each element
        among them, with `return_counts` how often each occurs. No gradient."""
        array = _array(self, "unique")
        axis = None if dim is None else axis_of(self, dim)
        find: Any = np.unique
        found = find(array, return_inverse=return_inverse, return_counts=return_counts, axis=axis)
        if not isinstance(found, tuple):
            return type(self)._wrap(found)
        parts = [type(self)._wrap(f) for f in found]
        if return_inverse and dim is None:
            parts[1] = parts[1].reshape(array.shape)
        return tuple(parts)

    def bincount(self: Any, minlength: int = 0) -> Tensor:
        """How often each number from 0 on occurs; no gradient."""
        counted = _array(self, "bincount")
        if counted.size and counted.min() < 0:
            raise SamaraError(f"bincount counts integers from 0 on, got {counted.min()}")
        return type(self)._wrap(np.bincount(counted, minlength=minlength))


def _array(x: Any, what: str) -> Any:
    """The array of an eager tensor."""
    if x._symbolic:
        raise UnsupportedError(f"{what} cannot be traced", fix="do it outside the traced function")
    return x._data


def _expanded(x: Any, index: Any) -> list[Any]:
    """The index as one item per axis, and None for new axes. Ellipsis and missing axes become slices."""
    items = [_item(i) for i in (index if isinstance(index, tuple) else (index,))]
    used = sum(_axes_used(i) for i in items)
    dots = [k for k, i in enumerate(items) if i is Ellipsis]
    if len(dots) > 1:
        raise RangeError(f"an index may hold one '...', this one holds {len(dots)}")
    if used > x.ndim:
        raise RangeError(f"{used} indices for a tensor of {x.ndim} dimensions")
    fill = [slice(None)] * (x.ndim - used)
    at = dots[0] if dots else len(items)
    return items[:at] + fill + items[at + (1 if dots else 0) :]


def _item(item: Any) -> Any:
    if isinstance(item, (list, range, np.ndarray)):
        array = np.asarray(item)
        item = as_tensor(array if array.size else array.astype(np.int64))
    if is_tensor(item) and item.dtype.kind == "f":
        raise RangeError("a tensor used as an index must hold integers or bools")
    if is_tensor(item) and not item._symbolic and item.ndim == 0 and item.dtype.kind in "iu":
        return int(item)
    return item


def _axes_used(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    if is_tensor(item):
        return item.ndim if item.dtype == dtypes.bool_ else 1
    return 1


def _basic(x: Any, items: list[Any]) -> tuple[Any, list[tuple[int, Any]]]:
    """Apply slices, integers and None; return the result and the index tensors with their axes."""
    begin, end, step = [], [], []
    shape: list[Any] = []
    arrays: list[tuple[int, Any]] = []
    axis = 0
    trivial = True
    for item in items:
        if item is None:
            shape.append(1)
            continue
        n = x.shape[axis] if axis < x.ndim else 0
        if is_tensor(item):
            arrays.append((len(shape), item))
            for _ in range(_axes_used(item)):
                begin.append(0)
                end.append(x.shape[axis])
                step.append(1)
                shape.append(x.shape[axis])
                axis += 1
            continue
        if isinstance(item, slice):
            b, e, s, size = _bounds(item, n)
            trivial = trivial and (size is n if s == 1 else False)
            shape.append(size)
        else:
            b = _position(item, n, axis)
            e, s = b + 1, 1
            trivial = False
        begin.append(b)
        end.append(e)
        step.append(s)
        axis += 1
    if not trivial:
        x = ops.slice(x, begin=tuple(begin), end=tuple(end), step=tuple(step))
    if len(shape) != x.ndim or any(map(_differ, shape, x.shape)):
        x = x.reshape(tuple(shape))
    return x, arrays


def _differ(a: Any, b: Any) -> bool:
    """Whether two sizes are not certainly equal."""
    return a is not b and not (type(a) is type(b) is int and a == b)


def _position(item: Any, n: Any, axis: int) -> Any:
    if isinstance(item, (bool, np.bool_)) or not hasattr(item, "__index__"):
        if hasattr(item, "sole_atom"):
            return item
        raise RangeError(f"{item!r} cannot index dimension {axis}")
    i = int(item)
    if isinstance(n, int) and not -n <= i < n:
        raise RangeError(f"index {i} is out of range for dimension {axis} of size {n}")
    return i + n if i < 0 else i


def _bounds(item: slice, n: Any) -> tuple[Any, Any, Any, Any]:
    """(begin, end, step, size) of a slice of an axis of n elements, clamped."""
    if item == slice(None):
        return 0, n, 1, n
    # A symbolic dim has __index__ too, but it raises.
    if isinstance(n, int) and all(
        v is None or (hasattr(v, "__index__") and not hasattr(v, "sole_atom"))
        for v in (item.start, item.stop, item.step)
    ):
        b, e, s = item.indices(n)
        size = max(0, -(-(e - b) // s))
        return (b, e, s, size) if size else (0, 0, 1, 0)
    return _symbolic_bounds(item, n)


def _symbolic_bounds(item: slice, n: Any) -> tuple[Any, Any, Any, Any]:
    from samara.exporter.types import as_dim, ceildiv, dmax, dmin

    step = 1 if item.step is None else item.step
    if step < 1:
        raise UnsupportedError("a symbolic dimension cannot be sliced backwards", fix="use flip")
    n = as_dim(n)

    def clamped(v: Any, default: Any) -> Any:
        if v is None:
            return default
        if isinstance(v, int) and v < 0:
            return dmax(0, n + v)
        return v if isinstance(v, int) and v == 0 else dmin(as_dim(v), n)

    b, e = clamped(item.start, 0), clamped(item.stop, n)
    return b, e, step, dmax(0, ceildiv(as_dim(e) - b, step))


def _advanced(x: Any, arrays: list[tuple[int, Any]]) -> Any:
    """Apply index tensors at their axes. Masks become the indices of their true elements."""
    at: list[int] = []
    index: list[Any] = []
    for axis, item in arrays:
        if item.dtype == dtypes.bool_:
            if any(n != m for n, m in zip(item.shape, x.shape[axis:], strict=False)):
                raise ShapeError(
                    f"a mask of shape {list(item.shape)} does not fit dimension {axis} of a tensor of "
                    f"shape {list(x.shape)}"
                )
            places = item.nonzero()
            at += range(axis, axis + item.ndim)
            index += places.unbind(1) if item.ndim > 1 else [places.reshape(-1)]
        else:
            at.append(axis)
            index.append(item)
    if len(at) == 1:
        return ops.gather(x, index[0], axis=at[0])
    shape = broadcast_shapes(*(tuple(i.shape) for i in index))
    together = [cast(i, dtypes.int64).expand(shape).unsqueeze(-1) for i in index]
    rest = [a for a in range(x.ndim) if a not in at]
    out = ops.gather_nd(
        ops.transpose(x, perm=(*at, *rest)), ops.concat(*together, axis=-1 % (len(shape) + 1))
    )
    adjacent = at == list(range(at[0], at[0] + len(at)))
    if not adjacent or at[0] == 0:
        return out
    # As in numpy: if the index tensors are adjacent, the indexed axes stay in their place.
    k = len(shape)
    perm = (*range(k, k + at[0]), *range(k), *range(k + at[0], out.ndim))
    return ops.transpose(out, perm=perm)


def _part(array: Any, items: Sequence[Any]) -> tuple[Any, Any]:
    """(view, key): a numpy array with the slices, integers and None of an index applied, and the key
    that remains for indexing the view. Integers are applied first, as in reading."""
    basic: list[Any] = []
    key: list[Any] = []
    for item in items:
        if is_tensor(item):
            basic += [slice(None)] * _axes_used(item)
            key.append(item._data)
        else:
            basic.append(item if item is None or isinstance(item, slice) else int(item))
            if item is None or isinstance(item, slice):
                key.append(slice(None))
    try:
        return array[(*basic, ...)], tuple(key)
    except TypeError as error:
        raise RangeError(str(error)) from None


def _replaced(x: Any, items: Sequence[Any], value: Any) -> Any:
    """A new tensor: x with a part replaced."""
    if any(is_tensor(i) and i._symbolic for i in items):
        return _replaced_traced(x, items, value)
    if not all(isinstance(n, int) or n.is_static for n in x.shape):
        raise UnsupportedError(
            "a part of a tensor of symbolic shape cannot be written",
            fix="use where, cat or scatter instead",
        )
    shape = tuple(int(n) for n in x.shape)
    part, key = _part(np.arange(math.prod(shape), dtype=np.int64).reshape(shape), items)
    try:
        places = np.asarray(part[key])
    except IndexError as error:
        raise RangeError(str(error)) from None
    value = _fitted(cast(as_tensor(value, x), x.dtype), places.ndim).expand(places.shape)
    flat = ops.scatter_nd(
        x.reshape(-1), as_tensor(places.reshape(-1, 1)), value.reshape(places.size)
    )
    return flat.reshape(shape)


def _fitted(value: Any, rank: int) -> Any:
    """A value without the leading dimensions of size 1 that exceed `rank`."""
    extra = value.ndim - rank
    if extra > 0 and all(n == 1 for n in value.shape[:extra]):
        return value.reshape(tuple(value.shape[extra:]))
    return value


def _replaced_traced(x: Any, items: Sequence[Any], value: Any) -> Any:
    """x with the elements at a traced mask, or the rows at a traced index, replaced."""
    first, rest = items[0], items[1:]
    if is_tensor(first) and all(isinstance(i, slice) and i == slice(None) for i in rest):
        value = cast(as_tensor(value, x), x.dtype)
        if first.dtype == dtypes.bool_ and value.ndim == 0:
            mask = first.reshape((*first.shape, *(1,) * (x.ndim - first.ndim)))
            return ops.where(mask, value, x)
        if first.dtype != dtypes.bool_:
            index = first.reshape(-1)
            shape = (*first.shape, *x.shape[1:])
            rows = _fitted(value, len(shape)).expand(shape).reshape((-1, *x.shape[1:]))
            return _copied_rows(x, 0, index, rows, wrap=True)
    raise UnsupportedError(
        "this part of a tensor cannot be written in a traced function",
        fix="write whole rows (x[i] = rows), x[mask] = number, or use where or scatter",
    )


def _copied_rows(x: Any, axis: int, index: Any, rows: Any, *, wrap: bool) -> Any:
    """x with `rows` at `index` of an axis."""
    x, rows = x.movedim(axis, 0), rows.movedim(axis, 0)
    return ops.scatter_nd(x, index.reshape(-1, 1), rows, wrap=wrap).movedim(0, axis)


def _scatter_part(x: Any, axis: int, index: Any, src: Any, how: str) -> Any:
    """Scatter with an index that is smaller than x in other dimensions."""
    grid = np.indices(tuple(int(n) for n in index.shape))
    parts = [
        (index if a == axis else as_tensor(np.ascontiguousarray(grid[a]))).unsqueeze(-1)
        for a in range(x.ndim)
    ]
    return ops.scatter_nd(x, ops.concat(*parts, axis=x.ndim), src, reduction=how, wrap=False)
