# SPDX-License-Identifier: Apache-2.0
"""Runs one operator now: on the C kernels if they are faster, otherwise in numpy.

This module knows only arrays; tensor.py adds the tape.
"""

from __future__ import annotations

import functools
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
UFUNC: Final = 4096  # elements from which on a C kernel beats a transcendental function of numpy
LARGE: Final = 256  # elements from which on a C kernel beats a reference, which has several passes


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
        return _on_kernel(op, arrays, attrs)
    if route is _LARGE:
        whole = _largest(arrays)
        if whole.size >= LARGE and whole.dtype == np.float32:
            return native.run_elementwise(op, concrete(arrays), attrs)
    if route is _LARGE_REDUCTION and arrays[0].size >= _LARGE_SUM and arrays[0].dtype == np.float32:
        return native.run(op, arrays, attrs)
    return reference(op, arrays, attrs)


def _on_kernel(op: OpSpec, arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """On the C kernel; the reference for dtypes that it lacks."""
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


# ---- kernels of the route NUMPY


def _largest(arrays: Sequence[Any]) -> Array:
    """The operand with the most elements; the first of several. Scalars do not count."""
    found: Array | None = None
    for a in arrays:
        if type(a) is np.ndarray and (found is None or a.size > found.size):
            found = a
    assert found is not None
    return found


def _unary(function: Any) -> Kernel:
    def kernel(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        x = arrays[0]
        if x.size < BIG:
            return np.asarray(function(x))
        return function(x, out=memory.empty_like(x))

    return kernel


def _curve(op: OpSpec, function: Any) -> Kernel:
    """A transcendental function: of numpy for few elements, without its warnings of infinities and NaN."""
    plain = _unary(function)

    def kernel(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        x = arrays[0]
        if x.size >= UFUNC and x.dtype == np.float32:
            return native.run_elementwise(op, arrays, attrs)
        with np.errstate(all="ignore"):
            return plain(arrays, attrs)

    return kernel


def _binary(op: OpSpec, function: Any) -> Kernel:
    """Exact arithmetic, where numpy is as fast as the C kernel unless operands broadcast or are transposed."""

    def kernel(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        x, y = arrays
        if type(x) is not np.ndarray:
            x = np.asarray(x, y.dtype)
        if type(y) is not np.ndarray:
            if x.size < BIG:
                return np.asarray(function(x, y))
            return function(x, y, out=memory.empty_like(x))
        if x.size < BIG > y.size:
            return np.asarray(function(x, y))
        if x.strides != y.strides and (_exchanged(x, y) if x.shape == y.shape else _repeats(x, y)):
            return native.run_elementwise(op, [x, y], attrs)
        return function(x, y, out=_common(x, y))

    return kernel


def _common(x: Array, y: Array) -> Array:
    """An uninitialised result of two operands that broadcast, in the axis order of one that has its shape."""
    shape = x.shape if x.shape == y.shape else np.broadcast_shapes(x.shape, y.shape)
    for a in (x, y):
        if a.shape == shape and 0 not in a.strides:
            return memory.empty_like(a)
    return memory.empty(shape, x.dtype)


def _repeats(x: Array, y: Array) -> bool:
    """Whether dense float32 operands of different shapes have rows to repeat, not a single element."""
    dense = x.flags.c_contiguous and y.flags.c_contiguous
    return dense and x.size > 1 < y.size and x.dtype == np.float32


def _exchanged(x: Array, y: Array) -> bool:
    """Whether float32 operands of one shape have their closest elements along different axes: one is transposed."""
    closest = _closest(x.shape, x.strides), _closest(y.shape, y.strides)
    return closest[0] != closest[1] and x.dtype == np.float32


@functools.lru_cache(maxsize=1024)
def _closest(shape: tuple[int, ...], strides: tuple[int, ...]) -> int | None:
    steps = [
        (abs(s), -i) for i, (n, s) in enumerate(zip(shape, strides, strict=True)) if n > 1 and s
    ]
    return -min(steps)[1] if steps else None


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
    given = concrete(arrays)
    x, y = given[1:]
    whole = _largest(given)
    if whole.size < UFUNC or x.dtype != y.dtype or x.dtype not in _SELECTED:
        return np.where(*given)
    return native.run_elementwise(ops.where, given, attrs)


def _pow(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    x, exponent = arrays
    if type(x) is np.ndarray and x.dtype == np.float32:
        product = _POWERS.get(exponent) if type(exponent) in (int, float) else None
        if product is not None:
            out = memory.empty_like(x)
            with np.errstate(all="ignore"):
                product(x, out)
            return out
    if (whole := _largest(arrays)).size >= LARGE and whole.dtype == np.float32:
        return native.run_elementwise(ops.pow, concrete(arrays), attrs)
    return reference(ops.pow, arrays, attrs)


def _square(x: Array, out: Array) -> None:
    np.multiply(x, x, out=out)


def _cube(x: Array, out: Array) -> None:
    np.multiply(np.multiply(x, x, out=out), x, out=out)


def _fourth(x: Array, out: Array) -> None:
    np.multiply(x, x, out=out)
    np.multiply(out, out, out=out)


def _inverse(x: Array, out: Array) -> None:
    np.divide(np.float32(1), x, out=out)


def _inverse_square(x: Array, out: Array) -> None:
    np.divide(np.float32(1), np.multiply(x, x, out=out), out=out)


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


def _pad(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    x, pads = arrays[0], _sizes(attrs["pads"])
    # The C kernel copies whole rows, which does not pay for a few elements.
    narrow = x.ndim > 0 and len(pads) == 2 * x.ndim and x.shape[-1] < _NARROW and min(pads) >= 0
    if not narrow or attrs.get("mode", "constant") != "constant":
        return _on_kernel(ops.pad, arrays, attrs)
    ends = tuple(zip(pads, x.shape, pads[x.ndim :], strict=False))
    out = memory.empty([before + n + after for before, n, after in ends], x.dtype)
    out.fill(0 if len(arrays) == 1 or arrays[1] is None else arrays[1])
    out[tuple(slice(before, before + n) for before, n, _ in ends)] = x
    return out


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
_NARROW: Final = 16  # elements of a row

_KERNEL: Final = Eager.KERNEL
_LARGE: Final = Eager.LARGE
_LARGE_REDUCTION: Final = Eager.LARGE_REDUCTION

KERNELS: Final[dict[OpSpec, Kernel]] = {
    ops.neg: _unary(np.negative),
    ops.abs_: _unary(np.abs),
    ops.floor: _unary(np.floor),
    ops.ceil: _unary(np.ceil),
    ops.logical_not: _unary(np.logical_not),
    ops.tanh: _curve(ops.tanh, np.tanh),
    ops.exp: _curve(ops.exp, np.exp),
    ops.log: _curve(ops.log, np.log),
    ops.sqrt: _curve(ops.sqrt, np.sqrt),
    ops.sin: _curve(ops.sin, np.sin),
    ops.cos: _curve(ops.cos, np.cos),
    ops.add: _binary(ops.add, np.add),
    ops.sub: _binary(ops.sub, np.subtract),
    ops.mul: _binary(ops.mul, np.multiply),
    ops.pow: _pow,
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
    ops.pad: _pad,
    ops.identity: _identity,
    ops.cast: _cast,
    ops.sum_to: _sum_to,
    ops.reduce_sum: _reduce_sum,
    ops.reduce_mean: _reduce_mean,
}
"""The functions of the route NUMPY."""

_POWERS: Final[dict[float, Callable[[Array, Array], None]]] = {
    2: _square,
    3: _cube,
    4: _fourth,
    -1: _inverse,
    -2: _inverse_square,
}
"""Exponents whose powers are a few products."""

_NATIVE: Final = frozenset(np.dtype(d) for d in ("f4", "i4", "i8", "i1", "u1", "?"))
_SELECTED: Final = _NATIVE | {np.dtype("f2"), np.dtype("f8")}
