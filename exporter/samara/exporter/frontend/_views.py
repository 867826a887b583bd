# SPDX-License-Identifier: Apache-2.0
"""Changes in place that are recorded: what happens to views of the memory, and to its base."""

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
    """`new` takes the place of the elements of `view`, in its base too, with gradients recorded.

    The base becomes a scatter of `new` into what it was, the view a gather from that; both share
    their memory as before. Other views of the base find their new place when they are used.
    """
    base = view._base[0]
    at = _places(view._data, base._data)
    old = at_same_place(base)
    flat = ops.scatter_elements(old.reshape(-1), at, new.reshape(-1), axis=0)
    base._become(flat.reshape(base.shape))
    _gather(view, at)


def renew(view: Any) -> None:
    """Put a view of memory that has changed since on its place of now on the tape."""
    base = view._base[0]
    if base._requires_grad:
        with tape.enable_grad():
            _gather(view, _places(view._data, base._data))


def at_same_place(t: Any) -> Tensor:
    """A copy at the same place on the tape: the rule of an operator may save its input."""
    out = type(t)._wrap(t._data.copy())
    out._requires_grad = t._requires_grad
    out._node, out._index = t._node, t._index
    return out


def alone(t: Any) -> bool:
    """Whether nobody else has the memory of `t`: no view, no array, nothing on the tape."""
    return t._base is None and _references(t) <= _LEAST


def _gather(view: Any, at: Any) -> None:
    base = view._base[0]
    new = ops.gather(base.reshape(-1), at, axis=0).reshape(view.shape)
    view._requires_grad = True
    view._node, view._index = new._node, new._index
    view._base = (base, base._node)


def _places(view: Any, base: Any) -> Any:
    """Where the elements of a view lie in its base, both counted in row-major order."""
    numbers = np.empty_like(base, np.int64, subok=False)
    scale = numbers.itemsize // base.itemsize if base.itemsize <= 8 else 0
    if any(
        m != n * scale
        for m, n, size in zip(numbers.strides, base.strides, base.shape, strict=True)
        if size > 1
    ):
        raise SamaraError(
            "a view of memory with gaps cannot be changed in place while gradients are recorded",
            fix="change a clone, or use the form that makes a new tensor",
        )
    numbers[...] = np.arange(base.size).reshape(base.shape)
    begin = (view.__array_interface__["data"][0] - base.__array_interface__["data"][0]) * scale
    memory = numbers.ravel(order="K")
    return np.lib.stride_tricks.as_strided(
        memory[begin // numbers.itemsize :], view.shape, [s * scale for s in view.strides]
    ).reshape(-1)


def _references(t: Any) -> int:
    """How many refer to the array of `t`, or to the array that it is a view of."""
    array = t._data
    count = sys.getrefcount(array)
    owner = array.base
    return count if owner is None else max(count, sys.getrefcount(owner))


class _Probe:
    __slots__ = ("_data",)

    def __init__(self) -> None:
        self._data = np.zeros((2, 2)).transpose()


_LEAST = _references(_Probe())
