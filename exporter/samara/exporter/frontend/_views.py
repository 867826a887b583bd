# SPDX-License-Identifier: Apache-2.0
"""Recorded in-place changes: how they move a view and its base to new nodes of the tape."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import tape
from samara.pybridge.errors import SamaraError

if TYPE_CHECKING:
    from samara.exporter.frontend.tensor import Tensor


def rebase(view: Any, new: Any) -> None:
    """Replace the elements of `view`, in its base too, by `new`, and record it.

    The base becomes a scatter of `new` into its old elements, the view a gather from the base. Both
    still share memory. Other views of the base are renewed when they are used.
    """
    base = view._base[0]
    at = _places(view._data, base._data)
    old = at_same_place(base)
    flat = ops.scatter_elements(old.reshape(-1), at, new.reshape(-1), axis=0)
    base._become(flat.reshape(base.shape))
    _gather(view, at)


def renew(view: Any) -> None:
    """Record a view again as a gather from its base, which has changed since."""
    base = view._base[0]
    if base._requires_grad:
        with tape.enable_grad():
            _gather(view, _places(view._data, base._data))


def at_same_place(t: Any) -> Tensor:
    """A copy at the same node of the tape. A copy, because a gradient rule may save its input."""
    out = type(t)._wrap(t._data.copy())
    out._requires_grad = t._requires_grad
    out._node, out._index = t._node, t._index
    return out


def alone(t: Any) -> bool:
    """Whether nothing else refers to the memory of `t`: no view, no array, nothing on the tape."""
    return t._base is None and _references(t) <= _LEAST


def _gather(view: Any, at: Any) -> None:
    base = view._base[0]
    new = ops.gather(base.reshape(-1), at, axis=0).reshape(view.shape)
    view._requires_grad = True
    view._node, view._index = new._node, new._index
    view._base = (base, base._node)


def _places(view: Any, base: Any) -> Any:
    """The positions of a view's elements in its base, both in row-major order."""
    numbers = np.empty_like(base, np.int64, subok=False)
    scale = numbers.itemsize // base.itemsize if base.itemsize <= 8 else 0
    if any(
        m != n * scale
        for m, n, size in zip(numbers.strides, base.strides, base.shape, strict=True)
        if size > 1
    ):
        raise SamaraError(
            "a view of memory with gaps cannot be changed in place while gradients are recorded",
            fix="change a clone, or use the operation that makes a new tensor",
        )
    numbers[...] = np.arange(base.size).reshape(base.shape)
    begin = (view.__array_interface__["data"][0] - base.__array_interface__["data"][0]) * scale
    memory = numbers.ravel(order="K")
    return np.lib.stride_tricks.as_strided(
        memory[begin // numbers.itemsize :], view.shape, [s * scale for s in view.strides]
    ).reshape(-1)


def _references(t: Any) -> int:
    """The number of references to the array of `t`, or to the array that it is a view of."""
    array = t._data
    count = sys.getrefcount(array)
    owner = array.base
    return count if owner is None else max(count, sys.getrefcount(owner))


class _Probe:
    __slots__ = ("_data",)

    def __init__(self) -> None:
        self._data = np.zeros((2, 2)).transpose()


_LEAST = _references(_Probe())
