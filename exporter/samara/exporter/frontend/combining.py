# SPDX-License-Identifier: Apache-2.0
"""Functions of several tensors, tensors of indices, searching, and limits of dtypes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from samara.exporter.frontend import creation, dtypes
from samara.exporter.frontend.counterparts import name_counterparts
from samara.exporter.frontend.operands import as_tensor, is_tensor
from samara.exporter.frontend.operands import broadcast_shapes as broadcast_shapes
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.pybridge.errors import SamaraError, ShapeError

__all__ = [
    "block_diag",
    "broadcast_shapes",
    "bucketize",
    "cartesian_prod",
    "cdist",
    "column_stack",
    "combinations",
    "dstack",
    "finfo",
    "histc",
    "iinfo",
    "isin",
    "logspace",
    "searchsorted",
    "std_mean",
    "tril_indices",
    "triu_indices",
]


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0) -> Tensor:
    """Distances [..., P, R] between the rows of x1 [..., P, M] and x2 [..., R, M]."""
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise ShapeError(
            f"cdist needs rows of equal length, got shapes {list(x1.shape)} and {list(x2.shape)}"
        )
    return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1)


def std_mean(input: Tensor, dim: Any = None, **options: Any) -> tuple[Tensor, Tensor]:
    """(standard deviation, mean), as `var_mean`."""
    var, mean = input.var_mean(dim, **options)
    return var.sqrt(), mean


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors side by side; vectors become columns."""
    return creation.cat([t.reshape(-1, 1) if t.ndim < 2 else t for t in tensors], 1)


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors along the third dimension."""
    deep = [t.reshape(1, -1, 1) if t.ndim < 2 else t for t in tensors]
    return creation.cat([t.unsqueeze(2) if t.ndim == 2 else t for t in deep], 2)


def block_diag(*tensors: Tensor) -> Tensor:
    """One matrix with the given ones along its diagonal and zeros elsewhere."""
    blocks = [t.reshape(1, -1) if t.ndim < 2 else t for t in tensors]
    width = sum(b.shape[1] for b in blocks)
    rows, before = [], 0
    for b in blocks:
        left = creation.zeros(b.shape[0], before, dtype=b.dtype)
        before += b.shape[1]
        right = creation.zeros(b.shape[0], width - before, dtype=b.dtype)
        rows.append(creation.cat([left, b, right], 1))
    return creation.cat(rows, 0)


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one element of each vector, as rows."""
    if len(tensors) == 1:
        return tensors[0]
    grids = creation.meshgrid(*tensors, indexing="ij")
    return creation.stack([g.reshape(-1) for g in grids], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector, as rows."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(choose(range(len(input)), r)), np.int64).reshape(-1, r)
    return input[wrap(places)]


def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """Rows and columns, [2, count], of the lower triangle."""
    kind = dtypes.int64 if dtype is None else dtypes.as_dtype(dtype)
    return wrap(np.stack(np.tril_indices(row, offset, col)).astype(kind)).to(device=device)


def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """Rows and columns, [2, count], of the upper triangle."""
    kind = dtypes.int64 if dtype is None else dtypes.as_dtype(dtype)
    return wrap(np.stack(np.triu_indices(row, offset, col)).astype(kind)).to(device=device)


def logspace(
    start: float, end: float, steps: int, base: float = 10.0, *, dtype: Any = None
) -> Tensor:
    """`base` to the powers of `linspace(start, end, steps)`."""
    kind = dtypes.float32 if dtype is None else dtypes.as_dtype(dtype)
    return wrap(np.logspace(start, end, steps, base=base).astype(kind))


def isin(elements: Any, test_elements: Any, *, invert: bool = False) -> Tensor:
    """Return for each element whether it occurs in `test_elements`."""
    found = np.isin(_array(elements, "isin"), _array(test_elements, "isin"), invert=invert)
    return wrap(np.asarray(found))


def searchsorted(sorted_sequence: Tensor, input: Any, *, right: bool = False) -> Tensor:
    """Indices at which numbers would be inserted into an ascending vector, or into each row."""
    edges, x = _array(sorted_sequence, "searchsorted"), _array(input, "searchsorted")
    side: Any = "right" if right else "left"
    if edges.ndim == 1:
        return wrap(np.asarray(np.searchsorted(edges, x, side), np.int64))
    rows = zip(edges.reshape(-1, edges.shape[-1]), x.reshape(-1, x.shape[-1]), strict=True)
    return wrap(np.stack([np.searchsorted(e, v, side) for e, v in rows]).reshape(x.shape))


def bucketize(input: Any, boundaries: Tensor, *, right: bool = False) -> Tensor:
    """`searchsorted` with swapped arguments."""
    return searchsorted(boundaries, input, right=right)


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements lie in each of `bins` equal parts of [min, max]."""
    x = _array(input, "histc")
    limits = (x.min(), x.max()) if min == max else (min, max)
    return wrap(np.histogram(x, bins, limits)[0].astype(x.dtype))


def _array(value: Any, what: str) -> Any:
    t = value if is_tensor(value) else as_tensor(value)
    if t._symbolic:
        raise SamaraError(f"{what} cannot be traced", fix="compute it outside the traced function")
    return t._data


@dataclass(frozen=True, slots=True)
class _Limits:
    bits: int
    min: Any
    max: Any
    dtype: Any


@dataclass(frozen=True, slots=True)
class _FloatLimits(_Limits):
    eps: float
    tiny: float
    smallest_normal: float
    resolution: float


def finfo(type: Any = np.float32) -> _FloatLimits:
    """Limits of a floating point dtype."""
    f = np.finfo(dtypes.as_dtype(type))
    more = (float(v) for v in (f.eps, f.tiny, f.tiny, f.resolution))
    return _FloatLimits(f.bits, float(f.min), float(f.max), f.dtype, *more)


def iinfo(type: Any) -> _Limits:
    """Limits of an integer dtype."""
    i = np.iinfo(dtypes.as_dtype(type))
    return _Limits(i.bits, int(i.min), int(i.max), i.dtype)


name_counterparts(globals(), __all__, "torch")
