# SPDX-License-Identifier: Apache-2.0
"""Converts operands and arguments of operators: scalars, arrays, dtypes, axes, sizes."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import dtypes, tape
from samara.exporter.types import ArgumentError, Dim, DType, RangeError
from samara.pybridge.errors import ShapeError
from samara.pybridge.files import kind_of

SCALARS = (bool, int, float)
_NUMBERS = (*SCALARS, np.bool_, np.integer, np.floating)  # numpy's scalars are weak like Python's


def is_tensor(value: Any) -> bool:
    """Whether `value` is a Tensor, eager or traced."""
    return hasattr(type(value), "__samara_op__")


def as_tensor(value: Any, like: Any = None) -> Any:
    """`value` as a Tensor: a Tensor itself, or one over an array. A scalar takes the dtype of `like`."""
    if is_tensor(value):
        return value
    if isinstance(value, Dim):
        return _size(value)
    if isinstance(value, SCALARS):
        if like is not None and (not isinstance(value, float) or like.dtype.kind == "f"):
            return tape.wrap(np.asarray(value, like.dtype))
        kind = np.bool_ if isinstance(value, bool) else np.int64
        return tape.wrap(np.asarray(value, np.float32 if isinstance(value, float) else kind))
    array = np.asarray(value)
    if array.dtype == np.float64 and isinstance(value, (list, tuple)):
        array = array.astype(np.float32)
    dtypes.as_dtype(array.dtype)
    return tape.wrap(array)


def _size(dim: Dim) -> Any:
    """A size as an int64 tensor without dimensions; traced if it is symbolic."""
    tracer = tape.tracing()
    if dim.is_static or tracer is None:
        return as_tensor(dim.as_int())
    return tracer.sizes([dim]).reshape(())


def cast(x: Any, dtype: Any) -> Any:
    """`x` in a dtype; `x` itself if it has that dtype."""
    return x if x.dtype == dtype else ops.cast(x, to=DType.from_numpy(np.dtype(dtype)))


def pair(a: Any, b: Any, floating: bool = False) -> tuple[Any, Any]:
    """Two operands in one dtype by PyTorch's promotion. A scalar stays a Python scalar.

    `floating`: integers and bools become float32.
    """
    if isinstance(b, _NUMBERS):
        b = b.item() if isinstance(b, np.generic) else b
        return _with_scalar(a, b, floating), b
    if isinstance(a, _NUMBERS):
        a = a.item() if isinstance(a, np.generic) else a
        return a, _with_scalar(b, a, floating)
    a, b = as_tensor(a), as_tensor(b)
    to = a.dtype
    if to is not b.dtype:
        to = dtypes.promote(to, a.ndim, b.dtype, b.ndim)
    if floating and to.kind != "f":
        to = dtypes.float32
    return cast(a, to), cast(b, to)


def _with_scalar(x: Any, scalar: Any, floating: bool) -> Any:
    x = as_tensor(x)
    kind = x.dtype.kind
    if kind == "f":
        return x
    if floating or isinstance(scalar, float):
        return cast(x, dtypes.float32)
    if kind == "b" and not isinstance(scalar, bool):
        return cast(x, dtypes.int64)
    return x


def floating(x: Any) -> Any:
    """`x` as a float tensor: integers and bools become float32."""
    x = as_tensor(x)
    return x if x.dtype.kind == "f" else cast(x, dtypes.float32)


def axis_of(x: Any, dim: int, extra: int = 0) -> int:
    """`dim` counted from the front. A tensor of 0 dimensions counts as one of 1.

    `extra`: the number of axes that the result adds. Raises RangeError (an IndexError) if `dim` is out
    of range, ArgumentError (a TypeError) if it is not an integer.
    """
    if type(dim) is not int:
        dim = _integer(dim)
    rank = max(x.ndim + extra, 1)
    if not -rank <= dim < rank:
        raise RangeError(
            f"dimension {dim} is out of range for a tensor of {x.ndim} dimensions",
            fix=f"use a value from {-rank} to {rank - 1}",
        )
    return dim % rank


def axes_of(x: Any, dim: int | Sequence[int] | None) -> tuple[int, ...]:
    """The axes that `dim` names; all axes if it is None or empty."""
    if dim is None:
        return tuple(range(x.ndim))
    given = listed(dim)
    axes = tuple(axis_of(x, d) for d in given)
    if len(set(axes)) != len(axes):
        raise ShapeError(f"dimensions {given} repeat")
    return axes if axes and x.ndim else tuple(range(x.ndim))


def listed(dim: Any) -> tuple[Any, ...]:
    """One or several dimensions as a tuple."""
    return tuple(dim) if isinstance(dim, Iterable) and not is_tensor(dim) else (dim,)


def _integer(dim: Any) -> int:
    if not hasattr(dim, "__index__"):
        raise ArgumentError(f"a dimension is {kind_of(dim)}, expected an integer")
    return operator.index(dim)


def sizes_of(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sizes given as separate arguments or as one sequence."""
    given = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    sizes = tuple(map(plain_size, given))
    for size in sizes:
        if type(size) is int and size >= -1:
            continue
        if isinstance(size, (str, bytes, float, list, tuple, dict)) or size is None:
            raise ArgumentError(f"a size is {kind_of(size)}, expected an integer")
    return sizes


def plain_size(value: Any) -> Any:
    """A size or position as int, if it is a static dim, a numpy integer or an eager integer tensor."""
    if type(value) is int:
        return value
    if isinstance(value, Dim):
        return value if value.value is None else value.value
    if isinstance(value, np.integer) or (
        is_tensor(value) and not value._symbolic and value.dtype.kind in "iu"
    ):
        return operator.index(value)
    return value


def broadcast_shapes(*shapes: Sequence[Any]) -> tuple[Any, ...]:
    """The shape to which shapes, also with symbolic dims, broadcast."""
    rank = max((len(s) for s in shapes), default=0)
    out: list[Any] = [1] * rank
    for shape in shapes:
        for axis, n in enumerate(shape, rank - len(shape)):
            known = out[axis]
            if isinstance(known, int) and known == 1:
                out[axis] = n
            elif isinstance(n, int) and isinstance(known, int) and n not in (1, known):
                raise ShapeError(
                    f"shapes {', '.join(str(list(s)) for s in shapes)} do not broadcast"
                )
            elif isinstance(n, int) and n != 1:
                out[axis] = n  # an int replaces a symbolic dim, which must be 1 or equal to it
    return tuple(out)
