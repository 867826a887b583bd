# SPDX-License-Identifier: Apache-2.0
"""What fails on one rank raises on all, with the same error."""

from __future__ import annotations

from typing import Any

import pytest

import samara
from samara import distributed as dist
from samara.exporter.frontend.distributed import _outcome
from samara.exporter.frontend.distributed.group import world


def _caught(function: Any) -> tuple[type, str]:
    with pytest.raises((samara.SamaraError, ZeroDivisionError)) as info:
        function()
    dist.barrier()
    return type(info.value), str(info.value)


def test_the_first_rank_works_for_all() -> None:
    def run(value: Any) -> Any:
        return _outcome.at_first(world(), lambda: 6 // value, 5.0)

    assert dist.run_threads(run, 3, 2) == [3, None, None]
    own, *others = dist.run_threads(_caught, 3, lambda: run(0))
    assert own[0] is ZeroDivisionError
    assert set(others) == {(dist.DistError, f"rank 0 failed: ZeroDivisionError: {own[1]}")}
    shape = dist.run_threads(_caught, 2, lambda: run(samara.ones(2, 3) @ samara.ones(2)))
    assert shape[0] == shape[1]


def test_any_rank_may_fail() -> None:
    def run(bad: int) -> None:
        _outcome.raise_anywhere(
            world(), lambda: samara.tensor([1]).reshape(1 + bad * dist.get_rank())
        )

    assert dist.run_threads(run, 2, 0) == [None, None]
    assert len(set(dist.run_threads(_caught, 3, lambda: 1 / (dist.get_rank() < 5 and 0)))) == 1
    first, last = dist.run_threads(_caught, 2, lambda: run(2))
    assert first == last
    assert issubclass(first[0], samara.SamaraError)
