# SPDX-License-Identifier: Apache-2.0
"""What metrics share: batches of other metrics and of other ranks are added. test_metrics.py has all kinds."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pytest

import samara
from samara import distributed, metrics
from samara.exporter.frontend.metric_base import array_of


class Largest(metrics.Metric):
    """A user's metric: counts and lists are added without more ado."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        super().__init__()

    def reset(self) -> None:
        self.seen: list[float] = []
        self._count = 0

    def update(self, preds: Any, target: Any = None) -> Self:
        self.seen.append(self.scale * float(np.max(array_of(preds))))
        self._count += 1
        return self

    def compute(self) -> tuple[list[float], int]:
        return self.seen, self._count


def test_batches_of_others_are_added() -> None:
    first, second = Largest(2.0).update([1.0, 3.0]), Largest(2.0).update(samara.tensor([5.0]))
    assert first.merge_state([second, second]) is first
    assert first.compute() == ([6.0, 10.0, 10.0], 3)
    assert second.compute() == ([10.0], 1)
    spread = metrics.R2Score().update([1.0, 2.0], [1.0, 3.0])
    spread.merge_state([metrics.R2Score(), metrics.R2Score().update([4.0], [5.0])])
    assert spread.compute() == pytest.approx(1 - 2 / 8)


def test_over_ranks() -> None:
    def run() -> Any:
        own = Largest().update([distributed.get_rank()])
        whole = own.reduce()
        pair = distributed.new_group([0, 2])
        some = None if distributed.get_rank() == 1 else own.reduce(pair).compute()
        return whole.compute(), some, own.compute()[1]

    whole = ([0.0, 1.0, 2.0], 3)
    some = ([0.0, 2.0], 2)
    assert distributed.run_threads(run, 3) == [(whole, s, 1) for s in (some, None, some)]
    alone = Largest().update([4.0])
    copied = alone.reduce()
    copied.update([5.0])
    assert (alone.compute(), copied.compute()) == (([4.0], 1), ([4.0, 5.0], 2))


def test_other_kinds_and_settings_are_refused() -> None:
    with pytest.raises(samara.ArgumentError, match="a Largest cannot add a Accuracy"):
        Largest().merge_state([metrics.Accuracy()])
    with pytest.raises(samara.ArgumentError, match=r"squared is True .* False in another"):
        metrics.MeanSquaredError().merge_state([metrics.MeanSquaredError(squared=False)])

    def run() -> str:
        with pytest.raises(samara.ArgumentError) as info:
            Largest(float(distributed.get_rank())).reduce()
        distributed.barrier()
        return str(info.value)

    first, second = distributed.run_threads(run, 2)
    assert "scale is 0.0 in one Largest, 1.0 in another" in first
    assert "scale is 1.0 in one Largest, 0.0 in another" in second
