# SPDX-License-Identifier: Apache-2.0
"""Python's protocols for tensors: truth, numbers, iteration, copies, pickling, text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from samara.exporter.frontend import _ufuncs
from samara.exporter.frontend.input_records import mark, marks
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import SamaraError

if TYPE_CHECKING:
    from samara.exporter.frontend.tensor import Tensor


class PythonMethods:
    """Methods that Python's functions and statements call."""

    __slots__ = ()

    def __array_ufunc__(
        self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Any:
        """NumPy's functions of tensors: `np.sqrt(t)`, `array + t`.

        A function that tensors have as a method calls that method, with gradients and traces. Other
        functions run in NumPy, for tensors that need no gradient. `out=array` (also `array += t`)
        runs in NumPy. TypeError for methods of functions (`np.add.reduce`), other options and
        `out=tensor`.
        """
        return _ufuncs.apply(ufunc, method, inputs, options)

    def __len__(self: Any) -> int:
        if self.ndim == 0:
            raise ArgumentError("a 0-d tensor has no length")
        size = self.shape[0]
        if not isinstance(size, int):
            raise ArgumentError(
                f"len() must return an int, but the length is the symbolic size {size} in this trace; "
                "use .shape[0] or .size(0)"
            )
        return size

    def __iter__(self: Any) -> Iterator[Tensor]:
        if self.ndim == 0:
            raise ArgumentError("a 0-d tensor cannot be iterated over")
        return iter(self.unbind(0))

    def __contains__(self: Any, value: Any) -> bool:
        return bool(self.eq(value).any())

    def __bool__(self: Any) -> bool:
        if self._symbolic:
            return bool(self._known())
        if self._data.size != 1:
            raise SamaraError(
                f"the truth of a tensor of shape {list(self.shape)} is ambiguous",
                fix="use .any() or .all()",
            )
        return bool(self._data.reshape(-1)[0])

    def __float__(self: Any) -> float:
        return float(self.item())

    def __int__(self: Any) -> int:
        return int(self.item())

    def __index__(self: Any) -> int:
        if self._data.dtype.kind not in "iu":
            raise ArgumentError("only an integer tensor of one element can be an index")
        return int(self.item())

    def __round__(self: Any, ndigits: int | None = None) -> Tensor:
        return self.round() if ndigits is None else self.round(decimals=ndigits)

    def __divmod__(self: Any, other: Any) -> tuple[Tensor, Tensor]:
        return self // other, self % other

    def __rdivmod__(self: Any, other: Any) -> tuple[Tensor, Tensor]:
        return other // self, other % self

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Tensor:
        if self._node is not None:
            raise SamaraError(
                "only leaves can be copied deeply", fix="use .detach() or .clone() first"
            )
        out: Tensor = type(self)._wrap(self._data.copy())
        out._requires_grad = self._requires_grad
        if self._grad is not None:
            out._grad = type(self)._wrap(self._grad._data.copy())
        memo[id(self)] = out
        return mark(out, marks(self))

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        if self._node is not None:
            raise SamaraError(
                "only leaves of the tape can be sent or stored", fix="use .detach() first"
            )
        return _rebuild, (
            type(self),
            np.ascontiguousarray(self._data).reshape(self.shape),
            self._requires_grad,
            marks(self),
        )

    def __format__(self: Any, spec: str) -> str:
        if spec and self.ndim == 0:
            return format(self.item(), spec)
        return format(str(self), spec)

    def __repr__(self: Any) -> str:
        body = np.array2string(self._data, separator=", ", prefix="tensor(", precision=4)
        if self._data.size == 0 and self.ndim != 1:
            body += f", shape={self._data.shape}"
        plain = (np.float32, np.int64, np.bool_)
        kind = "" if self._data.dtype in plain else f", dtype={self._data.dtype}"
        grad = f", grad_fn={self._node!r}" if self._node is not None else ""
        if not grad and self._requires_grad:
            grad = ", requires_grad=True"
        return f"tensor({body}{kind}{grad})"


def _rebuild(kind: Any, array: Any, requires_grad: bool, records: tuple[str, ...] = ()) -> Any:
    out = kind._unpickled(array)
    out._requires_grad = requires_grad
    return mark(out, records)
