# SPDX-License-Identifier: Apache-2.0
"""Helpers of gradient rules: zeros and sizes as tensors, reshapes around one axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from samara.exporter import ops
from samara.exporter.ops.autodiff import GradContext, beside, dtype_of, same_dims, shape_of
from samara.exporter.types import Dim, DType

Grads = tuple[Any, ...]
Size = int | Dim


def known(size: Size) -> int | None:
    """The size as a number; None if it is symbolic."""
    if isinstance(size, int):
        return size
    return size.as_int() if size.is_static else None


def product(sizes: Sequence[Size]) -> Size:
    """The product of sizes; 1 of none."""
    total: Size = 1
    for size in sizes:
        total = total * size
    return total


def axis_of(ctx: GradContext, which: int = 0) -> int:
    """Attribute `axis` counted from the front of an input."""
    axis: int = ctx.axis
    return axis if axis >= 0 else axis + len(ctx.shape(which))


def number(size: Size, like: Any) -> Any:
    """A size as an operand: a Python number, or a scalar tensor of like's dtype if it is symbolic."""
    n = known(size)
    if n is not None:
        return float(n)
    return in_dtype(beside(like, ops.dims, values=(size,), dtype=DType.F32, scalar=True), like)


def zeros(shape: Sequence[Size], like: Any) -> Any:
    """Zeros of that shape in like's dtype."""
    zero = beside(like, ops.dims, values=(0,), dtype=DType.F32, scalar=True)
    return ops.expand(in_dtype(zero, like), shape=tuple(shape))


def unbroadcast(ctx: GradContext, dy: Any, which: str | int) -> Any:
    """`dy` summed over the axes along which the input was broadcast."""
    shape = ctx.shape(which)
    return dy if same_dims(shape_of(dy), shape) else ops.sum_to(dy, shape=shape)


def in_dtype(value: Any, like: Any) -> Any:
    """The value in like's dtype."""
    dtype = dtype_of(like)
    return value if dtype_of(value) is dtype else ops.cast(value, to=dtype)


def counted(mask: Any, like: Any) -> Any:
    """A mask as ones and zeros of like's dtype."""
    return ops.cast(mask, to=dtype_of(like))


def range_of(value: Any, axis: int, begin: Size, end: Size, step: int = 1) -> Any:
    """value[begin:end:step] along one axis."""
    shape = shape_of(value)
    return ops.slice(
        value,
        begin=tuple(begin if a == axis else 0 for a in range(len(shape))),
        end=tuple(end if a == axis else n for a, n in enumerate(shape)),
        step=tuple(step if a == axis else 1 for a in range(len(shape))),
    )


def reversed_along(value: Any, axis: int) -> Any:
    """The value from its end along one axis."""
    return range_of(value, axis, shape_of(value)[axis] - 1, -1, -1)


def padded(value: Any, axis: int, before: Size, after: Size) -> Any:
    """The value with zeros before and after it along one axis; a negative number crops."""
    if known(before) == 0 and known(after) == 0:
        return value
    rank = len(shape_of(value))
    ends = [before if a == axis else 0 for a in range(rank)]
    ends += [after if a == axis else 0 for a in range(rank)]
    return ops.pad(value, pads=tuple(ends))


def flat(ctx: GradContext) -> Grads:
    """The rule of a step function of one operand: its gradient is zero."""
    return (zeros(ctx.shape(0), ctx.dy),)
