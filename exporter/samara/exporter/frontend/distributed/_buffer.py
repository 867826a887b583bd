# SPDX-License-Identifier: Apache-2.0
"""The memory of tensors, as collectives send and fill it."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ArgumentError


class Buffer:
    """The memory of a tensor as a flat contiguous array: its own where possible, else a copy.

    out: whether the tensor is to be written; ArgumentError if it cannot be.
    """

    def __init__(self, tensor: Any, name: str = "tensor", out: bool = False) -> None:
        if not isinstance(tensor, Tensor):
            raise ArgumentError(f"{name} is {type(tensor).__name__}, expected a Tensor")
        if tensor._symbolic:
            raise ArgumentError(f"{name} is traced; collectives work on eager tensors only")
        array = tensor._data
        if out and not array.flags.writeable:
            raise ArgumentError(
                f"{name} cannot be written: its memory is read-only, or shared by several values",
                fix="give tensor.clone()",
            )
        self.tensor = tensor
        self.shape = list(array.shape)
        self._is_own = array.flags.c_contiguous
        self.flat: np.ndarray[Any, Any] = (
            array if self._is_own else np.ascontiguousarray(array)
        ).reshape(-1)
        self.text = f"{_name_of(array.dtype)} {self.shape}"

    def store(self) -> None:
        """Make the tensor hold what `flat` holds."""
        if not self._is_own:
            array = self.tensor._data
            array[...] = self.flat.reshape(array.shape)
        self.tensor._version[0] += 1


@functools.cache
def _name_of(dtype: np.dtype[Any]) -> str:
    """numpy's own takes microseconds."""
    return str(dtype)
