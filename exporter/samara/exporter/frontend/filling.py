# SPDX-License-Identifier: Apache-2.0
"""Creating tensors from data and by filling. Methods of Tensor use these, so they lie below tensor.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from samara.exporter.frontend import dtypes, memory, tape
from samara.exporter.frontend.device import device as _check_device
from samara.exporter.frontend.operands import as_tensor, cast, is_tensor
from samara.exporter.types import ArgumentError
from samara.pybridge.files import kind_of

if TYPE_CHECKING:
    from samara.exporter.frontend.tensor import Tensor


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Create a tensor from a copy of `data`. Python floats become float32, integers int64.

    >>> samara.tensor([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    if is_tensor(data):
        if data._symbolic:  # for example a number that a traced loop carries
            return (data if dtype is None else data.to(dtype)).detach().clone()
        data = data.detach()._data
    kind = None if dtype is None else dtypes.as_dtype(dtype)
    try:
        array = np.array(data) if kind is None else np.array(data, kind)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"cannot make a tensor of {kind_of(data)}: {error}",
            fix="give numbers, an array, or sequences of equal lengths",
        ) from None
    if (
        dtype is None
        and array.dtype == np.float64
        and not isinstance(data, (np.ndarray, np.generic))
    ):
        array = array.astype(np.float32)
    dtypes.as_dtype(array.dtype)
    return made(array, device, requires_grad)


def full(
    size: Sequence[Any],
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with `fill_value` everywhere. By default the dtype is that of a tensor of `fill_value`."""
    kind = as_tensor(fill_value).dtype if dtype is None else dtypes.as_dtype(dtype)
    if is_tensor(fill_value) and fill_value._symbolic:
        return cast(fill_value, kind).expand(tuple(size))
    value = fill_value.item() if is_tensor(fill_value) else fill_value
    if all(isinstance(n, (int, np.integer)) for n in size):
        array = memory.empty(ints(size), kind)
        array[...] = value
        return made(array, device, requires_grad)
    tracer = tape.tracing()
    assert tracer is not None  # symbolic sizes exist only in traces
    return tracer.known(tape.wrap(np.asarray(value, kind))).expand(tuple(size))


def or32(dtype: Any) -> Any:
    """The dtype, float32 for None."""
    return dtypes.float32 if dtype is None else dtypes.as_dtype(dtype)


def ints(size: Sequence[Any]) -> tuple[int, ...]:
    """Sizes as ints; ArgumentError for one below 0."""
    sizes = tuple(int(n) for n in size)
    if any(n < 0 for n in sizes):
        raise ArgumentError(f"a tensor of shape {list(sizes)}", fix="sizes must be at least 0")
    return sizes


def made(array: Any, device: Any, requires_grad: bool) -> Tensor:
    """A tensor over an array, with the common arguments of all creation functions."""
    if device is not None:
        _check_device(device)
    out = tape.wrap(array)
    out.requires_grad = requires_grad
    return out
