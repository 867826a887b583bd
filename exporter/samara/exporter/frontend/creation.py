# SPDX-License-Identifier: Apache-2.0
"""Functions that create tensors, and functions of several tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import dtypes, memory, tape
from samara.exporter.frontend.counterparts import name_counterparts
from samara.exporter.frontend.filling import full as full
from samara.exporter.frontend.filling import ints, made, or32
from samara.exporter.frontend.filling import tensor as tensor
from samara.exporter.frontend.input_records import joined, mark
from samara.exporter.frontend.operands import as_tensor as _as_tensor
from samara.exporter.frontend.operands import (
    axis_of,
    broadcast_shapes,
    cast,
    is_tensor,
    pair,
    sizes_of,
)
from samara.exporter.frontend.random import Generator, generator_of
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.exporter.types import ArgumentError, as_dim, ceildiv, dmax
from samara.pybridge.errors import ShapeError

__all__ = [
    "allclose",
    "arange",
    "as_tensor",
    "atleast_1d",
    "bernoulli",
    "broadcast_tensors",
    "cat",
    "concat",
    "empty",
    "empty_like",
    "equal",
    "eye",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "hstack",
    "is_tensor",
    "linspace",
    "meshgrid",
    "multinomial",
    "normal",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
    "stack",
    "tensor",
    "vstack",
    "where",
    "zeros",
    "zeros_like",
]


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Return `data` as a tensor; no copy if it is a tensor or array of that dtype already."""
    if not isinstance(data, np.ndarray) and not is_tensor(data):
        return tensor(data, dtype=dtype, device=device)
    out: Tensor = data if is_tensor(data) else from_numpy(data)
    return out.to(dtype=dtype, device=device)


def from_numpy(array: Any) -> Tensor:
    """A tensor over the memory of a numpy array. A change of one is visible in the other.

    >>> a = np.zeros(2, np.float32)
    >>> samara.from_numpy(a)[0] = 5.0
    >>> a.tolist()
    [5.0, 0.0]
    """
    if not isinstance(array, np.ndarray):
        raise ArgumentError(f"from_numpy needs an array, got {type(array).__name__}")
    dtypes.as_dtype(array.dtype)
    return wrap(array)


def from_dlpack(source: Any) -> Tensor:
    """A tensor over the memory of anything with `__dlpack__`, without a copy.

    >>> samara.from_dlpack(np.arange(3.0)).tolist()
    [0.0, 1.0, 2.0]
    """
    try:
        return from_numpy(np.from_dlpack(source))
    except (BufferError, TypeError, RuntimeError, AttributeError) as error:
        raise ArgumentError(
            f"DLPack cannot share the memory of this object: {error}",
            fix="move it to the CPU, or convert it to a numpy array for from_numpy",
        ) from None


def zeros(
    *size: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Zeros, float32 by default.

    >>> samara.zeros(2, 3).dtype == samara.float32
    True
    """
    return full(sizes_of(size), 0, dtype=or32(dtype), device=device, requires_grad=requires_grad)


def ones(
    *size: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Ones, float32 by default."""
    return full(sizes_of(size), 1, dtype=or32(dtype), device=device, requires_grad=requires_grad)


def empty(
    *size: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Create a tensor without initialising its elements."""
    return made(memory.empty(ints(sizes_of(size)), or32(dtype)), device, requires_grad)


def zeros_like(
    input: Tensor,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    return full_like(input, 0, dtype=dtype, device=device, requires_grad=requires_grad)


def ones_like(
    input: Tensor,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    return full_like(input, 1, dtype=dtype, device=device, requires_grad=requires_grad)


def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    kind = input.dtype if dtype is None else dtype
    return full(input.shape, fill_value, dtype=kind, device=device, requires_grad=requires_grad)


def empty_like(
    input: Tensor,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    kind = input.dtype if dtype is None else dtype
    return empty(*input.shape, dtype=kind, device=device, requires_grad=requires_grad)


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return start, start + step, … without `end`; int64 for integer arguments, else float32."""
    if end is None:
        start, end = 0, start
    start, end, step = (v.item() if is_tensor(v) else v for v in (start, end, step))
    if any(hasattr(n, "sole_atom") for n in (start, end, step)):
        return _symbolic_range(start, end, step, dtype)
    if step == 0 or (end - start) * step < 0:
        raise ArgumentError(
            f"arange from {start} to {end} by {step} never ends",
            fix="choose a step with the sign of end - start",
        )
    values = np.arange(start, end, step)
    if dtype is None:
        dtype = np.float32 if values.dtype.kind == "f" else np.int64
    return made(values.astype(dtypes.as_dtype(dtype)), device, requires_grad)


def linspace(
    start: float,
    end: float,
    steps: int,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return `steps` evenly spaced numbers from `start` to `end`, both included."""
    if steps < 0:
        raise ArgumentError(f"linspace of {steps} numbers", fix="steps must be at least 0")
    return made(np.linspace(start, end, steps).astype(or32(dtype)), device, requires_grad)


def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a matrix with ones on the diagonal and zeros elsewhere."""
    return made(np.eye(n, m, dtype=or32(dtype)), device, requires_grad)


def rand(
    *size: Any,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Draw uniform random numbers from [0, 1)."""
    array = generator_of(generator).uniform(ints(sizes_of(size)))
    return made(np.asarray(array, or32(dtype)), device, requires_grad)


def randn(
    *size: Any,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Draw random numbers from the standard normal distribution."""
    array = generator_of(generator).normal(ints(sizes_of(size)))
    return made(np.asarray(array, or32(dtype)), device, requires_grad)


def rand_like(
    input: Tensor,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    generator: Generator | None = None,
) -> Tensor:
    return rand(
        *input.shape,
        dtype=input.dtype if dtype is None else dtype,
        device=device,
        requires_grad=requires_grad,
        generator=generator,
    )


def randn_like(
    input: Tensor,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    generator: Generator | None = None,
) -> Tensor:
    return randn(
        *input.shape,
        dtype=input.dtype if dtype is None else dtype,
        device=device,
        requires_grad=requires_grad,
        generator=generator,
    )


def normal(
    mean: Any,
    std: Any = 1.0,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Draw normal random numbers: of shape `size`, or one per element of the tensors `mean` and `std`."""
    if size is None:
        given = [np.asarray(v.detach()._data if is_tensor(v) else v) for v in (mean, std)]
        size = np.broadcast_shapes(*(v.shape for v in given))
        array = generator_of(generator).normal(size) * given[1] + given[0]
        kind = mean.dtype if is_tensor(mean) else std.dtype if is_tensor(std) else or32(None)
        kind = kind if dtype is None else dtypes.as_dtype(dtype)
        return made(np.asarray(array, kind), device, requires_grad)
    array = generator_of(generator).normal(ints(size), mean, std)
    return made(np.asarray(array, or32(dtype)), device, requires_grad)


def randint(
    low: int,
    high: Any = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Draw uniform int64 numbers from [low, high); randint(high, size) starts at 0."""
    if size is None:
        low, high, size = 0, low, high
    array = generator_of(generator).integers(low, high, ints(size))
    kind = dtypes.int64 if dtype is None else dtypes.as_dtype(dtype)
    return made(np.asarray(array, kind), device, requires_grad)


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """Return 0 … n-1 in random order, int64 by default."""
    kind = dtypes.int64 if dtype is None else dtypes.as_dtype(dtype)
    return made(generator_of(generator).permutation(n).astype(kind), device, False)


def bernoulli(input: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Draw 1 with the probability in `input`, else 0."""
    drawn = generator_of(generator).uniform(input.shape)
    return wrap((drawn < input._data).astype(input.dtype))


def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Draw indices with the weights along the last dimension (Gumbel top-k without replacement)."""
    weights = np.asarray(input.detach()._data, np.float64)
    source = generator_of(generator)
    if replacement:
        total = np.cumsum(weights, -1)
        drawn = source.uniform((*weights.shape[:-1], num_samples)) * total[..., -1:]
        found = (drawn[..., None] >= total[..., None, :]).sum(-1)
        return wrap(np.minimum(found, weights.shape[-1] - 1).astype(np.int64))
    if ((weights > 0).sum(-1) < num_samples).any():
        raise ArgumentError(
            f"{num_samples} different indices cannot be drawn: too few weights are above 0",
            fix="draw fewer, or pass replacement=True",
        )
    uniform = np.maximum(source.uniform(weights.shape).astype(np.float64), 1e-30)
    with np.errstate(divide="ignore"):
        keys = np.log(weights) - np.log(-np.log(uniform))
    return wrap(np.argsort(-keys, -1, kind="stable")[..., :num_samples].astype(np.int64))


# ---- functions of several tensors


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Concatenate tensors along an existing dimension.

    >>> samara.cat([samara.ones(2, 1), samara.zeros(2, 2)], dim=1).tolist()
    [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    given = [_as_tensor(t) for t in tensors]
    if not given:
        raise ShapeError("cat needs at least one tensor")
    to = given[0].dtype
    for t in given[1:]:
        to = dtypes.promote(to, 1, t.dtype, 1)
    return ops.concat(*(cast(t, to) for t in given), axis=axis_of(given[0], dim))


concat = cat


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors of equal shape along a new dimension."""
    given = [_as_tensor(t) for t in tensors]
    if not given:
        raise ShapeError("stack needs at least one tensor")
    a = axis_of(given[0], dim, 1)
    out = cat([t.unsqueeze(a) for t in given], a)
    marked: Tensor = out if a else mark(out, joined(given))
    return marked


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate along the second dimension, or the only one."""
    return cat(tensors, 0 if _as_tensor(tensors[0]).ndim == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate along the first dimension; vectors become rows."""
    return cat([t.unsqueeze(0) if t.ndim == 1 else t for t in map(_as_tensor, tensors)], 0)


def atleast_1d(input: Tensor) -> Tensor:
    return input.reshape(1) if input.ndim == 0 else input


@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Tensor, input: Any, other: Any) -> Tensor: ...
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Return `input` where `condition` is true, else `other`; with `condition` alone, the indices of true elements."""
    if input is None:
        return condition.nonzero().unbind(1)
    x, y = pair(input, other)
    x, y = _as_tensor(x, y if is_tensor(y) else None), _as_tensor(y, x if is_tensor(x) else None)
    return ops.where(_as_tensor(condition), x, y)


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Expand all tensors to their broadcast shape."""
    shape = broadcast_shapes(*(tuple(t.shape) for t in tensors))
    return tuple(t.expand(shape) for t in tensors)


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Return coordinate matrices from coordinate vectors."""
    one = len(tensors) == 1 and isinstance(tensors[0], (tuple, list))
    given = list(tensors[0] if one else tensors)
    if indexing == "xy" and len(given) > 1:
        given[0], given[1] = given[1], given[0]
    n = len(given)
    shape = tuple(t.shape[0] for t in given)
    out = [
        t.reshape((1,) * i + (t.shape[0],) + (1,) * (n - 1 - i)).expand(shape)
        for i, t in enumerate(given)
    ]
    if indexing == "xy" and n > 1:
        out[0], out[1] = out[1], out[0]
    return tuple(out)


def equal(input: Tensor, other: Tensor) -> bool:
    """Return whether shapes and all elements are equal."""
    return input.equal(other)


def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Return whether |input - other| <= atol + rtol |other| for all elements."""
    return input.allclose(other, rtol, atol, equal_nan)


def _symbolic_range(start: Any, end: Any, step: Any, dtype: Any) -> Tensor:
    tracer = tape.tracing()
    assert tracer is not None
    length = dmax(0, ceildiv(as_dim(end) - start, step))
    made: Tensor = tracer.apply(ops.iota, (), {"length": length, "start": start, "step": step})
    return made if dtype is None else cast(made, dtypes.as_dtype(dtype))


name_counterparts(globals(), __all__, "torch")
