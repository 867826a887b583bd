# SPDX-License-Identifier: Apache-2.0
"""`Quantizer`: watches one activation and puts it on the int8 grid."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import creation
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.qat.grid import (
    RUNNING,
    Array,
    grid_of,
    is_traced,
    rounded_as,
    row,
    traced_on_grid,
    wants_gradient,
    within,
)
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.quantize.observers import Observer, choose_parameters, make_observer
from samara.exporter.types import Quant
from samara.pybridge.errors import QuantizationError, UnsupportedError

MakeObserver = Callable[[], Observer]

_LARGEST: Final = float(np.finfo(np.float32).max)


def observer_factory(observer: str | MakeObserver) -> MakeObserver:
    """The factory of an observer: a name such as "moving-average" or "percentile:99.9", or a callable."""
    if callable(observer):
        return observer
    make_observer(observer)  # refuse an unknown name now
    return functools.partial(make_observer, observer)


class Quantizer(Module):
    """The range of one activation, learned by an observer while training, until it is frozen.

    Buffers: `range` (lo, hi; NaN before anything was seen) and `frozen`.
    """

    def __init__(self, make: MakeObserver, label: str = "") -> None:
        super().__init__()
        self.label = label
        self._make = make
        self._observer: Observer | None = None
        self.register_buffer("range", creation.full((2,), np.nan))
        self.register_buffer("frozen", creation.tensor(False))

    @property
    def live(self) -> bool:
        """Whether the observer still learns."""
        return self.training and not _array(self.frozen)

    def freeze(self, frozen: bool = True) -> None:
        """Keep the range as it is from now on, or let it move again."""
        _array(self.frozen)[...] = frozen

    def observe(self, real: Array) -> None:
        """Take these values into account."""
        if RUNNING.module is not None and RUNNING.module.dry:
            return
        buffer = _array(self.range)
        if self._observer is None:
            self._observer = self._make()
            if not np.isnan(buffer).any():  # loaded: start from the stored range
                self._observer.update(buffer.astype(np.float64))
        self._observer.update(real)
        lo, hi = self._observer.range()
        if not max(abs(lo), abs(hi)) <= _LARGEST:
            raise QuantizationError(
                f"{self.label} has a range beyond float32", fix="check the learning rate"
            )
        buffer[...] = lo, hi

    @property
    def quant(self) -> Quant:
        """The parameters by the range; QuantizationError before anything was seen."""
        lo, hi = (float(v) for v in _array(self.range))
        if np.isnan(lo):
            if RUNNING.module is not None and RUNNING.module.dry:
                return Quant.per_tensor(1.0)
            raise QuantizationError(
                f"the range of {self.label if self.label else 'an activation'} is not known yet",
                fix="call train() on the module and run some batches through it first",
            )
        return choose_parameters(lo, hi)

    def forward(self, input: Any) -> Any:
        """The input, quantized: as it is if it has integers, else by this quantizer."""
        if grid_of(input) is not None:
            return input
        if input.dtype != np.float32:
            input = input.float()
        if is_traced(input):
            self.refuse_live()
            return traced_on_grid(_quantized(input, self.quant))
        if self.live:
            self.observe(input._data)
        return snapped(input, self.quant)

    def refuse_live(self) -> None:
        """A trace cannot learn ranges."""
        if self.live:
            raise UnsupportedError(
                "a quantization-aware module is traced while its observers learn",
                fix="call .eval() first, or freeze_observers() and freeze_batch_norm()",
            )

    def extra_repr(self) -> str:
        lo, hi = _array(self.range)
        return f"{lo:.4g} to {hi:.4g}"


def snapped(x: Tensor, quant: Quant) -> Any:
    """The eager tensor `x` quantized by `quant`; its gradient is zero where it is clamped."""
    real = x._data
    grid = _quantized(real, quant)
    if not wants_gradient(x):
        return rounded_as(None, grid, None)
    return rounded_as(x, grid, within(real / np.float32(quant.scale), quant))


def _quantized(real: Any, quant: Quant) -> Any:
    return row(ops.quantize, real, scales=quant.scales, zero_points=quant.zero_points, axis=-1)


def _array(t: Any) -> Array:
    """The data of a buffer, also while it is a variable of a trace."""
    array: Array = t._data
    return array
