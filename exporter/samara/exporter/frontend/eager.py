# SPDX-License-Identifier: Apache-2.0
"""Runs one operator now: on the C kernels if they are faster, otherwise in numpy.

This module knows only arrays; tensor.py adds the tape.
"""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import memory, native
from samara.exporter.frontend.tape import complete
from samara.exporter.ops import Eager, OpSpec
from samara.exporter.ops.spec import WEAK, weak_dtype
from samara.exporter.types import Dim
from samara.pybridge.errors import SamaraError, ShapeError

Array = np.ndarray[Any, Any]
Kernel = Callable[[Sequence[Any], Mapping[str, Any]], Any]

_log: Final = logging.getLogger("samara.eager")
BIG: Final = 8192  # an output of at least this many elements comes from the caching allocator


def run(op: OpSpec, arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """The operator's result: an array, or a tuple if the operator may have several.

    `arrays` has arrays, None for absent inputs, and Python scalars, which take the dtype of the other
    operands.
    """
    kernel = KERNELS.get(op)
    if kernel is not None:
        return kernel(arrays, attrs)
    route = op.eager
    if route is _KERNEL:
        given = concrete(arrays)
        if all(a is None or a.dtype in _NATIVE for a in given):
            return native.run(op, given, attrs)
        if not native.fallbacks[op.name]:
            kinds = sorted({str(a.dtype) for a in given if a is not None})
            _log.info(
                "%s of %s runs in NumPy, which is slow; the C kernel is float32",
                op.name,
                ", ".join(kinds),
            )
        native.fallbacks[op.name] += 1
        return reference(op, given, attrs)
    if route is _LARGE:
        first = arrays[0]
        if type(first) is np.ndarray and first.size >= BIG and first.dtype == np.float32:
            return native.run_elementwise(op, concrete(arrays), attrs)
    if route is _LARGE_REDUCTION and arrays[0].size >= _LARGE_SUM and arrays[0].dtype == np.float32:
        return native.run(op, arrays, attrs)
    return reference(op, arrays, attrs)


def explained(
    op: OpSpec, arrays: Sequence[Any], attrs: Mapping[str, Any], error: Exception
) -> SamaraError:
    """The error to raise for an error of numpy: that of the operator's shape rule, if it finds one."""
    if isinstance(error, SamaraError):
        return error
    # The rule knows the dtypes of files, which lack float64. float32 has the same shapes.
    given = [
        np.broadcast_to(np.float32(0), a.shape) if a is not None and a.dtype == np.float64 else a
        for a in concrete(arrays)
    ]
    try:
        native.results_of(op, given, complete(op, attrs))
    except SamaraError as better:
        return better
    except (ValueError, TypeError):
        pass
    return ShapeError(str(error), op=op.name)


def reference(op: OpSpec, arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Run the reference implementation of the op table."""
    return op.evaluate(concrete(arrays), complete(op, attrs))


def concrete(arrays: Sequence[Any]) -> list[Any]:
    """`arrays` with Python scalars converted to arrays."""
    if not any(isinstance(v, WEAK) for v in arrays):
        return list(arrays)
    like = weak_dtype([v.dtype for v in arrays if isinstance(v, np.ndarray)])
    return [np.asarray(v, like) if isinstance(v, WEAK) else v for v in arrays]


# ---- numpy kernels


def _unary(function: Any) -> Kernel:
    def kernel(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        x = arrays[0]
        if x.size < BIG:
            return np.asarray(function(x))
        return function(x, out=memory.empty_like(x))

    return kernel


def _quiet(function: Any) -> Kernel:
    """As `_unary`, for functions that give infinities and NaN without warnings."""
    plain = _unary(function)

    def kernel(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        with np.errstate(all="ignore"):
            return plain(arrays, attrs)

    return kernel


def _binary(function: Any) -> Kernel:
    def kernel(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        x, y = arrays
        if type(x) is not np.ndarray:
            x = np.asarray(x, y.dtype)
        if x.size >= BIG and (type(y) is not np.ndarray or y.shape == x.shape or y.size == 1):
            return function(x, y, out=memory.empty_like(x))
        return np.asarray(function(x, y))

    return kernel


def _compare(function: Any) -> Kernel:
    return lambda arrays, attrs: np.asarray(function(*arrays))


def _relu(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    x = arrays[0]
    if x.size < BIG:
        return np.asarray(np.maximum(x, 0))
    if x.dtype == np.float32:
        return native.run_elementwise(ops.relu, arrays, attrs)
    return np.maximum(x, 0, out=memory.empty_like(x))


def _where(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    condition, x, y = arrays
    whole = x if type(x) is np.ndarray else y
    if condition.size < BIG or type(whole) is not np.ndarray or whole.shape != condition.shape:
        return np.where(*concrete(arrays))
    if type(x) is type(y) is np.ndarray and x.dtype != y.dtype:
        return np.where(condition, x, y)
    out = memory.empty_like(whole)
    np.copyto(out, y)
    np.copyto(out, x, where=condition)
    return out


def _activation_grad(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    if arrays[1].dtype == np.float32:
        return native.run_elementwise(ops.activation_grad, arrays, attrs)
    return reference(ops.activation_grad, arrays, attrs)


def symbolic(attrs: Mapping[str, Any]) -> bool:
    """Whether an attribute has a symbolic size."""
    values = (v for a in attrs.values() for v in (a if isinstance(a, (tuple, list)) else (a,)))
    return any(isinstance(v, Dim) and not v.is_static for v in values)


def _sizes(values: Sequence[Any]) -> tuple[int, ...]:
    return tuple(v if type(v) is int else int(v) for v in values)


def _reshape(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    x = arrays[0]
    shape = _sizes(attrs["shape"])
    if x.size < BIG or x.flags.c_contiguous or not _ASKS_FOR_COPIES:
        return x.reshape(shape)
    try:
        return x.reshape(shape, copy=False)
    except ValueError:  # needs a copy: take its memory from the caching allocator
        out = memory.empty(shape, x.dtype)
        np.copyto(out.reshape(x.shape), x)
        return out


def _transpose(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    return arrays[0].transpose(attrs["perm"])


def _expand(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    return np.broadcast_to(arrays[0], _sizes(attrs["shape"]))


def _concat(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    axis = attrs["axis"]
    first = arrays[0]
    if first.size * len(arrays) < BIG or any(a.dtype != first.dtype for a in arrays):
        return np.concatenate(arrays, axis)
    shape = list(first.shape)
    shape[axis] = sum(a.shape[axis] for a in arrays)
    return np.concatenate(arrays, axis, out=memory.empty(shape, first.dtype))


def _split(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    sizes = _sizes(attrs["sizes"])
    parts = np.split(arrays[0], np.cumsum(sizes)[:-1], attrs["axis"])
    return tuple(parts)


def _slice(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    index = []
    rows = zip(*(_sizes(attrs[n]) for n in ("begin", "end", "step")), strict=True)
    for begin, end, step in rows:
        if step > 0:
            index.append(slice(begin, end, step))
        else:  # end -1 means before the first element; Python would count it from the end
            index.append(slice(begin, None if end < 0 else end, step) if begin >= 0 else slice(0))
    return arrays[0][(*index, ...)]


def _identity(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    return arrays[0]


def _cast(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    to = complete(ops.cast, attrs)["to"].numpy
    x = arrays[0]
    if x.dtype == to:
        return x
    # The reference does the rest: numpy wraps floats that are out of range, and rounds bfloat16 twice.
    if (x.dtype.kind in "iub" and to.kind in "iubf") or (x.dtype.kind == "f" and to.kind in "fb"):
        with np.errstate(over="ignore", invalid="ignore"):
            return x.astype(to)
    return reference(ops.cast, arrays, attrs)


def _sum_to(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    x = arrays[0]
    shape = _sizes(attrs["shape"])
    if x.shape == shape:
        return x
    lead = x.ndim - len(shape)
    axes = tuple(i for i in range(x.ndim) if i < lead or (shape[i - lead] == 1 != x.shape[i]))
    return np.asarray(sum_over(x, axes, False)).reshape(shape)


def sum_over(x: Array, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Sum of x over `axes`.

    Large float32 sums run on the C kernel. numpy adds row after row, which takes up to five times as
    long and has a larger relative error (1e-6 for 1000 rows, against 2e-7).
    """
    if x.dtype == np.float32 and x.size >= _LARGE_SUM and axes:
        return native.run(ops.reduce_sum, [x], {"axes": axes, "keepdims": keepdims})
    if x.dtype == np.float16:
        return _add_up(x, axes, np.dtype(np.float32), None, keepdims).astype(x.dtype)
    return _add_up(x, axes, x.dtype if x.dtype.kind != "b" else None, None, keepdims)


def _reduce_sum(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(sum_over(arrays[0], tuple(attrs["axes"]), attrs.get("keepdims", False)))


def _reduce_mean(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    x = arrays[0]
    axes, keep = tuple(attrs["axes"]), attrs.get("keepdims", False)
    if x.dtype.kind != "f" or x.dtype == np.float16:
        return reference(ops.reduce_mean, arrays, attrs)
    count = 1
    for a in axes:
        count *= x.shape[a]
    with np.errstate(all="ignore"):
        return np.asarray(np.divide(sum_over(x, axes, keep), count, dtype=x.dtype))


_add_up: Final[Any] = np.add.reduce
_ASKS_FOR_COPIES: Final = np.lib.NumpyVersion(np.__version__) >= "2.1.0"  # reshape(copy=False)
_LARGE_SUM: Final = 4096

_KERNEL: Final = Eager.KERNEL
_LARGE: Final = Eager.LARGE
_LARGE_REDUCTION: Final = Eager.LARGE_REDUCTION

KERNELS: Final[dict[OpSpec, Kernel]] = {
    ops.neg: _unary(np.negative),
    ops.abs_: _unary(np.abs),
    ops.tanh: _unary(np.tanh),
    ops.floor: _unary(np.floor),
    ops.ceil: _unary(np.ceil),
    ops.logical_not: _unary(np.logical_not),
    ops.exp: _quiet(np.exp),
    ops.log: _quiet(np.log),
    ops.sqrt: _quiet(np.sqrt),
    ops.sin: _quiet(np.sin),
    ops.cos: _quiet(np.cos),
    ops.add: _binary(np.add),
    ops.sub: _binary(np.subtract),
    ops.mul: _binary(np.multiply),
    ops.eq: _compare(operator.eq),
    ops.lt: _compare(operator.lt),
    ops.le: _compare(operator.le),
    ops.logical_and: _compare(operator.and_),
    ops.logical_or: _compare(operator.or_),
    ops.logical_xor: _compare(operator.xor),
    ops.relu: _relu,
    ops.where: _where,
    ops.activation_grad: _activation_grad,
    ops.reshape: _reshape,
    ops.transpose: _transpose,
    ops.expand: _expand,
    ops.concat: _concat,
    ops.split: _split,
    ops.slice_: _slice,
    ops.identity: _identity,
    ops.cast: _cast,
    ops.sum_to: _sum_to,
    ops.reduce_sum: _reduce_sum,
    ops.reduce_mean: _reduce_mean,
}
"""The functions of the route NUMPY."""

_NATIVE: Final = frozenset(np.dtype(d) for d in ("f4", "i4", "i8", "i1", "u1", "?"))
