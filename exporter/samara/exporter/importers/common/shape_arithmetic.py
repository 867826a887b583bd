# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of small integer tensors whose elements are dims, for the shape rules of the importers.

Each function gives ShapeData, or raises NotArithmetic if the result cannot be expressed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.exporter.importers.common.operand import (
    MAX_SHAPE_ELEMENTS,
    Ratio,
    Scaled,
    ShapeData,
    as_shape_data,
    shape_data,
)
from samara.exporter.importers.common.scope import Operands
from samara.exporter.ir.program import Value
from samara.exporter.types import (
    Dim,
    DType,
    as_dim,
    bits_f32,
    ceildiv,
    deq,
    dlt,
    dmax,
    dmin,
    f32_bits,
    floordiv,
    mod,
    provably_ge,
    select,
)

Elements = npt.NDArray[Any]


class NotArithmetic(Exception):
    """Raised if a result cannot be expressed."""


def as_data(operand: Any) -> ShapeData | None:
    """An operand as ShapeData: itself, or a small constant of integers, bools or float32."""
    data = as_shape_data(operand)
    if data is not None or not isinstance(operand, Value) or operand.constant is None:
        return data
    if operand.type.dtype is not DType.F32 or operand.constant.size > MAX_SHAPE_ELEMENTS:
        return None
    elements = np.empty(operand.constant.shape, dtype=object)
    elements.reshape(-1)[:] = [float(v) for v in operand.constant.reshape(-1)]
    return ShapeData(elements, DType.F32)


def concluded(scope: Operands, result: ShapeData | None) -> ShapeData | None:
    """The result of a rule with what the scope knows put in; None if it is too large."""
    if result is None or result.elements.size > MAX_SHAPE_ELEMENTS:
        return None
    known = [scope.known(d) if isinstance(d, Dim) else d for d in result.dims()]
    elements = np.empty(result.elements.shape, dtype=object)
    elements.reshape(-1)[:] = known
    return ShapeData(elements, result.dtype)


def dims_of(scope: Operands, operand: Any) -> list[Dim] | None:
    """The shape of an operand; None of one that could not be converted."""
    if isinstance(operand, ShapeData):
        return [as_dim(n) for n in operand.elements.shape]
    if isinstance(operand, Value):
        return [scope.known(d) for d in operand.type.shape]
    return None


def product(dims: Sequence[Dim]) -> Dim:
    """The number of elements of a shape."""
    total = as_dim(1)
    for d in dims:
        total = total * d
    return total


def ints(data: ShapeData | None) -> list[int] | None:
    """The elements as ints; None for an absent operand."""
    if data is None:
        return None
    if not data.is_static():
        raise NotArithmetic
    return [int(d.as_int()) for d in data.dims()]


def need(data: Sequence[ShapeData | None], index: int) -> ShapeData:
    """An operand that must be there."""
    d = data[index]
    if d is None:
        raise NotArithmetic
    return d


def all_of(data: Sequence[ShapeData | None]) -> list[ShapeData]:
    """All operands, none of which may be absent."""
    return [need(data, i) for i in range(len(data))]


def scalar(data: ShapeData) -> int:
    """The only element as an int."""
    values = ints(data)
    if values is None or len(values) != 1:
        raise NotArithmetic
    return values[0]


def each(elements: Elements, f: Callable[[Any], Any]) -> Elements:
    """f of every element."""
    out = np.empty(elements.shape, dtype=object)
    out.reshape(-1)[:] = [f(d) for d in elements.reshape(-1)]
    return out


def gather(x: ShapeData, indices: ShapeData, axis: int = 0) -> ShapeData:
    picked = np.array(ints(indices), dtype=np.int64).reshape(indices.elements.shape)
    size = x.elements.shape[axis]
    if picked.size and (picked.min() < -size or picked.max() >= size):
        raise NotArithmetic
    taken = np.take(x.elements, picked, axis=axis)
    return ShapeData(np.array(taken, dtype=object).reshape(np.shape(taken)), x.dtype)


def concat(parts: Sequence[ShapeData], axis: int = 0) -> ShapeData:
    if any(p.dtype is not parts[0].dtype for p in parts):
        raise NotArithmetic
    return ShapeData(np.concatenate([p.elements for p in parts], axis=axis), parts[0].dtype)


def cast(x: ShapeData, to: DType) -> ShapeData:
    """In int32, int64, bool or float32."""
    if to in (DType.I64, DType.I32):
        return ShapeData(each(x.elements, _truncate), to)
    if to is DType.BOOL:
        return ShapeData(each(x.elements, lambda d: 1 - deq(as_number(d), 0)), to)
    if to is DType.F32:
        return ShapeData(x.elements, to)
    raise NotArithmetic


def _truncate(d: Any) -> Dim:
    if isinstance(d, float):
        return as_dim(int(d))
    if not _not_negative(d):
        raise NotArithmetic
    return floored(d)


def floored(d: Any) -> Dim:
    """One element, rounded down."""
    if isinstance(d, float):
        return as_dim(math.floor(d))
    return d.floor() if isinstance(d, Scaled | Ratio) else as_number(d)


def ceiled(d: Any) -> Dim:
    """One element, rounded up."""
    if isinstance(d, float):
        return as_dim(math.ceil(d))
    return ceildiv(d.dim, d.divisor) if isinstance(d, Ratio) else as_number(d)


def _not_negative(d: Any) -> bool:
    """Whether rounding down and rounding towards zero give the same result."""
    if isinstance(d, Scaled):
        return provably_ge(d.dim, 0) and float(bits_f32(d.bits.as_int())) >= 0.0
    return not isinstance(d, Ratio) or (provably_ge(d.dim, 0) and provably_ge(d.divisor, 1))


def filled(shape: Sequence[int], value: Any, dtype: DType) -> ShapeData:
    if int(np.prod(shape)) > MAX_SHAPE_ELEMENTS:
        raise NotArithmetic
    elements = np.empty(tuple(shape), dtype=object)
    elements.reshape(-1)[:] = [value] * elements.size
    return ShapeData(elements, dtype)


def stepped(start: ShapeData, stop: ShapeData, step: ShapeData) -> ShapeData:
    """The numbers of a range."""
    bounds = [scalar(v) for v in (start, stop, step)]
    if bounds[2] == 0:
        raise NotArithmetic
    span = range(*bounds)
    if len(span) > MAX_SHAPE_ELEMENTS:
        raise NotArithmetic
    return shape_data(list(span), start.dtype)


def expanded(x: ShapeData, shape: Sequence[int]) -> ShapeData:
    wide = np.broadcast_shapes(x.elements.shape, tuple(shape))
    return ShapeData(np.broadcast_to(x.elements, wide), x.dtype)


def chosen(c: ShapeData, a: ShapeData, b: ShapeData) -> ShapeData:
    """a where c holds, else b."""
    if a.dtype is not b.dtype:
        raise NotArithmetic
    arrays = np.broadcast_arrays(c.elements, a.elements, b.elements)
    out = np.empty(arrays[0].shape, dtype=object)
    triples = zip(*(x.reshape(-1) for x in arrays), strict=True)
    out.reshape(-1)[:] = [select(as_number(p), as_number(q), as_number(r)) for p, q, r in triples]
    return ShapeData(out, a.dtype)


def reduced(
    x: ShapeData, combine: Callable[[Any, Any], Any], axes: Sequence[int] | None, keep: bool
) -> ShapeData:
    """The elements of a vector combined from the left."""
    if x.elements.ndim != 1 or x.elements.size == 0:
        raise NotArithmetic
    if axes is not None and list(axes) not in ([0], [-1]):
        raise NotArithmetic
    total = as_number(x.elements[0])
    for d in x.elements[1:]:
        total = combine(total, as_number(d))
    out = np.empty((1,) if keep else (), dtype=object)
    out.reshape(-1)[:] = [total]
    return ShapeData(out, x.dtype)


def as_number(d: Any) -> Dim:
    """An element as a dim: products and quotients that are not yet whole are none."""
    if isinstance(d, Dim):
        return d
    if isinstance(d, float) and d.is_integer():
        return as_dim(int(d))
    raise NotArithmetic


def folded(
    parts: Sequence[ShapeData], f: Callable[[Any, Any], Any], dtype: DType | None = None
) -> ShapeData:
    """f of the elements of two or more operands, which broadcast."""
    result = parts[0]
    for other in parts[1:]:
        if other.dtype is not result.dtype:
            raise NotArithmetic  # the operator's converter reports the error
        a, b = np.broadcast_arrays(result.elements, other.elements)
        out = np.empty(a.shape, dtype=object)
        out.reshape(-1)[:] = [f(p, q) for p, q in zip(a.reshape(-1), b.reshape(-1), strict=True)]
        result = ShapeData(out, result.dtype)
    return ShapeData(result.elements, result.dtype if dtype is None else dtype)


def times(a: Any, b: Any) -> Any:
    for p, q in ((a, b), (b, a)):
        if isinstance(p, float) and not p.is_integer() and isinstance(q, Dim):
            return Scaled(q, as_dim(f32_bits(p)))
    return as_number(a) * as_number(b)


def quotient(a: Any, b: Any) -> Any:
    """Of floats."""
    divisor = as_number(b)
    if divisor == 0:
        raise NotArithmetic
    return a if divisor == 1 else Ratio(as_number(a), divisor)


def divided(parts: Sequence[ShapeData]) -> ShapeData:
    """Quotients of floats, or of integers towards zero."""
    is_float = parts[0].dtype is DType.F32
    return folded(parts, quotient if is_float else truncated_quotient)


def truncated_quotient(a: Any, b: Any) -> Dim:
    """Integer division towards zero, as in C."""
    x, y = _signed(a, b)
    if provably_ge(x, 0):
        return floordiv(x, y)
    return select(dlt(x, 0), -floordiv(-x, y), floordiv(x, y))


def floored_quotient(a: Any, b: Any) -> Dim:
    return floordiv(*_signed(a, b))


def _signed(a: Any, b: Any) -> tuple[Dim, Dim]:
    """The operands of a division whose divisor is positive."""
    x, y = as_number(a), as_number(b)
    if y == 0:
        raise NotArithmetic
    if y.is_static and y.as_int() < 0:
        x, y = -x, -y
    if not provably_ge(y, 1) and not (y.bounds()[0] == 0):
        raise NotArithmetic  # a divisor of unknown sign
    return x, y


def remainder(a: Any, b: Any) -> Dim:
    if as_number(b) == 0:
        raise NotArithmetic
    return mod(as_number(a), as_number(b))


def plus(a: Any, b: Any) -> Dim:
    return as_number(a) + as_number(b)


def minus(a: Any, b: Any) -> Dim:
    return as_number(a) - as_number(b)


def smaller(a: Any, b: Any) -> Dim:
    return dmin(as_number(a), as_number(b))


def larger(a: Any, b: Any) -> Dim:
    return dmax(as_number(a), as_number(b))


def both(a: Any, b: Any) -> Dim:
    """Logical and."""
    return as_number(a) * as_number(b)


# Of two elements; they give 0 or 1.
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": lambda a, b: deq(as_number(a), as_number(b)),
    "ne": lambda a, b: 1 - deq(as_number(a), as_number(b)),
    "lt": lambda a, b: dlt(as_number(a), as_number(b)),
    "gt": lambda a, b: dlt(as_number(b), as_number(a)),
    "le": lambda a, b: 1 - dlt(as_number(b), as_number(a)),
    "ge": lambda a, b: 1 - dlt(as_number(a), as_number(b)),
}


def negated(x: ShapeData) -> ShapeData:
    return ShapeData(each(x.elements, lambda d: -as_number(d)), x.dtype)


def inverted(x: ShapeData) -> ShapeData:
    """Logical not."""
    return ShapeData(each(x.elements, lambda d: 1 - as_number(d)), DType.BOOL)
