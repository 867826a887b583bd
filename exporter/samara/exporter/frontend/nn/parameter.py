# SPDX-License-Identifier: Apache-2.0
"""Tensors that a module owns."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from samara.exporter.frontend.tensor import Tensor

__all__ = ["Parameter"]


class Parameter(Tensor):
    """A tensor that is learned: assigned to a module it appears among its parameters.

    Takes over the memory of `data`.

    >>> nn.Parameter(samara.zeros(2)).requires_grad
    True
    """

    __slots__ = ("grad_place",)

    grad_place: np.ndarray[Any, Any] | None
    """Where backward puts the first gradient; None: in memory of its own."""

    def __init__(self, data: Any, requires_grad: bool = True) -> None:
        self.grad_place = None
        array = data.detach()._data if isinstance(data, Tensor) else np.asarray(data)
        self._begin(array)
        self._traced = None  # it is the module's, even where a trace is at work
        self.requires_grad = requires_grad

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        out = Parameter(self._data.copy(), self._requires_grad)
        memo[id(self)] = out
        return out

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


_sending = sys.modules.get("samara.exporter.frontend.multiprocessing")
if _sending is not None:
    _sending.register(Parameter)
