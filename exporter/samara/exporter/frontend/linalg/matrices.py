# SPDX-License-Identifier: Apache-2.0
"""Checks of the matrices that `samara.linalg` takes, and calls of NumPy on batches of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from samara.exporter.frontend.eager_only import refuse_traced
from samara.exporter.frontend.operands import as_tensor
from samara.pybridge.errors import SamaraError, ShapeError, UnsupportedError

Array = np.ndarray[Any, Any]


class LinAlgError(SamaraError, np.linalg.LinAlgError):
    """A matrix has no such result: it is singular, not positive definite, or has NaN.

    PyTorch: `torch.linalg.LinAlgError`, a RuntimeError. It is also NumPy's error of that name.

    >>> samara.linalg.inv(samara.zeros(2, 2))
    Traceback (most recent call last):
    samara.exporter.frontend.linalg.matrices.LinAlgError: ...
    """


def matrices(name: str, value: Any, *, square: bool = False) -> Any:
    """`value` as an eager tensor [..., m, n] of float32 or float64, for the function linalg.`name`.

    Raises UnsupportedError for traced tensors and other dtypes, ShapeError for fewer dimensions and,
    with `square`, for m != n.
    """
    x = as_tensor(value)
    refuse_traced(f"linalg.{name}", x)
    if x.dtype not in (np.float32, np.float64):
        raise UnsupportedError(
            f"linalg.{name} of {x.dtype}; it takes float32 and float64", fix="call .float() first"
        )
    return shaped(name, x, square=square)


def shaped(name: str, x: Any, *, square: bool = False) -> Any:
    """`x` if it has the rank and shape of matrices (`square`: m == n), otherwise ShapeError."""
    if x.ndim < 2:
        raise ShapeError(f"linalg.{name} needs matrices [..., m, n], got shape {list(x.shape)}")
    if square and x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"linalg.{name} needs square matrices, got shape {list(x.shape)}")
    return x


def computed(name: str, why: str, function: Callable[..., Any], x: Array, *more: Array) -> Any:
    """function(x, *more). LinAlgError says which matrix of the batch x failed, and `why`."""
    try:
        return function(x, *more)
    except np.linalg.LinAlgError:
        place = _failing(function, x, more)
        which = f"matrix {list(place)} of the batch" if place else "the matrix"
        raise LinAlgError(
            f"linalg.{name}: {which} {why}",
            fix="check it, or add a small multiple of samara.eye(n) to it",
        ) from None


def _failing(function: Callable[..., Any], x: Array, more: tuple[Array, ...]) -> tuple[int, ...]:
    """The index in the batch of the first matrix that fails."""
    for index in np.ndindex(x.shape[:-2]):
        try:
            function(x[index], *(m[index] for m in more))
        except np.linalg.LinAlgError:
            return index
    return ()
