# SPDX-License-Identifier: Apache-2.0
"""Methods that change the shape or order of axes. They return views if numpy can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import dtypes
from samara.exporter.frontend.operands import (
    as_tensor,
    axis_of,
    is_tensor,
    listed,
    plain_size,
    sizes_of,
)
from samara.exporter.types import as_dim
from samara.pybridge.errors import RangeError, SamaraError, ShapeError

if TYPE_CHECKING:
    from samara.exporter.frontend.size import Size
    from samara.exporter.frontend.tensor import Tensor


def product(sizes: Sequence[Any]) -> Any:
    """Product of sizes, ints or symbolic."""
    total: Any = 1
    for n in sizes:
        total = total * n
    return total


def known(shape: Sequence[Any], sizes: Sequence[Any]) -> tuple[Any, ...]:
    """`sizes` with -1 replaced so that the number of elements is that of `shape`."""
    out = list(sizes)
    missing = [i for i, n in enumerate(out) if isinstance(n, int) and n == -1]
    if len(missing) > 1:
        raise ShapeError(f"only one size may be -1, got {list(sizes)}")
    total = product(shape)
    if missing:
        rest = product([n for i, n in enumerate(out) if i != missing[0]])
        if isinstance(rest, int) and isinstance(total, int) and (rest == 0 or total % rest):
            raise ShapeError(f"{list(shape)} cannot be reshaped to {list(sizes)}")
        out[missing[0]] = _quotient(total, rest)
    elif isinstance(total, int) and product(out) != total:
        raise ShapeError(f"{list(shape)} cannot be reshaped to {list(sizes)}")
    return tuple(out)


def _quotient(total: Any, rest: Any) -> Any:
    if isinstance(total, int) and isinstance(rest, int):
        return total // rest
    return as_dim(total) // as_dim(rest)


class ShapeMethods:
    """Shapes and order of axes."""

    __slots__ = ()

    @overload
    def size(self: Any, dim: None = None) -> Size: ...
    @overload
    def size(self: Any, dim: int) -> int: ...
    def size(self: Any, dim: int | None = None) -> Any:
        """All sizes, or the size of one dimension."""
        return self.shape if dim is None else self.shape[axis_of(self, dim)]

    def dim(self: Any) -> int:
        """The number of dimensions."""
        return self.ndim

    def numel(self: Any) -> int:
        """The number of elements."""
        return product(self.shape)

    def reshape(self: Any, *shape: Any) -> Tensor:
        """The elements in row-major order in another shape; one size may be -1."""
        sizes = sizes_of(shape)
        to = known(self.shape, sizes)
        return self if to == self.shape and self._symbolic else ops.reshape(self, shape=to)

    def view(self: Any, *shape: Any) -> Tensor:
        """As `reshape`, sharing memory. ShapeError if the strides do not allow it.

        Exception: the memory of a channels-last result of an operator is made row-major first, and a
        part of such a result is copied.
        """
        if (
            len(shape) == 1
            and not isinstance(shape[0], (int, np.integer, tuple, list))
            and not hasattr(shape[0], "sole_atom")
        ):
            return self._view_dtype(shape[0])
        out = self.reshape(*shape)
        array = self._data
        if array is None or not out._data.size or np.shares_memory(out._data, array):
            return out
        base = self if self._base is None else self._base[0]
        if base._data.flags.c_contiguous:
            raise ShapeError(
                f"a tensor of shape {list(self.shape)} and strides {list(self.stride())} cannot be "
                f"seen as {list(out.shape)} without a copy",
                fix="use .reshape(...) or .contiguous().view(...)",
            )
        # Convolutions and pools give channels-last memory, which PyTorch's users do not expect.
        if base is self:
            self._data = np.ascontiguousarray(array)
            return self.reshape(*shape)
        return out

    def _view_dtype(self: Any, dtype: Any) -> Tensor:
        if self._requires_grad:
            raise SamaraError(
                "view(dtype) has no gradient: it is another reading of the same bytes",
                fix="use .to(dtype), or .detach() first",
            )
        out = as_tensor(self._data.view(dtypes.as_dtype(dtype)))
        out._version = self._version
        return out

    def view_as(self: Any, other: Any) -> Tensor:
        return self.view(*other.shape)

    def reshape_as(self: Any, other: Any) -> Tensor:
        return self.reshape(*other.shape)

    def flatten(self: Any, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """Merge the dimensions `start_dim` to `end_dim` into one."""
        if self.ndim == 0:
            return self.reshape(1)
        a, b = axis_of(self, start_dim), axis_of(self, end_dim)
        middle = product(self.shape[a : b + 1])
        return self.reshape((*self.shape[:a], middle, *self.shape[b + 1 :]))

    def unflatten(self: Any, dim: int, sizes: Sequence[Any]) -> Tensor:
        """Split dimension `dim` into several of the given sizes."""
        a = axis_of(self, dim)
        return self.reshape(
            (*self.shape[:a], *known((self.shape[a],), sizes), *self.shape[a + 1 :])
        )

    def squeeze(self: Any, dim: int | Sequence[int] | None = None) -> Tensor:
        """Remove the dimensions of size 1, or those of `dim` that have size 1."""
        named = range(self.ndim) if dim is None else [axis_of(self, d) for d in listed(dim)]
        gone = {a for a in named if self.ndim and self.shape[a] == 1}
        if not gone:
            return self.reshape(self.shape)
        return self.reshape(tuple(n for a, n in enumerate(self.shape) if a not in gone))

    def unsqueeze(self: Any, dim: int) -> Tensor:
        """Insert a dimension of size 1."""
        a = axis_of(self, dim, 1)
        return self.reshape((*self.shape[:a], 1, *self.shape[a:]))

    def permute(self: Any, *dims: Any) -> Tensor:
        """Put the dimensions in another order."""
        given = sizes_of(dims)
        perm = tuple(axis_of(self, d) for d in given)
        if sorted(perm) != list(range(self.ndim)):
            raise ShapeError(f"{given} does not name each of {self.ndim} dimensions once")
        return ops.transpose(self, perm=perm)

    def transpose(self: Any, dim0: int, dim1: int) -> Tensor:
        """Exchange two dimensions."""
        perm = list(range(self.ndim))
        a, b = axis_of(self, dim0), axis_of(self, dim1)
        perm[a], perm[b] = b, a
        return ops.transpose(self, perm=tuple(perm))

    swapaxes = transpose
    swapdims = transpose

    def t(self: Any) -> Tensor:
        """The transpose of a matrix."""
        if self.ndim > 2:
            raise ShapeError(f"t() needs at most 2 dimensions, got {self.ndim}")
        return self.transpose(0, 1) if self.ndim == 2 else self

    @property
    def T(self: Any) -> Tensor:
        """The dimensions in reverse order."""
        return ops.transpose(self, perm=tuple(range(self.ndim))[::-1])

    @property
    def mT(self: Any) -> Tensor:
        """The last two dimensions exchanged."""
        return self.transpose(-2, -1)

    def movedim(self: Any, source: Any, destination: Any) -> Tensor:
        """Move dimensions to new positions; the others keep their order."""
        order: list[Any] = [None] * self.ndim
        moved = [axis_of(self, d) for d in listed(source)]
        for s, d in zip(moved, listed(destination), strict=True):
            order[axis_of(self, d)] = s
        rest = iter(a for a in range(self.ndim) if a not in moved)
        return ops.transpose(self, perm=tuple(next(rest) if o is None else o for o in order))

    def expand(self: Any, *sizes: Any) -> Tensor:
        """Repeat dimensions of size 1 without a copy; -1 keeps a size."""
        to = sizes_of(sizes)
        lead = len(to) - self.ndim
        if lead < 0:
            raise ShapeError(f"{list(self.shape)} cannot be expanded to {list(to)}")
        full = tuple(
            self.shape[i - lead] if isinstance(n, int) and n == -1 and i >= lead else n
            for i, n in enumerate(to)
        )
        return ops.expand(self, shape=full)

    def expand_as(self: Any, other: Any) -> Tensor:
        return self.expand(*other.shape)

    def broadcast_to(self: Any, *shape: Any) -> Tensor:
        return self.expand(*shape)

    def repeat(self: Any, *repeats: Any) -> Tensor:
        """Repeat the tensor along each dimension; additional counts add dimensions in front."""
        times = sizes_of(repeats)
        x = self.reshape((1,) * (len(times) - self.ndim) + tuple(self.shape))
        return ops.tile(x, repeats=times)

    def tile(self: Any, *repeats: Any) -> Tensor:
        """As `repeat`, with 1 for leading dimensions without a count."""
        times = sizes_of(repeats)
        return self.repeat((1,) * (self.ndim - len(times)) + tuple(times))

    def repeat_interleave(self: Any, repeats: Any, dim: int | None = None) -> Tensor:
        """Repeat each element `repeats` times along `dim`; a tensor has one count per element."""
        x = self.flatten() if dim is None else self
        a = axis_of(x, 0 if dim is None else dim)
        if is_tensor(repeats):
            times = np.broadcast_to(repeats.numpy(), (int(x.shape[a]),))
            if times.size and times.min() < 0:
                raise ShapeError(f"repeats must be at least 0, got {times.min()}")
            return ops.gather(x, as_tensor(np.repeat(np.arange(len(times)), times)), axis=a)
        if isinstance(repeats, int) and repeats < 0:
            raise ShapeError(f"repeats must be at least 0, got {repeats}")
        wide = x.unsqueeze(a + 1)
        sizes = (*x.shape[: a + 1], repeats, *x.shape[a + 1 :])
        return wide.expand(sizes).reshape((*x.shape[:a], x.shape[a] * repeats, *x.shape[a + 1 :]))

    def narrow(self: Any, dim: int, start: Any, length: Any) -> Tensor:
        """`length` elements of `dim` from `start`."""
        a = axis_of(self, dim)
        start, length = plain_size(start), plain_size(length)
        begin = [0] * self.ndim
        end = list(self.shape)
        begin[a] = start + self.shape[a] if isinstance(start, int) and start < 0 else start
        end[a] = begin[a] + length
        plain = isinstance(end[a], int) and isinstance(self.shape[a], int)
        if plain and (length < 0 or not 0 <= begin[a] <= end[a] <= self.shape[a]):
            raise ShapeError(
                f"elements {begin[a]} to {end[a]} are outside a dimension of size {self.shape[a]}"
            )
        return ops.slice(self, begin=tuple(begin), end=tuple(end), step=(1,) * self.ndim)

    def select(self: Any, dim: int, index: Any) -> Tensor:
        """One element of `dim`; the dimension is removed."""
        a = axis_of(self, dim)
        n = self.shape[a] if self.ndim else 0
        index = plain_size(index)
        if isinstance(index, int) and isinstance(n, int) and not -n <= index < n:
            raise RangeError(f"index {index} is out of range for dimension {dim} of size {n}")
        one = self.narrow(a, index, 1)
        return one.reshape((*self.shape[:a], *self.shape[a + 1 :]))

    def split(self: Any, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
        """Split into parts of `split_size` (the last may be smaller), or of the given sizes."""
        a = axis_of(self, dim)
        n = self.shape[a]
        if isinstance(split_size, int):
            if split_size < 1:
                raise ShapeError(f"pieces of size {split_size} cannot be cut")
            full, rest = divmod(int(n), split_size) if n else (0, 0)
            sizes = (split_size,) * full + ((rest,) if rest or not full else ())
        else:
            sizes = tuple(plain_size(size) for size in split_size)
            if isinstance(n, int) and sum(sizes) != n:
                raise ShapeError(
                    f"pieces of sizes {list(sizes)} have {sum(sizes)} elements, the dimension has {n}"
                )
        return tuple(ops.split(self, axis=a, sizes=sizes))

    def chunk(self: Any, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
        """Split into at most `chunks` parts of equal size; the last may be smaller."""
        n = int(self.shape[axis_of(self, dim)])
        return self.split(max(-(-n // chunks), 1), dim)

    def unbind(self: Any, dim: int = 0) -> tuple[Tensor, ...]:
        """The elements of `dim`; the dimension is removed."""
        a = axis_of(self, dim)
        return tuple(self.select(a, i) for i in range(int(self.shape[a])))

    def flip(self: Any, *dims: Any) -> Tensor:
        """Reverse the order of elements along dimensions."""
        axes = {axis_of(self, d) for d in sizes_of(dims)}
        back = [a in axes for a in range(self.ndim)]
        return ops.slice(
            self,
            begin=tuple(n - 1 if f else 0 for n, f in zip(self.shape, back, strict=True)),
            end=tuple(-1 if f else n for n, f in zip(self.shape, back, strict=True)),
            step=tuple(-1 if f else 1 for f in back),
        )

    def roll(self: Any, shifts: Any, dims: Any = None) -> Tensor:
        """Shift elements along dimensions; those that leave at one end enter at the other."""
        if dims is None:
            return self.flatten().roll(shifts, 0).reshape(self.shape)
        out = self
        steps = (shifts,) if isinstance(shifts, int) else shifts
        for shift, dim in zip(steps, listed(dims), strict=True):
            a = axis_of(out, dim)
            n = out.shape[a]
            by = shift % n if n else 0
            if not isinstance(by, int) or by:
                parts = (out.narrow(a, n - by, by), out.narrow(a, 0, n - by))
                out = ops.concat(*parts, axis=a)
        return out

    def tril(self: Any, diagonal: int = 0) -> Tensor:
        """Set the elements above a diagonal of the last two dimensions to 0."""
        return self._triangle(diagonal, lower=True)

    def triu(self: Any, diagonal: int = 0) -> Tensor:
        """Set the elements below a diagonal of the last two dimensions to 0."""
        return self._triangle(diagonal, lower=False)

    def _triangle(self: Any, diagonal: int, lower: bool) -> Tensor:
        rows = as_tensor(np.arange(int(self.shape[-2]))[:, None])
        columns = as_tensor(np.arange(int(self.shape[-1])) - diagonal)
        keep = columns <= rows if lower else columns >= rows
        return ops.where(keep, self, 0)

    def diagonal(self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
        """The diagonal of two dimensions, as a new last dimension."""
        a, b = axis_of(self, dim1), axis_of(self, dim2)
        if a == b:
            raise ShapeError(f"a diagonal needs two dimensions, got {dim1} and {dim2}")
        x = self.movedim((a, b), (0, 1))
        rows, columns = (int(n) for n in x.shape[:2])
        length = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
        i = np.arange(length)
        index = np.stack([i + max(-offset, 0), i + max(offset, 0)], axis=1)
        return ops.gather_nd(x, as_tensor(index)).movedim(0, -1)

    def contiguous(self: Any) -> Tensor:
        """The tensor in row-major memory; the tensor itself if its memory is row-major."""
        if self._symbolic or self._data.flags.c_contiguous:
            return self
        return ops.identity(self)._own_memory(dense=True)

    def is_contiguous(self: Any) -> bool:
        """Whether the memory is row-major."""
        return bool(self._data.flags.c_contiguous)

    @overload
    def stride(self: Any, dim: None = None) -> tuple[int, ...]: ...
    @overload
    def stride(self: Any, dim: int) -> int: ...
    def stride(self: Any, dim: int | None = None) -> Any:
        """Distance in memory between neighbours along each dimension, in elements."""
        steps = tuple(s // self._data.itemsize for s in self._data.strides)
        return steps if dim is None else steps[axis_of(self, dim)]

    def unfold(self: Any, dimension: int, size: int, step: int) -> Tensor:
        """Windows of `size` every `step` elements of a dimension, as a new last dimension."""
        a = axis_of(self, dimension)
        count = (int(self.shape[a]) - size) // step + 1
        if count < 1 or step < 1:
            raise ShapeError(
                f"windows of {size} every {step} do not fit in a dimension of size {self.shape[a]}"
            )
        index = np.arange(count)[:, None] * step + np.arange(size)
        return ops.gather(self, as_tensor(index), axis=a).movedim(a + 1, -1)
