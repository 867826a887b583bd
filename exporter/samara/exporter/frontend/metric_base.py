# SPDX-License-Identifier: Apache-2.0
"""The base class of metrics: what they share, over batches and over ranks."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from samara.exporter.types import ArgumentError
from samara.exporter.types.charts import Bar, bars
from samara.pybridge.errors import SamaraError
from samara.pybridge.notebook import html_report

V = TypeVar("V", covariant=True)


class Measures(Protocol[V]):
    """Any metric, to a type checker: calling it gives what its own `compute` does."""

    def reset(self) -> None: ...

    def update(self, preds: Any, target: Any) -> Self: ...

    def compute(self) -> V: ...


class Metric(ABC):
    """Base class of metrics: `update` adds a batch, `compute` returns the value over all batches.

    Settings are set before `super().__init__()`. What `reset` sets is the state: numbers, arrays and
    lists, which `merge_state` adds. A metric whose state is not a sum defines `merge_state` itself.
    """

    def __init__(self) -> None:
        settings = set(vars(self))
        self.reset()
        self._state_names = tuple(name for name in vars(self) if name not in settings)

    @abstractmethod
    def reset(self) -> None:
        """Forget all batches."""

    @abstractmethod
    def update(self, preds: Any, target: Any) -> Self:
        """Add a batch: the model's answers and the targets."""

    @abstractmethod
    def compute(self) -> Any:
        """Return the value over all batches. SamaraError if there were none."""

    def merge_state(self, metrics: Iterable[Metric]) -> Self:
        """Add the batches of other metrics, in order. ArgumentError for another kind or settings.

        >>> first = samara.metrics.Accuracy().update([0, 1], [0, 0])
        >>> second = samara.metrics.Accuracy().update([2, 2], [2, 2])
        >>> first.merge_state([second]).compute()
        0.75
        """
        for other in metrics:
            self._check_alike(other)
            for name in self._state_names:
                setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    def reduce(self, group: Any = None) -> Self:
        """A new metric over the batches of all ranks, the same on each of them.

        All ranks of the process group call it. Counts are exact, float64 sums are added in rank order,
        kept scores stand in rank order. This metric stays as it is and may be updated further. Without a
        process group it is a copy. Raises ArgumentError on all ranks if their settings differ.

        >>> def measure():
        ...     rank = samara.distributed.get_rank()
        ...     metric = samara.metrics.Accuracy().update([rank], [0])
        ...     return metric.compute(), metric.reduce().compute()
        >>> samara.distributed.run_threads(measure, 2)
        [(1.0, 0.5), (0.0, 0.5)]
        """
        from samara.exporter.frontend import distributed

        found: list[Any] = [self]
        if group is not None or distributed.is_initialized():
            found *= distributed.get_world_size(group)
            distributed.all_gather_object(found, self, group)
        whole = copy.copy(self)
        whole.reset()
        return whole.merge_state(found)

    def _check_alike(self, other: Metric) -> None:
        """Raise ArgumentError unless the other is of this kind and has the same settings."""
        if type(other) is not type(self):
            raise ArgumentError(f"a {type(self).__name__} cannot add a {type(other).__name__}")
        for name, value in vars(self).items():
            if name not in self._state_names and getattr(other, name) != value:
                raise ArgumentError(
                    f"{name} is {value!r} in one {type(self).__name__}, "
                    f"{getattr(other, name)!r} in another",
                    fix="make them with the same arguments",
                )

    def __call__(self: Measures[V], preds: Any, target: Any) -> V:
        """Add a batch and return the value so far."""
        return self.update(preds, target).compute()

    def _repr_html_(self) -> str:
        try:
            value = self.compute()
        except SamaraError as error:
            return html_report(type(self).__name__, {"value": str(error).partition("\n")[0]})
        if np.ndim(value) == 1:
            rows = [Bar(f"class {i}", float(v)) for i, v in enumerate(value)]
            return html_report(type(self).__name__, {}, bars(rows, limit=(0.0, 1.0)))
        return html_report(type(self).__name__, {"value": f"{value:.6g}"})


def array_of(value: Any) -> Any:
    """The numbers of a tensor or of anything like an array."""
    detach = getattr(value, "detach", None)
    return np.asarray(value if detach is None else detach())
